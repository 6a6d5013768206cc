"""When to pull a lever, and how far: by how full the window is, never by money; how much at once, by money.

Models: a soft and a hard threshold on occupancy and a target below both, in tokens of the usable input; a
trigger that only fresh figures re-arm; a cap on rounds without new input of the user; one plain message where
no lever can help; the batch that costs least.
Does not model: which lever is right for a conversation.
Source: own construction; field reports of 2025-12 to 2026-09 (compaction that runs in circles, old counts
that fire again, triggers that ignore tools, system prompt or results added since).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from ctxlab.catalogue import Model, get_model
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.levers.effect import Outcome
from ctxlab.levers.ledger import PrefixLedger
from ctxlab.levers.making import instance, whole_number
from ctxlab.usage import MESSAGE_TYPES, Usage

Level = Literal["none", "soft", "hard", "stop"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Tokens at which to act when there is time (``soft``), at once (``hard``), and how far (``target``).

    The distance from target to soft is the head-room that keeps levers from firing again at once.
    """

    soft_tokens: int
    hard_tokens: int
    target_tokens: int

    def __post_init__(self) -> None:
        for name in ("soft_tokens", "hard_tokens", "target_tokens"):
            whole_number(name, getattr(self, name))
        if not 0 < self.target_tokens < self.soft_tokens <= self.hard_tokens:
            says = f"are {self.target_tokens:,}, {self.soft_tokens:,}, {self.hard_tokens:,}"
            fix = "0 < target < soft <= hard"
            raise InvalidArgumentError(Problem("target, soft, hard", "in-order", says, fix))

    @classmethod
    def of(
        cls,
        model: str | Model,
        *,
        output_tokens: int,
        soft: float = 0.6,
        hard: float = 0.8,
        target: float = 0.4,
    ) -> Thresholds:
        """Thresholds as shares of the input a model takes when ``output_tokens`` are left for its answer.

        >>> Thresholds.of("claude-haiku-4-5", output_tokens=8_000).soft_tokens
        115200
        """
        window = get_model(model).window_tokens
        if window is None or whole_number("output_tokens", output_tokens) >= window:
            raise InvalidArgumentError(
                Problem("output_tokens", "leaves-room", f"is {output_tokens:,} of a window of {window}")
            )
        usable = Fraction(window - output_tokens)
        shares = {"soft": soft, "hard": hard, "target": target}
        return cls(*(int(usable * _share(name, share)) for name, share in shares.items()))


def _share(name: str, value: Any) -> Fraction:
    """A share as the number that was written. Raises :class:`InvalidArgumentError`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, Fraction, Decimal))
        or not 0 < value <= 1
    ):
        raise InvalidArgumentError(
            Problem(name, "share", f"is {value!r}", "give a share above 0, up to 1; 0.6 is 60 %")
        )
    return Fraction(str(value))


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now: nothing, act when there is time, act at once, or stop acting and tell somebody."""

    level: Level
    occupied_tokens: int | None
    remove_tokens: int = 0
    message: str = ""


@dataclass(slots=True)
class Watch:
    """How full the window is, as far as anybody has said, and how often levers were pulled since the user.

    >>> watch = Watch(Thresholds(100, 150, 50))
    >>> watch.estimated(160)
    >>> decision = watch.decide()
    >>> decision.level, decision.remove_tokens
    ('hard', 110)
    >>> watch.acted()
    >>> watch.decide().level    # the old figure does not fire again
    'none'
    """

    thresholds: Thresholds
    max_rounds: int = 2
    _occupied_tokens: int | None = None
    _rounds: int = 0

    def __post_init__(self) -> None:
        instance("thresholds", self.thresholds, Thresholds)
        whole_number("max_rounds", self.max_rounds)

    def saw(self, usage: Usage) -> None:
        """An answer came: its prompt, however it was billed, and what it said are in the window.

        An answer that is nothing but a summary (the server compacted and paused) says what making it cost,
        and not what is in the window: that is not known until the next answer.
        """
        instance("usage", usage, Usage)
        kinds = {entry.type for entry in usage.iterations}
        only_summary = bool(kinds) and not kinds & MESSAGE_TYPES
        self._occupied_tokens = None if only_summary else usage.context_after_tokens or None

    def added(self, tokens: int) -> None:
        """Results or messages of this size were added since."""
        if self._occupied_tokens is not None:
            self._occupied_tokens += whole_number("tokens", tokens)

    def estimated(self, tokens: int) -> None:
        """The list as it stands was counted."""
        self._occupied_tokens = whole_number("tokens", tokens)

    def acted(self) -> None:
        """A lever was pulled: what was known of the window holds no more."""
        self._occupied_tokens = None
        self._rounds += 1

    def user_spoke(self) -> None:
        """New input of the user, not a result of a tool: rounds are counted from here."""
        self._rounds = 0

    def decide(self, ledger: PrefixLedger | None = None) -> Decision:
        """What to do now. With a ledger its total counts, and a fixed part that is too large is named."""
        if ledger is not None:
            self.estimated(ledger.total_tokens)
        occupied, limits = self._occupied_tokens, self.thresholds
        if occupied is None or occupied < limits.soft_tokens:
            return Decision("none", occupied)
        if ledger is not None and (told := too_large_fixed_part(ledger, limits.soft_tokens)):
            return Decision("stop", occupied, message=told)
        if self._rounds >= self.max_rounds:
            told = (
                f"{self._rounds} rounds without new input of the user left {occupied:,} tokens in the "
                f"window; levers act from {limits.soft_tokens:,} on and aim at {limits.target_tokens:,}. "
                "What is left has to be made smaller by hand, or the session ended."
            )
            return Decision("stop", occupied, message=told)
        level: Level = "hard" if occupied >= limits.hard_tokens else "soft"
        return Decision(level, occupied, occupied - limits.target_tokens)


def too_large_fixed_part(ledger: PrefixLedger, trigger_tokens: int) -> str:
    """One plain message where tools and system prompt alone reach a trigger; "" where they do not."""
    if ledger.fixed_tokens < trigger_tokens:
        return ""
    tokens, path, name = max(
        (ledger.tokens_of(block.path), block.path, block.name or block.type)
        for block in ledger.read.blocks
        if block.message is None
    )
    return (
        f"Tools and system prompt alone have {ledger.fixed_tokens:,} tokens, which reaches the trigger of "
        f"{trigger_tokens:,}: no lever can help. The largest part is {path} ({name}) with {tokens:,}."
    )


def best(
    outcomes: Iterable[Outcome],
    *,
    turns: int,
    added_tokens: int | Sequence[int] = 0,
    output_tokens: int = 0,
) -> Outcome | None:
    """The outcome that saves most over ``turns`` requests; None where every one of them loses money.

    Raises as :meth:`ctxlab.levers.Effect.net_saving_usd`.
    """
    saved: list[tuple[Decimal, Outcome]] = [
        (
            one.effect.net_saving_usd(turns, added_tokens=added_tokens, output_tokens=output_tokens),
            one,
        )
        for one in outcomes
        if one.changed
    ]
    if not saved:
        return None
    most, chosen = max(saved, key=lambda pair: pair[0])
    return chosen if most > 0 else None


def batches_usd(
    model: str | Model,
    *,
    cap_tokens: int,
    batch_tokens: int,
    fixed_tokens: int,
    added_tokens: int,
    turns: int,
    cached: bool = True,
) -> Fraction:
    """Input dollars of a session whose history is cut by ``batch_tokens`` whenever it exceeds ``cap_tokens``.

    ``fixed_tokens`` (tools and system prompt) and the history that ends in the turn before are read from the
    cache; what is added each turn is written; after a cut so is all of the history that is left. Prices of
    prompts of any size are those of the first card. A batch of ``added_tokens`` is a cap enforced each turn.

    >>> def usd(batch):
    ...     return float(batches_usd("claude-opus-4-8", cap_tokens=40_000, batch_tokens=batch,
    ...         fixed_tokens=16_606, added_tokens=500, turns=300))
    >>> usd(500) > 4 * usd(20_000)
    True
    """
    prices = get_model(model).rates_at()
    rate = prices.cards[0].input_usd_per_mtok / 10**6
    read = prices.cache_read_multiplier if cached else Fraction(1)
    write = prices.cache_write_5m_multiplier if cached else Fraction(1)
    for name, value in (("cap_tokens", cap_tokens), ("batch_tokens", batch_tokens), ("turns", turns)):
        whole_number(name, value, 1)
    for name, value in (("fixed_tokens", fixed_tokens), ("added_tokens", added_tokens)):
        whole_number(name, value)
    history, paid = 0, Fraction(0)
    for turn in range(turns):
        warm = history
        history += added_tokens
        if history > cap_tokens:
            history, warm = max(history - batch_tokens, 0), 0
        fixed = read if turn else write
        paid += fixed * fixed_tokens + read * warm + write * (history - warm)
    return paid * rate


def best_batch(
    model: str | Model,
    *,
    cap_tokens: int,
    fixed_tokens: int,
    added_tokens: int,
    turns: int,
    cached: bool = True,
) -> tuple[int, Fraction]:
    """The batch, in whole turns, that makes the session cheapest, and what the session then costs."""
    added = whole_number("added_tokens", added_tokens, 1)
    sizes = range(added, whole_number("cap_tokens", cap_tokens, 1) + 1, added)
    if not sizes:
        says = f"is {cap_tokens:,}, less than one turn adds ({added_tokens:,})"
        raise InvalidArgumentError(Problem("cap_tokens", "holds-a-turn", says))
    priced = (
        (
            batches_usd(
                model,
                cap_tokens=cap_tokens,
                batch_tokens=size,
                fixed_tokens=fixed_tokens,
                added_tokens=added_tokens,
                turns=turns,
                cached=cached,
            ),
            size,
        )
        for size in sizes
    )
    paid, size = min(priced)
    return size, paid
