def letters(tokens, entry, marker):
    told = {marker: "W", entry: "R"}
    return "".join(told.get(n, "F") for n in range(len(tokens)))
