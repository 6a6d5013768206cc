def order():
    return ["tools", "system", "MARK", "history", "retrieved", "turn"]
