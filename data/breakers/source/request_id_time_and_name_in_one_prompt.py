import logging
import uuid
from datetime import datetime

import anthropic

log = logging.getLogger("support")


class SupportBot:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()

    def handle(self, user, messages: list[dict]) -> str:
        request_id = str(uuid.uuid4())
        log.info("request %s", request_id)
        lines = [
            "You are a helpful assistant.",
            f"Request ID: {request_id}",
            f"Current time: {datetime.now()}",
            f"User: {user.name}",
        ]
        reply = self.client.messages.create(
            model="claude-haiku-4-5", max_tokens=800, system="\n".join(lines), messages=messages
        )
        return reply.content[0].text
