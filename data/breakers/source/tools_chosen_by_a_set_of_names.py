import anthropic

REGISTRY: dict[str, dict] = {}


class ToolContext:
    def __init__(self, wanted: list[str], always: list[str]) -> None:
        self.names = {*wanted, *always}

    def definitions(self) -> list[dict]:
        return [REGISTRY[name] for name in self.names if name in REGISTRY]


class VoiceAgent:
    def __init__(self, context: ToolContext) -> None:
        self.context = context
        self.client = anthropic.AsyncAnthropic()

    async def generate(self, messages: list[dict]):
        async with self.client.messages.stream(
            model="claude-haiku-4-5",
            max_tokens=400,
            tools=self.context.definitions(),
            messages=messages,
        ) as stream:
            return await stream.get_final_message()
