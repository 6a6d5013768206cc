import platform

import anthropic


def hostname() -> str:
    try:
        return platform.node().split(".")[0]
    except OSError:
        return ""


def build_environment_hints(cwd: str) -> str:
    lines = [f"Host: {platform.system()}"]
    if name := hostname():
        lines.append(f"Hostname: {name}")
    return "\n".join(lines)


def run(messages: list[dict]):
    client = anthropic.Anthropic()
    return client.messages.create(
        model="claude-opus-4-8",
        max_tokens=2000,
        system="You administer servers.\n" + build_environment_hints("/srv"),
        messages=messages,
    )
