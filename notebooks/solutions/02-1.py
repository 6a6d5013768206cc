from copy import deepcopy


def marked_request(request):
    request = deepcopy(request)
    blocks = [*request["system"], *request["messages"][-1]["content"]]
    blocks[-2]["cache_control"] = {"type": "ephemeral"}
    return request
