from dataclasses import dataclass

from anthropic import AsyncAnthropic


@dataclass
class Caller:
    platform: str
    conversation_id: str
    user_name: str
    role: str


RULES = "You answer questions of a radio club. Be short."


def context_block(caller: Caller) -> str:
    return "\n".join(
        [
            "Context:",
            f"- Platform: {caller.platform}",
            f"- Requester: {caller.user_name} ({caller.role})",
        ]
    )


def build_system_prompt(caller: Caller) -> str:
    return RULES + "\n\n" + context_block(caller)


async def on_message(client: AsyncAnthropic, caller: Caller, messages: list[dict]) -> str:
    reply = await client.messages.create(
        model="claude-haiku-4-5", max_tokens=500, system=build_system_prompt(caller), messages=messages
    )
    return reply.content[0].text
