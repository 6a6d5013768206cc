def growth(totals):
    end = next((i for i in range(1, len(totals)) if totals[i] < 0.9 * totals[i - 1]), len(totals))
    a = (totals[end - 1] - totals[0]) / (end - 1)
    return totals[0] - a, a
