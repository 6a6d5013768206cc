def net_saving(removed, rewritten, turns, r, w, call=0):
    return turns * r * removed - (w - r) * rewritten - call


def break_even(removed, rewritten, r, w, call=0):
    spent = (w - r) * rewritten + call
    return -int(-spent / (r * removed)) if removed else None
