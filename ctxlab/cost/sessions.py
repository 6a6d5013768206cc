"""The bill of a session, and by name what of it could not be priced.

Models: calls of several models, labels and days; models and options without a price.
Does not model: what a request costs (:mod:`ctxlab.cost.pricing`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Literal

from ctxlab.catalogue import Model
from ctxlab.cost.arguments import argument_error, listed
from ctxlab.cost.bills import Bill
from ctxlab.cost.pricing import PRICED_OPTION, bill
from ctxlab.errors import (
    CtxlabError,
    InvalidArgumentError,
    InvalidUsageError,
    UnknownModelError,
    UnpricedModelError,
)
from ctxlab.usage import Usage


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
        """Whether everything had a price."""
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
    option = any(problem.rule == PRICED_OPTION for problem in error.problems)
    return "no price for its speed or region" if option else "no price"
