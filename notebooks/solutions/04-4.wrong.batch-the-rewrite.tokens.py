def best_spill(added, cap, sizes, r, w):
    def paid(size):
        history = total = 0
        for more in added:
            warm, history = history, history + more
            if history > cap:
                warm, history = 0, cap - size
            total += size if history == cap - size else 0
        return total

    return min(sizes, key=paid)
