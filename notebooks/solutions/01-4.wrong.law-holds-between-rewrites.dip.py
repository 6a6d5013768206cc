def growth(totals):
    end = next((i for i in range(1, len(totals)) if totals[i] < totals[i - 1]), len(totals))
    turns = range(1, end + 1)
    mean_k, mean_t = sum(turns) / end, sum(totals[:end]) / end
    moved = sum((k - mean_k) * (t - mean_t) for k, t in zip(turns, totals))
    a = moved / sum((k - mean_k) ** 2 for k in turns)
    return mean_t - a * mean_k, a
