"""One call as evidence: what was sent, what the answer counted, and when.

Models: any part of it missing; requests as bodies, prompts or digests; usage as dicts, SDK objects or whole
answers, from which id, model and the API's own diagnosis are taken too; rows and sessions of recordings.
Does not model: what follows from it (:mod:`ctxlab.diagnose.judging`).
Source: anthropic SDK 2.14.0, types/message.py, types/diagnostics.py; ``data/recordings/README.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from ctxlab.diagnose.sketch import Sketch
from ctxlab.errors import CtxlabError
from ctxlab.prompt import plain
from ctxlab.usage import Usage


@dataclass(frozen=True, slots=True, repr=False)
class Exchange:
    """One call, as far as it is known; whatever is None is missing evidence.

    ``request``: the body as sent (dict, SDK object), a :class:`~ctxlab.prompt.Prompt` or a :class:`Sketch`.
    ``usage``: an answer or its ``usage`` (dict, SDK object, :class:`~ctxlab.usage.Usage`).
    ``started_s`` and ``responded_s``: when the request was sent and when the first byte of its answer came,
    in seconds of one clock. ``model`` is needed only where the request does not name it.
    ``cache_miss_reason``: the API's own diagnosis, as an object or by its type. ``conversation``: exchanges
    of one name are compared with each other whatever they share, and with no others. ``compacted``: a log
    says that its history was replaced by a summary. ``applied_edits``: what the answer says that the server
    cleared before the model read.

    >>> Exchange(usage={"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 1111})
    <Exchange: read 1,111, written 0, fresh 3; no request, no times>
    """

    request: Any = None
    usage: Any = None
    started_s: float | None = None
    responded_s: float | None = None
    model: str | None = None
    workspace: str | None = None
    response_id: str | None = None
    cache_miss_reason: Any = None
    conversation: str | None = None
    compacted: bool = False
    applied_edits: Any = None

    def __post_init__(self) -> None:
        if self.usage is None or isinstance(self.usage, Usage):
            return
        answer = plain(self.usage)
        object.__setattr__(self, "usage", Usage.from_response(self.usage))
        if not isinstance(answer, Mapping) or "usage" not in answer:
            return
        management = answer.get("context_management")
        found = {"response_id": answer.get("id"), "model": answer.get("model")}
        found["cache_miss_reason"] = answer.get("diagnostics")
        found["applied_edits"] = management.get("applied_edits") if isinstance(management, Mapping) else None
        for name, value in found.items():
            if getattr(self, name) is None and value is not None:
                object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        usage: Usage | None = self.usage
        figures = "no usage"
        if usage is not None:
            figures = (
                f"read {usage.cache_read_input_tokens:,}, written {usage.cache_creation_input_tokens:,}, "
                f"fresh {usage.input_tokens:,}"
            )
        request = "no request" if self.request is None else "with request"
        times = "no times" if self.started_s is None else f"started at {self.started_s:,.3f} s"
        return f"<Exchange: {figures}; {request}, {times}>"


class RecordedTurn(Protocol):
    """What is read of a turn of a recorded session."""

    @property
    def usage(self) -> Usage: ...
    @property
    def model_id(self) -> str: ...
    @property
    def requested_at(self) -> datetime | None: ...
    @property
    def recorded_at(self) -> datetime | None: ...
    @property
    def after_compaction(self) -> bool: ...
    @property
    def diagnostics(self) -> Mapping[str, Any] | None: ...


class RecordedSession(Protocol):
    """What is read of a recorded session."""

    @property
    def name(self) -> str: ...
    @property
    def turns(self) -> Sequence[Any]: ...


def from_recording(row: Any) -> Exchange:
    """A recorded exchange (:class:`ctxlab.recordings.Exchange`) as evidence: digests and figures, no text.

    Its moment is that of the answer; when the request started is not recorded. Where the request or one of
    its digests is not known, or its markers are ones the API refuses, it goes without a request.

    >>> from ctxlab.recordings import exchange
    >>> from_recording(exchange("crush/download_tool#1"))
    <Exchange: read 3,733, written 4,563, fresh 3; with request, no times>
    """
    try:
        sketch = Sketch.from_recording(row)
    except CtxlabError:
        sketch = None
    return Exchange(
        request=sketch,
        usage=row.usage,
        responded_s=None if row.recorded_at is None else row.recorded_at.timestamp(),
        model=row.model_id,
        workspace=str(row.source.repo or row.sequence),
        cache_miss_reason=row.diagnostics,
        applied_edits=row.applied_edits,
    )


def from_session(session: RecordedSession) -> tuple[Exchange, ...]:
    """The turns of a recorded session (:class:`ctxlab.recordings.Session`): figures, times, no requests.

    >>> from ctxlab.recordings import session
    >>> len(from_session(session("cli/session-375d5d79")))
    253
    """
    return tuple(
        Exchange(
            usage=turn.usage,
            started_s=None if turn.requested_at is None else turn.requested_at.timestamp(),
            responded_s=None if turn.recorded_at is None else turn.recorded_at.timestamp(),
            model=turn.model_id,
            cache_miss_reason=turn.diagnostics,
            conversation=session.name,
            compacted=turn.after_compaction,
        )
        for turn in session.turns
    )
