from typing import Any, cast

import anthropic


def inject_prompt_caching(messages: list[dict]) -> None:
    left = 3
    for message in reversed(messages):
        if message["role"] == "user" and isinstance(content := message["content"], list):
            if left:
                left -= 1
                cast(dict[str, Any], content[-1])["cache_control"] = {"type": "ephemeral"}
            else:
                cast(dict[str, Any], content[-1]).pop("cache_control", None)
                break


async def loop(messages: list[dict], tools: list[dict], act) -> list[dict]:
    client = anthropic.AsyncAnthropic()
    while True:
        inject_prompt_caching(messages)
        reply = await client.beta.messages.create(
            model="claude-opus-4-8", max_tokens=4096, tools=tools, messages=messages, betas=[]
        )
        messages.append({"role": "assistant", "content": reply.content})
        results = await act(reply.content)
        if not results:
            return messages
        messages.append({"role": "user", "content": results})
