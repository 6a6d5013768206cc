from datetime import datetime, timezone
from typing import Any

import anthropic

FORMAT = "%A, %d %B %Y %H:%M:%S %Z"


class PromptContext:
    """Values a bot's author may use in the prompt."""

    def __init__(self, source_material: str) -> None:
        self.source_material = source_material

    @property
    def factories(self) -> dict[str, Any]:
        return {"source_material": self.get_source_material, "current_datetime": self.get_current_datetime}

    def get_source_material(self) -> str:
        return self.source_material

    def get_current_datetime(self) -> str:
        return datetime.now(timezone.utc).strftime(FORMAT)

    def get_context(self) -> dict[str, str]:
        return {name: factory() for name, factory in self.factories.items()}


PROMPT = "Help the patient with what the leaflet says.\n\n{source_material}\n\nNow: {current_datetime}"


def answer(client: anthropic.Anthropic, context: PromptContext, history: list[dict]) -> str:
    prompt = PROMPT.format(**context.get_context())
    message = client.messages.create(
        model="claude-haiku-4-5", max_tokens=600, system=prompt, messages=history
    )
    return "".join(block.text for block in message.content if block.type == "text")
