def unstuck(sizes):
    limit = 2_000 if len(sizes) > 20 else 8_000
    sent = []
    for size in sizes:
        long = max(size)
        if long > limit:
            size = tuple(max(1, round(side * limit / long)) for side in size)
        sent.append(size)
    return sent
