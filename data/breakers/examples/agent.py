"""An agent of a few lines, with a clock where it costs the most."""

from datetime import datetime

import anthropic

RULES = "You answer questions about our handbook. Name the page.\n" * 200


def system_prompt() -> str:
    return f"It is {datetime.now():%Y-%m-%d %H:%M:%S}.\n{RULES}"


def answer(client: anthropic.Anthropic, history: list[dict], question: str) -> str:
    history.append({"role": "user", "content": question})
    reply = client.messages.create(
        model="claude-opus-5-5",
        max_tokens=500,
        system=[{"type": "text", "text": system_prompt(), "cache_control": {"type": "ephemeral"}}],
        messages=history,
    )
    history.append({"role": "assistant", "content": reply.content})
    return reply.content[0].text
