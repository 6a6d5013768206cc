def unstuck(sizes):
    return [tuple(max(1, round(side * min(1, 2_000 / max(size)))) for side in size) for size in sizes]
