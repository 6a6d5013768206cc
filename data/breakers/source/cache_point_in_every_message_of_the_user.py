from anthropic import AsyncAnthropic

EPHEMERAL = {"type": "ephemeral"}


def user_message(text: str) -> dict:
    return {"role": "user", "content": [{"type": "text", "text": text, "cache_control": EPHEMERAL}]}


async def interview(client: AsyncAnthropic, questions: list[str]) -> list[dict]:
    messages: list[dict] = []
    for question in questions:
        messages.append(user_message(question))
        async with client.messages.stream(
            model="claude-opus-4-8", max_tokens=800, messages=messages
        ) as stream:
            final = await stream.get_final_message()
        messages.append({"role": "assistant", "content": final.content})
    return messages
