import tempfile

import anthropic

TOOLS = [{"name": "workspace", "description": "Where you may write.", "input_schema": {"type": "object"}}]


def loop(task: str) -> str:
    client = anthropic.Anthropic()
    folder = tempfile.mkdtemp()
    messages = [{"role": "user", "content": task}]
    while True:
        reply = client.messages.create(
            model="claude-sonnet-5",
            max_tokens=1500,
            system="Ask for the workspace before you write a file.",
            tools=TOOLS,
            messages=messages,
        )
        messages.append({"role": "assistant", "content": reply.content})
        uses = [block for block in reply.content if block.type == "tool_use"]
        if not uses:
            return reply.content[0].text
        results = [{"type": "tool_result", "tool_use_id": use.id, "content": folder} for use in uses]
        messages.append({"role": "user", "content": results})
