import anthropic


class ToolSession:
    def __init__(self, tools: list[dict], execute) -> None:
        self.client = anthropic.Anthropic()
        self.tools = tools
        self.execute = execute
        self.history: list[dict] = []

    def _mark_tail(self) -> None:
        content = self.history[-1]["content"]
        if isinstance(content, str):
            self.history[-1]["content"] = content = [{"type": "text", "text": content}]
        content[-1]["cache_control"] = {"type": "ephemeral"}

    def run(self, task: str) -> None:
        self.history.append({"role": "user", "content": task})
        while True:
            self._mark_tail()
            reply = self.client.messages.create(
                model="claude-sonnet-5", max_tokens=4000, tools=self.tools, messages=self.history
            )
            self.history.append({"role": "assistant", "content": reply.content})
            if reply.stop_reason != "tool_use":
                return
            self.history.append({"role": "user", "content": self.execute(reply.content)})
