"""The JSON text that is hashed, and what keeps a value from having one.

Models: two encoders, one that sorts keys and one that keeps them as sent; taking out what is not content
(markers, fields that are null); the first thing in a value that JSON in UTF-8 cannot hold.
Does not model: which blocks there are (:mod:`ctxlab.prompt.reading`).
Source: canonical form of the recordings, 2026-09; nulls in dumps of answers, anthropic 2.14, 2026-11.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import date
from operator import is_
from typing import Any

from ctxlab.errors import Problem
from ctxlab.prompt.objects import dumped, is_list, is_sdk_object, kind_of

NESTED = "is nested too deeply to read, or holds itself"

_MAX_DEPTH = 200
_SCALARS = frozenset({type(None), bool, int, float})
# what callers, models and tools wrote: a null or a cache_control in there is theirs
_FREE = frozenset({"input", "input_schema", "input_examples"})
# null is a value here: a summary that failed
_NULL_SAYS_SOMETHING = frozenset({"content", *_FREE})

sorted_json = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
).encode
sent_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def in_utf8(text: str) -> str:
    """The text itself; raises ``UnicodeEncodeError`` where UTF-8 cannot hold it."""
    if not text.isascii():
        text.encode("utf-8")
    return text


def settled_value(value: Any, *, nulls: bool) -> Any:
    """A value without markers and, with ``nulls``, without fields that are null, at any depth but in what
    others wrote; the very same object where nothing was taken out."""
    kind = type(value)
    if kind is str or kind in _SCALARS:
        return value
    if kind is dict or isinstance(value, Mapping):
        kept = {
            key: item if type(item) is str or key in _FREE else settled_value(item, nulls=nulls)
            for key, item in value.items()
            if not (key == "cache_control" and not isinstance(item, (str, int, float, list)))
            and not (nulls and item is None and key not in _NULL_SAYS_SOMETHING)
        }
        return value if len(kept) == len(value) and all(kept[key] is value[key] for key in kept) else kept
    if kind is list or is_list(value):
        items = [settled_value(item, nulls=nulls) for item in value]
        return value if all(map(is_, items, value)) else items
    return settled_value(dumped(value), nulls=nulls) if is_sdk_object(value) else value


def unencodable(value: Any, path: str, depth: int = 0) -> Iterator[Problem]:
    """What stops a value from being JSON in UTF-8, first things first."""
    if depth > _MAX_DEPTH:
        yield Problem(path[:200], "nesting", NESTED)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from wrong_key(key, path)
            yield from unencodable(item, f"{path}.{key}", depth + 1)
    elif is_list(value):
        for i, item in enumerate(value):
            yield from unencodable(item, f"{path}[{i}]", depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield Problem(path, "finite-number", f"is {value}, which JSON cannot hold")
    elif isinstance(value, str):
        lone = next((i for i, char in enumerate(value) if "\ud800" <= char <= "\udfff"), None)
        if lone is not None:
            yield Problem(
                path.encode("utf-8", "replace").decode(),
                "lone-surrogate",
                f"holds half a character at position {lone}, which UTF-8 cannot hold",
                "drop it, or decode the text with errors='replace'",
            )
    elif isinstance(value, int):
        try:
            str(value)
        except ValueError:
            yield Problem(path, "whole-number", "has more digits than Python writes", "send it as a string")
    elif not (value is None or isinstance(value, date) or is_sdk_object(value)):
        yield Problem(path, "json", f"is {kind_of(value)}, which JSON cannot hold", _fix_for(value))


def _fix_for(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "decode it, or send it in base64"
    if isinstance(value, type):
        return "pass what is sent for it, such as its JSON schema"
    if hasattr(value, "__fspath__") or hasattr(value, "read"):
        return "the SDK sends what is in the file: read it, and send it in base64"
    if hasattr(value, "__index__"):  # the whole numbers of numpy
        return "send int(value)"
    return "send float(value), or a string" if hasattr(value, "__float__") else "send a string"


def wrong_key(key: Any, path: str) -> Iterator[Problem]:
    """What is wrong with a key of an object, if anything is."""
    if not isinstance(key, str):
        yield Problem(path, "string-keys", f"has the key {key!r}, not a string", "use string keys")
    else:
        yield from unencodable(key, f"{path}.<key>")
