def best_spill(added, cap, sizes, r, w):
    return min(sizes)
