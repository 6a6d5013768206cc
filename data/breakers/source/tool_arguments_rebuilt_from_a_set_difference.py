import json

from litellm import acompletion

HIDDEN = {"api_key", "token"}


def visible(arguments: dict) -> dict:
    keep = set(arguments) - HIDDEN
    return {key: arguments[key] for key in keep}


def to_openai(call) -> dict:
    return {
        "id": call.id,
        "type": "function",
        "function": {
            "name": call.name,
            "arguments": json.dumps(visible(call.args), ensure_ascii=False),
        },
    }


def format_history(turns: list) -> list[dict]:
    messages = []
    for turn in turns:
        messages.append({"role": "assistant", "tool_calls": [to_openai(call) for call in turn.calls]})
        for call in turn.calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": call.result})
    return messages


async def next_step(turns: list, text: str):
    messages = [*format_history(turns), {"role": "user", "content": text}]
    return await acompletion(model="anthropic/claude-opus-4-8", messages=messages)
