import anthropic


def keep_newest_pictures(messages: list[dict], keep: int) -> None:
    results = [
        item
        for message in messages
        if isinstance(message["content"], list)
        for item in message["content"]
        if isinstance(item, dict) and item.get("type") == "tool_result"
    ]
    pictures = sum(part.get("type") == "image" for result in results for part in result["content"])
    drop = pictures - keep
    for result in results:
        kept = []
        for part in result["content"]:
            if part.get("type") == "image" and drop > 0:
                drop -= 1
                continue
            kept.append(part)
        result["content"] = kept


async def sampling_loop(messages: list[dict], tools: list[dict], act) -> list[dict]:
    client = anthropic.AsyncAnthropic()
    while True:
        keep_newest_pictures(messages, keep=3)
        reply = await client.beta.messages.create(
            model="claude-opus-4-8",
            max_tokens=4096,
            tools=tools,
            messages=messages,
            betas=["computer-use-2025-11-24"],
        )
        messages.append({"role": "assistant", "content": reply.content})
        results = await act(reply.content)
        if not results:
            return messages
        messages.append({"role": "user", "content": results})
