import hashlib

import anthropic

SYSTEM = "You explain tax forms in plain language."


class Service:
    def __init__(self) -> None:
        self.client = anthropic.Anthropic()

    def ask(self, user, messages: list[dict]) -> str:
        limit = 4000 if user.plan == "pro" else 800
        pseudonym = hashlib.sha256(user.email.encode("utf-8")).hexdigest()
        reply = self.client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=limit,
            system=SYSTEM,
            messages=messages,
            metadata={"user_id": pseudonym},
        )
        print(f"answered {user.name}")
        return reply.content[0].text
