def survivor(before, after, entries):
    alive = [n for n in entries if before[: n + 1] == after[: n + 1]]
    return max(alive, default=None)
