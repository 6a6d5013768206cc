import logging
import os
import socket
from pathlib import Path

import anthropic

ROOT = Path("docs")
logging.basicConfig(filename=f"agent-{os.getpid()}.log")


def lock() -> Path:
    path = Path(f".lock-{socket.gethostname()}-{os.getpid()}")
    path.touch()
    return path


def ask(question: str) -> str:
    held = lock()
    try:
        client = anthropic.Anthropic()
        reply = client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=600,
            system=f"You answer from the files under {ROOT}.",
            messages=[{"role": "user", "content": question}],
        )
        return reply.content[0].text
    finally:
        held.unlink()
