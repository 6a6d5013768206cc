def total_input(turns, stable, added):
    return stable + added * turns * (turns - 1) // 2
