import anthropic
from fastapi import Depends, FastAPI

from .auth import User, current_user
from .memory import facts_about

app = FastAPI()
client = anthropic.AsyncAnthropic()
BASE = open("prompts/copilot.md", encoding="utf-8").read()


async def build_system_prompt(user_id: str) -> str:
    facts = await facts_about(user_id)
    if not facts:
        return BASE
    remembered = "\n".join(f"- {fact}" for fact in facts)
    return f"{BASE}\n\nWhat you know about the user:\n{remembered}"


@app.post("/chat")
async def chat(messages: list[dict], user: User = Depends(current_user)):
    system = await build_system_prompt(user.id)
    reply = await client.messages.create(
        model="claude-sonnet-5",
        max_tokens=2000,
        system=[{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        messages=messages,
    )
    return {"text": reply.content[0].text}
