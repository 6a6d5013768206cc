def found(kinds, entry):
    last, looked_at = len(kinds) - 1, 0
    for n in range(last, entry - 1, -1):
        looked_at += not (n < last and kinds[n] == kinds[n + 1] != "text")
    return looked_at <= 21
