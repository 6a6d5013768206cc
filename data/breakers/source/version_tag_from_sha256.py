import hashlib

from anthropic import Anthropic

POLICY = open("policy.txt", encoding="utf-8").read()


def version_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:8]


def check(case: str) -> str:
    system = [
        {"type": "text", "text": "policy version " + version_of(POLICY)},
        {"type": "text", "text": POLICY, "cache_control": {"type": "ephemeral"}},
    ]
    reply = Anthropic().messages.create(
        model="claude-opus-4-8",
        max_tokens=1000,
        system=system,
        messages=[{"role": "user", "content": case}],
    )
    return reply.content[0].text
