"""A recorded session again, its history under a cap: cut on every turn, or seldom and deeper.

Models: the growth of the recorded requests, cut from the front whenever it is above the cap; each request
priced by the prompt cache at the prices of the session's own model.
Does not model: what an agent does without what was dropped, unless it is told to read a share of it again.
Source: ``cli/session-375d5d79``. How much of it is stable is assumed: see ``STABLE_TOKENS``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ctxlab import cost, recordings
from ctxlab.catalogue import get_model
from ctxlab.checks.playground import SESSION, STABLE_TOKENS, conversation, growth
from ctxlab.checks.runs import Asked, Piece, bill_usd, run_pieces
from ctxlab.usage import Usage

if TYPE_CHECKING:
    from ctxlab.cache import Plan, Ttl

RECORDED_MODEL = "claude-opus-4-5-20251101"
CAP, SPILL = 40_000, 20_000


@dataclass(frozen=True)
class Capped:
    """A session whose history is cut: dollars with and without a cache, turns with a cut, tokens."""

    plans: tuple[Plan, ...]
    uncached_usd: Decimal
    cuts: tuple[int, ...]
    history_tokens: tuple[int, ...]
    new_tokens: tuple[int, ...]
    stable_tokens: int

    @cached_property
    def usd(self) -> Decimal:
        """What the input of all turns costs."""
        return sum(map(bill_usd, self.plans), Decimal(0))

    @property
    def tokens(self) -> int:
        """Input in all."""
        return sum(self.history_tokens) + self.stable_tokens * len(self.history_tokens)


@cache
def capped(
    spill: int = 0,
    *,
    cap: int | None = CAP,
    stable: int = STABLE_TOKENS,
    marked: bool = True,
    whole_turns: bool = False,
    read_again: int = 0,
) -> Capped:
    """The recorded session, cut to ``spill`` tokens below the cap whenever its history is above it.

    Without ``cap`` nothing ever goes, not even what the recorded client compacted. Without ``marked`` only
    the stable part is cached; with ``whole_turns`` only whole turns go. Of what was dropped ``read_again``
    percent come back on the next turn.
    """
    added = [growth()[0] + STABLE_TOKENS - stable, *growth()[1:]]
    history = _beginning(added[0], whole_turns)
    asked = [_request(history, stable, marked)]
    cuts, sizes, new = [], [], []
    back = 0
    for turn, more in enumerate([0, *added[1:]], 1):
        if more + back:
            history = [*history, (f"turn {turn}", more + back)]
        new.append(more + back)
        back = 0
        before = sum(size for _, size in history)
        if cap is not None and before > cap:
            history = _cut(history, cap - spill, whole_turns, turn)
            dropped = before - sum(size for _, size in history)
            back = dropped * read_again // 100
            cuts += [turn] if dropped else []
        sizes.append(sum(size for _, size in history))
        asked.append(_request(history, stable, marked))
    plans = tuple(run_pieces(asked)[1:])
    uncached = sum(sizes, start=stable * len(sizes)) * fresh_usd(RECORDED_MODEL)
    return Capped(plans, uncached, tuple(cuts), tuple(sizes), tuple(new), stable)


@cache
def own_stable_tokens() -> int:
    """What this session itself still read on the first request after its own compaction."""
    after = next(turn for turn in recordings.session(SESSION).turns if turn.after_compaction)
    return after.usage.cache_read_input_tokens


_Named = list[tuple[str, int]]


def _beginning(tokens: int, whole_turns: bool) -> _Named:
    """The history in front of the first turn: one piece, or turns like those of the session."""
    if not whole_turns:
        return [("early", tokens)]
    steps = conversation().early
    found = [(f"early {at}", one.answer + sum(one.results) + one.line) for at, one in enumerate(steps)]
    return [("early", tokens - sum(size for _, size in found)), *found]


def _cut(history: _Named, target: int, whole_turns: bool, turn: int) -> _Named:
    left, over = list(history), sum(size for _, size in history) - target
    while over > 0:
        name, size = left.pop(0)
        if size > over and not whole_turns:
            left.insert(0, (f"{name} from {turn}", size - over))
        over -= size
    return left


def _request(history: _Named, stable: int, marked: bool) -> Asked:
    pieces = (Piece("stable", stable, "system"), *(Piece(*one) for one in history))
    markers: dict[int, Ttl] = {0: "5m", len(pieces) - 1: "5m"} if marked else {0: "5m"}
    return Asked(pieces, markers, pause_s=2.0, model=RECORDED_MODEL, tail_tokens=0)


def fresh_usd(model: str) -> Decimal:
    """Dollars for one token of fresh input."""
    return cost.exact_decimal(get_model(model).rates_at().cards[0].input_usd_per_mtok / 10**6)


def recorded_usage() -> Usage:
    """Every turn of the recorded session, input only: its log under-reports what was answered."""
    usages = recordings.session(SESSION).usages
    return sum((replace(one, output_tokens=0) for one in usages), Usage.zero())


@cache
def recorded_usd() -> Decimal:
    """What the input of the recorded session cost."""
    return cost.bill(recorded_usage(), RECORDED_MODEL).total_usd
