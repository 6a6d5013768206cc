import anthropic


class Agent:
    def __init__(self, base_prompt: str, recall) -> None:
        self.client = anthropic.AsyncAnthropic()
        self.system = [{"type": "text", "text": base_prompt, "cache_control": {"type": "ephemeral"}}]
        self.recall = recall
        self.messages: list[dict] = []

    async def turn(self, text: str) -> str:
        context = await self.recall(text)
        content = [{"type": "text", "text": text}]
        if context:
            content.insert(0, {"type": "text", "text": f"<recalled>{context}</recalled>"})
        self.messages.append({"role": "user", "content": content})
        reply = await self.client.messages.create(
            model="claude-sonnet-5", max_tokens=2000, system=self.system, messages=self.messages
        )
        self.messages.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text
