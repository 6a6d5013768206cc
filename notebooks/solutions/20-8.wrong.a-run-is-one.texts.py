from itertools import groupby


def positions(kinds):
    return len(list(groupby(kinds)))
