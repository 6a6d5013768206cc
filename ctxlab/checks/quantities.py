"""Numbers as learners write them and as panels show them.

Models: exact reading (``0.1`` is one tenth, whatever the float holds; thousands may be grouped), a unit's own
sign beside the number, relative tolerance, ranges, and one way to print each unit. A point is the decimal
point. Does not model: conversion between units, or words such as ``k`` and ``million``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

MOST_DIGITS = 40
_MOST_PARTS = 10**1_000  # of a fraction; more is nothing anybody writes down
_GROUPED = re.compile(r"[+-]?\d{1,3}([,_ '’\u00a0\u2009\u202f])\d{3}(?:\1\d{3})*(?:\.\d+)?")

# 1.000 is one thousand to some and one to others
_POINTS_FOR_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+")
# how dollars and factors are typed and printed; every other unit is its own sign
_SIGNS = {"usd": ("US$", "$", "USD"), "×": ("×", "x")}
_POINT = "(a point is the decimal point)"

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

    Thousands may be grouped by commas, underscores, apostrophes or blanks, if each group has three digits.

    >>> exact(0.1) == Fraction(1, 10), exact("24_691_034")
    (True, Fraction(24691034, 1))
    """
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a number")
    try:
        number = Fraction(value) if isinstance(value, int | Fraction) else _from_text(str(value).strip())
    except (ValueError, InvalidOperation, OverflowError, ZeroDivisionError):
        raise ValueError(f"{value!r} is not a finite number") from None
    if abs(number) >= 10 ** (MOST_DIGITS + 1) or number.denominator > _MOST_PARTS:
        raise ValueError("the number is longer than anybody writes")
    return number


def _from_text(text: str) -> Fraction:
    if (grouped := _GROUPED.fullmatch(text)) is not None:
        text = text.replace(grouped[1], "")
    if "_" in text:  # int and Decimal take it between any two digits
        raise ValueError
    if "/" in text:
        return Fraction(text)
    number = Decimal(text)
    if number and abs(number.adjusted()) > MOST_DIGITS:  # 1e999999999 would take minutes to write out
        raise ValueError
    return Fraction(number)


def in_unit(value: object, unit: str) -> Fraction:
    """A learner's figure, which may bear the sign of its unit; tokens are whole and never negative.

    A text that groups the thousands of tokens by points is refused: to some 1.000 is one.

    Raises :class:`ValueError` with a sentence that follows the figure's name.

    >>> in_unit("$1,234.50", "usd") == Fraction("1234.5"), in_unit("62 %", "%"), in_unit("10 444", "tokens")
    (True, Fraction(62, 1), Fraction(10444, 1))
    """
    bare = _without_sign(value, unit) if isinstance(value, str) else value
    no_count = f"counts tokens: a whole number, 0 or more {_POINT}"
    if unit == "tokens" and isinstance(bare, str) and _POINTS_FOR_THOUSANDS.fullmatch(bare):
        raise ValueError(no_count)
    try:
        number = exact(bare)
    except ValueError:
        raise ValueError(f"is a number in digits, e.g. 1234.5 or 1_234 {_POINT}") from None
    if unit == "tokens" and (number < 0 or number.denominator != 1):
        raise ValueError(no_count)
    return number


def _without_sign(text: str, unit: str) -> str:
    """The number alone: its unit may stand on either side of it, and a minus ahead of both."""
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    ahead = text[:1] if text[:1] in ("+", "-") else ""
    text = text[len(ahead) :].strip()
    one = unit.removesuffix("s")  # "1 turn"; seconds have no shorter sign
    for sign in _SIGNS.get(unit, (unit, one)):
        if sign and text.lower().startswith(sign.lower()):
            text = text[len(sign) :]
            break
        if sign and text.lower().endswith(sign.lower()):
            text = text[: -len(sign)]
            break
    return ahead + text.strip()


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
