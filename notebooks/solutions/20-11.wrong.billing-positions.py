def split(tokens, entry, markers):
    ends = [sum(tokens[: n + 1]) for n in range(len(tokens))]
    a = 0 if entry is None else ends[entry]
    c = max([a, *(ends[n] for n in markers)])
    last = markers[max(markers)]
    return a, (c - a) * (last == "1h"), (c - a) * (last == "5m"), sum(tokens) - c
