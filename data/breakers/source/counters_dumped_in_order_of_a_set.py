import json
from collections import defaultdict

import httpx


def index(pages: list[dict]) -> dict[str, list[str]]:
    words: dict[str, list[str]] = defaultdict(list)
    for page in pages:
        for word in set(page["text"].lower().split()):
            words[word].append(page["id"])
    return words


def body(pages: list[dict], question: str) -> dict:
    table = json.dumps(index(pages))
    return {
        "model": "claude-sonnet-5",
        "max_tokens": 1000,
        "system": [
            {"type": "text", "text": "Index of the book:"},
            {"type": "text", "text": table, "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [{"role": "user", "content": question}],
    }


async def ask(http: httpx.AsyncClient, pages: list[dict], question: str) -> str:
    response = await http.post("/v1/messages", json=body(pages, question))
    return response.json()["content"][0]["text"]
