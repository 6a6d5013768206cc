def unstuck(sizes):
    limit = 2_000 if len(sizes) > 20 else 8_000
    sent = []
    for width, height in sizes:
        while max(width, height) > limit:
            width, height = max(1, width // 2), max(1, height // 2)
        sent.append((width, height))
    return sent
