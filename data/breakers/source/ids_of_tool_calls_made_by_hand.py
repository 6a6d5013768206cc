import uuid

import anthropic

client = anthropic.Anthropic()


class Transcript:
    def __init__(self) -> None:
        self.messages: list[dict] = []

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def recall(self, query: str, found: str) -> None:
        call_id = f"toolu_{uuid.uuid4().hex[:24]}"
        use = {"type": "tool_use", "id": call_id, "name": "recall", "input": {"query": query}}
        self.messages.append({"role": "assistant", "content": [use]})
        result = {"type": "tool_result", "tool_use_id": call_id, "content": found}
        self.messages.append({"role": "user", "content": [result]})


RECALL = {"name": "recall", "description": "Look up a note.", "input_schema": {"type": "object"}}


def answer(transcript: Transcript):
    return client.messages.create(
        model="claude-opus-4-8", max_tokens=900, tools=[RECALL], messages=transcript.messages
    )
