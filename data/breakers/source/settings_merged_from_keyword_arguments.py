import json

from anthropic import Anthropic

DEFAULTS = {"tone": "neutral", "length": "short"}


def system(**settings: str) -> str:
    merged = {**settings, **DEFAULTS}
    return "Write product texts. Settings: " + json.dumps(merged)


def write(product: str, **settings: str) -> str:
    reply = Anthropic().messages.create(
        model="claude-haiku-4-5",
        max_tokens=300,
        system=system(**settings),
        messages=[{"role": "user", "content": product}],
    )
    return reply.content[0].text
