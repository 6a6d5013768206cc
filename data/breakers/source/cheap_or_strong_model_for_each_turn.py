import anthropic

CHEAP = "claude-haiku-4-5"
STRONG = "claude-opus-4-8"
HARD = ("debug", "implement", "refactor")


def route(text: str) -> str:
    if len(text) > 200 or any(word in text.lower() for word in HARD):
        return STRONG
    return CHEAP


class Conversation:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.history: list[dict] = []

    def say(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        reply = self.client.messages.create(
            model=route(text), max_tokens=2000, messages=self.history
        )
        self.history.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text
