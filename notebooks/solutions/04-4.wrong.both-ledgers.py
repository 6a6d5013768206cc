def best_spill(added, cap, sizes, r, w):
    def sent(size):
        history = total = 0
        for more in added:
            history += more
            if history > cap:
                history = cap - size
            total += history
        return total

    return min(sizes, key=sent)
