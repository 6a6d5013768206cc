"""A message as server-sent events.

Models: the order of events (``message_start``, ``ping``, per block ``content_block_start``, deltas and
``content_block_stop``, then ``message_delta`` and ``message_stop``), and where figures stand: everything
but the output in ``message_start``, running totals in ``message_delta``. A summary at the threshold starts
empty and comes in one delta, one that was asked for stands whole in its start; passes are told at the end.
Does not model: time between events, ``citations_delta``, errors in the middle of a stream.
Source: anthropic SDK 2.14.0, types/raw_message_stream_event.py and types/message_delta_usage.py; recorded
streams in data/ (usage of ``message_start`` overlaid with ``message_delta``); compaction pages, 2026-08 and
2026-09.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_CHARS_A_DELTA = 24


def events(message: Mapping[str, Any], beside_delta: Mapping[str, Any] | None = None) -> Iterator[bytes]:
    """The events of a finished message, one chunk of bytes each.

    ``beside_delta`` are more fields of its ``message_delta``.

    >>> message = {"id": "msg_1", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn",
    ...     "stop_sequence": None, "usage": {"input_tokens": 8, "output_tokens": 4}}
    >>> [event.split()[1].decode() for event in events(message)]  # doctest: +NORMALIZE_WHITESPACE
    ['message_start', 'ping', 'content_block_start', 'content_block_delta', 'content_block_stop',
     'message_delta', 'message_stop']
    """
    usage = dict(message["usage"])
    begun = {**usage, "output_tokens": output_begun(usage["output_tokens"])}
    begun.pop("iterations", None)  # not known before they are done
    if "output_tokens_details" in usage:
        begun["output_tokens_details"] = {"thinking_tokens": 0}
    opened = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": begun}
    yield _event("message_start", message=opened)
    yield _event("ping")
    for index, block in enumerate(message["content"]):
        empty, deltas = _pieces(block)
        yield _event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    stopped = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    running = {name: usage[name] for name in _IN_THE_DELTA if name in usage}
    yield _event("message_delta", delta=stopped, usage=running, **(beside_delta or {}))
    yield _event("message_stop")


def output_begun(output_tokens: int) -> int:
    """Output that ``message_start`` reports: the API has sampled a token or a few by then; here one."""
    return min(1, output_tokens)


_IN_THE_DELTA = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "iterations",
)


def _pieces(block: Mapping[str, Any]) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """A block as it starts, and what is added to it."""
    if block["type"] == "text":
        return {**block, "text": ""}, ({"type": "text_delta", "text": part} for part in _parts(block["text"]))
    if block["type"] == "compaction":
        if "signature" in block:  # one that was asked for comes whole
            return dict(block), iter(())
        delta = {"type": "compaction_delta", "content": block["content"]}
        return {**block, "content": None}, iter((delta,))
    if block["type"] == "thinking":
        return {**block, "thinking": "", "signature": ""}, _thoughts(block)
    arguments = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
    # the API opens a call with an empty fragment
    fragments = ("", *_parts(arguments))
    return {**block, "input": {}}, ({"type": "input_json_delta", "partial_json": part} for part in fragments)


def _thoughts(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part in _parts(block["thinking"]):
        yield {"type": "thinking_delta", "thinking": part}
    yield {"type": "signature_delta", "signature": block["signature"]}


def _parts(text: str) -> Iterator[str]:
    """A text in pieces of a few words."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + _CHARS_A_DELTA)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end


def _event(name: str, **fields: Any) -> bytes:
    data = json.dumps({"type": name, **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {data}\n\n".encode()
