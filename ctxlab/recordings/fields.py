"""The fields of one JSON object, looked up by type; what is wrong is collected with its place.

Models: typed look-ups in a row and the objects inside it, and what no look-up asked for.
Does not model: what the fields mean (:mod:`ctxlab.recordings.reading`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ctxlab.errors import Problem
from ctxlab.recordings.lines import Report, shown

_ABSURD = 10**12
_HEX_DIGITS = frozenset("0123456789abcdef")


class Fields:
    """One JSON object being read. Each look-up takes its field out; what is left at the end nobody asked for.

    A row is ``Fields(row, "traces.jsonl:17: ", report)``; objects inside it come from :meth:`inside` and
    :meth:`each`. Places are put together only when there is something to say about one.
    """

    __slots__ = ("_data", "_name", "_opened", "_outer", "_report")

    def __init__(self, data: dict[str, Any], name: str, report: Report, outer: Fields | None = None):
        self._data, self._name, self._report, self._outer = data, name, report, outer
        self._opened: list[Fields] = [] if outer is None else outer._opened  # every object of the row
        self._opened.append(self)

    def place(self, name: str) -> str:
        """Where a field stands, for people."""
        if self._outer is None:
            return self._name + name
        return f"{self._outer.place(self._name)}.{name}"

    def wrong(self, name: str, rule: str, message: str, fix: str = "") -> None:
        """Note what is wrong with a field, at its place."""
        self._report.add(self.place(name), rule, message, fix)

    def odd(self, name: str, rule: str, message: str) -> None:
        """What is allowed and still worth a word."""
        self._report.notes.append(Problem(self.place(name), rule, message))

    def _wrong_type(self, name: str, value: object, expected: str) -> None:
        self.wrong(name, "type", f"is {shown(value)}, not {expected}")

    def _missing(self, name: str, expected: str) -> None:
        self.wrong(name, "required", "is missing or null", f"give {expected}")

    def _half_character(self, name: str) -> None:
        self.wrong(name, "lone-surrogate", "holds half a character, which UTF-8 cannot hold")

    def text(self, name: str) -> str:
        """A string that has to be there and say something."""
        value = self.text_or_none(name, needed=True)
        if value == "":
            self.wrong(name, "required", "is empty", "give a string with something in it")
        return value or ""

    def text_or_none(self, name: str, *, needed: bool = False) -> str | None:
        """A string, or None where there is none."""
        value = self._data.pop(name, None)
        if type(value) is str:
            if value.isascii() or not _holds_half_character(value):
                return value
            self._half_character(name)
        elif value is not None:
            self._wrong_type(name, value, "a string")
        elif needed:
            self._missing(name, "a string")
        return None

    def whole(self, name: str) -> int:
        """A count that has to be there."""
        return self.whole_or_none(name, needed=True) or 0

    def whole_or_none(
        self, name: str, *, needed: bool = False, least: int = 0, most: int = _ABSURD
    ) -> int | None:
        """A count from ``least`` to ``most``, or None where there is none."""
        value = self._data.pop(name, None)
        if type(value) is int:
            if least <= value <= most:
                return value
            self._implausible(name, value, least, most)
        elif value is not None:
            self._wrong_type(name, value, "a whole number")
        elif needed:
            self._missing(name, "a whole number")
        return None

    def _implausible(self, name: str, value: int, least: int = 0, most: int = _ABSURD) -> None:
        top = "10^12" if most == _ABSURD else most
        self.wrong(name, "plausible", f"is {shown(value)}", f"give a whole number from {least} to {top}")

    def seconds_or_none(self, name: str) -> float | None:
        """A time in seconds, or None."""
        value = self._data.pop(name, None)
        if value is None or (type(value) in (int, float) and abs(value) <= _ABSURD):
            return None if value is None else float(value)
        self._wrong_type(name, value, "a number of seconds")
        return None

    def flag(self, name: str) -> bool:
        """True or false; false where nothing is said."""
        value = self._data.pop(name, None)
        if value is None or type(value) is bool:
            return value is True
        self._wrong_type(name, value, "true or false")
        return False

    def moment_or_none(self, name: str) -> datetime | None:
        """A time; without an offset it is UTC, as cassettes write it; a month or day stands for its start."""
        value = self.text_or_none(name)
        if value is None:
            return None
        try:
            value = value.removesuffix(" GMT")
            moment = datetime.fromisoformat(f"{value}-01" if len(value) == len("2026-09") else value)
        except ValueError:
            self.wrong(name, "moment", f"is {shown(value)}", "give an ISO 8601 time")
            return None
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

    def sha256_or_none(self, name: str) -> str | None:
        """A hex digest; traces keep its first 16 digits."""
        value = self.text_or_none(name)
        if value is not None and (len(value) not in (16, 64) or not _HEX_DIGITS.issuperset(value)):
            self.wrong(name, "sha256", f"is {shown(value)}", "give 64 (or the first 16) hex digits")
        return value

    def as_is(self, name: str) -> dict[str, Any] | None:
        """An object of the API's own that is kept the way it came."""
        value = self._object(name)
        if value is not None and _holds_half_character(value):
            self._half_character(name)
        return value

    def _object(self, name: str) -> dict[str, Any] | None:
        value = self._data.pop(name, None)
        if value is None or type(value) is dict:
            return value
        self._wrong_type(name, value, "an object")
        return None

    def inside(self, name: str) -> Fields:
        """The fields of an object that must be there."""
        if self._data.get(name) is None:
            self._missing(name, "an object")
        return Fields(self._object(name) or {}, name, self._report, self)

    def inside_or_none(self, name: str) -> Fields | None:
        """The fields of an object, or None where there is none."""
        value = self._object(name)
        return None if value is None else Fields(value, name, self._report, self)

    def each(self, name: str, *, needed: bool = False) -> Iterator[Fields]:
        """The fields of every object in a list."""
        if needed and self._data.get(name) is None:
            self._missing(name, "a list")
        for i, item in enumerate(self._all(name, dict, "an object")):
            yield Fields(item, f"{name}[{i}]", self._report, self)

    def objects(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """A list of objects that are kept the way they came."""
        return self._kept(name, dict, "an object")

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        return self._kept(name, str, "a string")

    def _kept(self, name: str, kind: type, expected: str) -> tuple[Any, ...]:
        values = self._all(name, kind, expected)
        for i, value in enumerate(values):
            if _holds_half_character(value):
                self._half_character(f"{name}[{i}]")
        return tuple(values)

    def wholes(self, name: str) -> tuple[int, ...]:
        """A list of counts."""
        values: list[int] = self._all(name, int, "a whole number")
        for i, value in enumerate(values):
            if not 0 <= value <= _ABSURD:
                self._implausible(f"{name}[{i}]", value)
        return tuple(values)

    def whole_each(self) -> dict[str, int]:
        """An object whose every field is a whole number."""
        return {name: self.whole(name) for name in list(self._data)}

    def _all(self, name: str, kind: type, expected: str) -> list[Any]:
        """A list (an empty one if it is absent) in which everything is of one kind."""
        values = self._data.pop(name, None)
        if values is None:
            return []
        if type(values) is not list:
            self._wrong_type(name, values, "a list")
            return []
        for i, value in enumerate(values):
            if type(value) is not kind:
                self._wrong_type(f"{name}[{i}]", value, expected)
                return []
        return values

    def untaken(self) -> dict[str, Any]:
        """What no look-up has taken out, where that is as it should be."""
        data, self._data = self._data, {}
        for name, value in data.items():
            if _holds_half_character({name: value}):
                self._half_character(ascii(name)[1:-1])
        return data

    def unknown(self) -> dict[str, Any]:
        """What no look-up has taken out of this object and those inside it, by path.

        Kept, so that a newer file loses nothing; noted, so that a typo shows.
        """
        found = {}
        for fields in self._opened:
            for name, value in fields.untaken().items():
                place = fields.place(name)
                found[place.removeprefix(self._name)] = value
                fields.odd(name, "unknown-field", "is not in the format; it is kept as it is")
        return found


def _holds_half_character(value: object) -> bool:
    """Whether a value or a name inside it has a lone surrogate: JSON can tell one, UTF-8 cannot hold it."""
    if "\\ud" not in repr(value):
        return False
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
