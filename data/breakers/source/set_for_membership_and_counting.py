import anthropic

STOP = {"the", "a", "of"}


def keywords(words: list[str]) -> list[str]:
    seen: set[str] = set()
    kept = []
    for word in words:
        if word in STOP or word in seen:
            continue
        seen.add(word)
        kept.append(word)
    return kept


def system(words: list[str]) -> str:
    kept = keywords(words)
    return f"{len(set(kept))} keywords: {', '.join(kept)}. At most {max({3, 5, len(kept)})} are used."


def tag(words: list[str], text: str) -> str:
    client = anthropic.Anthropic()
    reply = client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=100,
        system=system(words),
        messages=[{"role": "user", "content": text}],
    )
    return reply.content[0].text
