import asyncio
import random

from anthropic import AsyncAnthropic, RateLimitError

SYSTEM = "You write abstracts of at most eighty words."


async def abstract(client: AsyncAnthropic, article: str) -> str:
    for attempt in range(5):
        try:
            reply = await client.messages.create(
                model="claude-haiku-4-5",
                max_tokens=200,
                system=SYSTEM,
                messages=[{"role": "user", "content": article}],
            )
            return reply.content[0].text
        except RateLimitError:
            delay = random.choice([0.5, 1.0, 1.5]) * 2**attempt + random.random()
            await asyncio.sleep(delay)
    raise TimeoutError("no answer after five attempts")
