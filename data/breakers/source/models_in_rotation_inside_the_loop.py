from itertools import cycle

from anthropic import Anthropic

MODELS = cycle(["claude-sonnet-5", "claude-opus-4-8"])


def agent_loop(messages: list[dict], tools: list[dict], run) -> list[dict]:
    client = Anthropic()
    while True:
        model = next(MODELS)
        reply = client.messages.create(
            model=model,
            max_tokens=4096,
            tools=tools,
            messages=messages,
            cache_control={"type": "ephemeral"},
        )
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason != "tool_use":
            return messages
        messages.append({"role": "user", "content": run(reply.content)})
