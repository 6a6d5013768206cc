from datetime import datetime

import anthropic

SYSTEM = "You plan meals."


class Conversation:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.history: list[dict] = []

    def marked(self) -> list[dict]:
        *earlier, last = self.history
        text = {**last["content"][0], "cache_control": {"type": "ephemeral"}}
        return [*earlier, {**last, "content": [text]}]

    def say(self, text: str) -> str:
        stamped = f"[{datetime.now():%H:%M:%S}] {text}"
        self.history.append({"role": "user", "content": [{"type": "text", "text": stamped}]})
        reply = self.client.messages.create(
            model="claude-haiku-4-5", max_tokens=700, system=SYSTEM, messages=self.marked()
        )
        answer = [{"type": "text", "text": reply.content[0].text}]
        self.history.append({"role": "assistant", "content": answer})
        return reply.content[0].text
