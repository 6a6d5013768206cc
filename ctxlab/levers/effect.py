"""What a lever did, on both ledgers: tokens and dollars, now and over the turns that follow.

Models: tokens removed, where the prefix breaks, what has to be written again and at which price, the calls a
lever made, what was lost, the net saving after n turns and from which turn on it pays.
Does not model: answers that are longer, shorter or worse because of what is gone; reads of what was offloaded
(hand them in as ``calls``, or price them as turns of their own).
Source: own arithmetic; prices of :mod:`ctxlab.cost`. Net saving after n requests, this one included: what
both sides cost now, plus n − 1 times what they cost each turn, minus the extra calls. With a marker that
moves with the conversation the later part is the read price times the tokens removed: what is added each turn
costs the same on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from ctxlab.catalogue import Model
from ctxlab.cost import bill, exact_decimal
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.levers.ledger import PrefixLedger, Side, shared
from ctxlab.usage import Usage

LossKind = Literal["message", "result", "input", "thinking", "image", "document", "fact", "stored"]
_MOST_TURNS = 10_000


class Loss(NamedTuple):
    """One thing that is no longer in the request: where it stood, what kind, and what it was, in words.

    What is ``stored`` can be had again.
    """

    path: str
    kind: LossKind
    what: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What one lever did to one request, or several one after the other.

    ``before`` and ``after`` price both ways of going on. ``first_rewritten`` is the first block of what was
    sent before that is no longer where it stood; None where the lever only touched what is new. ``calls`` are
    the usages of extra calls. ``refused`` says why a lever left the request as it was, ``failed`` which extra
    call brought no answer, after which the lever left it at what it had.
    """

    lever: str
    model: Model
    before: Side
    after: Side
    first_rewritten: str | None = None
    calls: tuple[Usage, ...] = ()
    lost: tuple[Loss, ...] = ()
    refused: Problem | None = None
    failed: Problem | None = None

    @property
    def removed_tokens(self) -> int:
        """Tokens the request lost; below 0 where it grew."""
        return self.before.total_tokens - self.after.total_tokens

    @property
    def rewritten_tokens(self) -> int:
        """Warm tokens that are still there and have to be written to the cache, or read in full, again."""
        again = _not_read(self.after.now) - _not_read(self.before.now)
        return max(again, 0)

    @property
    def rewritten_usd(self) -> Decimal:
        """What that costs above reading it from the cache."""
        prices = self.model.rates_at()
        short = self.after.now.cache_creation.ephemeral_5m_input_tokens
        long = self.after.now.cache_creation.ephemeral_1h_input_tokens
        write = prices.cache_write_1h_multiplier if long > short else prices.cache_write_5m_multiplier
        multiplier = write if short + long else Fraction(1)
        rate = prices.card(self.after.total_tokens).input_usd_per_mtok
        return exact_decimal(
            self.rewritten_tokens * rate * (multiplier - prices.cache_read_multiplier) / 10**6
        )

    @property
    def calls_usd(self) -> Decimal:
        """What the extra calls cost."""
        return exact_decimal(self._calls)

    @property
    def gone(self) -> tuple[Loss, ...]:
        """What was lost and lies in no store."""
        return tuple(loss for loss in self.lost if loss.kind != "stored")

    def net_saving_usd(
        self, turns: int, *, added_tokens: int | Sequence[int] = 0, output_tokens: int = 0
    ) -> Decimal:
        """Dollars saved over ``turns`` requests, this one included; below 0 is a loss.

        ``added_tokens`` each turn after the first (one number, or one for each turn) and ``output_tokens``
        matter only where a price depends on the size of the prompt, or a prefix has still to reach the
        floor. Raises :class:`InvalidArgumentError`, :class:`ctxlab.errors.UnpricedModelError`.
        """
        added = _added(turns, added_tokens)
        if self.is_linear:
            saved = self._now(output_tokens) + (turns - 1) * self._each_turn if turns else Fraction(0)
        else:
            saved = self._turn_by_turn(added, output_tokens) if turns else Fraction(0)
        return exact_decimal(saved - self._calls)

    @property
    def is_linear(self) -> bool:
        """Whether every later turn saves the same, so that the closed form holds."""
        tiered = self.model.rates_at().tiered
        return not tiered and self.before.is_settled and self.after.is_settled

    def break_even_turn(self, *, added_tokens: int = 0, output_tokens: int = 0) -> int | None:
        """The first number of requests with a net saving above 0; None where it never comes.

        Where turns are not alike, the first 10,000 are looked at.
        """
        if not self.is_linear:
            saved = -self._calls
            before = 0
            for turn in range(1, _MOST_TURNS + 1):
                saved += self._turn(turn, before, 0 if turn == 1 else added_tokens, output_tokens)
                before += 0 if turn == 1 else added_tokens
                if saved > 0:
                    return turn
            return None
        now, each = self._now(output_tokens) - self._calls, self._each_turn
        if now > 0:
            return 1
        return math.floor(-now / each) + 2 if each > 0 else None

    def __str__(self) -> str:
        if self.refused is not None:
            return f"{self.lever}: refused; {self.refused}" + self._failed
        where = f"from {self.first_rewritten} on" if self.first_rewritten else "nothing in front is touched"
        when = "unpriced"
        if self.model.price_history:
            pays = self.break_even_turn()
            when = "never pays" if pays is None else f"pays from request {pays} on"
        return (
            f"{self.lever}: {self.removed_tokens:,} tokens removed, {self.rewritten_tokens:,} warm tokens "
            f"written again ({where}), {self._left_out}, "
            f"{_many(len(self.calls), 'extra call')}, {when}{self._failed}"
        )

    @property
    def _failed(self) -> str:
        return f"; {self.failed}" if self.failed is not None else ""

    @property
    def _left_out(self) -> str:
        """What is no longer in the request, in words."""
        stored = len(self.lost) - len(self.gone)
        told = [f"{_many(len(self.gone), 'thing')} lost"] if self.gone or not stored else []
        return ", ".join([*told, f"{_many(stored, 'thing')} in the store"] if stored else told)

    @property
    def _calls(self) -> Fraction:
        return sum((_usd(usage, self.model) for usage in self.calls), Fraction(0))

    def _now(self, output_tokens: int) -> Fraction:
        return self._turn(1, 0, 0, output_tokens)

    @property
    def _each_turn(self) -> Fraction:
        return self._turn(2, 0, 0, 0)

    def _turn_by_turn(self, added: Sequence[int], output_tokens: int) -> Fraction:
        saved, before = self._now(output_tokens), 0
        for turn, more in enumerate(added, 2):
            saved += self._turn(turn, before, more, output_tokens)
            before += more
        return saved

    def _turn(self, turn: int, before_tokens: int, added_tokens: int, output_tokens: int) -> Fraction:
        sides = []
        for side in (self.before, self.after):
            usage = side.later(before_tokens, added_tokens, output_tokens)
            if turn == 1:
                usage = replace(side.now, output_tokens=output_tokens)
            sides.append(_usd(usage, self.model))
        return sides[0] - sides[1]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A lever's result: the request to send, what was done to it, its ledger for the next lever, and the one
    it was made from.

    ``artifacts`` holds what was offloaded, by its id: store it before the request is sent.
    """

    request: Mapping[str, Any]
    effect: Effect
    ledger: PrefixLedger = field(repr=False)
    origin: PrefixLedger = field(repr=False)
    artifacts: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def changed(self) -> bool:
        """Whether the request is another than the one that was given."""
        return self.request is not self.origin.request


def combined(*outcomes: Outcome) -> Effect:
    """The effect of levers that were applied one after the other to one request.

    Raises :class:`InvalidArgumentError` where an outcome does not go on from the one before it.
    """
    if not outcomes:
        raise InvalidArgumentError(Problem("outcomes", "at-least-one", "is empty"))
    for one, other in pairwise(outcomes):
        if one.ledger is not other.origin:
            raise InvalidArgumentError(
                Problem("outcomes", "in-a-row", "do not follow each other", "hand each lever the last ledger")
            )
    effects = [outcome.effect for outcome in outcomes]
    return Effect(
        lever=" + ".join(effect.lever for effect in effects),
        model=effects[0].model,
        before=effects[0].before,
        after=effects[-1].after,
        first_rewritten=first_rewritten(outcomes[0].origin, outcomes[-1].ledger),
        calls=tuple(usage for effect in effects for usage in effect.calls),
        lost=tuple(loss for effect in effects for loss in effect.lost),
        failed=next((effect.failed for effect in effects if effect.failed is not None), None),
    )


def first_rewritten(before: PrefixLedger, after: PrefixLedger) -> str | None:
    """The first block of what was sent before that is no longer where it stood, by its path there."""
    at = shared(before.read.chain(), after.read.chain())
    return before.read.blocks[at].path if at < before.sent_blocks else None


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _not_read(usage: Usage) -> int:
    return usage.total_input_tokens - usage.cache_read_input_tokens


def _usd(usage: Usage, model: Model) -> Fraction:
    return sum((line.amount for line in bill(usage, model).lines), Fraction(0))


def _added(turns: int, added_tokens: int | Sequence[int]) -> Sequence[int]:
    if type(turns) is not int or turns < 0:
        raise InvalidArgumentError(Problem("turns", "whole-number", f"is {turns!r}", "0 or more"))
    later = max(turns - 1, 0)
    added = [added_tokens] * later if isinstance(added_tokens, int) else list(added_tokens)[:later]
    if len(added) < later or any(type(one) is not int or one < 0 for one in added):
        raise InvalidArgumentError(
            Problem("added_tokens", "one-a-turn", f"is {added_tokens!r}", f"{later} whole numbers, or one")
        )
    return added
