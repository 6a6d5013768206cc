from __future__ import annotations

from dataclasses import dataclass

from anthropic import AsyncAnthropic


@dataclass
class Worker:
    role: str
    name: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            self.name = f"agent_{id(self)}"

    def system(self) -> str:
        return "You are {0.name}, the team's {0.role}. Sign every message with your name.".format(self)

    async def work(self, client: AsyncAnthropic, task: str) -> str:
        reply = await client.messages.create(
            model="claude-sonnet-5",
            max_tokens=1500,
            system=self.system(),
            messages=[{"role": "user", "content": task}],
        )
        return reply.content[0].text


async def main() -> None:
    client = AsyncAnthropic()
    for role in ("reader", "critic"):
        await Worker(role).work(client, "Look at chapter two.")
