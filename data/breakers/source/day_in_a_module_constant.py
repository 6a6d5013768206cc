import platform
from datetime import datetime

from anthropic import Anthropic

SYSTEM_PROMPT = f"""You use a virtual machine with {platform.machine()} architecture.
Prefer one call with several actions over several calls.
The current date is {datetime.today().strftime("%A, %B %d, %Y")}.
"""


async def sampling_loop(messages: list[dict], tools: list[dict], suffix: str = "") -> list[dict]:
    client = Anthropic(max_retries=4)
    text = f"{SYSTEM_PROMPT}{' ' + suffix if suffix else ''}"
    system = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    while True:
        raw = client.beta.messages.with_raw_response.create(
            model="claude-opus-4-8",
            max_tokens=4096,
            system=[system],
            messages=messages,
            tools=tools,
            betas=["computer-use-2025-11-24"],
        )
        response = raw.parse()
        messages.append({"role": "assistant", "content": response.content})
        if response.stop_reason != "tool_use":
            return messages
        messages.append({"role": "user", "content": [await run_tool(b) for b in response.content]})


async def run_tool(block) -> dict:
    return {"type": "tool_result", "tool_use_id": block.id, "content": "done"}
