def legal(markers):
    return len(markers) <= 4
