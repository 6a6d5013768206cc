def stored(tokens, markers, floor):
    return [n for n in markers if tokens[n] >= floor]
