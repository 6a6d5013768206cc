def stored(tokens, markers, floor):
    return [n for n in markers if sum(tokens[: n + 1]) > floor]
