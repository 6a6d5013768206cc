from datetime import datetime
from string import Template

import anthropic

SYSTEM = Template("Date: $date. You are a research agent. Cite a source for every claim.\n$guide")


def runtime_date() -> str:
    return datetime.now().strftime("%Y-%m-%d")


class Researcher:
    def __init__(self, guide: str) -> None:
        self.client = anthropic.Anthropic()
        self.guide = guide

    def ask(self, messages: list[dict]) -> str:
        system = SYSTEM.substitute(date=runtime_date(), guide=self.guide)
        reply = self.client.messages.create(
            model="claude-opus-4-8", max_tokens=2048, system=system, messages=messages
        )
        return reply.content[0].text
