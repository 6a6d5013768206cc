import logging
import time
from datetime import datetime

import anthropic

log = logging.getLogger(__name__)

SYSTEM = """You review Python.
Tell the author when datetime.now() is compared with an aware value, and never suggest time.time()
for measuring how long something took.
"""


def review(client: anthropic.Anthropic, diff: str) -> str:
    started = time.monotonic()
    log.info("review starts at %s", datetime.now().isoformat())
    reply = client.messages.create(
        model="claude-opus-4-8",
        max_tokens=3000,
        system=SYSTEM,
        messages=[{"role": "user", "content": diff}],
    )
    log.info("took %.2f s, ended %s", time.monotonic() - started, datetime.now())
    with open(f"review-{datetime.now():%Y%m%d-%H%M%S}.md", "w", encoding="utf-8") as file:
        file.write(reply.content[0].text)
    return reply.content[0].text
