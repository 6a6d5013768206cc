def order():
    return ["tools", "system", "MARK", "history", "MARK", "retrieved", "turn"]
