import os
import time

import httpx

URL = "https://api.anthropic.com/v1/messages"
HEADERS = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}


def payload(question: str, notes: str) -> dict:
    stamp = int(time.time())
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 500,
        "cache_control": {"type": "ephemeral"},
        "messages": [{"role": "user", "content": question}],
    }
    body["system"] = "".join(["[epoch ", str(stamp), "]\n", notes])
    return body


def ask(question: str, notes: str) -> dict:
    with httpx.Client(timeout=60) as http:
        response = http.post(URL, headers=HEADERS, json=payload(question, notes))
        response.raise_for_status()
        return response.json()
