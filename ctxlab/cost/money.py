"""Money without rounding.

Models: USD as ``Fraction`` inside and ``Decimal`` at the edge, digit for digit. Does not model: display.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from ctxlab.cost.arguments import argument_error


def exact_decimal(amount: Fraction | int) -> Decimal:
    """A fraction of money as a decimal, digit for digit; prices have only 2 and 5 in their denominators.

    Raises :class:`InvalidArgumentError` for a fraction without a finite decimal, and for what is no fraction:
    a float has lost its digits already.

    >>> exact_decimal(Fraction(1, 8))
    Decimal('0.125')
    """
    if not isinstance(amount, (int, Fraction)):
        raise argument_error("amount", "exact", f"is {amount!r}", "give a Fraction or an int")
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
