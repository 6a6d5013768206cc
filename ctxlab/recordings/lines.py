"""JSON lines from a file: every object with its place, and everything that is wrong with its place.

Models: UTF-8 JSON lines, plain or gzip; typed look-ups that collect problems instead of stopping at the
first.
Does not model: what the fields mean (:mod:`ctxlab.recordings.records`).
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxlab.errors import Problem, RecordingError

MOST_PROBLEMS = 20
_ABSURD = 10**12
_ABSENT: Any = object()


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

    ``path`` goes in front of every field name (``traces.jsonl:17: request.``).
    """

    __slots__ = ("_data", "_opened", "_path", "_report")

    def __init__(self, data: dict[str, Any], path: str, report: Report, opened: list[Fields] | None = None):
        self._data, self._path, self._report = data, path, report
        self._opened = [] if opened is None else opened  # every object of the row that is being read
        self._opened.append(self)

    def wrong(self, name: str, rule: str, message: str, fix: str = "") -> None:
        self._report.add(self.place(name), rule, message, fix)

    def place(self, name: str) -> str:
        return self._path + name

    def _take(self, name: str, kind: type, expected: str, needed: bool) -> Any:
        value = self._data.pop(name, _ABSENT)
        if type(value) is kind:
            return value
        if value is _ABSENT or value is None:
            if needed:
                self.wrong(
                    name, "required", "is missing" if value is _ABSENT else "is null", f"give {expected}"
                )
            return None
        self.wrong(name, "type", f"is {_shown(value)}, not {expected}")
        return None

    def text(self, name: str) -> str:
        return self._text(name, needed=True) or ""

    def text_or_none(self, name: str) -> str | None:
        return self._text(name, needed=False)

    def _text(self, name: str, needed: bool) -> str | None:
        value: str | None = self._take(name, str, "a string", needed)
        if value is None or value.isascii():
            return value
        if any("\ud800" <= char <= "\udfff" for char in value):
            self.wrong(name, "lone-surrogate", "holds half a character, which UTF-8 cannot hold")
            return None
        return value

    def whole(self, name: str) -> int:
        return self._whole(name, needed=True) or 0

    def whole_or_none(self, name: str) -> int | None:
        return self._whole(name, needed=False)

    def _whole(self, name: str, needed: bool) -> int | None:
        value: int | None = self._take(name, int, "a whole number", needed)
        return value if value is None or self._plausible(value, name) else None

    def seconds_or_none(self, name: str) -> float | None:
        value = self._data.pop(name, None)
        if value is None or (type(value) in (int, float) and math.isfinite(value)):
            return None if value is None else float(value)
        self.wrong(name, "type", f"is {_shown(value)}, not a number of seconds")
        return None

    def flag(self, name: str) -> bool:
        return bool(self._take(name, bool, "true or false", needed=False))

    def moment_or_none(self, name: str) -> datetime | None:
        """A time; without an offset it is UTC, as cassettes write it; a month or day stands for its start."""
        value = self._text(name, needed=False)
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
        value = self._text(name, needed=False)
        if value is None:
            return None
        if len(value) not in (16, 64) or not set(value) <= set("0123456789abcdef"):
            self.wrong(name, "sha256", f"is {_shown(value)}", "give 64 (or the first 16) hex digits")
        return value

    def inside(self, name: str) -> Fields:
        """The fields of an object that must be there."""
        value = self._take(name, dict, "an object", needed=True)
        return Fields(value or {}, f"{self._path}{name}.", self._report, self._opened)

    def inside_or_none(self, name: str) -> Fields | None:
        value = self._take(name, dict, "an object", needed=False)
        if value is None:
            return None
        return Fields(value, f"{self._path}{name}.", self._report, self._opened)

    def each(self, name: str, needed: bool = False) -> Iterator[Fields]:
        """The fields of every object in a list."""
        for i, item in enumerate(self._take(name, list, "a list", needed) or ()):
            place = f"{name}[{i}]"
            if type(item) is dict:
                yield Fields(item, f"{self._path}{place}.", self._report, self._opened)
            else:
                self.wrong(place, "type", f"is {_shown(item)}, not an object")

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._take(name, list, "a list", needed=False) or ()
        return tuple(v for i, v in enumerate(values) if self._is(v, str, f"{name}[{i}]", "a string"))

    def wholes(self, name: str) -> tuple[int, ...]:
        values = self._take(name, list, "a list", needed=False) or ()
        return tuple(
            v
            for i, v in enumerate(values)
            if self._is(v, int, f"{name}[{i}]", "a whole number") and self._plausible(v, f"{name}[{i}]")
        )

    def _is(self, value: object, kind: type, name: str, expected: str) -> bool:
        if type(value) is kind:
            return True
        self.wrong(name, "type", f"is {_shown(value)}, not {expected}")
        return False

    def _plausible(self, value: int, name: str) -> bool:
        if 0 <= value <= _ABSURD:
            return True
        self.wrong(name, "plausible", f"is {_shown(value)}", "give a whole number from 0 to 10^12")
        return False

    def whole_each(self) -> dict[str, int]:
        """An object whose every field is a whole number."""
        return {name: self.whole(name) for name in list(self._data)}

    def as_is(self, name: str) -> Mapping[str, Any] | None:
        """An object of the API's own that is kept the way it came."""
        value: dict[str, Any] | None = self._take(name, dict, "an object", needed=False)
        return value

    def objects(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """A list of such objects."""
        values = self._take(name, list, "a list", needed=False) or ()
        return tuple(v for i, v in enumerate(values) if self._is(v, dict, f"{name}[{i}]", "an object"))

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
                found[fields._path[len(self._path) :] + name] = value
                self._report.notes.append(
                    Problem(fields._path + name, "unknown-field", "is not in the format; it is kept as it is")
                )
        return found


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
            row = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
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


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


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
