from anthropic import Anthropic

POLICY = open("policy.txt", encoding="utf-8").read()


def version_of(text: str) -> str:
    return format(hash(text) & 0xFFFFFFFF, "08x")


def system_blocks() -> list[dict]:
    header = "policy version " + version_of(POLICY)
    return [
        {"type": "text", "text": header},
        {"type": "text", "text": POLICY, "cache_control": {"type": "ephemeral"}},
    ]


def check(case: str) -> str:
    reply = Anthropic().messages.create(
        model="claude-opus-4-8",
        max_tokens=1000,
        system=system_blocks(),
        messages=[{"role": "user", "content": case}],
    )
    return reply.content[0].text
