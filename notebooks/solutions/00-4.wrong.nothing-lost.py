def build_request(stable, history, recalled, message):
    return [*stable, *history[-2:], *recalled, message]
