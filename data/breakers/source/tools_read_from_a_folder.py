import json
import os

import anthropic

FOLDER = "tools"


def load_tools() -> list[dict]:
    tools = []
    for name in os.listdir(FOLDER):
        if name.endswith(".json"):
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                tools.append(json.load(file))
    return tools


def ask(question: str):
    client = anthropic.Anthropic()
    return client.messages.create(
        model="claude-sonnet-5",
        max_tokens=1024,
        tools=load_tools(),
        messages=[{"role": "user", "content": question}],
    )
