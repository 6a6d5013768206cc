def arrange(parts):
    return sorted(parts, key=lambda part: part[2])
