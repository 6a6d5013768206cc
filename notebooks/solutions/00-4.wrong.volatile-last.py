def build_request(stable, history, recalled, message):
    return [*stable, *recalled, *history, message]
