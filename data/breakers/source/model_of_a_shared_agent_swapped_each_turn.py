from litellm import acompletion


class Gateway:
    def __init__(self, primary: str, light: str) -> None:
        self.primary = primary
        self.light = light
        self.llm = primary
        self.chat_history: list[dict] = []

    async def run_turns(self, turns: list[str]) -> None:
        for number, text in enumerate(turns):
            self.llm = self.light if number % 2 else self.primary
            self.chat_history.append({"role": "user", "content": text})
            answer = await acompletion(model=self.llm, messages=self.chat_history)
            content = answer.choices[0].message.content
            self.chat_history.append({"role": "assistant", "content": content})


async def main() -> None:
    gateway = Gateway("anthropic/claude-opus-4-8", "anthropic/claude-haiku-4-5")
    await gateway.run_turns(["What is due today?", "Move the second one.", "Thanks."])
