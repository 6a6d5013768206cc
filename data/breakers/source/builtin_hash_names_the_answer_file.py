from pathlib import Path

import anthropic

CACHE = Path("answers")
SEEN: dict[int, str] = {}


def planner_prompt(domain: str) -> str:
    return f"You solve planning problems of this domain:\n{domain}"


def solve(domain: str, problem: str) -> str:
    prompt = planner_prompt(domain)
    file = CACHE / f"{hash(prompt + problem)}.txt"
    if file.exists():
        return file.read_text(encoding="utf-8")
    client = anthropic.Anthropic()
    reply = client.messages.create(
        model="claude-sonnet-5",
        max_tokens=2000,
        system=prompt,
        messages=[{"role": "user", "content": problem}],
    )
    SEEN[id(reply)] = problem
    text = reply.content[0].text
    file.write_text(text, encoding="utf-8")
    return text
