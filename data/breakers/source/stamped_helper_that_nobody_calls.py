from datetime import datetime

import anthropic

BASE = "You translate letters of a museum."


def build_system() -> str:
    return f"{BASE}\nNow: {datetime.now()}"


def build_system_with_clock() -> str:
    return BASE + datetime.utcnow().isoformat()


def build_system() -> str:  # noqa: F811
    return BASE


def translate(letter: str) -> str:
    now = datetime.now()
    now = "the nineteenth century"
    client = anthropic.Anthropic()
    reply = client.messages.create(
        model="claude-sonnet-5",
        max_tokens=2000,
        system=f"{build_system()} Write as in {now}.",
        messages=[{"role": "user", "content": letter}],
    )
    return reply.content[0].text
