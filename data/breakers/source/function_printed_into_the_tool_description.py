from collections.abc import Callable

import anthropic


def lookup(word: str) -> str:
    """Look up a word in the dialect dictionary."""
    return word.upper()


def to_tool(function: Callable[[str], str]) -> dict:
    return {
        "name": function.__name__,
        "description": "Calls " + str(function),
        "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    }


def ask(text: str):
    client = anthropic.Anthropic()
    tools = [to_tool(lookup)]
    return client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=300,
        tools=tools,
        messages=[{"role": "user", "content": text}],
    )
