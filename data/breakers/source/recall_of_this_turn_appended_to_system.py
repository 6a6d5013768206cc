import anthropic


class Agent:
    def __init__(self, base_prompt: str, recall) -> None:
        self.client = anthropic.AsyncAnthropic()
        self.base_prompt = base_prompt
        self.recall = recall
        self.messages: list[dict] = []

    async def turn(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        context = await self.recall(text)
        effective_system = self.base_prompt
        if context:
            effective_system = f"{effective_system}\n\n# Recalled\n{context}"
        reply = await self.client.messages.create(
            model="claude-sonnet-5",
            max_tokens=2000,
            system=effective_system,
            messages=self.messages,
        )
        self.messages.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text
