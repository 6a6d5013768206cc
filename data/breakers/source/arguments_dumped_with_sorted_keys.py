import json

from litellm import acompletion

HIDDEN = {"api_key", "token"}


def visible(arguments: dict) -> dict:
    return {key: arguments[key] for key in set(arguments) - HIDDEN}


def to_openai(call) -> dict:
    arguments = json.dumps(visible(call.args), ensure_ascii=False, sort_keys=True)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


async def next_step(turns: list, text: str):
    messages = []
    for turn in turns:
        messages.append({"role": "assistant", "tool_calls": [to_openai(call) for call in turn.calls]})
        for call in turn.calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": call.result})
    messages.append({"role": "user", "content": text})
    return await acompletion(model="anthropic/claude-opus-4-8", messages=messages)
