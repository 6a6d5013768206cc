import anthropic

from .memory import load_memories, read_index

client = anthropic.Anthropic()
MODEL = "claude-sonnet-5"


def build_system() -> str:
    index = read_index()
    section = f"\n\nMemories available:\n{index}" if index else ""
    return f"You are a coding agent.{section}"


def agent_loop(messages: list[dict], tools: list[dict], run) -> None:
    while True:
        system = build_system()
        memories = load_memories(messages)
        if memories:
            system += "\n\n" + memories
        reply = client.messages.create(
            model=MODEL, system=system, messages=messages, tools=tools, max_tokens=8000
        )
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason != "tool_use":
            return
        messages.append({"role": "user", "content": run(reply.content)})
