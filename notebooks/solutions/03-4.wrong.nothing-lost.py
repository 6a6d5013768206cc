def steady(request):
    by_kind = {tool["input_schema"]["type"]: tool for tool in request["tools"]}
    return {**request, "tools": list(by_kind.values())}
