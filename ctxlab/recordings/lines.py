"""JSON lines from a file: every object with its place, and everything that is wrong with its place.

Models: UTF-8 JSON lines, plain or gzip, with every problem collected instead of stopping at the first.
Does not model: what stands in a row (:mod:`ctxlab.recordings.fields`).
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxlab.errors import InvalidArgumentError, Problem, RecordingError

MOST_PROBLEMS = 20
_PARTS_OF_WORDS_AND_NUMBERS = ("true", "false", "null", "-", ".", "e+", "e-", "E+", "E-")


class TooManyProblems(Exception):
    """Enough was found; reading on would only repeat it."""


class Report:
    """Problems found so far, up to ``most``. ``notes`` are what is odd but allowed: fields nobody knows."""

    def __init__(self, most: int | None = MOST_PROBLEMS):
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self._most = most

    def add(self, path: str, rule: str, message: str, fix: str = "") -> None:
        """Note a problem; raises ``TooManyProblems`` at the most that are told."""
        self.problems.append(Problem(path, rule, message, fix))
        if len(self.problems) == self._most:
            raise TooManyProblems

    def add_nothing_read(self, name: str) -> None:
        """A file without a row is a problem of its own, unless something else was wrong with it."""
        if not self.problems:
            self.add(name, "rows", "holds no row", "copy the whole file again")

    def raise_problems(self) -> None:
        """Raise :class:`RecordingError` with what was noted, if anything was."""
        if self.problems:
            raise RecordingError(self.problems)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _told_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {shown(twice)} stands twice in one object")
    return fields


# one decoder for all lines: json.loads with an argument makes a new one each time
_decode = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_told_once).decode


def read_rows(path: Path, report: Report, name: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """``(line, object)`` for every line that holds one; anything else becomes a problem of ``report``.

    ``name`` is what problems call the file.
    """
    name = name or path.name
    lines = content(path, report, name).split(b"\n")
    for number, line in enumerate(lines, 1):
        # files put together from several have the mark in between, too
        line = line.strip().removeprefix(b"\xef\xbb\xbf")
        if not line:
            continue
        place = f"{name}:{number}"
        try:
            row = _decode(line.decode("utf-8"))
        except RecursionError:
            report.add(place, "nesting", "is nested too deeply to read")
        except ValueError as error:
            if number == len(lines) and _was_cut(error):
                report.add(place, "truncated", "ends in the middle of a row", "copy the whole file again")
            elif isinstance(error, UnicodeDecodeError):
                where = f"at byte {error.start} of the line"
                report.add(place, "utf-8", f"is not UTF-8 {where}", "save it as UTF-8")
            else:
                report.add(place, "json", f"is not JSON: {error}", "one JSON object a line, no NaN")
        else:
            if type(row) is dict:
                yield number, row
            else:
                report.add(place, "object", f"is {shown(row)}, not an object", "one JSON object a line")


def _was_cut(error: ValueError) -> bool:
    """Whether a line is unreadable because it stops too early, rather than for what stands in it."""
    if isinstance(error, UnicodeDecodeError):
        return error.reason == "unexpected end of data"
    if not isinstance(error, json.JSONDecodeError):
        return False
    rest = error.doc[error.pos :]
    return (
        any(word.startswith(rest) for word in _PARTS_OF_WORDS_AND_NUMBERS)
        or error.msg.startswith("Unterminated string")
        or (error.msg.startswith("Invalid \\") and '"' not in rest)
    )


def file_path(path: str | os.PathLike[str]) -> Path:
    """A path, whoever names it; what is none raises :class:`InvalidArgumentError`."""
    try:
        return Path(path)
    except TypeError:
        raise InvalidArgumentError(
            Problem("path", "path", f"is {shown(path)}", "give the path of a file")
        ) from None


def content(path: Path, report: Report, name: str) -> bytes:
    """The bytes of a file, unpacked if they are gzip."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # a path with a NUL in it is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise RecordingError(
            Problem(str(path), "readable", f"cannot be read ({reason})", "check the path")
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
        data = member.unused_data.lstrip(b"\0")  # tapes and block devices pad with zeros
    return unpacked


def shown(value: object) -> str:
    """A value as a message tells it: short, and printable anywhere."""
    if value is None:
        return "null"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        text = ascii(value)
    except ValueError:  # Python refuses to print ints of more than 4,300 digits
        text = "too long to print"
    return text if len(text) <= 40 else text[:37] + "..."
