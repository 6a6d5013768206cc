def build_request(stable, history, recalled, message):
    history.extend(recalled)
    return [*stable, *history, message]
