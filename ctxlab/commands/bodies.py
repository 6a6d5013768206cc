"""Request bodies from files: JSON with one request or a list, JSON lines with one a line.

Models: a body, a body under ``request``, ``body`` or ``params``, lists of both; UTF-8 with or without a byte
order mark; everything that is no request as a problem with its place, while what is one is still given.
Does not model: what a request means (:mod:`ctxlab.prompt`), recordings without text
(:mod:`ctxlab.recordings`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ctxlab.errors import Problem

_AROUND = ("request", "body", "params")
_NEEDED = "a request is an object with a list of messages"


class Found(NamedTuple):
    """One request: its file, its place in it (empty where the file holds nothing else), its body."""

    file: str
    inside: str
    body: dict[str, Any]

    @property
    def name(self) -> str:
        """The place of the request, for people."""
        return f"{self.file}: {self.inside}" if self.inside else self.file


def read(path: Path) -> Iterator[Found | Problem]:
    """Every request of a file, and a problem for what is none; a file without one gives a problem."""
    name = path.as_posix()
    try:
        data = path.read_bytes()
    except OSError as error:
        rule = "no-such-path" if isinstance(error, FileNotFoundError) else "readable"
        message = "is a folder" if path.is_dir() else f"cannot be read ({error.strerror})"
        yield Problem(name, rule, message, "give a JSON file with one request")
        return
    if path.suffix.lower() == ".jsonl":
        yield from _lines(name, data)
    else:
        value = parsed(name, data)
        yield from [value] if isinstance(value, Problem) else _all(name, "", value)


def parsed(place: str, data: bytes) -> Any:
    """The value of a JSON text, or the problem that it is none, with line and column where known."""
    try:
        return json.loads(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except UnicodeDecodeError as error:
        return Problem(place, "utf-8", f"is not UTF-8 at byte {error.start}", "save it as UTF-8")
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(error.doc.rstrip())
        rule = "truncated" if at_end and error.doc.strip() else "json"
        told = "ends in the middle" if rule == "truncated" else "is not JSON"
        fix = "copy the whole file again" if rule == "truncated" else "give the JSON of one request"
        return Problem(f"{place}:{error.lineno}:{error.colno}", rule, f"{told} ({error.msg})", fix)
    except RecursionError:
        return Problem(place, "nesting", "is nested too deeply to read")
    except ValueError as error:  # Python refuses to read whole numbers of more than 4,300 digits
        return Problem(place, "json", f"cannot be read ({error})")


def _lines(name: str, data: bytes) -> Iterator[Found | Problem]:
    many = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            many += 1
            value = parsed(f"{name}: line {number}", line)
            yield from [value] if isinstance(value, Problem) else _all(name, f"line {number}", value)
    if not many:
        yield Problem(name, "not-a-request", "is empty", _NEEDED)


def _all(name: str, inside: str, value: Any) -> Iterator[Found | Problem]:
    place = f"{name}: {inside}" if inside else name
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _all(name, f"{inside}[{at}]", item)
        if not value:
            yield Problem(place, "not-a-request", "is an empty list", _NEEDED)
        return
    body = body_of(value)
    if body is None:
        told = "is no object"
        if isinstance(value, dict):
            keys = ", ".join(map(repr, list(value)[:5]))
            told = f"has the keys {keys}" if keys else "has no keys"
        yield Problem(place, "not-a-request", f"is no request: it {told}", _NEEDED)
    elif _is_of_another_api(body):
        fix = "give the body that goes to the Messages API"
        yield Problem(place, "not-a-request", "has the shape of another vendor's chat request", fix)
    else:
        yield Found(name, inside, body)


def _is_of_another_api(body: dict[str, Any]) -> bool:
    """Whether tools or messages have the fields of the chat completions that others offer."""
    tools = body.get("tools")
    tools = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    messages = [message for message in body["messages"] if isinstance(message, dict)]
    return any(isinstance(tool.get("function"), dict) for tool in tools) or any(
        "tool_calls" in message or message.get("role") in ("tool", "function", "developer")
        for message in messages
    )


def body_of(value: Any) -> dict[str, Any] | None:
    """The request that ``value`` is or holds; None where there is none.

    >>> body_of({"request": {"messages": []}, "status": 200})
    {'messages': []}
    """
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("messages"), list):
        return value
    held = (value.get(name) for name in _AROUND)
    return next(
        (one for one in held if isinstance(one, dict) and isinstance(one.get("messages"), list)), None
    )
