def safe_cut(messages, keep):
    return max(len(messages) - keep, 0)
