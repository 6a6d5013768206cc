from datetime import datetime

from anthropic import AsyncAnthropic

STARTED = datetime.now().strftime("%d.%m.%Y %H:%M:%S")
SYSTEM = f"Service since {STARTED}. You sort incoming mail into folders."

client = AsyncAnthropic()


async def sort_mail(mail: str) -> str:
    reply = await client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=50,
        system=[{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": mail}],
    )
    return reply.content[0].text
