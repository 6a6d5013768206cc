import json
import random
from pathlib import Path

import requests

EXAMPLES = json.loads(Path("examples.json").read_text(encoding="utf-8"))


def few_shot(count: int = 4) -> str:
    chosen = random.sample(EXAMPLES, count)
    return "\n\n".join(f"Q: {one['question']}\nA: {one['answer']}" for one in chosen)


def build(question: str) -> dict:
    return dict(
        model="claude-haiku-4-5",
        max_tokens=256,
        system="Answer as in the examples.\n\n" + few_shot(),
        messages=[{"role": "user", "content": question}],
    )


def ask(question: str, key: str) -> str:
    response = requests.post(
        "https://api.anthropic.com/v1/messages",
        headers={"x-api-key": key, "anthropic-version": "2023-06-01"},
        json=build(question),
        timeout=60,
    )
    return response.json()["content"][0]["text"]
