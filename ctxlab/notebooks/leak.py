"""Search a learner edition for the answers' digits.

Models: a figure with three or more significant digits, written with any separator, cut or rounded, with
``k``, ``M`` or ``million``, in any source, output, alt text or label, or parted by markup or between the
outputs of a cell; in outputs also a rounder figure (``3,000``, ``0.42``) as it is. Drawing coordinates are
not text.
Does not model: figures below 100 that are whole, figures spelled in words, or pictures made of pixels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

from ctxlab.checks.predictions import Prediction
from ctxlab.checks.quantities import Between, exact
from ctxlab.errors import Problem

DIGITS = 3
_SCALE = {"k": 3, "thousand": 3, "m": 6, "million": 6, "b": 9, "bn": 9, "billion": 9}
_NUMBERS = tuple(
    re.compile(
        rf"(?<![\w.])(?P<whole>\d{{1,3}}(?:[{separators}]\d{{3}})+|\d+)(?:\.(?P<part>\d+))?"
        r"(?:[eE](?P<power>[+-]?\d{1,3}))?(?![\d]|[a-zA-Z]\d)"
        r"\s?(?P<scale>thousand|million|billion|bn|[kKMB](?![a-z]|[A-Z]))?"
    )
    for separators in (r",_'’", r" \u00a0\u2009\u202f")
)
_SPOKEN = ("aria-label", "aria-description", "alt", "title", "value", "summary", "content")


def leaks(notebook: Mapping[str, Any], asked: Iterable[Prediction]) -> list[Problem]:
    """Every place of the notebook that shows a figure of these predictions."""
    truths = [(one.id, name, figure) for one in asked for name, figure in _figures(one)]
    found: dict[Problem, None] = {}
    for place, text in _texts(notebook):
        for written, value, digits in numbers(text):
            for prediction, name, truth in truths:
                if shows(value, digits, truth) or (
                    ".outputs" in place and _is_round(truth) and value == truth
                ):
                    message = f"shows {written!r}, the {name} of prediction {prediction}"
                    found[Problem(place, "nothing-leaks", message, "show it through reveal() or after()")] = (
                        None
                    )
    return list(found)


def shows(value: Fraction, digits: int, truth: Fraction) -> bool:
    """Whether a number with so many significant digits is this truth, rounded or cut to them.

    >>> shows(Fraction(24_700_000), 3, Fraction(24_691_034))
    True
    """
    if digits < DIGITS or _significant(truth) < DIGITS:
        return False
    step = Fraction(10) ** (_exponent(truth) - digits + 1)
    cut = truth // step * step
    return value in (cut, round(truth / step) * step)


def _is_round(truth: Fraction) -> bool:
    """Whether a truth of few digits is still too particular to stand in an output by chance."""
    return _significant(truth) < DIGITS and (truth >= 100 or truth.denominator > 1)


def numbers(text: str) -> Iterator[tuple[str, Fraction, int]]:
    """The numbers of a text: as written, their value, and how many significant digits they show."""
    seen = set()
    for pattern in _NUMBERS:
        for match in pattern.finditer(text):
            if match.span() in seen:
                continue
            seen.add(match.span())
            whole, part = re.sub(r"\D", "", match["whole"]), match["part"] or ""
            power = int(match["power"] or 0) + _SCALE.get((match["scale"] or "").lower(), 0) - len(part)
            shown = (whole + part).lstrip("0")
            digits = len(shown if part else shown.rstrip("0"))
            yield match[0].strip(), Fraction(int(whole + part)) * Fraction(10) ** power, digits


def _figures(asked: Prediction) -> Iterator[tuple[str, Fraction]]:
    truth = asked.truth() if asked.fields else {}
    for name, value in truth.items():
        for end in (value.low, value.high) if isinstance(value, Between) else (value,):
            yield name, abs(exact(end))


def _exponent(value: Fraction) -> int:
    """The power of ten of the first significant digit."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if value >= Fraction(10) ** guess else guess - 1


def _significant(value: Fraction) -> int:
    """How many significant digits it takes to write the value; many for one that never ends."""
    if value == 0:
        return 0
    scaled = value / Fraction(10) ** _exponent(value)
    for digits in range(1, 12):
        if (scaled * 10 ** (digits - 1)).denominator == 1:
            return digits
    return 12


def _texts(notebook: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for number, cell in enumerate(notebook["cells"]):
        place = f"cell[{number}]"
        source = "".join(cell["source"])
        yield f"{place}.source", source
        yield f"{place}.source", _MARKS.sub("", source)
        yield f"{place}.metadata", json.dumps(cell["metadata"])
        shown = []
        for index, output in enumerate(cell.get("outputs", ())):
            here = f"{place}.outputs[{index}]"
            text = "".join(output.get("text", ()))
            yield here, text
            for kind, data in output.get("data", {}).items():
                if not kind.startswith("image/") or kind.endswith("xml"):
                    told = "".join(data) if isinstance(data, list) else json.dumps(data)
                    if kind.endswith(("html", "xml")):
                        yield f"{here}[{kind}]", _visible(told, " | ")
                        told = _visible(told, "")
                    yield f"{here}[{kind}]", told
                    text = text or told
            shown.append(text.strip())
        if len(shown) > 1:
            yield f"{place}.outputs", "".join(shown)


_MARKS = re.compile(r"[*`{}\\]")  # of Markdown and of formulas: what may stand between two digits


def _visible(markup: str, between: str) -> str:
    """What a person can read or hear, with ``between`` in the place of every tag."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return " | ".join([between.join(reader.read), *reader.spoken])


class _Reader(HTMLParser):
    """Keeps what a person can read or hear, drops styles and drawing coordinates."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.read: list[str] = []
        self.spoken: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("style",)
        self.spoken += [
            value for name, value in attrs if value and (name in _SPOKEN or name.startswith("data-"))
        ]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style",)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.read.append(data)
