"""JSON lines from a file: every object with its place, and everything that is wrong with its place.

Models: UTF-8 JSON lines, plain or gzip; typed look-ups that collect problems instead of stopping at the
first.
Does not model: what the fields mean (:mod:`ctxlab.recordings.records`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxlab.errors import Problem, RecordingError

MOST_PROBLEMS = 20
_ABSURD = 10**12
_HEX_DIGITS = frozenset("0123456789abcdef")


class TooManyProblems(Exception):
    """Enough was found; reading on would only repeat it."""


class Report:
    """Problems found so far, up to ``most``. ``notes`` are what is odd but allowed: fields nobody knows."""

    def __init__(self, most: int | None = MOST_PROBLEMS):
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self._most = most

    def add(self, path: str, rule: str, message: str, fix: str = "") -> None:
        self.problems.append(Problem(path, rule, message, fix))
        if len(self.problems) == self._most:
            raise TooManyProblems

    def raise_problems(self) -> None:
        if self.problems:
            raise RecordingError(self.problems)


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
        self._report.add(self.place(name), rule, message, fix)

    def _wrong_type(self, name: str, value: object, expected: str) -> None:
        self.wrong(name, "type", f"is {_shown(value)}, not {expected}")

    def _missing(self, name: str, expected: str) -> None:
        self.wrong(name, "required", "is missing or null", f"give {expected}")

    def text(self, name: str) -> str:
        value = self.text_or_none(name, needed=True)
        return "" if value is None else value

    def text_or_none(self, name: str, *, needed: bool = False) -> str | None:
        value = self._data.pop(name, None)
        if type(value) is str:
            if value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value):
                return value
            self.wrong(name, "lone-surrogate", "holds half a character, which UTF-8 cannot hold")
        elif value is not None:
            self._wrong_type(name, value, "a string")
        elif needed:
            self._missing(name, "a string")
        return None

    def whole(self, name: str) -> int:
        return self.whole_or_none(name, needed=True) or 0

    def whole_or_none(self, name: str, *, needed: bool = False) -> int | None:
        value = self._data.pop(name, None)
        if type(value) is int:
            if 0 <= value <= _ABSURD:
                return value
            self._implausible(name, value)
        elif value is not None:
            self._wrong_type(name, value, "a whole number")
        elif needed:
            self._missing(name, "a whole number")
        return None

    def _implausible(self, name: str, value: int) -> None:
        self.wrong(name, "plausible", f"is {_shown(value)}", "give a whole number from 0 to 10^12")

    def seconds_or_none(self, name: str) -> float | None:
        value = self._data.pop(name, None)
        if value is None or (type(value) in (int, float) and abs(value) <= _ABSURD):
            return None if value is None else float(value)
        self._wrong_type(name, value, "a number of seconds")
        return None

    def flag(self, name: str) -> bool:
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
            self.wrong(name, "moment", f"is {_shown(value)}", "give an ISO 8601 time")
            return None
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

    def sha256_or_none(self, name: str) -> str | None:
        """A hex digest; traces keep its first 16 digits."""
        value = self.text_or_none(name)
        if value is not None and (len(value) not in (16, 64) or not _HEX_DIGITS.issuperset(value)):
            self.wrong(name, "sha256", f"is {_shown(value)}", "give 64 (or the first 16) hex digits")
        return value

    def as_is(self, name: str) -> dict[str, Any] | None:
        """An object of the API's own that is kept the way it came."""
        value = self._data.pop(name, None)
        if value is None or type(value) is dict:
            return value
        self._wrong_type(name, value, "an object")
        return None

    def inside(self, name: str) -> Fields:
        """The fields of an object that must be there."""
        if self._data.get(name) is None:
            self._missing(name, "an object")
        return Fields(self.as_is(name) or {}, name, self._report, self)

    def inside_or_none(self, name: str) -> Fields | None:
        value = self.as_is(name)
        return None if value is None else Fields(value, name, self._report, self)

    def each(self, name: str, *, needed: bool = False) -> Iterator[Fields]:
        """The fields of every object in a list."""
        if needed and self._data.get(name) is None:
            self._missing(name, "a list")
        for i, item in enumerate(self._all(name, dict, "an object")):
            yield Fields(item, f"{name}[{i}]", self._report, self)

    def objects(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """A list of objects that are kept the way they came."""
        return tuple(self._all(name, dict, "an object"))

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(self._all(name, str, "a string"))

    def wholes(self, name: str) -> tuple[int, ...]:
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
                self._report.notes.append(
                    Problem(place, "unknown-field", "is not in the format; it is kept as it is")
                )
        return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


# one decoder for all lines: json.loads with an argument makes a new one each time
_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def read_rows(path: Path, report: Report, name: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """``(line, object)`` for every line that holds one; anything else becomes a problem of ``report``.

    ``name`` is what problems call the file.
    """
    name = name or path.name
    lines = content(path, report, name).split(b"\n")
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line:
            continue
        place = f"{name}:{number}"
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            row = _decode(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            report.add(place, "utf-8", f"is not UTF-8 at byte {error.start} of the line", "save it as UTF-8")
        except RecursionError:
            report.add(place, "nesting", "is nested too deeply to read")
        except ValueError as error:
            if number == len(lines) and isinstance(error, json.JSONDecodeError):
                report.add(
                    place,
                    "truncated",
                    f"ends in the middle of a row ({error.msg})",
                    "copy the whole file again",
                )
            else:
                report.add(place, "json", f"is not JSON: {error}", "one JSON object a line, no NaN")
        else:
            if type(row) is dict:
                yield number, row
            else:
                report.add(place, "object", f"is {_shown(row)}, not an object", "one JSON object a line")


def content(path: Path, report: Report, name: str) -> bytes:
    """The bytes of a file, unpacked if they are gzip."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordingError(
            Problem(str(path), "readable", f"cannot be read ({error.strerror})", "check the path")
        ) from None
    if not data.startswith(b"\x1f\x8b"):
        return data
    unpacked = b""
    while data:  # a gzip file may hold several members
        member = zlib.decompressobj(wbits=31)
        try:
            unpacked += member.decompress(data)
        except zlib.error as error:
            report.add(name, "gzip", f"is damaged ({error})", "copy the whole file again")
            break
        if not member.eof:
            report.add(name, "truncated", "ends in the middle of the gzip data", "copy the whole file again")
            break
        data = member.unused_data
    return unpacked


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        text = ascii(value)
    except ValueError:  # Python refuses to print ints of more than 4,300 digits
        text = "too long to print"
    return text if len(text) <= 40 else text[:37] + "..."
