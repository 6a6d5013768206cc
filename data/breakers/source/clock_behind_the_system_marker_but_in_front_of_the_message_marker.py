import datetime as dt

import anthropic

client = anthropic.Anthropic()
HANDBOOK = open("handbook.md", encoding="utf-8").read()


def system_blocks() -> list[dict]:
    return [
        {"type": "text", "text": HANDBOOK, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "It is " + dt.datetime.now().isoformat(timespec="seconds")},
    ]


def turn(history: list[dict], text: str) -> str:
    newest = {
        "role": "user",
        "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
    }
    reply = client.messages.create(
        model="claude-sonnet-5",
        max_tokens=1000,
        system=system_blocks(),
        messages=history + [newest],
    )
    return reply.content[0].text
