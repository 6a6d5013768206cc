def order():
    return ["tools", "system", "MARK", "history", "MARK", "turn"]
