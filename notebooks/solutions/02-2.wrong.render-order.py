def order():
    return ["system", "tools", "MARK", "history", "MARK", "retrieved", "turn"]
