def lifetime(pause_s, answer_s, reads):
    return "5m" if reads else None
