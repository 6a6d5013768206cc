"""What a figure must be, and the views of objects that hold figures.

Models: counts as they arrive and as they are kept; mappings, SDK models, dataclasses and plain objects as one
view; lists and synchronous streams. Nothing is imported to find out what an object is.
Does not model: which figures belong together (:mod:`ctxlab.usage.reading`).
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ctxlab.errors import InvalidUsageError, Problem

_ABSURD_TOKENS = 10**12


def each(path: str, values: object) -> Iterator[tuple[str, Any]]:
    """Each value with its path. Raises :class:`InvalidUsageError` for what is no list or stream."""
    if isinstance(values, AsyncIterable):
        fix = "collect its items first: [item async for item in stream]"
        raise invalid(path, "type", "is asynchronous", fix)
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise invalid(path, "type", f"is {shown(values)}", "give a list")
    for number, value in enumerate(values):
        yield f"{path}[{number}]", value


def mapping(path: str, value: object) -> Mapping[str, Any]:
    """A view of a mapping, an SDK model, a dataclass or a plain object."""
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in fields(value)}
    for dump in ("to_dict", "model_dump"):
        method = getattr(value, dump, None)
        if callable(method) and not isinstance(value, type):
            dumped = method()
            if isinstance(dumped, Mapping):
                return dumped
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict) and attributes and not isinstance(value, type) and not callable(value):
        return attributes
    raise invalid(path, "type", f"is {shown(value)}", "give the mapping or object the API returned")


def count_or_zero(path: str, body: Mapping[str, Any], name: str) -> int:
    """A count that an answer may leave out or send as null."""
    value = body.get(name)
    return 0 if value is None else count(f"{path}.{name}", value)


def count(path: str, value: object) -> int:
    """A count as it arrives: anything that is a whole number (JSON's 12.0 is one, True is none)."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, (bool, float, str)) or not hasattr(value, "__index__"):
        raise invalid(path, "whole-number", f"is {shown(value)}", "send the count the API returned")
    return exact_count(path, int(value.__index__()))


def exact_count(path: str, value: object) -> int:
    """A count as it is kept: an int from 0 to 10^12."""
    if type(value) is not int:
        raise invalid(path, "whole-number", f"is {shown(value)}", "give an int")
    if value < 0:
        raise invalid(path, "non-negative", f"is {shown(value)}", "send the count the API returned")
    if value > _ABSURD_TOKENS:
        raise invalid(path, "plausible", "is above 10^12", "send the count the API returned")
    return value


def text_or_none(path: str, value: object) -> str | None:
    """A word, or None for null."""
    if value is None or isinstance(value, str):
        return value
    raise invalid(path, "type", f"is {shown(value)}", "send a string or null")


def shown(value: object) -> str:
    """A value as an error can show it: short, whatever it is."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print ints of more than 4,300 digits
        text = "too long to print"
    return text if len(text) <= 60 else text[:57] + "..."


def invalid(path: str, rule: str, message: str, fix: str) -> InvalidUsageError:
    """An :class:`InvalidUsageError` with one problem."""
    return InvalidUsageError(Problem(path, rule, message, fix))
