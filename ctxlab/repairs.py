"""A saved session as a file: read, mended by :func:`ctxlab.validity.repair`, and written beside the original.

Models: a request body, a bare list of messages, or one message a line, in UTF-8 JSON; the file is written
whole or not at all, in the shape it was read in.
Does not model: logs in which messages are wrapped in other records; streams that were cut.
Source: own construction.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem
from ctxlab.validity import Report, repair

Shape = Literal["body", "list", "lines"]


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A session as it stands in a file: the request it makes, and the shape it is written in."""

    path: Path
    shape: Shape
    request: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> SessionFile:
        """Read a file. Raises :class:`InvalidRequestError` that names file, line and column."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise _unreadable(str(path), "utf-8", f"is not UTF-8 ({error.reason})") from None
        except OSError as error:
            raise _unreadable(str(path), "readable", error.strerror or str(error)) from None
        try:
            value = _loads(text)
        except json.JSONDecodeError as error:
            return cls(path, "lines", {"messages": _lines(path, text, error)})
        except RecursionError:
            raise _unreadable(str(path), "nesting", "is nested too deeply to read") from None
        if isinstance(value, list):
            return cls(path, "list", {"messages": value})
        if isinstance(value, dict) and "messages" in value:
            return cls(path, "body", value)
        if isinstance(value, dict) and "role" in value:
            return cls(path, "lines", {"messages": [value]})
        raise _unreadable(str(path), "session", "is no session", "a list of messages, or an object with one")

    def dumps(self, request: Mapping[str, Any]) -> str:
        """A request in the shape of this file."""
        if self.shape == "lines":
            return "".join(f"{_encoded(message, None)}\n" for message in request["messages"])
        return _encoded(request if self.shape == "body" else request["messages"], 2) + "\n"


def repair_file(
    path: Path, output: Path | None = None, *, touched: Iterable[int] = (), model: str | None = None
) -> tuple[Report, Path | None]:
    """Mend a saved session; returns the report and the file that was written (None: nothing to mend).

    ``output`` defaults to ``NAME.repaired.EXT`` beside the file, which must not hold something else already;
    an ``output`` that is given is written over. Raises :class:`ctxlab.errors.InvalidRequestError` for what
    is no session, :class:`InvalidArgumentError` for a place that cannot be written.
    """
    session = SessionFile.read(path)
    mended, report = repair(session.request, touched=touched, model=model)
    if not report.changes:
        return report, None
    to = output or path.with_name(f"{path.stem}.repaired{path.suffix}")
    text = session.dumps(mended)
    if output is None and to.exists() and to.read_bytes() != text.encode("utf-8"):
        raise InvalidArgumentError(
            Problem(str(to), "not-there-yet", "holds another session already", "name a file with --output")
        )
    _write(to, text, like=path)
    return report, to


def as_object(report: Report, written: Path | None) -> dict[str, Any]:
    """The report as one JSON object."""
    return {
        "changes": [{**change._asdict(), "ids": list(change.ids)} for change in report.changes],
        "ids": list(report.ids),
        "left": [_problem(one) for one in report.left],
        "shifted": [_problem(one) for one in report.shifted],
        "written": None if written is None else str(written),
    }


def _problem(one: Problem) -> dict[str, str]:
    return {"path": one.path, "rule": one.rule, "message": one.message, "fix": one.fix}


def _write(path: Path, text: str, like: Path) -> None:
    """All of it or nothing: a file beside it first, which then takes its name; who may read it stays so."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(like, beside)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        said = error.strerror or str(error)
        raise InvalidArgumentError(Problem(str(path), "writable", said, "name another --output")) from None


def _lines(path: Path, text: str, whole: json.JSONDecodeError) -> list[Any]:
    """One message a line; of a file that is no such thing, what is wrong with it as one JSON value."""
    found: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            message = _loads(line)
        except json.JSONDecodeError as error:
            if not found:
                place = f"{path}:{whole.lineno}:{whole.colno}"
                raise _unreadable(place, "json", whole.msg, "the file may be cut off") from None
            fix = "the file may be cut off; take the line out to go on without it"
            raise _unreadable(f"{path}:{number}:{error.colno}", "json", error.msg, fix) from None
        if not isinstance(message, dict) or "role" not in message:
            fix = "a message a line, a list of messages, or an object with messages"
            raise _unreadable(f"{path}:{number}", "message", "is no message", fix)
        found.append(message)
    if not found:
        raise _unreadable(str(path), "session", "is empty")
    return found


def _loads(text: str) -> Any:
    def refuse(constant: str) -> float:
        raise json.JSONDecodeError(f"{constant} is not JSON", text, text.find(constant))

    return json.loads(text, parse_constant=refuse)


def _encoded(value: Any, indent: int | None) -> str:
    """JSON as readable as UTF-8 allows: half a character, which UTF-8 cannot hold, stays an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    halves = any("\ud800" <= char <= "\udfff" for char in text) if not text.isascii() else False
    return json.dumps(value, indent=indent) if halves else text


def _unreadable(path: str, rule: str, message: str, fix: str = "") -> InvalidRequestError:
    return InvalidRequestError(Problem(path, rule, message, fix))
