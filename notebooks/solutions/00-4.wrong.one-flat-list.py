def build_request(stable, history, recalled, message):
    return [stable, history, recalled, message]
