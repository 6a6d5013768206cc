def rescue(entry, tail):
    if tail - entry <= 20:
        return None
    return entry
