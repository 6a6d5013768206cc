def found(kinds, entry):
    last, looked_at = len(kinds) - 1, 0
    for n in range(last, entry - 1, -1):
        runs_on = n < last and kinds[n] == kinds[n + 1] != "text"
        looked_at += not runs_on
    return looked_at <= 20
