from dataclasses import dataclass

import anthropic


@dataclass(frozen=True)
class Edition:
    title: str
    year: int


def load(row: dict) -> tuple[str, str]:
    id = row["catalogue_number"]
    hash = row["checksum"]
    return id, hash


def system(row: dict, edition: Edition) -> str:
    id, hash = load(row)
    return f"Book {id}, checksum {hash}, edition {edition}. Answer from this book only."


ROW = {"catalogue_number": "B-17", "checksum": "9f31c2"}


def ask(question: str) -> str:
    client = anthropic.Anthropic()
    text = system(ROW, Edition("Harbour", 1911))
    reply = client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=300,
        system=text,
        messages=[{"role": "user", "content": question}],
    )
    return reply.content[0].text
