def timeline(starts, lifetime_s):
    letters, written = "", None
    for start in starts:
        alive = written is not None and start - written < lifetime_s
        letters += "R" if alive else "W"
        written = written if alive else start
    return letters
