import re

from litellm import acompletion

BLOCK = re.compile(r"\n*<memory_context>.*?</memory_context>", re.DOTALL)


class Chat:
    def __init__(self, system: str, memory) -> None:
        self.memory = memory
        self.messages = [{"role": "system", "content": system}]

    def inject(self, recent: str) -> None:
        found = self.memory.search(recent)
        kept = BLOCK.sub("", self.messages[0]["content"])
        self.messages[0]["content"] = f"{kept}\n<memory_context>{found}</memory_context>"

    async def send(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        self.inject(text)
        answer = await acompletion(model="anthropic/claude-sonnet-5", messages=self.messages)
        content = answer.choices[0].message.content
        self.messages.append({"role": "assistant", "content": content})
        return content
