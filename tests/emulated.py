"""Requests and counters that the tests of the emulator share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ctxlab.emulator import KEY

MODEL = "claude-opus-5-5"
HEADERS = {"x-api-key": KEY, "anthropic-version": "2026-10-21", "content-type": "application/json"}
MARK = {"type": "ephemeral"}
HELLO = {"role": "user", "content": "Hello"}


def text(words: str = "Hello", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def a_request(**fields: Any) -> dict[str, Any]:
    """A request that is legal; a field that is ``...`` is left out."""
    request = {"model": MODEL, "max_tokens": 100, "messages": [HELLO], **fields}
    return {name: value for name, value in request.items() if value is not ...}


def sent(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def one_token(text: str, vocabulary: str) -> int:
    return 1


def a_word_a_token(text: str, vocabulary: str) -> int:
    """Short texts by their words; a text may name its size: ``[1500] …``."""
    named = text[1:].partition("]")[0] if text.startswith("[") else ""
    return int(named) if named.isdigit() else len(text.split())
