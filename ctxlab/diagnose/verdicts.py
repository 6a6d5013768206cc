"""What can be said of a cached call, in which words, and on what evidence.

Models: the closed set of verdicts; a :class:`Diagnosis` with every cause that suffices by itself, what
survived, what the API said, and which evidence is missing where nothing can be said.
Does not model: how a verdict is reached (:mod:`ctxlab.diagnose.judging`).
Source: own terms; the causes are rows of ``ctxlab/cache_rules.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ctxlab.prompt import Difference

Verdict = Literal[
    "hit",
    "cold start",
    "below floor",
    "no marker",
    "not yet visible",
    "expired",
    "lookback exceeded",
    "parameter changed",
    "model changed",
    "prefix changed",
    "history shortened",
    "other workspace",
    "provider-side miss",
    "unknown",
]
Agreement = Literal["agrees", "compatible", "contradicts", "says nothing"]
Survived = Literal["all", "part", "nothing"]
Step = Literal[1, 2, 3]


class Meaning(NamedTuple):
    """A verdict in words: what it means, what to do, and the step of the document that decides it."""

    means: str
    next: str
    step: Step


VERDICTS: Mapping[Verdict, Meaning] = {
    "hit": Meaning("everything that was stored for this prefix was read", "nothing", 1),
    "cold start": Meaning(
        "nothing was stored yet that this request could read", "nothing, unless every call is one", 1
    ),
    "below floor": Meaning(
        "the marked prefix is shorter than the model's minimum, so it is silently not cached",
        "mark a longer prefix, or leave the marker out",
        1,
    ),
    "no marker": Meaning(
        "no marker stands at or behind what could be read", "mark the last block that stays as it is", 1
    ),
    "not yet visible": Meaning(
        "it started before the answer that stores the prefix had begun",
        "wait for the first byte of one answer, then send the others",
        2,
    ),
    "expired": Meaning(
        "the entry's lifetime was over; it counts from the start of the request that wrote or read it",
        "use a marker of one hour if calls come less than an hour apart, or let it go",
        2,
    ),
    "lookback exceeded": Meaning(
        "the entry lies more positions before the marker than are looked at",
        "set a marker at most 19 positions behind the last one",
        2,
    ),
    "parameter changed": Meaning(
        "a request parameter that is part of the cache key is another", "keep it the same in a session", 2
    ),
    "model changed": Meaning(
        "another model or speed was asked, which has entries of its own", "keep to one model in a session", 2
    ),
    "prefix changed": Meaning(
        "what stands before the entry is no longer what was sent", "keep it byte for byte, or move it back", 3
    ),
    "history shortened": Meaning(
        "part of the history is gone (rewind, trim or summary), so the entry's prefix was not sent",
        "nothing after a rewind; trim or summarise seldom and much at once",
        3,
    ),
    "other workspace": Meaning(
        "the entry belongs to another workspace", "use one key for requests that share a prefix", 2
    ),
    "provider-side miss": Meaning(
        "the same prefix, in its lifetime, was not read: nothing on your side explains it",
        "nothing, if it is rare; report it with both request ids if it is not",
        3,
    ),
    "unknown": Meaning("the evidence does not tell", "give what is named as missing", 1),
}
"""Every verdict there is, in words."""

#: The order in which causes that hold at the same time are told. What belongs to an entry's identity comes
#: first: a miss that would have happened at any time is not an expiry.
ORDER: tuple[Verdict, ...] = (
    "other workspace",
    "model changed",
    "parameter changed",
    "prefix changed",
    "history shortened",
    "no marker",
    "below floor",
    "lookback exceeded",
    "not yet visible",
    "expired",
    "provider-side miss",
    "unknown",
)


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause that suffices by itself. ``path`` is a place in the later request, ``code`` that of
    :data:`ctxlab.breakers.BREAKERS`, ``changed`` the parameters that are others."""

    verdict: Verdict
    says: str
    path: str | None = None
    code: str | None = None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What became of one call, and why.

    ``causes`` holds every cause that suffices by itself, the verdict's first. ``left_tokens`` is what could
    have been read, None where nobody knows. ``compared_with`` is the index of the earlier exchange. ``step``
    is the document's step that decided. ``missing`` names the evidence an unknown verdict wants, ``assumed``
    what a verdict takes for granted, both as places (``exchanges[3].started_s``). ``api_reason`` is what the
    API's own diagnosis said, ``agreement`` how that fits.
    """

    index: int
    verdict: Verdict
    says: str
    step: Step
    read_tokens: int | None
    written_tokens: int | None
    fresh_tokens: int | None
    left_tokens: int | None = None
    compared_with: int | None = None
    causes: tuple[Cause, ...] = ()
    difference: Difference | None = None
    missing: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    api_reason: str | None = None
    api_missed_tokens: int | None = None
    agreement: Agreement | None = None
    path: str | None = field(init=False)
    code: str | None = field(init=False)
    changed: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        first = self.causes[0] if self.causes else None
        object.__setattr__(self, "path", first and first.path)
        object.__setattr__(self, "code", first and first.code)
        object.__setattr__(self, "changed", first.changed if first else ())

    @property
    def lost_tokens(self) -> int | None:
        """What could have been read and was not; None where nobody knows what could."""
        if self.left_tokens is None or self.read_tokens is None:
            return None
        return max(self.left_tokens - self.read_tokens, 0)

    @property
    def survived(self) -> Survived:
        """How much of what could be read was read."""
        if not self.read_tokens:
            return "nothing"
        return "part" if self.lost_tokens or (self.verdict != "hit") else "all"

    @property
    def next(self) -> str:
        """What to do about it."""
        return VERDICTS[self.verdict].next

    def __str__(self) -> str:
        also = "".join(f"; also {cause.verdict}: {cause.says}" for cause in self.causes[1:])
        missing = f" (missing: {', '.join(self.missing)})" if self.missing else ""
        api = "" if self.api_reason is None else f" [the API says {self.api_reason}: {self.agreement}]"
        return f"{self.verdict}: {self.says}{also}{missing}{api}"
