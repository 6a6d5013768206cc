import json

import anthropic

FIELDS = {"author", "place", "year", "shelf"}


def schema() -> dict:
    return {field: {"type": "string"} for field in FIELDS}


SYSTEM = "Return one JSON object of this form:\n" + json.dumps(schema(), indent=2)


def catalogue(page: str) -> dict:
    client = anthropic.Anthropic()
    reply = client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=400,
        system=[{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": page}],
    )
    return json.loads(reply.content[0].text)
