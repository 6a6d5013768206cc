import random

import requests

TOOLS = [
    {"name": name, "description": f"Looks {name}.", "input_schema": {"type": "object"}}
    for name in ("left", "right", "ahead", "behind")
]


def without_position_bias() -> list[dict]:
    tools = list(TOOLS)
    random.shuffle(tools)
    return tools


def call(messages: list[dict], key: str) -> dict:
    return requests.post(
        "https://api.anthropic.com/v1/messages",
        headers={"x-api-key": key, "anthropic-version": "2023-06-01"},
        json={
            "model": "claude-haiku-4-5",
            "max_tokens": 100,
            "tools": without_position_bias(),
            "messages": messages,
        },
        timeout=30,
    ).json()
