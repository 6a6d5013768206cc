def kept(texts):
    return " ".join(" ".join(texts).split()[-400:])
