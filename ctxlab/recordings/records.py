"""What one recorded exchange and one recorded session hold.

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
from typing import Any, Literal

from ctxlab.usage import Usage

Evidence = Literal["recorded", "response only", "reported"]
Endpoint = Literal["messages", "count_tokens"]
WriteTtl = Literal["5m", "1h", "mixed", "unknown"]

EVIDENCE: tuple[Evidence, ...] = ("recorded", "response only", "reported")
ENDPOINTS: tuple[Endpoint, ...] = ("messages", "count_tokens")


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
        """All tokens of the prompt by whichever figure was recorded; None without a complete one.

        After a compaction it is what the answer was given from, 0 where only the summary was written; what
        the summary read is in ``usage.iterations``.
        """
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
        """What every turn consumed, in order."""
        return tuple(turn.usage for turn in self.turns)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models asked, in order of first use."""
        return tuple(dict.fromkeys(turn.model_id for turn in self.turns))

    @cached_property
    def write_ttl(self) -> WriteTtl:
        """The lifetime of what was written to the cache; "unknown" if any of it was logged without one, or
        nothing was written."""
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
