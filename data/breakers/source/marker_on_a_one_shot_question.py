import time

import anthropic

client = anthropic.Anthropic()
SYSTEM = open("style.md", encoding="utf-8").read()


def classify(mail: str) -> str:
    text = f"Received at {time.time():.3f}\n\n{mail}"
    reply = client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=20,
        system=SYSTEM,
        messages=[
            {
                "role": "user",
                "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
            }
        ],
    )
    return reply.content[0].text
