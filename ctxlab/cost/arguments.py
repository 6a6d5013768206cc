"""What callers of the cost functions hand in: lists, factors, seconds, and the errors for what is none.

Models: a list that is one, a factor without binary dust, a finite time, and the two errors that the other
files here raise.
Does not model: counts of tokens (:mod:`ctxlab.usage`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Real
from typing import TypeVar

from ctxlab.errors import InvalidArgumentError, InvalidUsageError, Problem

_Item = TypeVar("_Item")


def listed(path: str, values: Iterable[_Item]) -> list[_Item]:
    """The values as a list. Raises :class:`InvalidArgumentError` for text, a mapping, or a single thing."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise argument_error(path, "type", f"is of type {type(values).__name__}", "give a list")
    return list(values)


def exact_factor(path: str, value: Fraction | float | str) -> Fraction:
    """A multiplier or share as the decimal it shows: 0.1 is a tenth, not the binary number beside it.

    >>> exact_factor("read_multiplier", 0.1)
    Fraction(1, 10)
    """
    try:
        factor = Fraction(str(value) if isinstance(value, float) else value)
    except (TypeError, ValueError, ZeroDivisionError):
        factor = None
    if factor is None or factor < 0:
        raise argument_error(path, "factor", f"is {value!r}", "give a number from 0, such as Fraction(1, 10)")
    return factor


def finite_s(path: str, value: float) -> float:
    """A number of seconds. Raises :class:`InvalidArgumentError` for text, NaN and infinity."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise argument_error(path, "finite-number", f"is {value!r}", "give seconds")
    return value


def argument_error(path: str, rule: str, message: str, fix: str) -> InvalidArgumentError:
    """An :class:`InvalidArgumentError` with one problem."""
    return InvalidArgumentError(Problem(path, rule, message, fix))


def usage_error(path: str, rule: str, message: str, fix: str) -> InvalidUsageError:
    """An :class:`InvalidUsageError` with one problem."""
    return InvalidUsageError(Problem(path, rule, message, fix))
