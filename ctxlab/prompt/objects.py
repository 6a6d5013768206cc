"""Objects that are not JSON, as the JSON they are sent as.

Models: objects of the SDK and of pydantic, mappings and sequences of any class, dates.
Does not model: iterators (reading one uses it up) and sets (they have no order).
Source: the SDK's encoder of request bodies, anthropic 2.14, 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MappingView, Sequence, Set
from datetime import date
from typing import Any

from ctxlab.errors import InvalidRequestError, Problem

_KINDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    tuple: "a tuple",
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    bytes: "bytes",
}


def plain(value: Any, path: str = "request") -> Any:
    """SDK objects, and those inside lists and dicts, as the JSON they send; all else as it is.

    Fields that nobody set are left out, as the SDK does. Raises :class:`InvalidRequestError`, which names
    ``path``, for what is nested too deeply to read and for objects that cannot say what they send.
    """
    try:
        return _plain(value)
    except RecursionError:
        fix = "look for a list or an object that holds itself"
        problem = Problem(path, "nesting", "is nested too deeply to read", fix)
    except UnreadableObjectError as error:
        problem = Problem(path, "object", str(error), "pass the dict it stands for")
    raise InvalidRequestError(problem)


class UnreadableObjectError(Exception):
    """An object's own account of itself failed."""


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items() if not is_omitted(item)}
    if is_list(value):
        return [_plain(item) for item in value]
    if isinstance(value, date):
        return value.isoformat()
    if is_sdk_object(value):
        return dumped(value)
    return None if is_omitted(value) else value


def dumped(value: Any) -> Any:
    """An object as the SDK writes it into a body."""
    try:
        if not hasattr(value, "model_dump"):
            return value.to_dict()
        left_out = getattr(value, "__api_exclude__", None)
        return value.model_dump(mode="json", exclude_unset=True, by_alias=True, exclude=left_out)
    except Exception as error:
        told = f"is {kind_of(value)}, which cannot be read ({type(error).__name__}: {error})"
        raise UnreadableObjectError(told) from error


def is_omitted(value: Any) -> bool:
    """Whether a value is the SDK's word for an argument that is not sent (``omit``, ``NOT_GIVEN``)."""
    kind = type(value)
    return kind.__name__ in ("Omit", "NotGiven") and kind.__module__.partition(".")[0] == "anthropic"


def is_sdk_object(value: Any) -> bool:
    """Whether a value knows how to become a dict, as the SDK's models do; a class does not."""
    return not isinstance(value, type) and (hasattr(value, "model_dump") or hasattr(value, "to_dict"))


def is_list(value: Any) -> bool:
    """Whether a value is read as a JSON list: one that can be read twice and is no text."""
    if isinstance(value, (list, tuple)):
        return True
    return isinstance(value, (Sequence, MappingView)) and not isinstance(
        value, (str, bytes, bytearray, memoryview)
    )


def fix_for_a_list(value: Any, else_say: str = "pass a list") -> str:
    """What to do about a value that is no list."""
    if isinstance(value, Set):
        return "pass a list: a set has no order"
    return "pass a list: reading an iterator uses it up" if isinstance(value, Iterator) else else_say


def kind_of(value: Any) -> str:
    """What a value is, in the words of an error."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return "null" if value is None else _KINDS.get(type(value), f"of type {type(value).__name__}")
