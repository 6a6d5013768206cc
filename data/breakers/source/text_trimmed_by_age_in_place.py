import re

from anthropic import AsyncAnthropic

SECTION = re.compile(r"<Notebook>.*?</Notebook>", re.DOTALL)


def trim(content: str, age: int) -> str:
    return SECTION.sub("<Notebook>trimmed</Notebook>", content) if age >= 6 else content


class Completion:
    def __init__(self) -> None:
        self.client = AsyncAnthropic()
        self.messages: list[dict] = []

    def trim_old_messages(self) -> None:
        total = len(self.messages)
        for i in range(total):
            content = self.messages[i]["content"]
            if isinstance(content, str):
                self.messages[i]["content"] = trim(content, total - i - 1)

    async def ask(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        self.trim_old_messages()
        reply = await self.client.messages.create(
            model="claude-opus-4-8", max_tokens=3000, messages=self.messages
        )
        self.messages.append({"role": "assistant", "content": reply.content[0].text})
        return reply.content[0].text
