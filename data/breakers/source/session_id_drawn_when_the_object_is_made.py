import uuid
from pathlib import Path

import anthropic


class CodingSession:
    def __init__(self, project: Path) -> None:
        self.id = uuid.uuid4()
        self.project = project
        self.client = anthropic.Anthropic()
        self.messages: list[dict] = []

    @property
    def system(self) -> list[dict]:
        text = f"You change code in a repository. Session {self.id}."
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]

    def ask(self, text: str):
        self.messages.append({"role": "user", "content": text})
        reply = self.client.messages.create(
            model="claude-opus-4-8", max_tokens=4000, system=self.system, messages=self.messages
        )
        self.messages.append({"role": "assistant", "content": reply.content})
        return reply
