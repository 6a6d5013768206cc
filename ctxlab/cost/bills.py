"""The bill of a request, of a session, and what could not be priced.

Models: token prices by class, lifetime, prompt size, batch, region and speed, summed over every sampling step
of a request; web searches.
Does not model: negotiated or cloud-vendor prices, priority-tier commitments, repricing by fallback credits,
container time.
Source: platform.claude.com pricing page, 2026-10, and prompt-caching page, 2026-09; compaction page, 2026-08
(the bill is the sum over all iterations).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from ctxlab.catalogue import Model, Prices, get_model, web_search_usd
from ctxlab.cost.arguments import argument_error, listed, usage_error
from ctxlab.cost.money import exact_decimal
from ctxlab.errors import (
    CtxlabError,
    InvalidArgumentError,
    InvalidUsageError,
    Problem,
    UnknownModelError,
    UnpricedModelError,
)
from ctxlab.usage import Iteration, Usage

#: Flags a bill adds to those of its usages, and what they say about its total.
FLAGS: dict[str, str] = {
    "write-ttl-unknown": "some writes have no known lifetime; they are priced as 5m, see range_usd",
    "rates-unverified": "a price used here has no official source (Model.unverified names it)",
    "priority-tier": "the request ran on the priority tier; the standard price is shown",
    "tier-unknown": "the service tier is not one the price list names; the standard price is shown",
    "region-unknown": "the region of the request is not one the price list names; no surcharge is added",
    "above-window": "one prompt is larger than its model's window: no single request can have sent it",
    "advisor-standard": "another model's step is priced at standard speed and region",
    "card-of-a-sum": "a server tool's loop tells one sum of inputs: the card for large prompts may not apply",
}

_MTOK = 1_000_000
_PRICED_OPTION = "priced-option"
_ADD_BILLS = "bill each request, then add the bills"
_UNKNOWN_WRITE = "cache write, lifetime unknown"
_MULTIPLIER_OF = {
    "cache read": "cache_read_multiplier",
    "cache write 5m": "cache_write_5m_multiplier",
    "cache write 1h": "cache_write_1h_multiplier",
    _UNKNOWN_WRITE: "cache_write_5m_multiplier",
}


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
        return exact_decimal(self.rate)

    @property
    def usd(self) -> Decimal:
        return exact_decimal(self.amount)

    @property
    def amount(self) -> Fraction:
        """The line in USD as a fraction, for sums."""
        return self.tokens * self.rate / _MTOK

    @property
    def amount_high(self) -> Fraction:
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
        high = sum((line.amount_high for line in self._input_lines), Fraction(0))
        return self.input_usd, exact_decimal(high)

    @property
    def output_usd(self) -> Decimal:
        return exact_decimal(sum((line.amount for line in self.lines if line.label == "output"), Fraction(0)))

    @property
    def web_search_usd(self) -> Decimal:
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


def bill(
    usage: object,
    model: str | Model,
    *,
    batch: bool | None = None,
    inference_geo: str | None = None,
    speed: str | None = None,
    on: date | None = None,
) -> Bill:
    """Price one request: every step of it, each class of tokens at its own rate.

    ``batch``, ``inference_geo`` and ``speed`` are taken from the usage where they are not given; ``on`` is
    the day whose prices hold (default: the latest known). A step that names another model (an advisor) is
    priced as that model. Where the price depends on the size of the prompt, the card is chosen per step, by
    that step's total input: documented for requests of one step (platform.claude.com Haiku 5.5 page,
    2026-10), *assumed* for those of several.

    Raises :class:`UnknownModelError`; :class:`UnpricedModelError`, also where the usage names a speed or
    region for which the model has no known price; :class:`InvalidUsageError` for a sum of requests that has
    no single price (add bills instead); :class:`InvalidArgumentError` for arguments that exclude each other
    or that the model does not have.

    >>> usage = Usage(input_tokens=100_001)
    >>> bill(usage, "claude-haiku-5-5").total_usd
    Decimal('0.0500005')
    """
    usage = Usage.from_response(usage)
    model = get_model(model)
    prices = model.rates_at(on)
    terms = _terms(usage, model, prices, batch=batch, inference_geo=inference_geo, speed=speed)
    if "mixed-service" in usage.flags:
        raise usage_error("usage", "one-price", "sums requests with different options", _ADD_BILLS)
    flags = set(usage.flags | terms.flags)
    lines: list[Line] = []
    for number, entry in enumerate(usage.billed):
        runs_on, entry_prices = _runs_on(entry, number, model, prices, on)
        if usage.requests > 1 and entry_prices.tiered:
            raise usage_error(
                "usage.requests",
                "one-card-per-request",
                f"is a sum over {usage.requests} requests, but {runs_on.id} is priced by prompt size",
                _ADD_BILLS,
            )
        if _one_prompt(usage) and entry.total_input_tokens > (runs_on.window_tokens or math.inf):
            flags.add("above-window")
        if entry_prices.tiered and not _one_prompt(usage):
            flags |= _card_of_a_sum(entry, entry_prices)
        own = runs_on is model
        if not own and (terms.fast or terms.us_only):
            flags.add("advisor-standard")
        entry_lines, unverified = _lines(entry, runs_on, entry_prices, terms if own else terms.elsewhere)
        lines += entry_lines
        if unverified:
            flags.add("rates-unverified")
        if entry.cache_creation.unknown_ttl_input_tokens:
            flags.add("write-ttl-unknown")
    return Bill(merged(lines), usage.requests, usage.web_search_requests, frozenset(flags))


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a session: whose model, how much, under which label (``turn``, ``summary``, …), when."""

    model: str | Model
    usage: Usage
    label: str = "turn"
    on: date | None = None


Reason = Literal["no price", "no price for its speed or region", "unknown model"]


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Requests without a price: ``model``, or the model of one of their steps, has none or is unknown, or
    has none for the speed or region they ran with."""

    model: str
    reason: Reason
    requests: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class SessionBill:
    """A session's bill by label, and by name what could not be priced. Only a complete one is a total."""

    by_label: dict[str, Bill]
    unpriced: tuple[Unpriced, ...]

    @property
    def complete(self) -> bool:
        return not self.unpriced

    @property
    def bill(self) -> Bill:
        """The sum of what has a price."""
        return sum(self.by_label.values(), Bill())

    @property
    def total_usd(self) -> Decimal:
        """Of the priced requests; ask :attr:`complete` whether that is all."""
        return self.bill.total_usd

    def __str__(self) -> str:
        total = self.bill
        low, high = total.range_usd
        bounds = f" (up to {high} USD)" if low != high else ""
        text = f"{low} USD{bounds} for {total.requests} request{'s' * (total.requests != 1)}"
        for missing in self.unpriced:
            text += f"; incomplete: {missing.requests} of {missing.model} ({missing.reason})"
        return text


def bill_session(calls: Iterable[Call]) -> SessionBill:
    """Price every call that has a price, name the others: none counts as free or at another model's rate.

    Raises :class:`InvalidUsageError` and :class:`InvalidArgumentError`, with the number of the call, for what
    :func:`bill` cannot read.

    >>> usage = Usage(input_tokens=1_000_000)
    >>> print(bill_session([Call("claude-opus-4-8", usage), Call("claude-2.1", usage)]))
    5 USD for 1 request; incomplete: 1 of claude-2.1 (no price)
    """
    by_label: dict[str, Bill] = {}
    missing: dict[tuple[str, Reason], Usage] = {}
    for number, call in enumerate(listed("calls", calls)):
        if not isinstance(call, Call):
            raise argument_error(f"calls[{number}]", "type", f"is {type(call).__name__}", "give a Call")
        try:
            usage = Usage.from_response(call.usage)
            priced = bill(usage, call.model, on=call.on)
        except (UnpricedModelError, UnknownModelError) as error:
            key = (call.model.id if isinstance(call.model, Model) else str(call.model), _reason(error))
            missing[key] = missing.get(key, Usage.zero()) + usage
        except (InvalidUsageError, InvalidArgumentError) as error:
            raise type(error)(
                replace(problem, path=f"calls[{number}].{problem.path}") for problem in error.problems
            ) from None
        else:
            by_label[call.label] = by_label.get(call.label, Bill()) + priced
    return SessionBill(
        by_label,
        tuple(Unpriced(name, reason, usage.requests, usage) for (name, reason), usage in missing.items()),
    )


def _reason(error: CtxlabError) -> Reason:
    if isinstance(error, UnknownModelError):
        return "unknown model"
    option = any(problem.rule == _PRICED_OPTION for problem in error.problems)
    return "no price for its speed or region" if option else "no price"


@dataclass(frozen=True, slots=True)
class _Terms:
    """The options a request is priced under."""

    batch: bool
    us_only: bool
    fast: bool
    flags: frozenset[str]

    @property
    def elsewhere(self) -> _Terms:
        """What of them holds for a step that another model does."""
        return replace(self, us_only=False, fast=False)


def _terms(
    usage: Usage,
    model: Model,
    prices: Prices,
    *,
    batch: bool | None,
    inference_geo: str | None,
    speed: str | None,
) -> _Terms:
    """The options, checked. What an argument asks for must exist; what a usage tells has happened."""
    if batch is not None and not isinstance(batch, bool):
        raise argument_error("batch", "type", f"is {batch!r}", "True, False, or None for what the usage says")
    if speed not in (None, "standard", "fast"):
        raise argument_error("speed", "known-speed", f"is {speed!r}", "standard or fast")
    if inference_geo not in (None, "us", "global"):
        raise argument_error("inference_geo", "known-region", f"is {inference_geo!r}", "us or global")
    flags = set()
    tier = usage.service_tier
    if tier == "priority":
        flags.add("priority-tier")
    elif tier not in (None, "standard", "batch"):
        flags.add("tier-unknown")
    in_batch = tier == "batch" if batch is None else batch
    runs_at = speed or usage.speed
    region = inference_geo or usage.inference_geo
    if region not in (None, "us", "global", "not_available"):
        flags.add("region-unknown")
    if runs_at == "fast" and in_batch:
        if speed is None and batch is None:
            raise _not_offered("speed", "fast in a batch", model, asked=False)
        raise argument_error("speed", "fast-or-batch", "is fast in a batch", "the two exclude each other")
    if runs_at not in (None, "standard") and (runs_at != "fast" or prices.fast_cards is None):
        raise _not_offered("speed", runs_at, model, asked=speed is not None)
    if region == "us" and prices.us_geo_multiplier is None:
        raise _not_offered("inference_geo", region, model, asked=inference_geo is not None)
    return _Terms(in_batch, us_only=region == "us", fast=runs_at == "fast", flags=frozenset(flags))


def _not_offered(name: str, value: str, model: Model, *, asked: bool) -> CtxlabError:
    if asked:
        return argument_error(name, "offered", f"is {value}, which {model.id} does not have", "leave it out")
    return UnpricedModelError(
        Problem(
            f"usage.{name}",
            _PRICED_OPTION,
            f"is {value!r}, for which {model.id} has no known price",
            f"count it as unpriced (cost.bill_session does), or say with {name}= what it is priced as",
        )
    )


def _one_prompt(usage: Usage) -> bool:
    """Whether each step's input is one prompt, not the sum over requests or over loops of a server tool."""
    summed = usage.web_search_requests or "context-is-a-sum" in usage.flags
    return usage.requests == 1 and (bool(usage.iterations) or not summed)


def _card_of_a_sum(entry: Iteration, prices: Prices) -> set[str]:
    """Flags an input that is a sum of prompts and only as a sum too large for the first card."""
    return set() if prices.card(entry.total_input_tokens) is prices.cards[0] else {"card-of-a-sum"}


def _runs_on(
    entry: Iteration, number: int, model: Model, prices: Prices, on: date | None
) -> tuple[Model, Prices]:
    if entry.model is None:
        return model, prices
    try:
        other = get_model(entry.model)
    except UnknownModelError as error:
        problem = replace(error.problems[0], path=f"usage.iterations[{number}].model")
        raise UnknownModelError(problem, error.nearest) from None
    return (model, prices) if other is model else (other, other.rates_at(on))


def _lines(entry: Iteration, model: Model, prices: Prices, terms: _Terms) -> tuple[list[Line], bool]:
    """The lines of one step, and whether an unverified figure went into them."""
    card = prices.card(entry.total_input_tokens, fast=terms.fast)
    factor = Fraction(1)
    figures = {"fast_rates" if terms.fast else "rates"}
    if terms.batch:
        factor *= prices.batch_multiplier
        figures.add("batch_multiplier")
    if terms.us_only and prices.us_geo_multiplier is not None:
        factor *= prices.us_geo_multiplier
        figures.add("us_geo_multiplier")
    read = prices.cache_read_multiplier
    short, long = prices.cache_write_5m_multiplier, prices.cache_write_1h_multiplier
    written = entry.cache_creation
    input_usd, output_usd = card.input_usd_per_mtok * factor, card.output_usd_per_mtok * factor
    rows = (
        ("input", entry.input_tokens, input_usd, input_usd),
        ("cache read", entry.cache_read_input_tokens, input_usd * read, input_usd * read),
        ("cache write 5m", written.ephemeral_5m_input_tokens, input_usd * short, input_usd * short),
        ("cache write 1h", written.ephemeral_1h_input_tokens, input_usd * long, input_usd * long),
        (_UNKNOWN_WRITE, written.unknown_ttl_input_tokens, input_usd * short, input_usd * long),
        ("output", entry.output_tokens, output_usd, output_usd),
    )
    lines = [
        Line(label, entry.type, model.id, tokens, rate, rate_high)
        for label, tokens, rate, rate_high in rows
        if tokens
    ]
    figures |= {_MULTIPLIER_OF[line.label] for line in lines if line.label in _MULTIPLIER_OF}
    return lines, bool(lines and figures & model.unverified)


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
