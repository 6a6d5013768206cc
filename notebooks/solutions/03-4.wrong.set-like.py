def steady(request):
    return {**request, "tools": sorted(request["tools"], key=lambda tool: tool["name"])}
