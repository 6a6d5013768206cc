def fold(rows):
    return list(rows)
