import httpx

URL = "https://api.anthropic.com/v1/messages"


def run(http: httpx.Client, messages: list[dict], tools: list[dict], execute) -> list[dict]:
    for _ in range(25):
        body = {"model": "claude-sonnet-5", "max_tokens": 2000, "tools": tools, "messages": messages}
        reply = http.post(URL, json=body).json()
        messages.append({"role": "assistant", "content": reply["content"]})
        if reply["stop_reason"] != "tool_use":
            break
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": execute(block)}
            for block in reply["content"]
            if block["type"] == "tool_use"
        ]
        results[-1].update(cache_control={"type": "ephemeral"})
        messages.append({"role": "user", "content": results})
    return messages
