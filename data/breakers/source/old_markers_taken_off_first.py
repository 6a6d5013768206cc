import anthropic


def strip_markers(messages: list[dict]) -> None:
    for message in messages:
        if isinstance(message["content"], list):
            for block in message["content"]:
                if isinstance(block, dict):
                    block.pop("cache_control", None)


class ToolSession:
    def __init__(self, tools: list[dict], execute) -> None:
        self.client = anthropic.Anthropic()
        self.tools = tools
        self.execute = execute
        self.history: list[dict] = []

    def run(self, task: str) -> None:
        self.history.append({"role": "user", "content": [{"type": "text", "text": task}]})
        while True:
            strip_markers(self.history)
            self.history[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
            reply = self.client.messages.create(
                model="claude-sonnet-5", max_tokens=4000, tools=self.tools, messages=self.history
            )
            self.history.append({"role": "assistant", "content": reply.content})
            if reply.stop_reason != "tool_use":
                return
            self.history.append({"role": "user", "content": self.execute(reply.content)})
