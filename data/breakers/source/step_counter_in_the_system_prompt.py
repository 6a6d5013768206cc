import anthropic


def system_prompt(step: int, limit: int, spent: float) -> str:
    budget = f"Step {step} of {limit}. {spent:.2f} USD spent."
    return budget + "\n\nYou work through a list of tasks. Stop when nothing is left."


def run(messages: list[dict], tools: list[dict], execute, limit: int = 30) -> None:
    client = anthropic.Anthropic()
    spent = 0.0
    for step in range(limit):
        reply = client.messages.create(
            model="claude-opus-4-8",
            max_tokens=2000,
            system=system_prompt(step + 1, limit, spent),
            tools=tools,
            messages=messages,
        )
        spent += reply.usage.output_tokens * 25e-6
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason == "end_turn":
            break
        messages.append({"role": "user", "content": execute(reply.content)})
