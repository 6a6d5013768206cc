def order():
    return ["tools", "system", "MARK", "retrieved", "history", "turn"]
