def letters(tokens, entry, marker):
    read = 0 if entry is None else entry + 1
    written = marker + 1 - read
    return "R" * read + "W" * written + "F" * (len(tokens) - read - written)
