import anthropic


def classify(text: str) -> str:
    return "claude-opus-4-8" if "prove" in text else "claude-haiku-4-5"


class Conversation:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.history: list[dict] = []
        self.model: str | None = None

    def say(self, text: str) -> str:
        if self.model is None:
            self.model = classify(text)
        self.history.append({"role": "user", "content": text})
        reply = self.client.messages.create(model=self.model, max_tokens=2000, messages=self.history)
        self.history.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text
