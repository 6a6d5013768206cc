def timeline(starts, lifetime_s):
    gaps = [later - sooner for sooner, later in zip(starts, starts[1:])]
    return "W" + "".join("R" if gap < lifetime_s else "W" for gap in gaps)
