from dataclasses import dataclass, field
from datetime import datetime

from anthropic import Anthropic


@dataclass
class Agent:
    instructions: str
    add_datetime: bool = True
    cache_system_prompt: bool = True
    client: Anthropic = field(default_factory=Anthropic)

    def system_message(self) -> str:
        lines = [self.instructions]
        if self.add_datetime:
            lines.append(f"The current time is {datetime.now()}.")
        return "\n".join(lines)

    def _system_blocks(self) -> list[dict]:
        block = {"type": "text", "text": self.system_message()}
        if self.cache_system_prompt:
            block["cache_control"] = {"type": "ephemeral"}
        return [block]

    def run(self, messages: list[dict]):
        return self.client.messages.create(
            model="claude-sonnet-5",
            max_tokens=1024,
            system=self._system_blocks(),
            messages=messages,
        )
