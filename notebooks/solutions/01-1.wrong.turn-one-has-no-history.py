def total_input(turns, stable, added):
    return turns * stable + added * turns * (turns + 1) // 2
