import logging
import uuid

import anthropic

log = logging.getLogger(__name__)
SYSTEM = "You keep a garden calendar."


class Session:
    def __init__(self, client: anthropic.Anthropic) -> None:
        self.client = client
        self.session_id = str(uuid.uuid4())
        self.messages: list[dict] = []

    def note(self) -> str:
        return f"[session {self.session_id}]"

    def ask(self, text: str) -> str:
        self.messages.append({"role": "user", "content": f"{self.note()} {text}"})
        request_id = uuid.uuid4().hex
        log.debug("sending %s", request_id)
        reply = self.client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=500,
            system=SYSTEM,
            messages=self.messages,
            metadata={"user_id": self.session_id},
            extra_headers={"x-request-id": request_id, "idempotency-key": str(uuid.uuid4())},
        )
        self.messages.append({"role": "assistant", "content": reply.content})
        return reply.content[0].text
