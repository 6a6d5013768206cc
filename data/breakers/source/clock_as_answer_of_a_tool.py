from datetime import datetime

import anthropic

client = anthropic.Anthropic()

TOOLS = [
    {
        "name": "get_weather",
        "description": "Weather at a place.",
        "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
    {"name": "get_time", "description": "Date and time now.", "input_schema": {"type": "object", "properties": {}}},
]


def call_tool(name: str, arguments: dict) -> str:
    if name == "get_weather":
        return f"21 degrees in {arguments['place']}"
    if name == "get_time":
        return datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    return "no such tool"


def run(question: str) -> list[dict]:
    messages = [{"role": "user", "content": question}]
    while True:
        reply = client.messages.create(
            model="claude-haiku-4-5", max_tokens=1024, messages=messages, tools=TOOLS
        )
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return messages
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": call_tool(call.name, call.input)}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})
