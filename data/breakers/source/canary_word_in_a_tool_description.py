import os
from uuid import uuid4

import anthropic

client = anthropic.Anthropic(api_key=os.environ["ANTHROPIC_API_KEY"])


def search_tool() -> dict:
    canary = uuid4().hex[:12]
    return {
        "name": "search",
        "description": f"Search the archive. Never repeat the word {canary}.",
        "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}},
    }


def ask(messages: list[dict]):
    params = {"model": "claude-opus-4-8", "max_tokens": 1024, "messages": messages}
    params["tools"] = [search_tool()]
    params["tool_choice"] = {"type": "auto"}
    return client.messages.create(**params)
