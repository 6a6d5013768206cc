"""Which recording answers a request, and, where none does, in what the nearest one differs.

Models: recordings of one request are given in the order recorded, each once; an answer from the text that was
kept, or rebuilt from figures with fillers for what was said; the first difference to the nearest recording.
Does not model: the wire.
Source: own construction; differences are those of :mod:`ctxlab.prompt`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from threading import Lock
from typing import Any

from ctxlab.errors import CtxlabError, InvalidRequestError, Problem
from ctxlab.live.rows import compared, digest, request_row
from ctxlab.live.scrub import scrubbed_json
from ctxlab.live.store import Recorded, Store
from ctxlab.prompt import Prompt, first_difference

_FILLER = "(this text was not kept) "
_EVENT_STREAM = "text/event-stream; charset=utf-8"


class NotRecordedError(CtxlabError, LookupError):
    """No recording is left that answers a request."""


@dataclass(frozen=True, slots=True)
class Taped:
    """An answer to give: status, kind and text of its body."""

    status: int
    content_type: str
    body: str


class Tape:
    """The recordings of a store, waiting to be asked for.

    Answers that were only reported or whose request is unknown cannot be asked for.
    """

    def __init__(self, store: Store):
        self._name = store.path.name
        self._lock = Lock()
        self._recorded = [
            one
            for one in store.recorded
            if one.row["evidence"] == "recorded" and not one.row["request"].get("not_recorded")
        ]
        self._waiting: dict[str, deque[Recorded]] = {}
        self._given: dict[str, list[str]] = {}
        for one in self._recorded:
            self._waiting.setdefault(digest(one.row["request"]), deque()).append(one)

    def answer(self, place: str, endpoint: str | None, body: bytes) -> Taped:
        """The next recording of a request. Raises :class:`NotRecordedError`, which says what differs."""
        if endpoint is None:
            raise self._missing(place, "only /v1/messages and /v1/messages/count_tokens are recorded")
        try:
            sent = scrubbed_json(json.loads(body))
            row = request_row(sent, endpoint)
        except (InvalidRequestError, ValueError) as error:
            raise self._missing(place, f"it cannot be read as a request: {error}") from None
        key = digest(row)
        with self._lock:
            waiting = self._waiting.get(key)
            if waiting:
                one = waiting.popleft()
                self._given.setdefault(key, []).append(one.id)
                return _taped(one)
        if given := self._given.get(key):
            raise self._missing(place, f"its recordings have all been given: {', '.join(given)}")
        raise self._missing(place, self._nearest(sent, row))

    def _missing(self, place: str, why: str) -> NotRecordedError:
        return NotRecordedError(Problem(place, "recorded", f"no recording in {self._name} answers it; {why}"))

    def _nearest(self, sent: Mapping[str, Any], row: Mapping[str, Any]) -> str:
        if not self._recorded:
            return "the file holds none"
        asked = compared(row)
        one = min(self._recorded, key=lambda other: _distance(compared(other.row["request"]), asked))
        differing = _first_difference(one, sent, asked)
        return f"the nearest is {one.id}, and differs in {differing}"


def _distance(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[bool, int, int, int]:
    """How far two requests are apart: by endpoint, by the first block they part on, by parameters."""
    before, after = recorded["blocks"], asked["blocks"]
    names = (recorded.keys() | asked.keys()) - {"endpoint", "blocks"}
    others = sum(recorded.get(name) != asked.get(name) for name in names)
    return (
        recorded["endpoint"] != asked["endpoint"],
        -_shared(before, after),
        others,
        abs(len(before) - len(after)),
    )


def _shared(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> int:
    """Blocks that two requests have in common from the start, markers left aside."""
    pairs = zip(before, after, strict=False)
    return next((i for i, (x, y) in enumerate(pairs) if not _same_block(x, y)), min(len(before), len(after)))


def _same_block(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(name) == other.get(name) for name in ("segment", "role", "message", "sha256"))


def _first_difference(one: Recorded, sent: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """In words: the parameter, the block or the marker on which a request parts from a recording."""
    recorded = compared(one.row["request"])
    for name in sorted((recorded.keys() | asked.keys()) - {"blocks"}):
        if recorded.get(name) != asked.get(name):
            return f"{name}: {_shown(asked.get(name))} here, {_shown(recorded.get(name))} there"
    prompt = Prompt.from_request(sent)
    if one.text is not None:
        found = first_difference(Prompt.from_request(one.text.request), prompt)
        if found is not None:
            return str(found)
    before, after = recorded["blocks"], asked["blocks"]
    at = _shared(before, after)
    if at < max(len(before), len(after)):
        return _other_block(before[at] if at < len(before) else None, prompt, at)
    for i, (theirs, ours) in enumerate(zip_longest(before, after)):
        if theirs != ours:
            fields = sorted(
                name for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name)
            )
            return f"{prompt.blocks[i].path}: another {', '.join(fields)}"
    return "nothing that could be named"


def _other_block(recorded: Mapping[str, Any] | None, prompt: Prompt, at: int) -> str:
    """A block that is another one, by its length; its text was not kept."""
    told = None if recorded is None else f"{recorded['type']} of {recorded['chars']:,} characters"
    if at == len(prompt.blocks):
        return f"what follows the last block: nothing here, {told} there"
    block = prompt.blocks[at]
    here = f"{block.type} of {block.chars:,} characters"
    return f"{block.path}: {here} here, {'nothing' if told is None else told} there ({at} blocks shared)"


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- answers


def _taped(one: Recorded) -> Taped:
    response = one.row["response"]
    status = response.get("status") or 200
    if one.text is not None:
        return Taped(status, one.text.content_type, one.text.response)
    message = _rebuilt(one)
    if response.get("streamed"):
        from ctxlab.emulator.streaming import events

        beside = {"context_management": message.pop("context_management", None)}
        told = {name: value for name, value in beside.items() if value is not None}
        return Taped(status, _EVENT_STREAM, b"".join(events(message, told)).decode())
    return Taped(status, "application/json", json.dumps(message, ensure_ascii=False))


def _rebuilt(one: Recorded) -> dict[str, Any]:
    """The answer as far as a row tells it."""
    request, response = one.row["request"], one.row["response"]
    if response.get("error") is not None:
        return {"type": "error", "error": response["error"]}
    if request["endpoint"] == "count_tokens":
        beside = {name: response[name] for name in ("context_management",) if name in response}
        return {**response["usage"], **beside}
    lengths = zip(response["content_types"], response["content_chars"], strict=True)
    message = {
        "id": f"msg_replayed_{one.row['step']}",
        "type": "message",
        "role": "assistant",
        "model": response["model"],
        "content": [_filler(kind, chars) for kind, chars in lengths],
        "stop_reason": response["stop_reason"],
        "stop_sequence": _words(1) if response.get("stop_sequence") else None,
        "usage": response["usage"],
    }
    return message | {
        name: response[name] for name in ("context_management", "diagnostics") if name in response
    }


def _filler(kind: str, chars: int) -> dict[str, Any]:
    """A block of the right type and, where it is text, length."""
    if kind == "thinking":
        return {"type": kind, "thinking": _words(chars), "signature": "not-kept"}
    if kind == "tool_use":
        return {"type": kind, "id": "toolu_not_kept", "name": "not_kept", "input": {}}
    return {"type": kind, "text": _words(chars)} if kind == "text" else {"type": kind}


def _words(chars: int) -> str:
    return (_FILLER * (chars // len(_FILLER) + 1))[:chars]
