def safe_cut(messages, keep):
    cut = max(len(messages) - keep, 0)
    while cut and messages[cut]["role"] != "user":
        cut -= 1
    return cut
