"""Reading request bodies, when each one repeats the one before it and adds a turn.

Models: JSON as the API reads it, with its wording for a body that is not JSON; the pieces that come back
turn after turn (tools, system, each message at its place) decoded once and recognised from then on by their
text, so that what was found out about a piece (``Piece.facts``) can be kept with it.
Does not model: what the fields mean.
Source: own construction. A JSON object ends where its text says, so that an object known to stand at a
place is there again exactly when its text is: ``startswith`` decides, at the speed of ``memcmp``. Wording
of a broken body: reported (``The request body is not valid JSON: no low surrogate in string: line 1 column
2 (char 1)``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn, TypeVar

from ctxlab.emulator.errors import ApiError, invalid

#: Longest body, in bytes: 32 MB (api/errors page, 2026-11).
MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_DEPTH_SAYS = "nested too deeply"

_State = TypeVar("_State")
_KEPT_APART = ("tools", "system")
#: Characters by which the pieces that may stand at a place are told apart before they are compared whole.
_START = 80
#: How many messages at the end may be new for the rest to be compared in one go.
_NEARLY_ALL = 3
_Known = dict[int, dict[str, list["Piece"]]]
"""Pieces by the length of their start (shorter pieces have shorter ones), then by the start itself."""
_SPACE = re.compile(r"[ \t\n\r]*").match
_LONE_SURROGATE = re.compile(
    r"\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}",
    re.IGNORECASE,
)


class Piece:
    """One JSON value of a body: its text, its value, and what others found out about it (``facts``)."""

    __slots__ = ("facts", "following", "text", "value")

    def __init__(self, text: str, value: Any):
        self.text = text
        self.value = value
        self.facts: dict[Any, Any] = {}
        self.following: _Known = {}
        """Messages seen right behind this one."""


@dataclass(frozen=True, slots=True)
class Body:
    """A body in pieces. ``members`` has every top-level field but a list of messages, decoded.

    ``messages`` is None where the field is missing or not a list (then it is in ``members``).
    """

    members: dict[str, Any]
    tools: Piece
    system: Piece
    messages: list[Piece] | None

    def decoded(self) -> dict[str, Any]:
        """The body as one dict; values are shared with what is remembered: not to be changed."""
        if self.messages is None:
            return dict(self.members)
        return {**self.members, "messages": [piece.value for piece in self.messages]}


def fold(
    pieces: Sequence[Piece], key: Hashable, start: _State, step: Callable[[_State, Piece, int], _State]
) -> _State:
    """What ``step`` makes of messages one after the other, from ``start`` on.

    The state behind each message is kept with it under ``key``. A piece always has the same messages before
    it, so that only messages that are new at their place are looked at.
    """
    done = len(pieces)
    while done and key not in pieces[done - 1].facts:
        done -= 1
    state: _State = pieces[done - 1].facts[key] if done else start
    for number in range(done, len(pieces)):
        piece = pieces[number]
        piece.facts[key] = state = step(state, piece, number)
    return state


def _absent() -> dict[str, Piece]:
    return {name: Piece("", None) for name in _KEPT_APART}


@dataclass(frozen=True, slots=True)
class _Messages:
    """The messages of one body: their text, and where in it each of them ends."""

    text: str
    pieces: list[Piece]
    ends: list[int]

    def shared_with(self, text: str, at: int) -> int:
        """How many of them stand at ``at`` in another body too, where it is nearly all of them; else 0.

        In a conversation that grows the last one or two change, since the marker moves on.
        """
        for number in range(len(self.ends), max(len(self.ends) - _NEARLY_ALL, 0), -1):
            is_object = isinstance(self.pieces[number - 1].value, dict)  # a 1 may be the start of a 12
            if is_object and text.startswith(self.text[: self.ends[number - 1]], at):
                return number
        return 0


@dataclass
class Reader:
    """Reads bodies and remembers their pieces, up to ``remember_chars`` characters of text.

    >>> reader = Reader()
    >>> one = reader.read(b'{"messages": [{"role": "user", "content": "Hi"}]}')
    >>> two = reader.read(b'{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}')
    >>> one.messages[0] is two.messages[0], two.members
    (True, {'max_tokens': 9})
    """

    remember_chars: int = 64_000_000
    _remembered: int = 0
    _first: Piece = field(default_factory=lambda: Piece("", None))
    _apart: dict[str, _Known] = field(default_factory=dict)
    _absent: dict[str, Piece] = field(default_factory=_absent)
    _latest: _Messages = field(default_factory=lambda: _Messages("", [], []))

    def read(self, data: bytes) -> Body:
        """Take a body apart. Raises :class:`ApiError` (400) where it is not a JSON object in UTF-8."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise invalid(
                f"The request body is not valid JSON: {error.reason} (byte {error.start})"
            ) from None
        if self._remembered > self.remember_chars:
            self._remembered = 0
            self._first, self._apart, self._absent = Piece("", None), {}, _absent()
            self._latest = _Messages("", [], [])
        try:
            return self._read(text)
        except (ValueError, IndexError, StopIteration, RecursionError):
            raise _broken(text) from None

    def _read(self, text: str) -> Body:
        at = _after_space(text, 0)
        if text[at] != "{":
            raise ValueError
        members: dict[str, Any] = {}
        apart = dict(self._absent)
        messages: list[Piece] | None = None
        at = _after_space(text, at + 1)
        while text[at] != "}":
            if text[at] != '"':
                raise ValueError
            name, at = scanstring(text, at + 1)
            at = _after_space(text, at)
            if text[at] != ":":
                raise ValueError
            at = _after_space(text, at + 1)
            if name == "messages" and text[at] == "[":
                members.pop(name, None)
                messages, at = self._read_messages(text, at + 1)
            elif name in apart:
                apart[name], at = self._known(self._apart.setdefault(name, {}), text, at)
                members[name] = apart[name].value
            else:
                if name == "messages":
                    messages = None
                members[name], at = _decode(text, at)
            at = _after_comma(text, at, "}")
        if _after_space(text, at + 1) != len(text):
            raise ValueError
        return Body(members, apart["tools"], apart["system"], messages)

    def _read_messages(self, text: str, at: int) -> tuple[list[Piece], int]:
        start = at = _after_space(text, at)
        shared = self._latest.shared_with(text, start)
        found, ends = self._latest.pieces[:shared], self._latest.ends[:shared]
        place = found[-1] if found else self._first
        if found:
            at = _after_comma(text, start + ends[-1], "]")
        while text[at] != "]":
            place, at = self._known(place.following, text, at)
            found.append(place)
            ends.append(at - start)
            if text.startswith(",{", at):  # the usual case, at every message
                at += 1
            else:
                at = _after_comma(text, at, "]")
        self._latest = _Messages(text[start:at], found, ends)
        return found, at + 1

    def _known(self, known: _Known, text: str, at: int) -> tuple[Piece, int]:
        """The piece that stands at a place: one that stood there before, or a new one."""
        for length, by_start in known.items():
            for piece in by_start.get(text[at : at + length], ()):
                if text.startswith(piece.text, at):
                    return piece, at + len(piece.text)
        value, end = _decode(text, at)
        piece = Piece(text[at:end], value)
        if isinstance(value, (dict, list, str)):  # a number's text may be the start of another number's
            start = piece.text[:_START]
            known.setdefault(len(start), {}).setdefault(start, []).append(piece)
            self._remembered += end - at
        return piece, end


def _after_space(text: str, at: int) -> int:
    return _SPACE(text, at).end()  # type: ignore[union-attr]


def _after_comma(text: str, at: int, closing: str) -> int:
    """Where the next value or ``closing`` stands."""
    at = _after_space(text, at)
    if text[at] == closing:
        return at
    if text[at] != ",":
        raise ValueError
    at = _after_space(text, at + 1)
    if text[at] == closing:  # a comma too many
        raise ValueError
    return at


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_scan = json.JSONDecoder(parse_constant=_refuse).raw_decode


def _decode(text: str, at: int) -> tuple[Any, int]:
    value, end = _scan(text, at)
    if "\\u" in text[at:end] and _LONE_SURROGATE.search(text, at, end):
        raise ValueError
    return value, end


def _broken(text: str) -> ApiError:
    """What the API says about a body that is not a JSON object."""
    says = "The request body is not valid JSON"
    lone = _LONE_SURROGATE.search(text)
    try:
        value = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno} (char {error.pos})"
        return invalid(f"{says}: {error.msg[0].lower()}{error.msg[1:]}: {place}")
    except RecursionError:
        return invalid(f"{says}: {MAX_DEPTH_SAYS}")
    except ValueError as error:
        return invalid(f"{says}: {error} is not a number")
    if lone is not None:
        line = text.count("\n", 0, lone.start()) + 1
        column = lone.start() - text.rfind("\n", 0, lone.start())
        place = f"line {line} column {column} (char {lone.start()})"
        return invalid(f"{says}: no low surrogate in string: {place}")
    assert not isinstance(value, dict), "the reader and the decoder disagree about a body"
    return invalid("Input should be an object")
