def lifetime(pause_s, answer_s, reads):
    gap_s = pause_s + answer_s
    return "5m" if gap_s < 300 else "1h" if gap_s < 3_600 else None
