import anthropic

UNITS = {"metre": "m", "second": "s", "kelvin": "K"}


def unique(words: list[str]) -> list[str]:
    return list(dict.fromkeys(words))


def system() -> str:
    names = ", ".join(UNITS.keys())
    signs = " ".join(f"{name}={sign}" for name, sign in UNITS.items())
    return f"Units: {names}. Signs: {signs}. Topics: {' '.join(unique(['heat', 'light', 'heat']))}"


def convert(text: str) -> str:
    client = anthropic.Anthropic()
    reply = client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=100,
        system=[{"type": "text", "text": system(), "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": text}],
    )
    return reply.content[0].text
