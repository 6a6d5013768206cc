import anthropic

client = anthropic.Anthropic()
MANUAL = open("manual.md", encoding="utf-8").read()


def system_for(profile: dict) -> list[dict]:
    blocks = [{"type": "text", "text": MANUAL, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    blocks.append({"type": "text", "text": f"The customer is {profile['name']}, machine {profile['machine']}."})
    return blocks


def advise(profile: dict, question: str) -> str:
    reply = client.messages.create(
        model="claude-sonnet-5",
        max_tokens=900,
        system=system_for(profile),
        messages=[{"role": "user", "content": question}],
    )
    return reply.content[0].text
