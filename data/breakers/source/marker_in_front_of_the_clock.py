from datetime import datetime

import anthropic


class Provider:
    def __init__(self, persona: str, rules: str) -> None:
        self.persona = persona
        self.rules = rules
        self.client = anthropic.AsyncAnthropic()

    def static_blocks(self) -> list[dict]:
        blocks = [{"type": "text", "text": self.persona}, {"type": "text", "text": self.rules}]
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
        return blocks

    def reminder(self) -> dict:
        return {"type": "text", "text": f"Current datetime: {datetime.now():%Y-%m-%d %H:%M:%S}"}

    async def chat(self, messages: list[dict]) -> str:
        system = [*self.static_blocks(), self.reminder()]
        reply = await self.client.messages.create(
            model="claude-sonnet-5", max_tokens=1500, system=system, messages=messages
        )
        return reply.content[0].text
