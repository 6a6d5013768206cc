import anthropic

client = anthropic.AsyncAnthropic()


def shared_columns(left: dict[str, str], right: dict[str, str]) -> str:
    common = left.keys() & right.keys()
    return "".join("- {}\n".format(name) for name in common)


async def write_join(left: dict[str, str], right: dict[str, str], wish: str) -> str:
    params: dict = {"model": "claude-opus-4-8", "max_tokens": 900}
    params["system"] = f"Write SQL. Both tables have:\n{shared_columns(left, right)}"
    params["messages"] = [{"role": "user", "content": wish}]
    async with client.messages.stream(**params) as stream:
        return await stream.get_final_text()
