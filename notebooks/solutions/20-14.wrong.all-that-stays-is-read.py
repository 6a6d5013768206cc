def plan(conversation):
    return [[sum(again for _, _, again in request) - 1] for request in conversation]
