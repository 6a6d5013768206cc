from pathlib import Path

import anthropic


def loop(root: Path, turns: list[str]) -> None:
    client = anthropic.Anthropic()
    system = "You keep a ship's log."
    rules = root / "RULES.md"
    if rules.exists():
        system += "\n\n" + rules.read_text(encoding="utf-8")
    for name in ("crew", "cargo"):
        system += f"\n{name}: see the {name} list."
    messages: list[dict] = []
    for text in turns:
        messages.append({"role": "user", "content": text})
        reply = client.messages.create(
            model="claude-haiku-4-5", max_tokens=500, system=system, messages=messages
        )
        messages.append({"role": "assistant", "content": reply.content})
