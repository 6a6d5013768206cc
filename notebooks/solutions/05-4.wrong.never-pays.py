import math


def turns_to_pay(history, summary, fixed, read):
    saved = read * (history - fixed - summary)
    write = 1.25 if read < 1 else 1
    once = read * history + 5 * summary + (write - read) * summary
    return math.ceil(once / saved) if saved else math.inf
