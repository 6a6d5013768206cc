def read(tokens, entry):
    return sum(tokens[: entry + 1])
