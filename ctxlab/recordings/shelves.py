"""The recordings that ship with the package, by name; and readers for other files in the same format.

Models: two files read on first use and kept for the life of the process.
Does not model: writing (``python -m ctxlab.recordings add``).
Source: ``data/recordings/README.md``.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.places import data_path
from ctxlab.recordings.lines import Report, file_path
from ctxlab.recordings.reading import load_exchanges, load_sessions
from ctxlab.recordings.records import Exchange, Session

_Row = TypeVar("_Row")


def read_exchanges(path: str | os.PathLike[str]) -> tuple[Exchange, ...]:
    """Every exchange of a JSONL file, plain or gzip.

    Raises :class:`RecordingError` with file, line and field of everything that is wrong (the first 20). A
    file without a row has no exchange and nothing wrong in it.
    """
    return _read(load_exchanges, path)


def read_sessions(path: str | os.PathLike[str]) -> tuple[Session, ...]:
    """Every session of a JSONL file of turns; errors as for :func:`read_exchanges`."""
    return _read(load_sessions, path)


def _read(
    load: Callable[[Path, Report], tuple[_Row, ...]], path: str | os.PathLike[str], *, filled: bool = False
) -> tuple[_Row, ...]:
    report = Report()
    file = file_path(path)
    found = load(file, report)
    if filled and not found:
        report.add_nothing_read(file.name)
    report.raise_problems()
    return found


@cache
def exchanges() -> tuple[Exchange, ...]:
    """The recorded exchanges, in file order; read and checked on first use.

    >>> {exchange.evidence for exchange in exchanges()} == {"recorded", "response only", "reported"}
    True
    """
    return _read(load_exchanges, data_path("recordings", "exchanges.jsonl.gz"), filled=True)


@cache
def sessions() -> tuple[Session, ...]:
    """The recorded agent sessions, in file order; read and checked on first use."""
    return _read(load_sessions, data_path("recordings", "traces.jsonl.gz"), filled=True)


def session(name: str) -> Session:
    """One session by name; an unknown one raises :class:`InvalidArgumentError` with the nearest names.

    >>> session("cli/session-375d5d79")
    <Session cli/session-375d5d79: Claude Code 2.1.7, 253 turns>
    """
    return _named("session", name, {one.name: one for one in sessions()})


def exchange(row_id: str) -> Exchange:
    """One exchange by row id; an unknown one raises :class:`InvalidArgumentError` with the nearest ids."""
    return _named("exchange", row_id, _exchanges_by_id())


@cache
def sequences() -> Mapping[str, tuple[Exchange, ...]]:
    """The exchanges by sequence: requests of one recording, in the order they were sent.

    >>> [row.step for row in sequences()["crush/bash_tool"]][:3]
    [0, 1, 2]
    """
    found: dict[str, list[Exchange]] = {}
    for row in exchanges():
        found.setdefault(row.sequence, []).append(row)
    return {name: tuple(sorted(rows, key=lambda row: row.step)) for name, rows in found.items()}


@cache
def _exchanges_by_id() -> Mapping[str, Exchange]:
    return {row.id: row for row in exchanges()}


def _named(kind: str, name: str, known: Mapping[str, _Row]) -> _Row:
    if isinstance(name, str) and name in known:
        return known[name]
    nearest = difflib.get_close_matches(str(name), known, n=3, cutoff=0.3)
    raise InvalidArgumentError(
        Problem(
            kind,
            f"recorded-{kind}",
            f"{name!r} is not among the {len(known)} recorded",
            f"did you mean {' or '.join(nearest)}?" if nearest else f"see ctxlab.recordings.{kind}s()",
        )
    )
