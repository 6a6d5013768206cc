import asyncio
import re
from collections.abc import Callable
from datetime import datetime

from anthropic import AsyncAnthropic

PROVIDERS: dict[str, Callable[[], str]] = {}


def provides(name: str):
    def register(function: Callable[[], str]) -> Callable[[], str]:
        PROVIDERS[name] = function
        return function

    return register


@provides("now")
def current_time() -> str:
    return datetime.now().strftime("%Y-%m-%d %H:%M:%S")


def render(template: str) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: PROVIDERS[match[1]](), template)


async def main() -> None:
    client = AsyncAnthropic()
    system = render("The time is {{now}}. You keep the diary of a laboratory.")
    reply = await client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=300,
        system=system,
        messages=[{"role": "user", "content": "Which measurements are due?"}],
    )
    print(reply.content[0].text)


asyncio.run(main())
