def kept(texts):
    return "\n".join(texts)
