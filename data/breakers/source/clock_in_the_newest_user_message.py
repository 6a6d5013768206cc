from datetime import datetime

from anthropic import AsyncAnthropic

SYSTEM = "You drive a browser. Answer with one action."


class StepLoop:
    def __init__(self) -> None:
        self.client = AsyncAnthropic()
        self.messages: list[dict] = []

    def add_state(self, url: str, elements: str, step: int) -> None:
        now = datetime.now().strftime("%Y-%m-%d %H:%M")
        text = f"Step {step}\nCurrent url: {url}\nCurrent date and time: {now}\n{elements}"
        self.messages.append({"role": "user", "content": text})

    async def step(self, url: str, elements: str, number: int) -> str:
        self.add_state(url, elements, number)
        reply = await self.client.messages.create(
            model="claude-sonnet-5",
            max_tokens=400,
            system=[{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            messages=self.messages,
        )
        self.messages.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text
