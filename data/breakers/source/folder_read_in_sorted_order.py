import json
from pathlib import Path

import anthropic


def load_tools(folder: Path) -> list[dict]:
    files = sorted(folder.glob("*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def ask(question: str):
    client = anthropic.Anthropic()
    tools = load_tools(Path("tools"))
    tools[-1]["cache_control"] = {"type": "ephemeral"}
    return client.messages.create(
        model="claude-sonnet-5",
        max_tokens=1024,
        tools=tools,
        messages=[{"role": "user", "content": question}],
    )
