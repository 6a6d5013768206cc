"""Numbers as learners write them and as panels show them.

Models: exact reading (``0.1`` is one tenth, whatever the float holds), relative tolerance, ranges, and one
way to print each unit. Does not model: conversion between units.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

MOST_DIGITS = 40

Number = int | float | Decimal | Fraction


@dataclass(frozen=True, slots=True)
class Between:
    """A truth that is a range: any figure from ``low`` to ``high`` is right.

    >>> Between(2, 3).holds(Fraction(5, 2))
    True
    """

    low: Number
    high: Number

    def holds(self, value: Fraction) -> bool:
        """Whether the value lies in the range, ends included."""
        return exact(self.low) <= value <= exact(self.high)


def exact(value: object) -> Fraction:
    """The number as it was written; raises :class:`ValueError` for what is not a finite number.

    >>> exact(0.1) == Fraction(1, 10), exact("24_691_034")
    (True, Fraction(24691034, 1))
    """
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a number")
    if isinstance(value, int | Fraction):
        return Fraction(value)
    text = str(value).strip().replace(",", "").replace("_", "")
    try:
        if "/" in text:
            return Fraction(text)
        number = Decimal(text)
        if number and abs(number.adjusted()) > MOST_DIGITS:  # 1e999999999 would take minutes to write out
            raise ValueError
        return Fraction(number)
    except (ValueError, InvalidOperation, OverflowError, ZeroDivisionError):
        raise ValueError(f"{value!r} is not a finite number") from None


def agrees(value: Fraction, truth: Number | Between, tolerance: Fraction) -> bool:
    """Whether a figure is the truth within a relative tolerance (of the nearer end, for a range)."""
    if isinstance(truth, Between):
        if truth.holds(value):
            return True
        nearer = min((exact(truth.low), exact(truth.high)), key=lambda end: abs(end - value))
        return abs(value - nearer) <= tolerance * abs(nearer)
    return abs(value - exact(truth)) <= tolerance * abs(exact(truth))


def written(truth: Number | Between, tolerance: Fraction) -> int | Decimal:
    """The shortest figure that a careful person would write down and that the grader accepts.

    Raises :class:`ValueError` when no short figure is accepted: such a field needs a tolerance.
    """
    if isinstance(truth, Between):
        middle = (exact(truth.low) + exact(truth.high)) / 2
        accepted, digits = truth.holds, 2
    else:
        middle = exact(truth)
        if middle.denominator == 1:
            return int(middle)
        target = truth
        accepted, digits = (lambda value: agrees(value, target, tolerance / 10)), 3
    for count in range(digits, 18):
        short = _rounded(middle, count)
        if accepted(Fraction(short)):
            return int(short) if short == short.to_integral_value() else short
    raise ValueError(f"{middle} cannot be written down exactly; give its field a tolerance")


def shown(value: Number | Between, unit: str) -> str:
    """The figure with its unit, for people.

    >>> shown(24691034, "tokens"), shown(0.0056, "usd"), shown(Between(2.2, 3), "×")
    ('24,691,034 tokens', '$0.0056', '2.2 to 3 ×')
    """
    if isinstance(value, Between):
        low, high = (_digits(exact(end), unit) for end in (value.low, value.high))
        text = f"{low} to {high}"
    else:
        text = _digits(exact(value), unit)
    return text if unit in ("usd", "") else f"{text} {unit}"


def _digits(value: Fraction, unit: str) -> str:
    if unit == "usd":
        sign, size = ("-" if value < 0 else ""), abs(value)
        return sign + "$" + (f"{_cents(size):,.2f}" if size >= 1 else _plain(_rounded(size, 4)))
    if value.denominator == 1:
        return f"{int(value):,}"
    rounded = _rounded(value, 4)
    return f"{int(rounded):,}" if rounded == rounded.to_integral_value() else _plain(rounded)


def _cents(value: Fraction) -> Decimal:
    return Decimal(round(value * 100)) / 100


def _rounded(value: Fraction, digits: int) -> Decimal:
    if value == 0:
        return Decimal(0)
    size = abs(value)
    exponent = len(str(int(size))) if size >= 1 else 0
    while size < Fraction(1, 10) * Fraction(10) ** exponent:
        exponent -= 1
    places = digits - exponent
    scaled = round(value * Fraction(10) ** places)
    return Decimal(scaled).scaleb(-places)


def _plain(value: Decimal) -> str:
    text = f"{value:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
