"""Recorded API traffic: what was really sent, read from the cache, written to it and billed.

Models: two shelves that ship with the package, :func:`exchanges` (single requests with their structure) and
:func:`sessions` (whole agent runs, turn by turn), as figures with the source of every row; readers for files
in the same format and for your own logs; how far a token counter is from what was recorded.
Does not model: text. None was taken over; lengths and digests stand for it.
Source: ``data/recordings/README.md`` lists repositories, licences, counts and known oddities.
"""

from ctxlab.recordings.logs import LoggedTurn, LogSummary, read_log
from ctxlab.recordings.measured import (
    KINDS,
    CharactersPerToken,
    ErrorShare,
    MeasuredError,
    characters_per_token,
    error_shares,
    kind_of,
    measured_errors,
)
from ctxlab.recordings.records import (
    Estimate,
    Exchange,
    RecordedBlock,
    RecordedError,
    RecordedImage,
    RenderedPiece,
    Session,
    Source,
    Turn,
)
from ctxlab.recordings.shelves import (
    exchange,
    exchanges,
    read_exchanges,
    read_sessions,
    sequences,
    session,
    sessions,
)

__all__ = [
    "KINDS",
    "CharactersPerToken",
    "ErrorShare",
    "Estimate",
    "Exchange",
    "LogSummary",
    "LoggedTurn",
    "MeasuredError",
    "RecordedBlock",
    "RecordedError",
    "RecordedImage",
    "RenderedPiece",
    "Session",
    "Source",
    "Turn",
    "characters_per_token",
    "error_shares",
    "exchange",
    "exchanges",
    "kind_of",
    "measured_errors",
    "read_exchanges",
    "read_log",
    "read_sessions",
    "sequences",
    "session",
    "sessions",
]
