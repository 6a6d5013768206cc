def found(kinds, entry):
    return len(kinds) - entry <= 20
