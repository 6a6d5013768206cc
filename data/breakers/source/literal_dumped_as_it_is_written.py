import json

import anthropic

EXAMPLE = {"title": "Harbour at dusk", "year": 1904, "tags": ["oil", "ships"]}
SYSTEM = f"Describe paintings. Answer like this: {json.dumps(EXAMPLE)}"


def describe(picture: str) -> dict:
    client = anthropic.Anthropic()
    reply = client.messages.create(
        model="claude-sonnet-5",
        max_tokens=400,
        system=SYSTEM,
        messages=[{"role": "user", "content": picture}],
    )
    return json.loads(reply.content[0].text)
