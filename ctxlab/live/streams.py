"""Server-sent events of one answer: folded into the message they add up to, and scrubbed where they lie.

Models: ``message_start``, blocks and their deltas, ``message_delta``, ``message_stop``; usage of the start
overlaid with that of the last delta; a private thing that is spread over several deltas.
Does not model: an answer that ended in an ``error`` event, or early: that is no whole message.
Source: anthropic SDK 2.14.0, types/raw_message_stream_event.py; ``data/recordings/README.md`` on folded
streams.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ctxlab.live.scrub import scrubbed, scrubbed_json

#: Of each kind of delta, the field that is a piece of text, and the field of the block that it goes on in.
_PIECES = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
    "compaction_delta": ("content", "content"),
}


def events_of(body: str) -> list[str]:
    """The events of a body, each with the blank line that ends it; they add up to the body.

    >>> events_of("event: ping\\ndata: {}\\n\\nevent: pi")
    ['event: ping\\ndata: {}\\n\\n', 'event: pi']
    """
    parts = body.split("\n\n")
    return [part + "\n\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]


def folded(body: str) -> dict[str, Any] | None:
    """The message that a stream adds up to; None if it is not whole.

    >>> folded('data: {"type": "message_start", "message": {"usage": {"input_tokens": 9}}}\\n\\n') is None
    True
    """
    message: dict[str, Any] | None = None
    blocks: dict[int, dict[str, Any]] = {}
    whole = False
    for event in map(_data_of, events_of(body)):
        kind = event.get("type")
        if kind == "message_start":
            message = {**event["message"], "content": []}
        elif kind == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            _go_on(blocks[event["index"]], event["delta"])
        elif kind == "message_delta" and message is not None:
            told = {name: value for name, value in (event.get("usage") or {}).items() if value is not None}
            beside = {name: event[name] for name in ("context_management",) if name in event}
            usage = {**(message.get("usage") or {}), **told}
            message = {**message, **event.get("delta", {}), **beside, "usage": usage}
        elif kind == "message_stop":
            whole = True
    if message is None or not whole:
        return None
    message["content"] = [_finished(blocks[index]) for index in sorted(blocks)]
    return message


def scrubbed_stream(body: str) -> str:
    """A stream without private things, byte for byte the same where there were none.

    >>> event = 'data: {"index":0,"delta":{"type":"text_delta","text":"%s"}}\\n\\n'
    >>> clean = scrubbed_stream(event % "ann@exam" + event % "ple.org, hello")
    >>> clean == event % "xxxxxxxx" + event % "xxxxxxx, hello"
    True
    """
    events = events_of(body)
    texts: dict[tuple[int, str], list[tuple[int, str]]] = {}
    for place, event in enumerate(map(_data_of, events)):
        delta = event.get("delta") or {}
        field = _PIECES.get(str(delta.get("type")), ("", ""))[0]
        if isinstance(delta.get(field), str):
            texts.setdefault((event["index"], field), []).append((place, delta[field]))
    pieces: dict[int, tuple[str, str]] = {}
    for (_, field), parts in texts.items():
        clean = scrubbed("".join(text for _, text in parts))
        for place, text in parts:
            pieces[place], clean = (field, clean[: len(text)]), clean[len(text) :]
    return "".join(_rewritten(event, *pieces.get(place, ("", ""))) for place, event in enumerate(events))


def _rewritten(event: str, field: str, piece: str) -> str:
    """An event with its piece of text replaced and all else scrubbed; as it was if that changes nothing."""
    data = _data_of(event)
    clean = scrubbed_json(data)
    if field:
        clean = {**clean, "delta": {**clean["delta"], field: piece}}
    if clean == data:
        return event
    lines = event.split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("data:"))
    lines[at] = f"data: {json.dumps(clean, ensure_ascii=False, separators=(',', ':'))}"
    return "\n".join(lines)


def _data_of(event: str) -> dict[str, Any]:
    """The JSON of an event; empty for one without data."""
    for line in event.split("\n"):
        if line.startswith("data:"):
            data = json.loads(line.removeprefix("data:"))
            return data if isinstance(data, dict) else {}
    return {}


def _go_on(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    field, whole = _PIECES.get(delta["type"], ("", ""))
    if not field:
        return
    before = block.get(whole)
    block[whole] = (before if isinstance(before, str) else "") + (delta.get(field) or "")


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    """A block whose arguments came in pieces, with the arguments read."""
    if isinstance(block.get("input"), str):
        block = {**block, "input": json.loads(block["input"] or "{}")}
    return block
