import anthropic


class AgenticChat:
    def __init__(self, store) -> None:
        self.client = anthropic.AsyncAnthropic()
        self.store = store

    async def respond(self, chat_id: str, text: str) -> str:
        messages = await self.store.messages(chat_id)
        messages.append({"role": "user", "content": text})
        messages = messages[-10:]
        messages[-1]["content"] = [
            {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
        ]
        reply = await self.client.messages.create(
            model="claude-sonnet-5", max_tokens=1000, system="You keep a diary.", messages=messages
        )
        await self.store.add(chat_id, text, reply.content[0].text)
        return reply.content[0].text
