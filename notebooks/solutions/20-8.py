def positions(kinds):
    pairs = zip(["", *kinds], kinds)
    return sum(kind == "text" or kind != before for before, kind in pairs)
