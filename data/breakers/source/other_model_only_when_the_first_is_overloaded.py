import anthropic

MODEL = "claude-opus-4-8"
FALLBACK_MODEL = "claude-sonnet-5"


def create(client: anthropic.Anthropic, messages: list[dict]):
    try:
        return client.messages.create(model=MODEL, max_tokens=2000, messages=messages)
    except anthropic.APIStatusError as error:
        if error.status_code not in (404, 529):
            raise
        return client.messages.create(model=FALLBACK_MODEL, max_tokens=2000, messages=messages)


def loop(messages: list[dict], turns: list[str]) -> None:
    client = anthropic.Anthropic()
    for text in turns:
        messages.append({"role": "user", "content": text})
        reply = create(client, messages)
        messages.append({"role": "assistant", "content": reply.content})
