import anthropic

STATUS = {404, 410, 503}


def rules() -> str:
    codes = ", ".join(str(code) for code in STATUS)
    return f"Ignore answers with status {codes}."


def summarise(log: str) -> str:
    client = anthropic.Anthropic()
    reply = client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=500,
        system=rules(),
        messages=[{"role": "user", "content": log}],
    )
    return reply.content[0].text
