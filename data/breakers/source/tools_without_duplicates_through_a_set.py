import anthropic

ESSENTIAL = ["read", "write", "search"]
BUILD = ["compile", "search", "test"]


def definition(name: str) -> dict:
    return {"name": name, "description": f"The {name} tool.", "input_schema": {"type": "object"}}


class Personality:
    def __init__(self, extra: list[str]) -> None:
        self.tools = list(set(ESSENTIAL + BUILD + extra))

    def params(self) -> list[dict]:
        return [definition(name) for name in self.tools]


def step(personality: Personality, messages: list[dict]):
    return anthropic.Anthropic().messages.create(
        model="claude-opus-4-8", max_tokens=2000, tools=personality.params(), messages=messages
    )
