import anthropic


def with_note(messages: list[dict], note: str | None) -> list[dict]:
    if note is None:
        return messages
    last = messages[-1]
    return [*messages[:-1], {**last, "content": [*last["content"], {"type": "text", "text": note}]}]


class Runner:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.messages: list[dict] = []

    def step(self, note: str | None):
        reply = self.client.messages.create(
            model="claude-opus-4-8",
            max_tokens=1000,
            system=[{"type": "text", "text": "Be thrifty.", "cache_control": {"type": "ephemeral"}}],
            messages=with_note(self.messages, note),
        )
        self.messages.append({"role": "assistant", "content": reply.content})
        return reply
