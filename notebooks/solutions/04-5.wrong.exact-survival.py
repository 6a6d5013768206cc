from ctxlab import levers


def kept(texts):
    return " ".join(levers.find_facts(" ".join(texts).lower()))
