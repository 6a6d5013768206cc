"""The messages of a recorded session, a log, or a folder of logs, as every page about logs needs them.

Models: place, model, usage and day of each message; which sessions under-report their output.
Does not model: parsing, see :mod:`ctxlab.recordings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple, TypeGuard

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.recordings import LogSummary, Session, Turn, read_log
from ctxlab.takeaways.files import path_of
from ctxlab.usage import Usage

NO_MODEL = "(no model named)"
_LOG = Problem("source", "path-or-log", "is no path", "give the path of a log or of a folder of logs")
_SUFFIXES = (".jsonl", ".jsonl.gz")


class Message(NamedTuple):
    """One message: where it stands (``file:line`` in a log), whose it is, what it used, on which day."""

    where: str
    model: str
    usage: Usage
    on: date | None = None


def is_log(source: object) -> TypeGuard[Session | LogSummary | str | Path]:
    """Whether ``source`` is a session, a log, or the path of a log or a folder; a request body is none.

    Raises :class:`InvalidArgumentError` for what is neither in hand nor a path.

    >>> is_log("today.jsonl"), is_log("request.json"), is_log({"messages": []})
    (True, False, False)
    """
    if isinstance(source, (Session, LogSummary)):
        return True
    if isinstance(source, Mapping):
        return False
    path = path_of(source)
    if path.name.endswith(_SUFFIXES):
        return True
    try:
        return path.is_dir()
    except OSError:  # a name too long to be one
        return False


def log_of(source: object) -> Session | LogSummary:
    """A session or log in hand, or what lies at a path.

    Raises :class:`InvalidArgumentError` for what is no path or cannot be read, :class:`RecordingError` where
    there is no usage.
    """
    if isinstance(source, (Session, LogSummary)):
        return source
    path = path_of(source, _LOG)
    try:
        return read_log(path)
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InvalidArgumentError(replace(_LOG, path=str(path), message=reason)) from None


def has_whole_outputs(log: Session | LogSummary) -> bool:
    """Whether its output tokens can be billed."""
    return not isinstance(log, Session) or log.outputs_are_whole


def messages_of(log: Session | LogSummary, unnamed: str = NO_MODEL) -> list[Message]:
    """The messages in file order, without output where that is under-reported.

    ``unnamed`` stands in for the model where none is named.
    """
    whole = has_whole_outputs(log)
    return [
        Message(
            f"turn {turn.index}" if isinstance(turn, Turn) else turn.where,
            turn.model_id or unnamed,
            turn.usage if whole else replace(turn.usage, output_tokens=0),
            turn.recorded_at.date() if turn.recorded_at else None,
        )
        for turn in log.turns
    ]


def read_from(log: Session | LogSummary) -> str:
    """What was read, and what was passed over, in the log's own words."""
    return log.name if isinstance(log, Session) else repr(log).strip("<>").partition(": ")[2]
