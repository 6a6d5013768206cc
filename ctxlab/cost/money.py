"""Money without rounding, and the two errors the other files here raise.

Models: USD as ``Fraction`` inside and ``Decimal`` at the edge, digit for digit. Does not model: display.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from ctxlab.errors import InvalidArgumentError, InvalidUsageError, Problem


def exact_decimal(amount: Fraction | int) -> Decimal:
    """A fraction of money as a decimal, digit for digit; prices have only 2 and 5 in their denominators."""
    numerator, denominator = Fraction(amount).as_integer_ratio()
    places = 0
    while denominator % 10 == 0:
        denominator //= 10
        places += 1
    for factor, other in ((2, 5), (5, 2)):
        while denominator % factor == 0:
            denominator //= factor
            numerator *= other
            places += 1
    if denominator != 1:
        raise argument_error(
            "amount", "finite-decimal", f"is {amount}, which has no finite decimal", "keep the Fraction"
        )
    digits = tuple(map(int, str(abs(numerator))))
    return Decimal((int(numerator < 0), digits, -places))


def argument_error(path: str, rule: str, message: str, fix: str) -> InvalidArgumentError:
    """An :class:`InvalidArgumentError` with one problem."""
    return InvalidArgumentError(Problem(path, rule, message, fix))


def usage_error(path: str, rule: str, message: str, fix: str) -> InvalidUsageError:
    """An :class:`InvalidUsageError` with one problem."""
    return InvalidUsageError(Problem(path, rule, message, fix))
