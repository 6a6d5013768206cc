def seen(marker):
    return [n for n in range(marker, marker - 21, -1) if n >= 0]
