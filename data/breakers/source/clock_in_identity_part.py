import time
from datetime import datetime
from pathlib import Path

from litellm import acompletion


class ContextBuilder:
    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def _identity(self) -> str:
        now = datetime.now().strftime("%Y-%m-%d %H:%M (%A)")
        zone = time.strftime("%Z") or "UTC"
        return f"# Assistant\n\n## Current time\n{now} ({zone})\n\nUse the tools you were given."

    def _bootstrap(self) -> str:
        return (self.workspace / "AGENTS.md").read_text(encoding="utf-8")

    def build_system_prompt(self) -> str:
        parts = [self._identity()]
        parts.append(self._bootstrap())
        return "\n\n---\n\n".join(parts)

    def build_messages(self, history: list[dict], text: str) -> list[dict]:
        return [
            {"role": "system", "content": self.build_system_prompt()},
            *history,
            {"role": "user", "content": text},
        ]


async def reply(builder: ContextBuilder, history: list[dict], text: str) -> str:
    answer = await acompletion(model="anthropic/claude-sonnet-5", messages=builder.build_messages(history, text))
    return answer.choices[0].message.content
