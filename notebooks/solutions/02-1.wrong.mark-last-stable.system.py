from copy import deepcopy


def marked_request(request):
    request = deepcopy(request)
    request["system"][-1]["cache_control"] = {"type": "ephemeral"}
    return request
