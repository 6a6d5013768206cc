import sqlite3

import anthropic


class Memory:
    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path)

    def search(self, query: str) -> list[str]:
        rows = self.db.execute("SELECT content FROM memory WHERE content LIKE ?", (f"%{query}%",))
        return [content for (content,) in rows]


def build_context(memory: Memory, task: str) -> str:
    return "Known:\n" + "\n".join(memory.search(task))


def run(memory: Memory, task: str, messages: list[dict]):
    client = anthropic.Anthropic()
    return client.messages.create(
        model="claude-sonnet-5",
        max_tokens=1500,
        system=build_context(memory, task),
        messages=messages,
    )
