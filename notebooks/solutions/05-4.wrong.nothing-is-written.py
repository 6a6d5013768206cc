import math


def turns_to_pay(history, summary, fixed, read):
    saved = read * (history - fixed - summary)
    if saved <= 0:
        return None
    write = 1.25
    once = read * history + 5 * summary + (write - read) * summary
    return math.ceil(once / saved)
