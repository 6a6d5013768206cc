from datetime import datetime

import anthropic


class Provider:
    def __init__(self, persona: str, rules: str) -> None:
        self.persona = persona
        self.rules = rules
        self.client = anthropic.AsyncAnthropic()

    def system_blocks(self) -> list[dict]:
        blocks = [{"type": "text", "text": self.persona}, {"type": "text", "text": self.rules}]
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        blocks.append({"type": "text", "text": f"Current datetime: {now}"})
        return blocks

    def apply_cache_breakpoints(self, blocks: list[dict]) -> list[dict]:
        if blocks:
            blocks[-1]["cache_control"] = {"type": "ephemeral"}
        return blocks

    async def chat(self, messages: list[dict]) -> str:
        system = self.apply_cache_breakpoints(self.system_blocks())
        reply = await self.client.messages.create(
            model="claude-sonnet-5", max_tokens=1500, system=system, messages=messages
        )
        return reply.content[0].text
