from dataclasses import dataclass
from datetime import datetime

import anthropic


@dataclass(frozen=True)
class Parts:
    stable: str
    volatile: str


class PromptBuilder:
    def __init__(self, rules: str, skills: str) -> None:
        self.rules = rules
        self.skills = skills

    def build_parts(self, memory: str) -> Parts:
        stable = f"{self.rules}\n\n{self.skills}"
        volatile = f"\n\nCurrent date and time: {datetime.now():%Y-%m-%d %H:%M:%S}\n{memory}"
        return Parts(stable, volatile)


def system_param(parts: Parts) -> list[dict]:
    return [
        {"type": "text", "text": parts.stable, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"type": "text", "text": parts.volatile},
    ]


def plan(client: anthropic.Anthropic, builder: PromptBuilder, memory: str, messages: list[dict]):
    with client.messages.stream(
        model="claude-opus-4-8",
        max_tokens=4096,
        system=system_param(builder.build_parts(memory)),
        messages=messages,
    ) as stream:
        return stream.get_final_message()
