import re


def kept(texts):
    return " ".join(re.findall(r"\S*[/.]\S*", " ".join(texts)))
