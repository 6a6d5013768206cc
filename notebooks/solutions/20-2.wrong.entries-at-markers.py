def read(tokens, entry):
    return tokens[entry]
