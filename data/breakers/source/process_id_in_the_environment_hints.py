import os
import platform

import anthropic


def environment_hints() -> str:
    hints = [f"Host: {platform.system()} ({platform.release()})"]
    hints.append(f"Agent process: {os.getpid()}")
    return "\n".join(hints)


class ShellAgent:
    system_prefix = "You operate a shell.\n"

    def __init__(self) -> None:
        self.client = anthropic.Anthropic()

    def request(self, messages: list[dict]) -> dict:
        return {
            "model": "claude-sonnet-5",
            "max_tokens": 2048,
            "system": self.system_prefix + environment_hints(),
            "messages": messages,
        }

    def step(self, messages: list[dict]):
        return self.client.messages.create(**self.request(messages))
