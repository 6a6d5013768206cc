import anthropic


class Chat:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.messages: list[dict] = []

    def title(self) -> str:
        first = self.messages[:1]
        return first[0]["content"][:40] if first else "untitled"

    def recent_questions(self) -> int:
        recent = self.messages[-10:]
        return sum(message["role"] == "user" for message in recent)

    def say(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        reply = self.client.messages.create(
            model="claude-haiku-4-5", max_tokens=500, messages=self.messages
        )
        self.messages.append({"role": "assistant", "content": reply.content[0].text})
        print(self.title(), self.recent_questions())
        return reply.content[0].text
