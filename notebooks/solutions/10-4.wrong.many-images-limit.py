def unstuck(sizes):
    return [size if max(size) <= 8_000 else tuple(side // 2 for side in size) for size in sizes]
