import json
import logging

import httpx

log = logging.getLogger(__name__)
SYSTEM = "You answer with facts from the record you are given."


def ask(http: httpx.Client, record: dict, question: str, history: list[dict]) -> str:
    newest = {"role": "user", "content": json.dumps(record, default=str) + "\n\n" + question}
    history.append(newest)
    payload = {
        "model": "claude-haiku-4-5",
        "max_tokens": 300,
        "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
        "messages": history,
    }
    log.debug("request %s", json.dumps({key: str(value)[:40] for key, value in payload.items()}))
    response = http.post("/v1/messages", json=payload).json()
    history.append({"role": "assistant", "content": response["content"]})
    return response["content"][0]["text"]
