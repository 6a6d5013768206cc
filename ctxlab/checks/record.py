"""The learner's own record: what was predicted, how sure, and which rules to look at again.

Models: one JSON file beside the notebook (``.ctxlab/record.json``), read and replaced whole at each change,
so that *restart and run from here* finds every answer. ``CTXLAB_RECORD`` names another file, or ``:memory:``
for a record that ends with the process (builds and tests).
Does not model: points, times, names. Two kernels that write within the same few milliseconds: the later wins.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from ctxlab.checks.predictions import LETTERS
from ctxlab.checks.quantities import exact

FORMAT = 1
IN_MEMORY = ":memory:"
OUTCOMES = ("exact", "right-rule", "misconception", "another-idea", "given-up")


class Answer(TypedDict):
    """One vote: a letter, how sure, and figures as exact text."""

    vote: str | None
    sure: bool | None
    figures: dict[str, str]


class Asked(TypedDict, total=False):
    """Everything about one prediction."""

    first: Answer
    second: Answer
    after_reveal: Answer
    state: str  # revealed | given-up; absent while open
    outcome: str
    first_outcome: str


class Tried(TypedDict, total=False):
    """Everything about one exercise; ``rule`` is the one its last check broke."""

    state: str  # done | stuck | not-yet
    rule: str


class Record(TypedDict):
    """The whole file."""

    format: int
    last: str
    predictions: dict[str, Asked]
    exercises: dict[str, Tried]


_memory: dict[str, str] = {}
_notices: list[str] = []


def load() -> Record:
    """The record as stored, or an empty one; an unreadable file is moved aside and kept."""
    text = _memory.get(_place())
    if text is None:
        path = _path()
        if path is None:
            return _empty()
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return _empty()
        except (OSError, UnicodeDecodeError):
            return _moved_aside(path)
        try:
            return _checked(json.loads(text))
        except (ValueError, TypeError, AttributeError, RecursionError):  # whatever the file holds instead
            return _moved_aside(path)
    return _checked(json.loads(text))


def change(edit: Callable[[Record], None]) -> Record:
    """Read, edit, write back; returns what was written. A folder that refuses keeps it in memory."""
    record = load()
    edit(record)
    text = json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    path = _path()
    if path is None or _place() in _memory:
        _memory[_place()] = text
        return record
    try:
        _replace(path, text)
    except OSError:
        _memory[_place()] = text
        _notices.append("This folder cannot be written to: your answers last until the kernel stops.")
    return record


def notices() -> tuple[str, ...]:
    """What happened to the file since the last call; each notice is told once."""
    told = tuple(_notices)
    _notices.clear()
    return told


def _empty() -> Record:
    return Record(format=FORMAT, last="", predictions={}, exercises={})


def _place() -> str:
    if named := os.environ.get("CTXLAB_RECORD"):
        return named
    try:
        return str(Path.cwd() / ".ctxlab" / "record.json")
    except OSError:  # the folder was removed under the running kernel
        return IN_MEMORY


def _path() -> Path | None:
    place = _place()
    return None if place == IN_MEMORY else Path(place)


_ANSWERS = ("first", "second", "after_reveal")
_WORDS = {
    "state": ("revealed", "given-up", "done", "stuck", "not-yet"),
    "outcome": OUTCOMES,
    "first_outcome": OUTCOMES,
}


def _checked(loaded: Any) -> Record:
    """The loaded value as a record; raises :class:`ValueError` for any other shape."""
    if not isinstance(loaded, dict) or loaded.get("format") != FORMAT:
        raise ValueError("not a record of this format")
    last = loaded.get("last", "")
    if not isinstance(last, str):
        raise ValueError("last is not an id")
    predictions, exercises = _entries(loaded, "predictions"), _entries(loaded, "exercises")
    for entry in predictions.values():
        for name in set(_ANSWERS) & set(entry):
            entry[name] = _answer(entry[name])
    return Record(format=FORMAT, last=last, predictions=predictions, exercises=exercises)


def _entries(loaded: dict[str, Any], name: str) -> dict[str, Any]:
    entries = loaded.get(name)
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise ValueError(f"{name} is not a table of entries")
    for entry in entries.values():
        for key in set(entry) - set(_ANSWERS):
            if not isinstance(entry[key], str) or entry[key] not in _WORDS.get(key, (entry[key],)):
                raise ValueError(f"{key} is {entry[key]!r}")
    return entries


def _answer(stored: Any) -> Answer:
    vote, sure, figures = (stored.get(name) for name in ("vote", "sure", "figures"))
    if vote is not None and vote not in LETTERS:
        raise ValueError(f"there is no answer {vote!r}")
    if sure is not None and not isinstance(sure, bool):
        raise ValueError("sure is neither true nor false")
    return Answer(vote=vote, sure=sure, figures={str(name): str(exact(v)) for name, v in figures.items()})


def _moved_aside(path: Path) -> Record:
    number = 1
    while (aside := path.with_name(f"{path.stem}.unreadable-{number}{path.suffix}")).exists():
        number += 1
    try:
        path.replace(aside)
    except OSError:
        _memory[_place()] = json.dumps(_empty())
        _notices.append(f"Your record {path.name} cannot be read; it was left as it is and is not used.")
    else:
        _notices.append(f"Your record could not be read. It is kept as {aside.name}; a new one is begun.")
    return _empty()


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _take_place(Path(name), path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _take_place(fresh: Path, path: Path) -> None:
    """Rename, trying again: Windows refuses while another notebook, or a scanner, has the file open."""
    for wait_s in (0.02, 0.1, 0.3):
        try:
            fresh.replace(path)
        except PermissionError:
            time.sleep(wait_s)
        else:
            return
    fresh.replace(path)
