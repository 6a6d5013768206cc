"""Rows of JSON lines become exchanges and sessions, or problems named by line and field.

Models: the format of ``data/recordings/README.md``, checked field by field; rows that must agree with each
other (ids, order of turns, one source for a session).
Does not model: what the values are good for (:mod:`ctxlab.recordings.records`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ctxlab.errors import InvalidUsageError
from ctxlab.prompt import SEGMENTS
from ctxlab.recordings.fields import Fields
from ctxlab.recordings.lines import Report, TooManyProblems, read_rows
from ctxlab.recordings.records import (
    ENDPOINTS,
    EVIDENCE,
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
from ctxlab.usage import Usage

#: Where a row stands (``traces.jsonl:17``), and the row.
PlacedRow = tuple[str, dict[str, Any]]
_Word = TypeVar("_Word", bound=str)


def placed_rows(path: Path, report: Report) -> Iterator[PlacedRow]:
    """Every row of a file with its place."""
    for line, row in read_rows(path, report):
        yield f"{path.name}:{line}", row


def load_exchanges(path: Path, report: Report) -> tuple[Exchange, ...]:
    """Every exchange of a file; what is wrong goes into ``report``."""
    return exchanges_in(placed_rows(path, report), report)


def load_sessions(path: Path, report: Report) -> tuple[Session, ...]:
    """Every session of a file of turns; what is wrong goes into ``report``."""
    return sessions_in(placed_rows(path, report), report)


def exchanges_in(rows: Iterable[PlacedRow], report: Report) -> tuple[Exchange, ...]:
    """The exchanges that rows tell. The rows are used up: every look-up takes its field out."""
    found: list[Exchange] = []
    ids: dict[str, str] = {}
    try:
        for place, row in rows:
            fields = Fields(row, f"{place}: ", report)
            if "agent" in row and "evidence" not in row:
                fields.wrong(
                    "agent", "kind-of-row", "makes it a turn of a session", "read it with read_sessions"
                )
                continue
            exchange = _exchange(fields)
            _check_identity(fields, exchange.id, exchange.sequence, exchange.step, place, ids)
            found.append(exchange)
    except TooManyProblems:
        pass
    return tuple(found)


def sessions_in(rows: Iterable[PlacedRow], report: Report) -> tuple[Session, ...]:
    """The sessions whose turns rows tell; the rows are used up."""
    found: dict[str, tuple[str, Source, list[Turn]]] = {}
    ids: dict[str, str] = {}
    try:
        for place, row in rows:
            fields = Fields(row, f"{place}: ", report)
            if "evidence" in row and "agent" not in row:
                fields.wrong("evidence", "kind-of-row", "makes it an exchange", "read it with read_exchanges")
                continue
            name, row_id, agent = fields.text("sequence"), fields.text("id"), fields.text("agent")
            source = _source(fields.inside("source"))
            turn = _turn(fields)
            _check_identity(fields, row_id, name, turn.index, place, ids)
            first_agent, first_source, turns = found.setdefault(name, (agent, source, []))
            if source != first_source:
                told = "is not that of the session's first turn"
                fields.wrong("source", "one-source", told, "give each recording a sequence of its own")
            if agent != first_agent:
                fields.odd("agent", "one-agent", f"is {agent!r}; the session goes by {first_agent!r}")
            if turns and turn.index <= turns[-1].index:
                fields.wrong("step", "turns-in-order", f"is {turn.index} behind {turns[-1].index}")
            turns.append(turn)
    except TooManyProblems:
        pass
    return tuple(Session(name, agent, source, tuple(turns)) for name, (agent, source, turns) in found.items())


def holds_sessions(path: Path) -> bool:
    """Whether a file holds turns of sessions (their rows name an agent) rather than exchanges."""
    try:
        return any("agent" in row for _, row in read_rows(path, Report()))
    except TooManyProblems:
        return False


def _check_identity(
    fields: Fields, row_id: str, sequence: str, step: int, place: str, ids: dict[str, str]
) -> None:
    if row_id != f"{sequence}#{step}":
        fields.wrong("id", "sequence-and-step", f"is {row_id!r}", f"the row is {sequence}#{step}")
    if row_id in ids:
        fields.wrong("id", "unique", f"stands in {ids[row_id]} already", "a row is recorded once")
    ids.setdefault(row_id, place)


def _exchange(row: Fields) -> Exchange:
    request, response = row.inside("request"), row.inside("response")
    evidence = _one_of(row, "evidence", EVIDENCE)
    endpoint = _one_of(request, "endpoint", ENDPOINTS)
    figures = response.as_is("usage") or {}
    usage = counted = None
    if figures and endpoint == "messages":
        usage = _usage(response, figures, may_lack=_NEEDED if evidence == "reported" else ())
    elif figures:
        counted = _counted(response, figures)
    management = response.inside_or_none("context_management")
    error = response.inside_or_none("error")
    estimate = row.inside_or_none("estimate")
    return Exchange(
        id=row.text("id"),
        sequence=row.text("sequence"),
        step=row.whole("step"),
        evidence=evidence,
        source=_source(row.inside("source")),
        recorded_at=row.moment_or_none("recorded_at"),
        endpoint=endpoint,
        requested_model=request.text_or_none("model"),
        response_model=response.text_or_none("model"),
        request_known=not request.flag("not_recorded"),
        betas=request.texts("betas"),
        blocks=tuple(_block(block) for block in request.each("blocks", needed=True)),
        rendered_pieces=tuple(_piece(piece) for piece in request.each("rendered_tokens")),
        parameters=request.untaken(),
        status=_status(response),
        stop_reason=response.text_or_none("stop_reason"),
        stop_sequence=response.flag("stop_sequence"),
        content_types=response.texts("content_types"),
        content_chars=response.wholes("content_chars"),
        streamed=response.flag("streamed"),
        usage=usage,
        figures=figures,
        count_tokens=counted,
        original_input_tokens=None
        if management is None
        else management.whole_or_none("original_input_tokens"),
        applied_edits=None if management is None else management.objects("applied_edits"),
        diagnostics=response.as_is("diagnostics"),
        error=None
        if error is None
        else RecordedError(error.text("type"), error.text_or_none("message", needed=True) or ""),
        memory_commands=response.objects("memory_commands"),
        estimate=None if estimate is None else _estimate(estimate),
        tags=frozenset(row.texts("tags")),
        note=row.text_or_none("note"),
        extra=row.unknown(),
    )


def _turn(row: Fields) -> Turn:
    request, response = row.inside("request"), row.inside("response")
    figures = response.as_is("usage")
    if figures is None:
        response.wrong("usage", "required", "is missing", "a turn without figures tells nothing")
    status = _status(response)
    if status not in (None, 200):
        response.wrong("status", "answered", f"is {status}", "a turn is a request that was answered")
    return Turn(
        index=row.whole("step"),
        model_id=request.text("model"),
        usage=(_usage(response, figures) if figures is not None else None) or Usage.zero(),
        gap_s=row.seconds_or_none("gap_s"),
        requested_at=row.moment_or_none("requested_at"),
        recorded_at=row.moment_or_none("recorded_at"),
        after_compaction=row.flag("after_compaction"),
        blocks=tuple(_block(block) for block in request.each("blocks", needed=True)),
        content_types=response.texts("content_types"),
        content_chars=response.wholes("content_chars"),
        stop_reason=response.text_or_none("stop_reason"),
        diagnostics=response.as_is("diagnostics"),
        extra=row.unknown(),
    )


_NEEDED = ("input_tokens", "output_tokens")


def _usage(response: Fields, figures: Mapping[str, Any], may_lack: tuple[str, ...] = ()) -> Usage | None:
    """None where figures are wrong (and then told), or where one is absent that may be."""
    absent = [name for name in may_lack if figures.get(name) is None]
    try:
        usage = Usage.from_response({**figures, **dict.fromkeys(absent, 0)} if absent else figures)
    except InvalidUsageError as error:
        for problem in error.problems:
            response.wrong(problem.path, problem.rule, problem.message, problem.fix)
        return None
    return None if absent else usage


def _counted(response: Fields, figures: Mapping[str, Any]) -> int | None:
    """What the counting endpoint answered, which is one figure of a usage."""
    usage = _usage(response, {"input_tokens": figures.get("input_tokens"), "output_tokens": 0})
    return None if usage is None else usage.input_tokens


def _status(response: Fields) -> int | None:
    return response.whole_or_none("status", least=100, most=599)


def _block(fields: Fields, segment: str | None = None, role: str | None = None) -> RecordedBlock:
    """A block of a request, or one inside a block of ``segment`` and ``role``."""
    if segment is None:
        segment, role = _one_of(fields, "segment", SEGMENTS), fields.text_or_none("role")
    image = fields.inside_or_none("image")
    counts = fields.inside_or_none("content_tokens")
    return RecordedBlock(
        segment=segment,
        role=role,
        type=fields.text("type"),
        chars=fields.whole_or_none("chars"),
        sha256=fields.sha256_or_none("sha256"),
        message=fields.whole_or_none("message"),
        name=fields.text_or_none("name"),
        cache_control=fields.as_is("cache_control"),
        image=None if image is None else _image(image),
        document=fields.as_is("document"),
        parts=tuple(_block(part, segment, role) for part in fields.each("nested")),
        content_tokens={} if counts is None else counts.whole_each(),
        ends_with_newline=fields.flag("ends_with_newline"),
        trailing_space_tokens=fields.whole_or_none("trailing_space_tokens") or 0,
        defer_loading=fields.flag("defer_loading"),
        is_error=fields.flag("is_error"),
        bare_string=fields.flag("bare_string"),
        citations=fields.flag("citations"),
        signature_chars=fields.whole_or_none("signature_chars"),
        memory_command=fields.as_is("memory_command"),
        sent_sha256=fields.sha256_or_none("sent_sha256"),
    )


def _image(fields: Fields) -> RecordedImage:
    return RecordedImage(
        source=fields.text("source"),
        width=fields.whole_or_none("width", least=1),
        height=fields.whole_or_none("height", least=1),
        media_type=fields.text_or_none("media_type"),
        bytes=fields.whole_or_none("bytes"),
        real_media_type=fields.text_or_none("real_media_type"),
        sha256=fields.sha256_or_none("sha256"),
        url_sha256=fields.sha256_or_none("url_sha256"),
    )


def _piece(fields: Fields) -> RenderedPiece:
    return RenderedPiece(
        rule=fields.text("rule"),
        piece=fields.text("piece"),
        tokens=fields.whole("tokens"),
        vocabulary=fields.text("vocabulary"),
        message=fields.whole_or_none("message"),
    )


def _estimate(fields: Fields) -> Estimate:
    return Estimate(
        total=fields.whole_or_none("total"),
        recorded_total=fields.whole_or_none("recorded_total"),
        explained=fields.flag("explained"),
        rules=fields.texts("rules"),
        post_hoc=fields.texts("post_hoc"),
        not_estimable=fields.text_or_none("not_estimable"),
    )


def _source(fields: Fields) -> Source:
    return Source(
        repo=fields.text_or_none("repo"),
        path=fields.text("path"),
        commit=fields.text_or_none("commit"),
        committed_at=fields.moment_or_none("committed_at"),
        licence=fields.text_or_none("licence"),
    )


def _one_of(fields: Fields, name: str, allowed: tuple[_Word, ...]) -> _Word:
    value = fields.text_or_none(name)
    for word in allowed:
        if value == word:
            return word
    fields.wrong(name, "known-value", f"is {value!r}", f"give one of {', '.join(allowed)}")
    return allowed[0]
