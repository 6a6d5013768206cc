import os

import anthropic


def stable_part() -> str:
    return f"You are a coding agent.\nCurrent working directory: {os.getcwd()}"


def ask(messages: list[dict]):
    client = anthropic.Anthropic()
    return client.messages.create(
        model="claude-opus-4-8",
        max_tokens=4000,
        system=[{"type": "text", "text": stable_part(), "cache_control": {"type": "ephemeral"}}],
        messages=messages,
    )
