import copy

import anthropic


class EphemeralCache:
    def apply_messages(self, wire: list[dict]) -> list[dict]:
        marked = copy.deepcopy(wire)
        anchors = [m for m in marked if m["role"] == "user" and m["content"]][-2:]
        for message in anchors:
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return marked


class Harness:
    def __init__(self, policy: EphemeralCache) -> None:
        self.client = anthropic.Anthropic()
        self.policy = policy
        self.messages: list[dict] = []

    def turn(self, text: str) -> str:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        reply = self.client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=600,
            messages=self.policy.apply_messages(self.messages),
        )
        answer = [{"type": "text", "text": reply.content[0].text}]
        self.messages.append({"role": "assistant", "content": answer})
        return reply.content[0].text
