def markers(step):
    return [1, 2 + 2 * (step // 10 * 10)]
