def lifetime(pause_s, answer_s, reads):
    gap_s = pause_s + answer_s  # from start to start
    price = {None: 1 + reads}
    price["5m"] = 1.25 + reads * (0.05 if gap_s < 300 else 1.25)
    price["1h"] = 2 + reads * (0.05 if gap_s < 3_600 else 2)
    return min(price, key=price.get)
