import anthropic

KEEP = 3
LIMIT = 400


def shorten_old_results(messages: list[dict]) -> None:
    results = [
        block
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
    for block in results[:-KEEP]:
        if len(block["content"]) > LIMIT:
            block["content"] = block["content"][:LIMIT] + " [shortened]"


def agent(messages: list[dict], tools: list[dict], execute) -> None:
    client = anthropic.Anthropic()
    while True:
        shorten_old_results(messages)
        reply = client.messages.create(
            model="claude-sonnet-5", max_tokens=2000, tools=tools, messages=messages
        )
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason != "tool_use":
            return
        messages.append({"role": "user", "content": execute(reply.content)})
