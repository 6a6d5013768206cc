def net_saving(removed, rewritten, turns, r, w, call=0):
    return turns * removed - (w - r) * rewritten - call


def break_even(removed, rewritten, r, w, call=0):
    spent = (w - r) * rewritten + call
    return int(spent / (r * removed)) + 1 if removed else None
