import tempfile

from anthropic import AsyncAnthropic

SUPPLEMENT = """Files you make belong in {cwd}.
Never write anywhere else.
"""


class SandboxRun:
    def __init__(self, client: AsyncAnthropic) -> None:
        self.client = client
        self.cwd = tempfile.mkdtemp(prefix="copilot-")

    def supplement(self) -> str:
        return SUPPLEMENT.format(cwd=self.cwd)

    async def run(self, base: str, messages: list[dict]):
        return await self.client.messages.create(
            model="claude-opus-4-8",
            max_tokens=8000,
            system=base + "\n\n" + self.supplement(),
            messages=messages,
        )
