def order():
    return [
        "tools", "MARK", "system", "MARK", "history", "MARK",
        "retrieved", "MARK", "turn", "MARK",
    ]
