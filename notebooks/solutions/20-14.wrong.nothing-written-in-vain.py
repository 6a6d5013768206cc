def plan(conversation):
    return [[1, len(request) - 1] for request in conversation]
