def split(tokens, entry, markers):
    ends = [sum(tokens[: n + 1]) for n in range(len(tokens))]
    a = 0 if entry is None else ends[entry]
    b = max([a, *(ends[n] for n, ttl in markers.items() if ttl == "1h")])
    c = max([b, *(ends[n] for n in markers)])
    return a, b - a, c - b, sum(tokens) - c
