from anthropic import AsyncAnthropic

WORKSPACE_PROMPT = open("workspace.md", encoding="utf-8").read()


def serialise(user, conversation_id: str, text: str) -> str:
    return (
        "<sender>\n"
        f"- Conversation: {conversation_id}\n"
        f"- Sender: {user.full_name} <{user.email}>\n"
        "</sender>\n\n"
        f"{text}"
    )


async def post_message(client: AsyncAnthropic, conversation, user, text: str) -> str:
    conversation.messages.append({"role": "user", "content": serialise(user, conversation.id, text)})
    reply = await client.messages.create(
        model="claude-sonnet-5",
        max_tokens=2000,
        system=[{"type": "text", "text": WORKSPACE_PROMPT, "cache_control": {"type": "ephemeral"}}],
        messages=conversation.messages,
    )
    conversation.messages.append({"role": "assistant", "content": reply.content})
    return reply.content[0].text
