def arrange(parts):
    tiers = ["tools", "system", "messages"]
    return sorted(parts, key=lambda part: (tiers.index(part[0]), part[2]))
