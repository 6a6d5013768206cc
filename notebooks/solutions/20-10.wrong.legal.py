def legal(markers):
    return 0 < len(markers) <= 4 and markers == sorted(markers)
