import getpass
from pathlib import Path

import anthropic

PRESET = "You are a coding agent. Read before you write."


def environment() -> str:
    return "\n".join(
        [
            "# Environment",
            f"User: {getpass.getuser()}",
            f"Memory lives in {Path.home() / '.agent' / 'memory'}",
        ]
    )


def start(task: str):
    client = anthropic.Anthropic()
    return client.messages.create(
        model="claude-opus-4-8",
        max_tokens=4096,
        system=[
            {"type": "text", "text": environment()},
            {"type": "text", "text": PRESET, "cache_control": {"type": "ephemeral"}},
        ],
        messages=[{"role": "user", "content": task}],
    )
