import anthropic

MAIN = "claude-opus-4-8"
SMALL = "claude-haiku-4-5"

client = anthropic.Anthropic()


def title(text: str) -> str:
    reply = client.messages.create(
        model=SMALL, max_tokens=20, messages=[{"role": "user", "content": f"A title for: {text}"}]
    )
    return reply.content[0].text


def loop() -> None:
    messages: list[dict] = []
    while text := input("> "):
        messages.append({"role": "user", "content": text})
        reply = client.messages.create(model=MAIN, max_tokens=2000, messages=messages)
        messages.append({"role": "assistant", "content": reply.content})
        print(title(text), reply.content[0].text)
