import anthropic


def loop(messages: list[dict], tools: list[dict], act) -> list[dict]:
    client = anthropic.Anthropic()
    system = {"type": "text", "text": "You use a desktop."}
    while True:
        system["cache_control"] = {"type": "ephemeral"}
        tools[-1]["cache_control"] = {"type": "ephemeral"}
        reply = client.messages.create(
            model="claude-opus-4-8", max_tokens=4096, system=[system], tools=tools, messages=messages
        )
        messages.append({"role": "assistant", "content": reply.content})
        results = act(reply.content)
        if not results:
            return messages
        messages.append({"role": "user", "content": results})
