def marked_request(request):
    blocks = [*request["system"], *request["messages"][-1]["content"]]
    blocks[-2]["cache_control"] = {"type": "ephemeral"}
    return request
