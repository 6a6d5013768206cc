"""The calls of a session from a file, whatever wrote it.

Models: JSON lines of ``{"request": …, "response": … or "usage": …, "started_s": …}`` (also as one JSON list),
rows in the format of ``data/recordings``, turns in that of its sessions, transcripts of coding agents
(figures and times only). A line that cannot be read is a problem with its place; the others are given.
Does not model: several files as one session.

Fields beside those above: ``responded_s``; ``started_at``, ``requested_at``, ``responded_at``,
``recorded_at`` and ``timestamp`` as ISO 8601 times; ``model``, ``workspace``, ``conversation``,
``response_id``, ``cache_miss_reason``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxlab.commands import bodies
from ctxlab.diagnose import Exchange, from_recording, from_session
from ctxlab.errors import InvalidRequestError, InvalidUsageError, Problem, RecordingError
from ctxlab.prompt import Prompt
from ctxlab.recordings import read_exchanges, read_log, read_sessions
from ctxlab.recordings.lines import Report, content, read_rows
from ctxlab.usage import Usage

_STARTED = ("started_at", "requested_at")
_RESPONDED = ("responded_at", "recorded_at", "timestamp")


@dataclass(slots=True)
class Calls:
    """Calls in file order, each with the line it is from (None where the format has none)."""

    kind: str
    exchanges: list[Exchange] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, exchange: Exchange, line: int | None) -> None:
        """Take one call."""
        self.exchanges.append(exchange)
        self.lines.append(line)


def read(path: Path) -> Calls:
    """The calls of ``path``; what is wrong with it is in ``problems``, nothing is raised."""
    name = path.as_posix()
    if path.is_dir():
        return Calls("", problems=[Problem(name, "readable", "is a folder", "give one file")])
    try:
        rows, problems = _rows(path, name)
        kind = _kind(rows)
        if kind == "recorded requests":
            calls = Calls(kind)
            for recorded in read_exchanges(path):
                calls.add(from_recording(recorded), None)
        elif kind == "recorded sessions":
            calls = Calls(kind)
            for session in read_sessions(path):
                for exchange in from_session(session):
                    calls.add(replace(exchange, conversation=exchange.conversation or session.name), None)
        elif kind == "transcript":
            calls = _transcript(path, name)
        else:
            calls = Calls(kind)
            for line, row in rows:
                _take(calls, f"{name}:{line}", line, row)
    except RecordingError as error:
        return Calls("", problems=list(error.problems))
    calls.problems[:0] = problems
    if not calls.exchanges and not calls.problems:
        told = Problem(name, "calls", "holds no call", "one object a line: request, usage, started_s")
        calls.problems.append(told)
    return calls


def _rows(path: Path, name: str) -> tuple[list[tuple[int, dict[str, Any]]], list[Problem]]:
    report = Report(most=None)
    if path.suffix != ".json":
        return list(read_rows(path, report, name)), report.problems
    value = bodies.parsed(name, content(path, report, name))
    if isinstance(value, Problem):
        rows = list(read_rows(path, report, name))  # it may be lines under another name
        return (rows, report.problems) if rows else ([], [value])
    items = value if isinstance(value, list) else [value]
    wrong = [
        Problem(f"{name}[{at}]", "object", "is no object", "one object a call")
        for at, item in enumerate(items)
        if not isinstance(item, dict)
    ]
    return [(at + 1, item) for at, item in enumerate(items) if isinstance(item, dict)], wrong


def _kind(rows: list[tuple[int, dict[str, Any]]]) -> str:
    for _, row in rows:
        request, message = row.get("request"), row.get("message")
        if isinstance(request, dict) and "blocks" in request and "messages" not in request:
            return "recorded requests" if "evidence" in row else "recorded sessions"
        if isinstance(message, dict) and "usage" in message:
            return "transcript"
    return "calls"


def _transcript(path: Path, name: str) -> Calls:
    log = read_log(path)
    calls = Calls("transcript")
    for turn in log.turns:
        moment = None if turn.recorded_at is None else _seconds(turn.recorded_at)
        line = turn.where.rpartition(":")[2]
        calls.add(
            Exchange(usage=turn.usage, responded_s=moment, model=turn.model_id, conversation=name),
            int(line) if line.isdigit() else None,
        )
    return calls


def _take(calls: Calls, place: str, line: int, row: Mapping[str, Any]) -> None:
    response = row.get("response")
    answer: Mapping[str, Any] = response if isinstance(response, dict) else {}
    request: Prompt | None = None
    usage: Usage | None = None
    body = row.get("request", row if isinstance(row.get("messages"), list) else None)
    told = row.get("usage", answer.get("usage"))
    if body is None and told is None:
        fix = "one object a line: request, usage, started_s"
        calls.problems.append(Problem(place, "call", "holds neither a request nor usage", fix))
        return
    try:
        request = None if body is None else Prompt.from_request(body)
        usage = None if told is None else Usage.from_response(told)
    except (InvalidRequestError, InvalidUsageError) as error:
        calls.problems += [replace(one, path=f"{place}: {one.path}") for one in error.problems]
        return
    calls.add(
        Exchange(
            request=request,
            usage=usage,
            started_s=_time(calls, place, row, "started_s", _STARTED),
            responded_s=_time(calls, place, row, "responded_s", _RESPONDED),
            model=_word(row, answer, "model"),
            workspace=_word(row, {}, "workspace"),
            response_id=_word({"id": row.get("response_id")}, answer, "id"),
            cache_miss_reason=row.get("cache_miss_reason", answer.get("diagnostics")),
            conversation=_word(row, {}, "conversation"),
        ),
        line,
    )


def _word(row: Mapping[str, Any], answer: Mapping[str, Any], name: str) -> str | None:
    values = (source.get(name) for source in (row, answer))
    return next((value for value in values if isinstance(value, str)), None)


def _time(
    calls: Calls, place: str, row: Mapping[str, Any], seconds: str, moments: tuple[str, ...]
) -> float | None:
    value = row.get(seconds)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    wrong = [seconds] if value is not None else []
    for name in moments:
        if isinstance(row.get(name), str):
            try:
                return _seconds(datetime.fromisoformat(row[name]))
            except ValueError:
                wrong.append(name)
    for name in wrong:
        calls.problems.append(
            Problem(f"{place}: {name}", "time", f"is {row[name]!r:.40}", "give seconds or ISO 8601")
        )
    return None


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def places(path: Path, calls: Calls) -> Iterator[str]:
    """Where each call stands, for people."""
    for at, line in enumerate(calls.lines):
        yield f"{path.as_posix()}:{line}" if line is not None else f"{path.as_posix()}: #{at}"
