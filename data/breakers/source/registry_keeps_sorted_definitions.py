import anthropic


class ToolRegistry:
    def __init__(self) -> None:
        self._tools: dict[str, dict] = {}
        self._definitions: list[dict] | None = None

    def register(self, tool: dict) -> None:
        self._tools[tool["name"]] = tool
        self._definitions = None

    def unregister(self, name: str) -> None:
        self._tools.pop(name, None)
        self._definitions = None

    def get_definitions(self) -> list[dict]:
        if self._definitions is None:
            self._definitions = sorted(self._tools.values(), key=lambda tool: tool["name"])
        return self._definitions


class Agent:
    def __init__(self, registry: ToolRegistry) -> None:
        self.registry = registry
        self.client = anthropic.Anthropic()

    def step(self, messages: list[dict]):
        return self.client.messages.create(
            model="claude-sonnet-5",
            max_tokens=1024,
            tools=self.registry.get_definitions(),
            messages=messages,
        )
