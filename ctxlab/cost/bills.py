"""A bill, line by line: what it holds, how it adds up, how it reads.

Models: classes of tokens at their rates, sums that are exact, and both ends where a lifetime is not known.
Does not model: where the rates come from (:mod:`ctxlab.cost.pricing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ctxlab.catalogue import web_search_usd
from ctxlab.cost.money import exact_decimal

#: Flags a bill adds to those of its usages, and what they say about its total.
FLAGS: dict[str, str] = {
    "write-ttl-unknown": "some writes have no known lifetime; they are priced as 5m, see range_usd",
    "rates-unverified": "a price used here has no official source (Model.unverified names it)",
    "priority-tier": "the request ran on the priority tier; the standard price is shown",
    "tier-unknown": "the service tier is not one the price list names; the standard price is shown",
    "region-unknown": "the region of the request is not one the price list names; no surcharge is added",
    "above-window": "one prompt is larger than its model's window: no single request can have sent it",
    "advisor-standard": "another model's step is priced at standard speed and region",
    "card-per-step": "its steps fall on different cards; that each has its own is assumed, not documented",
    "card-of-a-sum": "a server tool's loop tells one sum of inputs: the card for large prompts may not apply",
}

_MTOK = 1_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """One class of tokens of one kind of step at one rate.

    ``rate`` is in USD per million tokens with every multiplier in it; ``rate_high`` differs only for writes
    of unknown lifetime.
    """

    label: str
    iteration_type: str
    model_id: str
    tokens: int
    rate: Fraction
    rate_high: Fraction

    @property
    def usd_per_mtok(self) -> Decimal:
        """The price of the line, in USD per million tokens."""
        return exact_decimal(self.rate)

    @property
    def usd(self) -> Decimal:
        """The line in USD, unrounded."""
        return exact_decimal(self.amount)

    @property
    def amount(self) -> Fraction:
        """The line in USD as a fraction, for sums."""
        return self.tokens * self.rate / _MTOK

    @property
    def amount_high(self) -> Fraction:
        """The same at the higher price, if the lifetime of a write is unknown."""
        return self.tokens * self.rate_high / _MTOK


@dataclass(frozen=True, slots=True)
class Bill:
    """What requests cost, line by line. Bills add up, also across models, tiers and dates.

    ``flags`` holds names from :data:`FLAGS` and those of the usages (:data:`ctxlab.usage.FLAGS`).
    """

    lines: tuple[Line, ...] = ()
    requests: int = 0
    web_search_requests: int = 0
    flags: frozenset[str] = frozenset()

    @property
    def total_usd(self) -> Decimal:
        """Exact and unrounded; writes of unknown lifetime are in it at the 5-minute price."""
        return exact_decimal(sum((line.amount for line in self.lines), self._search_amount))

    @property
    def range_usd(self) -> tuple[Decimal, Decimal]:
        """The total if every write of unknown lifetime was 5m, and if every one was 1h."""
        high = sum((line.amount_high for line in self.lines), self._search_amount)
        return self.total_usd, exact_decimal(high)

    @property
    def estimate(self) -> bool:
        """Whether the total stands for a range."""
        low, high = self.range_usd
        return low != high

    @property
    def input_usd(self) -> Decimal:
        """The input side alone (fresh, read, written), for logs whose output counts are not whole."""
        return exact_decimal(sum((line.amount for line in self._input_lines), Fraction(0)))

    @property
    def input_range_usd(self) -> tuple[Decimal, Decimal]:
        """The input side if every write of unknown lifetime was 5m, and if every one was 1h."""
        high = sum((line.amount_high for line in self._input_lines), Fraction(0))
        return self.input_usd, exact_decimal(high)

    @property
    def output_usd(self) -> Decimal:
        """The output side alone."""
        return exact_decimal(sum((line.amount for line in self.lines if line.label == "output"), Fraction(0)))

    @property
    def web_search_usd(self) -> Decimal:
        """What web searches cost, which is no matter of tokens."""
        return exact_decimal(self._search_amount)

    def by_label(self) -> dict[str, Decimal]:
        """USD per class of tokens, in the order the classes first appear."""
        return self._by(lambda line: line.label)

    def by_iteration(self) -> dict[str, Decimal]:
        """USD per kind of step: what a summary or an advisor cost stands on its own."""
        return self._by(lambda line: line.iteration_type)

    def _by(self, key: Callable[[Line], str]) -> dict[str, Decimal]:
        sums: dict[str, Fraction] = {}
        for line in self.lines:
            sums[key(line)] = sums.get(key(line), Fraction(0)) + line.amount
        return {name: exact_decimal(amount) for name, amount in sums.items()}

    @property
    def _input_lines(self) -> list[Line]:
        return [line for line in self.lines if line.label != "output"]

    @property
    def _search_amount(self) -> Fraction:
        return self.web_search_requests * web_search_usd()

    def __str__(self) -> str:
        """One line per class, then the total."""
        rows = [
            f"{line.label:<30}{line.iteration_type:<13}{line.tokens:>13,} × "
            f"{line.usd_per_mtok:>7} = {line.usd} USD"
            for line in self.lines
        ]
        if self.web_search_requests:
            rows.append(f"{self.web_search_requests} web searches = {self.web_search_usd} USD")
        low, high = self.range_usd
        bounds = f" (up to {high} USD)" if low != high else ""
        return "\n".join([*rows, f"total for {self.requests} request(s): {low} USD{bounds}"])

    def __add__(self, other: Bill) -> Bill:
        """Both together; lines of the same class, step, model and rate become one."""
        if not isinstance(other, Bill):
            return NotImplemented
        return Bill(
            lines=merged([*self.lines, *other.lines]),
            requests=self.requests + other.requests,
            web_search_requests=self.web_search_requests + other.web_search_requests,
            flags=self.flags | other.flags,
        )

    def __radd__(self, other: object) -> Bill:
        """Lets the builtin ``sum(bills)`` start from its 0."""
        return self if other == 0 else NotImplemented


def merged(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Lines of one class, step, model and rate as one, in the order they first appear."""
    sums: dict[tuple[str, str, str, Fraction, Fraction], int] = {}
    for line in lines:
        key = (line.label, line.iteration_type, line.model_id, line.rate, line.rate_high)
        sums[key] = sums.get(key, 0) + line.tokens
    return tuple(
        Line(label, step, model_id, tokens, rate, high)
        for (label, step, model_id, rate, high), tokens in sums.items()
    )
