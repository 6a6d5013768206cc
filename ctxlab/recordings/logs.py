"""Your own logs: what each message consumed, and nothing of what it said.

Models: transcripts of coding agents (rows with a ``message`` that has ``usage``; one row per content block,
so rows of one message id are folded), API answers saved as JSON, results of batches, and turns in the format
of ``data/recordings``.
Does not model: anything but figures, model ids and times. Text is never kept, and nothing leaves the machine.
Source: the transcripts behind ``data/recordings/traces.jsonl.gz``; folding: :func:`usage.fold_rows`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ctxlab.errors import InvalidUsageError, Problem, RecordingError
from ctxlab.recordings.lines import Report, content, file_path, read_rows
from ctxlab.usage import Usage, fold_rows

_SUFFIXES = (".jsonl", ".json", ".jsonl.gz")
#: What agents write as the model of a message that no model answered.
_NO_MODEL = "<synthetic>"


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """One message: where its first row stands (``file:line``), its figures, how many rows it had."""

    where: str
    model_id: str | None
    recorded_at: datetime | None
    usage: Usage
    rows: int


@dataclass(frozen=True, slots=True, repr=False)
class LogSummary:
    """``turns`` in file order; ``rows_read`` counts JSON objects, ``skipped`` what is left out, by reason."""

    files: int
    rows_read: int
    turns: tuple[LoggedTurn, ...]
    skipped: Mapping[str, tuple[str, ...]]

    @property
    def usages(self) -> tuple[Usage, ...]:
        """What every message consumed, in order."""
        return tuple(turn.usage for turn in self.turns)

    @property
    def rows_used(self) -> int:
        """How many rows the messages were read from; several may tell of one."""
        return sum(turn.rows for turn in self.turns)

    def __repr__(self) -> str:
        reasons = "".join(
            f", {len(places)} skipped ({reason}: {', '.join(places[:3])}{', …' if len(places) > 3 else ''})"
            for reason, places in self.skipped.items()
        )
        return (
            f"<LogSummary: {_counted(self.files, 'file')}, {_counted(self.rows_read, 'row')} read, "
            f"{self.rows_used} used for {_counted(len(self.turns), 'message')}{reasons}>"
        )


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def read_log(path: str | os.PathLike[str]) -> LogSummary:
    """Read a log file or every log below a folder.

    Raises :class:`RecordingError` when there is nothing to read, or no row with usage in it.
    """
    root = file_path(path)
    files = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.name.endswith(_SUFFIXES))
    if not files:
        told = "holds no log" if root.exists() else "is not there"
        kinds = f"give a file or a folder with {', '.join(_SUFFIXES)}"
        raise RecordingError(Problem(str(path), "log-files", told, kinds))
    skipped: dict[str, list[str]] = {}
    usable: list[dict[str, Any]] = []
    firsts: dict[object, tuple[str, str | None, datetime | None]] = {}
    rows_read = 0
    for file in files:
        name = file.name if file == root else file.relative_to(root).as_posix()
        for place, row in _rows(file, name, skipped):
            rows_read += 1
            message, model_id, moment = _message(row)
            reason = _reason_to_skip(message, model_id)
            if reason is not None:
                skipped.setdefault(reason, []).append(place)
                continue
            message_id = message.get("id") or row.get("requestId")
            message_id = message_id if isinstance(message_id, str) else None
            # a row without an id is a message of its own; its place tells it apart
            firsts.setdefault(message_id or (place,), (place, model_id, moment))
            usable.append({"id": message_id, "usage": message["usage"]})
    if not usable:
        reasons = ", ".join(f"{len(places)} {reason}" for reason, places in skipped.items()) or "no rows"
        raise RecordingError(
            Problem(
                str(path), "log-has-usage", f"holds no row with usage ({reasons})", "is it an agent's log?"
            )
        )
    turns = tuple(
        LoggedTurn(place, model_id, moment, folded.usage, folded.rows)
        for (place, model_id, moment), folded in zip(firsts.values(), fold_rows(usable), strict=True)
    )
    return LogSummary(len(files), rows_read, turns, {reason: tuple(p) for reason, p in skipped.items()})


def _rows(file: Path, name: str, skipped: dict[str, list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    report = Report(most=None)
    if file.suffix == ".json":
        try:
            whole = json.loads(content(file, report, name).decode("utf-8-sig"))
        except (ValueError, RecursionError):
            pass  # it may be lines under another name
        else:
            for i, row in enumerate(whole if isinstance(whole, list) else [whole]):
                if isinstance(row, dict):
                    yield f"{name}[{i}]", row
                else:
                    skipped.setdefault("not an object", []).append(f"{name}[{i}]")
            return
    for line, row in read_rows(file, report, name):
        yield f"{name}:{line}", row
    for problem in report.problems:
        skipped.setdefault(f"cannot be read: {problem.rule}", []).append(problem.path)


def _message(row: dict[str, Any]) -> tuple[dict[str, Any], str | None, datetime | None]:
    """The object that holds ``usage`` (empty if none does), the model, and the time, whatever the format."""
    request, of_batch = row.get("request"), row.get("result")
    if isinstance(of_batch, dict) and "message" in of_batch and "message" not in row:
        row = {**row, "message": of_batch["message"]}
    for key in ("message", "response"):
        inner = row.get(key)
        if isinstance(inner, dict) and "usage" in inner:
            found = inner if key == "message" else {**inner, "id": row.get("id")}
            break
    else:
        found = row if "usage" in row else {}
    model = found.get("model") or (request.get("model") if isinstance(request, dict) else None)
    time = row.get("timestamp") or row.get("recorded_at")
    try:
        moment = datetime.fromisoformat(time) if isinstance(time, str) else None
    except ValueError:
        moment = None
    return found, model if isinstance(model, str) else None, moment


def _reason_to_skip(message: Mapping[str, Any], model_id: str | None) -> str | None:
    if message.get("usage") is None:
        return "no usage in it"
    if model_id == _NO_MODEL:
        return "written by the client, no model answered"
    try:
        Usage.from_response(message["usage"])
    except InvalidUsageError as error:
        return f"impossible usage: {error.problems[0].rule}"
    return None
