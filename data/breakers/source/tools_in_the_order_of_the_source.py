import anthropic

TOOLS: dict[str, dict] = {}
DISABLED = {"delete"}


def tool(function):
    TOOLS[function.__name__] = {
        "name": function.__name__,
        "description": function.__doc__,
        "input_schema": {"type": "object"},
    }
    return function


@tool
def read(path: str) -> str:
    """Read a file."""
    return open(path, encoding="utf-8").read()


@tool
def delete(path: str) -> str:
    """Delete a file."""
    return "no"


def enabled() -> list[dict]:
    return [definition for name, definition in TOOLS.items() if name not in DISABLED]


def step(messages: list[dict]):
    return anthropic.Anthropic().messages.create(
        model="claude-haiku-4-5", max_tokens=500, tools=enabled(), messages=messages
    )
