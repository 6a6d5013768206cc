def survivor(before, after, entries):
    alive = [n for n in entries if n < len(after) and before[n] == after[n]]
    return max(alive, default=None)
