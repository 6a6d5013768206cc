def rescue(entry, tail):
    return entry
