import subprocess
import tempfile

import anthropic

SUPPLEMENT = "Files you make belong in /tmp/copilot-<session-id>. The runner maps it for you."


class SandboxRun:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()
        self.cwd = tempfile.mkdtemp(prefix="copilot-")

    def execute(self, command: str) -> str:
        real = command.replace("/tmp/copilot-<session-id>", self.cwd)
        done = subprocess.run(real, shell=True, cwd=self.cwd, capture_output=True, text=True)
        return done.stdout.replace(self.cwd, "/tmp/copilot-<session-id>")

    def ask(self, messages: list[dict]):
        return self.client.messages.create(
            model="claude-opus-4-8", max_tokens=8000, system=SUPPLEMENT, messages=messages
        )
