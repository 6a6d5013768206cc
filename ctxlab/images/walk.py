"""Where pictures, documents and texts stand in a request, with the JSON path of each.

Models: ``system``, messages, tool results, documents made of blocks, and the texts in which a picture may
have been pasted: of users and tools, and in the input of calls.
Does not model: whether the request is one the API would take (:mod:`ctxlab.validity`).
Source: parameter types of the anthropic SDK 2.14.0.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ctxlab.errors import InvalidRequestError, Problem
from ctxlab.prompt import plain

_MAX_DEPTH = 40
#: Blocks that hold a picture in other vendors' requests, and are refused here.
FOREIGN_BLOCKS = ("image_url", "input_image")
#: Shortest run of base64 that is taken for a picture.
_MIN_PASTED_CHARS = 200
_STARTS = ("iVBORw0KGgo", "/9j/", "R0lGODlh", "R0lGODdh", "UklGR")
_BEGINS = (  # a path may begin as a JPEG does and a sound as a WebP
    "iVBORw0KGgo",
    "/9j/[w-z0-9+/]",  # the second marker is 0xC0 or above
    "R0lGODlh",
    "R0lGODdh",
    "UklGR[A-Za-z0-9+/]{6}XRUJQ",  # RIFF, its length, WEBP
)
_MOST_SLASHES = 12
_SEEN_CHARS = 4096
_PASTED = re.compile(
    rf"(?:data:image/[\w.+-]{{1,40}};base64,|(?<![A-Za-z0-9+/=])(?:{'|'.join(_BEGINS)}))"
    rf"[A-Za-z0-9+/=_\r\n\\-]{{{_MIN_PASTED_CHARS},}}"  # in lines of 76, too, and in JSON inside a text
)


@dataclass(frozen=True, slots=True)
class Place:
    """One block or text of a request. ``value`` is its dict, or the text itself."""

    kind: Literal["image", "document", "text", "foreign"]
    path: str
    value: Any
    segment: Literal["system", "messages"] = "messages"


def as_body(request: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    """A request as plain JSON values, from a dict, SDK objects or JSON text.

    Raises :class:`InvalidRequestError` for what is none.
    """
    if isinstance(request, (str, bytes, bytearray)):
        try:
            request = json.loads(request)
        except UnicodeDecodeError as error:
            raise InvalidRequestError(Problem("request", "utf-8", f"is not UTF-8 ({error.reason})")) from None
        except json.JSONDecodeError as error:
            place = f"request:{error.lineno}:{error.colno}"
            raise InvalidRequestError(Problem(place, "json", error.msg)) from None
        except RecursionError:
            raise _too_deep() from None
    try:
        body = plain(request)
    except RecursionError:
        raise _too_deep() from None
    if not isinstance(body, dict):
        kind = type(request).__name__
        fix = "give the body of a request, a dict with messages"
        raise InvalidRequestError(Problem("request", "object", f"is {kind}", fix))
    if not isinstance(body.get("messages"), list):
        raise InvalidRequestError(Problem("messages", "list", "is missing or no list", "give the messages"))
    return body


def places(body: Mapping[str, Any]) -> Iterator[Place]:
    """Every picture, document and text of a request, in the order in which they are read."""
    yield from _content(body.get("system"), "system", "system", 0)
    for i, message in enumerate(body["messages"]):
        if isinstance(message, dict):
            yield from _content(message.get("content"), f"messages[{i}].content", "messages", 0)


def pasted(text: str) -> list[int]:
    """The lengths of pictures that stand in a text as base64.

    >>> pasted("see data:image/png;base64," + "A" * 400), pasted("data:image/png;base64,... is a data URL")
    ([422], [])
    """
    if not any(start in text for start in ("data:image/", *_STARTS)):  # fast where there is none
        return []
    return [len(found.group()) for found in _PASTED.finditer(text) if not _is_path(found.group())]


def _is_path(run: str) -> bool:
    """Whether a run that begins as a JPEG does is something else: behind its first segment stands no marker.

    Where that is too long to see its end, a slash at every 16th place tells a path; chance has a quarter.
    """
    if not run.startswith("/9j/"):
        return False
    clean = "".join(run[:_SEEN_CHARS].replace("\\n", "").replace("\\r", "").replace("\\", "").split())
    clean = clean.translate({ord("-"): "+", ord("_"): "/"}).partition("=")[0]
    start = base64.b64decode(clean[: len(clean) // 4 * 4])
    marker, length = start[3:4], int.from_bytes(start[4:6], "big")
    if 4 + length < len(start):
        return length < 2 or start[4 + length] != 0xFF
    holds_data = marker == b"\xfe" or b"\xe0" <= marker <= b"\xef"  # all other segments are short
    return not holds_data or run[:_MIN_PASTED_CHARS].count("/") > _MOST_SLASHES


def _content(value: Any, path: str, segment: Any, depth: int) -> Iterator[Place]:
    if isinstance(value, str):
        yield Place("text", path, value, segment)
    elif isinstance(value, list):
        for i, block in enumerate(value):
            if isinstance(block, dict):
                yield from _block(block, f"{path}[{i}]", segment, depth)


def _block(block: dict[str, Any], path: str, segment: Any, depth: int) -> Iterator[Place]:
    if depth > _MAX_DEPTH:
        raise _too_deep()
    kind = block.get("type")
    if kind == "image":
        yield Place("image", path, block, segment)
    elif kind in FOREIGN_BLOCKS:
        yield Place("foreign", path, block, segment)
    elif kind == "document":
        yield Place("document", path, block, segment)
        source = block.get("source")
        if isinstance(source, dict) and source.get("type") == "content":
            yield from _content(source.get("content"), f"{path}.source.content", segment, depth + 1)
        elif isinstance(source, dict) and source.get("type") == "text":
            yield from _content(source.get("data"), f"{path}.source.data", segment, depth + 1)
    elif kind == "text":
        yield from _content(block.get("text"), f"{path}.text", segment, depth)
    elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        yield from _input(block.get("input"), f"{path}.input", depth)
    else:  # tool results of every kind, search results, and what is newer than this file
        yield from _content(block.get("content"), f"{path}.content", segment, depth + 1)


def _input(value: Any, path: str, depth: int) -> Iterator[Place]:
    """The texts in the input of a call; pictures cannot stand there."""
    if depth > _MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, str):
        yield Place("text", path, value)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _input(item, f"{path}.{name}", depth + 1)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _input(item, f"{path}[{i}]", depth + 1)


def strict_base64(text: str) -> bytes:
    """The bytes behind base64 with the padding that it needs, no sign more; decoders differ on the rest.

    Raises :class:`ValueError`, of which :class:`binascii.Error` is one.

    >>> strict_base64("QUJD")
    b'ABC'
    >>> strict_base64("QUJD====")
    Traceback (most recent call last):
    ValueError: it has too many = signs
    """
    digits = len(text.rstrip("="))
    if len(text) - digits > -digits % 4:
        raise ValueError("it has too many = signs")
    return base64.b64decode(text, validate=True)


def lone_surrogates(value: Any, path: str = "") -> Iterator[str]:
    """Where in a body a text, or a name of a field, holds half a character, which UTF-8 cannot hold.

    >>> list(lone_surrogates({"system": "fine", "messages": [{"content": "half \\ud83d"}]}))
    ['messages[0].content']
    """
    if isinstance(value, str):
        if _LONE.search(value):
            yield path
    elif isinstance(value, dict):
        for name, item in value.items():
            inside = f"{path}.{name}" if path else str(name)
            inside = inside.encode("utf-8", "backslashreplace").decode()
            if isinstance(name, str) and _LONE.search(name):
                yield inside
            yield from lone_surrogates(item, inside)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from lone_surrogates(item, f"{path}[{i}]")


_LONE = re.compile("[\ud800-\udfff]")


def _too_deep() -> InvalidRequestError:
    return InvalidRequestError(Problem("request", "nesting", "is nested too deeply to read"))
