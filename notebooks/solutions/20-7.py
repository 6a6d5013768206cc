def seen(marker):
    return [n for n in range(marker, marker - 20, -1) if n >= 0]
