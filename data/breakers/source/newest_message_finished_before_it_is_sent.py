import anthropic


class Chat:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.messages: list[dict] = []

    def say(self, text: str, files: list[str]) -> str | None:
        self.messages.append({"role": "user", "content": text})
        for file in files:
            self.messages[-1]["content"] += f"\n\n<file>{file}</file>"
        try:
            reply = self.client.messages.create(
                model="claude-sonnet-5", max_tokens=1500, messages=self.messages
            )
        except anthropic.APIConnectionError:
            self.messages.pop()
            return None
        self.messages.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text
