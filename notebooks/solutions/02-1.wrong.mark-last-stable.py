from copy import deepcopy


def marked_request(request):
    request = deepcopy(request)
    request["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return request
