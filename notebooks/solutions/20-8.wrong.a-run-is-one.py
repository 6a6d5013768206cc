def positions(kinds):
    return len(kinds)
