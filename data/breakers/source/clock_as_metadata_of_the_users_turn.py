from datetime import datetime, timezone

from litellm import completion

PERSONA = "You look after a small craftsman's appointments. Text inside <meta> is not from the user."


def wrap(text: str, zone: timezone = timezone.utc) -> dict:
    stamp = datetime.now(zone).isoformat()
    return {"role": "user", "content": f"<meta time='{stamp}'/>\n{text}"}


class Chat:
    def __init__(self) -> None:
        self.turns = [{"role": "system", "content": PERSONA}]

    def say(self, text: str) -> str:
        self.turns.append(wrap(text))
        answer = completion(model="anthropic/claude-haiku-4-5", messages=self.turns)
        content = answer.choices[0].message.content
        self.turns.append({"role": "assistant", "content": content})
        return content
