"""What can become of a recorded row, and in which words.

Models: five outcomes, the closed lists of reasons for three of them, the last line of a replay.
Does not model: how a row comes to its outcome (:mod:`ctxlab.conformance.question`).
Source: our own terms; what each list may hold follows from ``data/recordings/README.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ctxlab.conformance.compactions import Compaction
from ctxlab.usage import Usage

Outcome = Literal["predicted", "learned", "excluded", "noise", "wrong"]

#: Why a marked row cannot be replayed. There is no other reason.
EXCLUSIONS = {
    "request not recorded": "the answer shows cached tokens, the request is unknown",
    "error response": "the request was refused, so it neither read nor wrote",
    "no usage": "the answer has no complete usage",
    "server-tool loop": "tools ran on the server, so the answer sums several prompts",
    "compaction": "the server replaced the history by a summary, or the request holds one",
    "context edited": "the server removed part of the prompt before the model read it",
    "unknown model": "the catalogue does not have the model, so its rules are unknown",
    "digest missing": "a block has no digest, so prefixes cannot be told apart",
}
#: What a row can reveal.
LESSONS = {
    "warm start": "an entry was written before the recording began, or by a row that cannot be replayed",
    "not shared": "an entry of another sequence is not read: they overlap, or have workspaces of their own",
    "size of a prefix": "how many tokens a marked prefix has, where counts and totals do not tell",
    "below the floor": "a prefix whose size is unknown turns out too short to be cached",
    "floor of the model": "the catalogue has no minimum for the model",
}
#: What a provider may do to a request that is right. Both prefixes are known to be identical.
NOISE = {
    "identical prefix not read": "the entry was alive, and the request wrote the same prefix again",
    "read after its end": "the entry had ended; the lifetime is promised as a minimum",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one marked row.

    ``reason`` is a key of the table that belongs to the outcome; of a wrong row, the rule that failed.
    ``rules`` are those the figures rest on (ids of :func:`ctxlab.cache.rules`). ``predicted_figures`` counts
    those of the three figures (read, written, fresh) that were known before the row answered.
    """

    row: str
    outcome: Outcome
    reason: str = ""
    detail: str = ""
    expected: Usage | None = None
    recorded: Usage | None = None
    rules: tuple[str, ...] = ()
    predicted_figures: int = 0


@dataclass(frozen=True, slots=True)
class Replay:
    """Every marked row with its verdict, and how many rows were only looked at.

    ``unmarked`` rows cached nothing, as rows without a marker should; ``counted`` rows asked for a count;
    ``reported`` ones are figures that somebody printed, without their request. ``compactions`` are rows with
    a compaction, whose figures are told apart.
    """

    verdicts: tuple[Verdict, ...]
    unmarked: int = 0
    counted: int = 0
    reported: int = 0
    compactions: tuple[Compaction, ...] = ()

    def of(self, outcome: Outcome) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == outcome)

    @property
    def summary(self) -> str:
        """The last line of ``ctxlab conformance``. What is wrong was predicted, and is not exact."""
        exact, wrong = len(self.of("predicted")), len(self.of("wrong"))
        rest = ", ".join(f"{name} {len(self.of(name))}" for name in ("learned", "excluded", "noise"))
        return f"predicted {exact}/{exact + wrong} exact, {rest}"
