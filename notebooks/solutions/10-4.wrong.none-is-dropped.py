def unstuck(sizes):
    return sizes[:20]
