import random
import uuid

import anthropic

PROJECT = "harbour-archive"
CORPUS_ID = uuid.uuid5(uuid.NAMESPACE_DNS, PROJECT)
POOL = ["flood of 1872", "the old customs house", "a ship's register", "the pilot station"]


def examples() -> list[str]:
    return random.Random(20).sample(POOL, 2)


def system() -> str:
    return f"Corpus {CORPUS_ID}. Typical questions: " + "; ".join(examples())


def ask(question: str) -> str:
    client = anthropic.Anthropic()
    reply = client.messages.create(
        model="claude-sonnet-5",
        max_tokens=700,
        system=[{"type": "text", "text": system(), "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": question}],
    )
    return reply.content[0].text
