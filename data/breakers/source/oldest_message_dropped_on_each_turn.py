from litellm import acompletion

MAX_MESSAGES = 40


class Session:
    def __init__(self, system: str) -> None:
        self.system = {"role": "system", "content": system}
        self.messages: list[dict] = []

    def get_history(self) -> list[dict]:
        start = max(0, len(self.messages) - MAX_MESSAGES)
        return self.messages[start:]

    async def say(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        answer = await acompletion(
            model="anthropic/claude-haiku-4-5", messages=[self.system, *self.get_history()]
        )
        content = answer.choices[0].message.content
        self.messages.append({"role": "assistant", "content": content})
        return content
