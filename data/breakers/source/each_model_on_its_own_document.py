import anthropic

MODELS = ("claude-haiku-4-5", "claude-sonnet-5", "claude-opus-4-8")


def compare(document: str) -> dict[str, str]:
    client = anthropic.Anthropic()
    answers = {}
    for model in MODELS:
        reply = client.messages.create(
            model=model,
            max_tokens=500,
            system="Summarise.",
            messages=[{"role": "user", "content": document}],
        )
        answers[model] = reply.content[0].text
    return answers
