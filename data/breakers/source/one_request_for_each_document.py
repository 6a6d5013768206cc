import anthropic

PROMPT = "Translate to {language}. Keep names as they are."


def translate(client: anthropic.Anthropic, document: str, language: str) -> str:
    system = PROMPT.format(language=language)
    reply = client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=4000,
        system=system,
        messages=[{"role": "user", "content": document}],
    )
    return reply.content[0].text


def all_of_them(documents: list[str]) -> dict[str, list[str]]:
    client = anthropic.Anthropic()
    return {
        language: [translate(client, document, language) for document in documents]
        for language in ("French", "Danish", "Greek")
    }
