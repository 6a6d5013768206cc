"""What one recorded exchange and one recorded session hold, and how their JSON lines are read.

Models: requests as structure (types, lengths, digests, markers), answers as figures; a session as the turns
of one agent run. The format is described in ``data/recordings/README.md``.
Does not model: text. There is none in the files, so nothing here can be sent again.
Source: the recordings themselves; oddities that the types account for are listed in the same README.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from ctxlab.errors import InvalidUsageError
from ctxlab.prompt import SEGMENTS
from ctxlab.recordings.lines import Fields, Report, TooManyProblems, read_rows
from ctxlab.usage import Usage

Evidence = Literal["recorded", "response only", "reported"]
Endpoint = Literal["messages", "count_tokens"]
WriteTtl = Literal["5m", "1h", "mixed", "unknown"]

_EVIDENCE: tuple[Evidence, ...] = ("recorded", "response only", "reported")
_ENDPOINTS: tuple[Endpoint, ...] = ("messages", "count_tokens")
_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a row comes from: a public repository, the file in it, the commit (None where not known)."""

    repo: str | None
    path: str
    commit: str | None
    committed_at: datetime | None
    licence: str | None


@dataclass(frozen=True, slots=True)
class RecordedImage:
    """A picture; ``width`` and ``height`` in pixels are None where only an address or a file id was sent."""

    source: str
    width: int | None
    height: int | None
    media_type: str | None
    bytes: int | None
    real_media_type: str | None
    sha256: str | None
    url_sha256: str | None


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """One block of a recorded request, in render order.

    ``chars`` is the length of the text, of the canonical JSON for a tool, of name plus input for a call; None
    where it is not known. ``sha256`` is the digest of the canonical JSON without ``cache_control`` (its first
    16 digits in sessions), ``sent_sha256`` that of the JSON as sent, where somebody took it and it is
    another. ``content_tokens`` is what the content alone counts, by vocabulary, where it is known. ``parts``
    are the blocks inside a tool result.
    """

    segment: str
    role: str | None
    type: str
    chars: int | None
    sha256: str | None
    message: int | None = None
    name: str | None = None
    cache_control: Mapping[str, Any] | None = None
    image: RecordedImage | None = None
    document: Mapping[str, Any] | None = None
    parts: tuple[RecordedBlock, ...] = ()
    content_tokens: Mapping[str, int] = field(default_factory=dict)
    ends_with_newline: bool = False
    trailing_space_tokens: int = 0
    defer_loading: bool = False
    is_error: bool = False
    bare_string: bool = False
    citations: bool = False
    signature_chars: int | None = None
    memory_command: Mapping[str, Any] | None = None
    sent_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class RenderedPiece:
    """What is counted as a whole: all calls or all results of a message, a schema, a forced tool's name."""

    rule: str
    piece: str
    tokens: int
    vocabulary: str
    message: int | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the structure rules predict for this row beside what was recorded (both None where unknown)."""

    total: int | None
    recorded_total: int | None
    explained: bool
    rules: tuple[str, ...]
    post_hoc: tuple[str, ...]
    not_estimable: str | None


@dataclass(frozen=True, slots=True)
class RecordedError:
    """An error answer, word for word."""

    type: str
    message: str


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Exchange:
    """One request and its answer.

    ``parameters`` are the request's other fields as sent, ``extra`` fields that the format does not have.
    ``usage`` is None where the answer has none or not all of it (``figures`` is then what there was);
    ``count_tokens`` is the answer of the counting endpoint, ``original_input_tokens`` what it says of the
    request before its context was managed. ``request_known`` is False for answers that were published without
    their request.
    """

    id: str
    sequence: str
    step: int
    evidence: Evidence
    source: Source
    recorded_at: datetime | None
    endpoint: Endpoint
    requested_model: str | None
    response_model: str | None
    request_known: bool
    betas: tuple[str, ...]
    parameters: Mapping[str, Any]
    blocks: tuple[RecordedBlock, ...]
    rendered_pieces: tuple[RenderedPiece, ...]
    status: int | None
    stop_reason: str | None
    stop_sequence: bool
    content_types: tuple[str, ...]
    content_chars: tuple[int, ...]
    streamed: bool
    usage: Usage | None
    figures: Mapping[str, Any]
    count_tokens: int | None
    original_input_tokens: int | None
    applied_edits: tuple[Mapping[str, Any], ...] | None
    diagnostics: Mapping[str, Any] | None
    error: RecordedError | None
    memory_commands: tuple[Mapping[str, Any], ...]
    estimate: Estimate | None
    tags: frozenset[str]
    note: str | None
    extra: Mapping[str, Any]

    @property
    def model_id(self) -> str | None:
        """The model that answered, or the one that was asked where the answer does not say."""
        return self.response_model or self.requested_model

    @property
    def total_input_tokens(self) -> int | None:
        """All tokens of the prompt by whichever figure was recorded; None without a complete one."""
        if self.count_tokens is not None:
            return self.count_tokens
        return None if self.usage is None else self.usage.total_input_tokens

    def __repr__(self) -> str:
        return f"<Exchange {self.id}: {self.model_id or 'model not known'}, {self.evidence}>"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Turn:
    """One request of a session. ``blocks`` are the new ones only: what the log shows as added since the last.

    ``gap_s`` is the idle time before the request in seconds (None for the first turn; slightly negative where
    a tool ran while the answer was still arriving).
    """

    index: int
    model_id: str
    usage: Usage
    gap_s: float | None
    requested_at: datetime | None
    recorded_at: datetime | None
    after_compaction: bool
    blocks: tuple[RecordedBlock, ...]
    content_types: tuple[str, ...]
    content_chars: tuple[int, ...]
    stop_reason: str | None
    diagnostics: Mapping[str, Any] | None
    extra: Mapping[str, Any]

    @property
    def output_is_whole(self) -> bool:
        """Whether ``usage.output_tokens`` is the final figure, not that of a stream that had just begun.

        A log that carries the stop reason was written after the answer had ended. Without it the figure
        stands where ``message_start`` left it (1 to 10, as a rule), and an aborted answer never got a final
        one.
        """
        return self.stop_reason is not None and self.stop_reason != "aborted"

    def __repr__(self) -> str:
        return f"<Turn {self.index}: {self.model_id}>"


@dataclass(frozen=True, repr=False, eq=False)
class Session:
    """One agent run as its log tells it: turns in file order."""

    name: str
    agent: str
    source: Source
    turns: tuple[Turn, ...]

    @property
    def usages(self) -> tuple[Usage, ...]:
        return tuple(turn.usage for turn in self.turns)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models asked, in order of first use."""
        return tuple(dict.fromkeys(turn.model_id for turn in self.turns))

    @cached_property
    def write_ttl(self) -> WriteTtl:
        """The lifetime of what was written to the cache; "unknown" if any of it was logged without one."""
        total = sum(self.usages, Usage.zero()).cache_creation
        if total.unknown_ttl_input_tokens:
            return "unknown"
        short, long = total.ephemeral_5m_input_tokens > 0, total.ephemeral_1h_input_tokens > 0
        return "mixed" if short and long else "5m" if short else "1h" if long else "unknown"

    @property
    def outputs_are_whole(self) -> bool:
        """Whether outputs can be priced: every turn carries its stop reason (an aborted turn counts what had
        been reported when it was cut, see :attr:`Turn.output_is_whole`)."""
        return all(turn.stop_reason is not None for turn in self.turns)

    @cached_property
    def total_input_tokens(self) -> int:
        """Input of every class over all turns."""
        return sum(turn.usage.total_input_tokens for turn in self.turns)

    @cached_property
    def largest_context_tokens(self) -> int:
        """The fullest the window was when an answer began."""
        return max(turn.usage.context_tokens for turn in self.turns)

    def __len__(self) -> int:
        return len(self.turns)

    def __repr__(self) -> str:
        return f"<Session {self.name}: {self.agent}, {len(self.turns)} turns>"


def load_exchanges(path: Path, report: Report) -> tuple[Exchange, ...]:
    """Every exchange of a file; what is wrong goes into ``report``."""
    found: list[Exchange] = []
    lines: dict[str, int] = {}
    try:
        for line, row in read_rows(path, report):
            fields = Fields(row, f"{path.name}:{line}: ", report)
            exchange = _exchange(fields)
            _check_identity(fields, exchange.id, exchange.sequence, exchange.step, line, lines)
            found.append(exchange)
    except TooManyProblems:
        pass
    return tuple(found)


def load_sessions(path: Path, report: Report) -> tuple[Session, ...]:
    """Every session of a file of turns; what is wrong goes into ``report``."""
    found: dict[str, tuple[str, Source, list[Turn]]] = {}
    lines: dict[str, int] = {}
    try:
        for line, row in read_rows(path, report):
            fields = Fields(row, f"{path.name}:{line}: ", report)
            name, row_id, agent = fields.text("sequence"), fields.text("id"), fields.text("agent")
            source = _source(fields.inside("source"))
            turn = _turn(fields)
            _check_identity(fields, row_id, name, turn.index, line, lines)
            turns = found.setdefault(name, (agent, source, []))[2]
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
    fields: Fields, row_id: str, sequence: str, step: int, line: int, lines: dict[str, int]
) -> None:
    if row_id != f"{sequence}#{step}":
        fields.wrong("id", "sequence-and-step", f"is {row_id!r}", f"the row is {sequence}#{step}")
    if row_id in lines:
        fields.wrong("id", "unique", f"stands in line {lines[row_id]} already", "a row is recorded once")
    lines.setdefault(row_id, line)


def _exchange(row: Fields) -> Exchange:
    request, response = row.inside("request"), row.inside("response")
    evidence = _one_of(row, "evidence", _EVIDENCE)
    endpoint = _one_of(request, "endpoint", _ENDPOINTS)
    figures = response.as_is("usage") or {}
    counted = figures.get("input_tokens") if endpoint == "count_tokens" else None
    usage = None
    if figures and endpoint == "messages":
        usage = _usage(response, figures, may_be_partial=evidence == "reported")
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
        status=response.whole_or_none("status"),
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
        error=None if error is None else RecordedError(error.text("type"), error.text("message")),
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
    status = response.whole_or_none("status")
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


def _usage(response: Fields, figures: Mapping[str, Any], *, may_be_partial: bool = False) -> Usage | None:
    try:
        return Usage.from_response(figures)
    except InvalidUsageError as error:
        for problem in error.problems:
            if not (may_be_partial and problem.rule == "required"):
                response.wrong(problem.path, problem.rule, problem.message, problem.fix)
    return None


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
        width=fields.whole_or_none("width"),
        height=fields.whole_or_none("height"),
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
