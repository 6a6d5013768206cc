def safe_cut(messages, keep):
    cut = max(len(messages) - keep, 0)
    while cut and not isinstance(messages[cut]["content"], str):
        cut -= 1
    return cut
