from copy import deepcopy


def marked_request(request):
    request = deepcopy(request)
    for block in [*request["system"], *request["messages"][-1]["content"]]:
        block["cache_control"] = {"type": "ephemeral"}
    return request
