def steady(request):
    tools = []
    for tool in sorted(request["tools"], key=lambda tool: tool["name"]):
        schema = tool["input_schema"]
        schema = {**schema, "required": sorted(schema["required"])}
        tools.append({**tool, "input_schema": schema})
    return {**request, "tools": tools}
