import anthropic

SYSTEM = [{"type": "text", "text": "You work through a list.", "cache_control": {"type": "ephemeral"}}]


class Runner:
    def __init__(self, limit: int) -> None:
        self.client = anthropic.Anthropic()
        self.limit = limit
        self.messages: list[dict] = []

    def warning(self, iteration: int) -> str | None:
        left = self.limit - iteration
        return f"[BUDGET: {left} iterations left.]" if left < self.limit * 0.3 else None

    def call(self, iteration: int):
        api_messages = list(self.messages)
        if note := self.warning(iteration):
            api_messages.append({"role": "user", "content": note})
        return self.client.messages.create(
            model="claude-opus-4-8", max_tokens=2000, system=SYSTEM, messages=api_messages
        )

    def run(self, task: str, execute) -> None:
        self.messages.append({"role": "user", "content": task})
        for iteration in range(self.limit):
            reply = self.call(iteration)
            self.messages.append({"role": "assistant", "content": reply.content})
            if reply.stop_reason != "tool_use":
                return
            self.messages.append({"role": "user", "content": execute(reply.content)})
