def legal(markers):
    return len(markers) <= 4 and markers == sorted(markers)
