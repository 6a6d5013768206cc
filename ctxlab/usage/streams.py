"""The events of a streamed answer, folded into one ``usage`` object.

Models: ``message_start`` and the running totals of ``message_delta``; nulls, totals that shrink, cut streams.
Does not model: what the totals mean (:mod:`ctxlab.usage.reading`), asynchronous streams.
Source: anthropic SDK 2.14.0, types/message_delta_usage.py and types/beta/beta_message_delta_usage.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ctxlab.errors import InvalidUsageError
from ctxlab.usage.checking import count, each, invalid, mapping

_COUNT_FIELDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
#: Names that only total-style ("inclusive") usage objects of other APIs and frameworks have.


def running_totals(events: Iterable[object]) -> tuple[dict[str, Any], set[str]]:
    """The last totals of the stream as a ``usage`` object, and the flags of the folding."""
    totals: dict[str, Any] | None = None
    output_told = stopped = False
    flags: set[str] = set()
    for path, event in each("events", events):
        body = mapping(path, event)
        kind = body.get("type")
        if kind == "message_start":
            if totals is not None:
                raise invalid(path, "one-message-per-stream", "is a second message_start", "fold each alone")
            message = mapping(f"{path}.message", body.get("message"))
            totals = dict(mapping(f"{path}.message.usage", message.get("usage")))
        elif kind == "message_delta" and body.get("usage") is not None:
            if totals is None:
                raise _no_start(path)
            delta = mapping(f"{path}.usage", body["usage"])
            _overlay(f"{path}.usage", totals, delta, flags)
            output_told = output_told or delta.get("output_tokens") is not None
        stopped = stopped or kind == "message_stop"
    if totals is None:
        raise _no_start("events")
    if not (output_told and stopped):
        flags.add("stream-cut")
    return totals, flags


def _overlay(path: str, totals: dict[str, Any], delta: Mapping[str, Any], flags: set[str]) -> None:
    """Bring the running totals up to date in place; those of server tools stand one level down."""
    for name, value in delta.items():
        if value is None:
            continue
        if name == "server_tool_use":
            where = f"{path}.{name}"
            seen = totals[name] = dict(mapping(where, totals.get(name) or {}))
            for tool, calls in mapping(where, value).items():
                _raise_to(f"{where}.{tool}", seen, tool, calls, flags)
        elif name in _COUNT_FIELDS:
            _raise_to(f"{path}.{name}", totals, name, value, flags)
        else:
            totals[name] = value


def _raise_to(path: str, totals: dict[str, Any], name: str, value: object, flags: set[str]) -> None:
    if value is None:
        return
    new = count(path, value)
    old = totals.get(name)
    if old is not None and count(name, old) > new:
        flags.add("stream-shrank")
    else:
        totals[name] = new


def _no_start(path: str) -> InvalidUsageError:
    return invalid(
        path, "stream-has-start", "has no message_start before it", "fold the stream from its start"
    )
