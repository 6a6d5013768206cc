"""Ink and paper: the palette, the card around every picture, and the few SVG shapes the pictures are made of.

Models: text made safe for XML, an upper estimate of its width, rounded coordinates, pattern ids that follow
from the picture. Does not model: fonts (none is asked, the viewer's own sans-serif is used).
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from ctxlab.errors import InvalidArgumentError, Problem

WIDTH = 720.0  # of every viewBox; a narrow notebook shows a unit as 0.8 px, a wide one as 1.35 px
SMALL, NORMAL, LARGE = 15.0, 16.0, 20.0  # font sizes in units: the smallest stays at 12 px when narrow
MARGIN = 8.0
MOST = 10**18  # tokens; coordinates stay exact enough far beyond any bill
PAGE, INK, MUTED, RULE, ALARM = "#ffffff", "#1a1a1a", "#4d4d4d", "#8a8a8a", "#8a0f3c"
DASHED = "dashed"
UNCLASSED = "#e6e6e6"  # a block whose class is not known (yet)

EVIDENCE = ("recorded", "reported", "documented", "assumed", "emulated", "scripted", "rebuilt")


@dataclass(frozen=True, slots=True)
class TokenClass:
    """One class of tokens: ``letter``, ``word``, its ``colour`` and the ``marks`` drawn on it."""

    letter: str
    word: str
    colour: str
    marks: str


PALETTE: dict[str, TokenClass] = {
    "R": TokenClass("R", "read", "#4a96f2", '<circle cx="4" cy="4" r="1.5" fill="#ffffff"/>'),
    "W": TokenClass("W", "written", "#f7b316", '<path d="M-2 10L10-2M-2 2L2-2M6 10L10 6" stroke="#c98100"/>'),
    "F": TokenClass("F", "fresh", "#7be79b", '<path d="M0 2H8M0 6H8" stroke="#35a860"/>'),
    "O": TokenClass("O", "output", "#cc5d99", '<path d="M0 0L8 8M0 8L8 0" stroke="#ffffff"/>'),
}


@dataclass(frozen=True, repr=False)
class Figure:
    """A picture (``svg``), the same as ``text``, and ``alt``, the finding in a sentence.

    In a notebook it shows as a card; its ``repr`` is the text twin.
    """

    svg: str
    text: str
    alt: str
    title: str
    evidence: str | None = None
    source: str = ""

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        twin = (
            f'<pre style="margin:6px 0 0;padding:0;background:{PAGE};color:{INK};'
            f"font:15px/1.5 ui-monospace,monospace;white-space:pre-wrap;word-break:normal;"
            'overflow-wrap:anywhere">'
            f"{safe(self.text, keep_lines=True)}</pre>"
        )
        if self.text.count("\n") >= 4:  # a long twin would push the lesson off the screen
            twin = (
                f'<details><summary style="cursor:pointer;color:{INK}">The picture as text</summary>'
                f'<p style="margin:4px 0;color:{INK}">{safe(self.alt)}</p>{twin}</details>'
            )
        return card(caption(self.title, self.evidence, self.source, tag="figcaption") + self.svg + twin)


def figure(
    parts: Sequence[str], height: float, text: str, title: str, alt: str, evidence: str | None, source: str
) -> Figure:
    """Shapes of a picture ``height`` units high, made into a :class:`Figure`."""
    check_evidence(evidence)
    for name, words in (("title", title), ("alt", alt)):
        if not plain(words):
            refuse(name, "says-something", "is empty", "the title names the subject, alt states the finding")
    body = "".join(parts)
    # the key follows from the picture: two pictures share pattern ids only where they share the patterns
    key = hashlib.sha256((body + plain(alt)).encode("utf-8")).hexdigest()[:10]
    defs = "".join(
        f'<pattern id="p{key}{letter}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="{cls.colour}"/>{cls.marks}</pattern>'
        for letter, cls in PALETTE.items()
        if f"#{_KEY}{letter})" in body
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{safe(alt)}" '
        f'viewBox="0 0 {n(WIDTH)} {n(height)}" font-family="system-ui, sans-serif" '
        f'style="display:block;width:100%;height:auto"><defs>{defs}</defs>'
        f'<rect width="{n(WIDTH)}" height="{n(height)}" fill="{PAGE}"/>{body.replace(_KEY, f"p{key}")}</svg>'
    )
    return Figure(svg, text, plain(alt), plain(title), evidence, plain(source))


def card(inside: str) -> str:
    # the classes keep MathJax off: it takes what stands between two dollar signs for a formula
    """The light box around every figure and table."""
    return (
        '<figure class="mathjax_ignore tex2jax_ignore" '
        'style="margin:4px 0;padding:12px 14px;box-sizing:border-box;max-width:1000px;'
        f"background:{PAGE};color:{INK};border:1px solid {RULE};border-radius:8px;"
        f'font:16px/1.45 system-ui,sans-serif;text-align:left">{inside}</figure>'
    )


def caption(title: str, evidence: str | None, source: str, *, tag: str) -> str:
    """The title, and beside it what kind of evidence the figures are."""
    chip = ""
    if evidence is not None:
        origin = f": {safe(source)}" if plain(source) else ""
        chip = (
            f' <span style="display:inline-block;border:1px solid {MUTED};border-radius:10px;padding:1px 9px;'
            f'font-size:14px;color:{INK};background:#f0f0f0">{evidence}{origin}</span>'
        )
    return (
        f'<{tag} style="margin:0 0 8px;padding:0 0 6px;color:{INK};text-align:left;font-size:17px;'
        f'line-height:1.5;caption-side:top"><strong>{safe(title)}</strong>{chip}</{tag}>'
    )


# -------------------------------------------------------------------------------------------------- shapes

_KEY = "\x00"  # stands for the picture's key until the picture is known; `safe` lets no other through


def paint(cls: str | None) -> str:
    # the colour behind the url shows where a viewer cannot find the pattern
    """The fill of a token class: its pattern, or grey where the class is not known."""
    return UNCLASSED if cls is None else f"url(#{_KEY}{cls}) {PALETTE[cls].colour}"


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    stroke: str = INK,
    *,
    stroke_width: float = 1.5,
    rx: float = 0,
    dash: str = "",
    block: str = "",
) -> str:
    """A rectangle with rounded coordinates."""
    more = (f' rx="{n(rx)}"' if rx else "") + (f' stroke-dasharray="{dash}"' if dash else "")
    # a block can be pointed at: its words show on hover, and ctxlab.widgets lays a button over it
    end = f' data-block=""><title>{safe(block)}</title></rect>' if block else "/>"
    return (
        f'<rect x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{n(stroke_width)}"{more}{end}'
    )


def path(d: str, *, fill: str = "none", stroke: str = "", width: float = 1.5, dash: str = "") -> str:
    """A path; ``d`` holds coordinates that are rounded already."""
    more = f' stroke="{stroke}" stroke-width="{n(width)}"' if stroke else ""
    more += f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{d}" fill="{fill}"{more}/>'


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float, dash: str = "") -> str:
    """A straight line with rounded coordinates."""
    return path(f"M{n(x1)} {n(y1)}L{n(x2)} {n(y2)}", stroke=stroke, width=width, dash=dash)


def text(
    words: str,
    x: float,
    y: float,
    size: float = SMALL,
    *,
    bold: bool = False,
    anchor: str = "start",
    fill: str = INK,
    halo: str = "",
) -> str:
    """One line of text on its baseline; ``halo`` is the colour that keeps lines and patterns off it."""
    more = ' font-weight="bold"' if bold else ""
    more += f' text-anchor="{anchor}"' if anchor != "start" else ""
    if halo:
        more += f' stroke="{halo}" stroke-width="5" stroke-linejoin="round" paint-order="stroke"'
    return f'<text x="{n(x)}" y="{n(y)}" font-size="{n(size)}" fill="{fill}"{more}>{safe(words)}</text>'


def flags(labels: Sequence[tuple[float, str, str]], y: float, foot: float) -> tuple[list[str], float]:
    """Labelled pins, (x, label, colour) each, from rows below ``y`` down to ``foot`` units under the last.

    Returns the shapes and the height the label rows take; labels that would overlap get rows of their own.
    """
    rows: list[list[tuple[float, float]]] = []
    boxes = []
    for x, label, colour in labels:
        label = clip(label, 300, SMALL)
        width = text_width(label, SMALL) + 14
        left = min(max(x - width / 2, 2), WIDTH - 2 - width)
        free = (at for at, row in enumerate(rows) if all(left > b or left + width < a for a, b in row))
        row = next(free, len(rows))
        if row == len(rows):
            rows.append([])
        rows[row].append((left - 6, left + width + 6))
        boxes.append((x, y + 26 * row, left, width, label, colour))
    height = 26.0 * len(rows)
    pins = [line(x, top + 22, x, y + height + foot, colour, 3) for x, top, *_, colour in boxes]
    for _, top, left, width, label, colour in boxes:
        pins.append(rect(left, top, width, 22, PAGE, colour, stroke_width=2, rx=4))
        pins.append(text(label, left + width / 2, top + 16, anchor="middle", fill=colour))
    return pins, height


def legend(entries: Sequence[tuple[str | None, str]], y: float, total: str = "") -> tuple[list[str], float]:
    """Swatches with words, wrapped into rows, and a bold total at the right; returns shapes and height.

    An entry's class is R, W, F, O, None, or ``DASHED`` for a dashed line.
    """
    shapes, x, top = [], MARGIN, y
    for cls, words in entries:
        width = 46 + text_width(words, NORMAL)
        if x > MARGIN and x + width > WIDTH:
            x, top = MARGIN, top + 26
        if cls == DASHED:
            shapes.append(line(x, top + 10, x + 26, top + 10, INK, 2.5, dash="9 6"))
        else:
            shapes.append(rect(x, top + 1, 24, 18, paint(cls)))
        shapes.append(text(words, x + 32, top + 16, NORMAL))
        x += width
    if total:
        if x + text_width(total, NORMAL, bold=True) > WIDTH - MARGIN:
            top += 26
        shapes.append(text(total, WIDTH - MARGIN, top + 16, NORMAL, bold=True, anchor="end"))
    return shapes, top + 26 - y


# ---------------------------------------------------------------------------------------------------- words


def text_width(words: str, size: float, *, bold: bool = False) -> float:
    """An upper estimate in units, after the wide sans-serif fonts; East Asian characters count double."""
    ems = 0.0
    for c in words:
        if c in " .,:;|!'ijlft()[]/":
            ems += 0.40
        elif c in "mwMW@%…" or ord(c) > 0x2E80:
            ems += 1.0
        else:
            ems += 0.72 if c.isupper() else 0.635
    return ems * size * (1.12 if bold else 1.0)


def clip(words: str, width: float, size: float) -> str:
    """``words`` cut to ``width`` units, with an ellipsis where something is missing."""
    kept = words = plain(words)
    while kept and text_width(kept if kept == words else kept + "…", size) > width:
        kept = kept[:-1]
    return kept if kept == words else f"{kept.rstrip()}…" if kept else ""


def plain(words: str, *, keep_lines: bool = False) -> str:
    """Only characters that XML and UTF-8 can hold, on one line unless ``keep_lines``."""
    clean = "".join(
        c if c.isprintable() or (keep_lines and c == "\n") else " " if c.isspace() else "\ufffd"
        for c in str(words)
    )
    return clean if keep_lines else " ".join(clean.split())


def safe(words: str, *, keep_lines: bool = False) -> str:
    """``words`` as content or attribute of XML."""
    clean = plain(words, keep_lines=keep_lines)
    for raw, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        clean = clean.replace(raw, escaped)
    return clean


def usd(amount: float | Decimal | Fraction) -> str:
    """Money for reading: cents from ten cents up, else four decimals, more where those would show nothing.

    Raises :class:`InvalidArgumentError` for what is not a finite number.

    >>> usd(4.1), usd(0.0056), usd(1234.5), usd(0.000025), usd(-1)
    ('$4.10', '$0.0056', '$1,234.50', '$0.000025', '-$1.00')
    """
    try:
        value = float(amount)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        refuse("amount", "finite-number", f"is {amount!r}", "give dollars as a finite number")
    sign, size = ("-" if value < 0 else ""), abs(value)
    if size >= 0.0995 or size == 0:
        return f"{sign}${size:,.2f}"
    return f"{sign}${size:.4f}" if size >= 0.0001 else f"{sign}${Decimal(f'{size:.2g}'):f}"


def compact(value: float) -> str:
    """A short number for an axis.

    >>> compact(50_000), compact(24_700_000), compact(0.5), compact(999_990)
    ('50k', '24.7M', '0.5', '1M')
    """
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if float(f"{abs(value):.4g}") >= size:
            return f"{value / size:,.4g}{unit}"
    return f"{value:.4g}"


def n(value: float) -> str:
    """A coordinate, rounded to two decimals, so that the last bits of a float never show."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


# ------------------------------------------------------------------------------------------------- refusals


def check_evidence(evidence: str | None) -> None:
    """Raise :class:`InvalidArgumentError` for a kind of evidence that the house does not know."""
    if evidence is not None and evidence not in EVIDENCE:
        refuse("evidence", "kind-of-evidence", f"is {evidence!r}", f"use one of {', '.join(EVIDENCE)}")


def whole(place: str, value: object) -> int:
    """``value`` as a count of tokens or turns: a whole number, 0 or more, that a picture can hold."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0 or isinstance(value, bool):
        refuse(place, "whole-number", f"is {value!r}", "give a whole number, 0 or more")
    if number > MOST:
        refuse(place, "whole-number", "is more than can be drawn", f"give at most {MOST:,}")
    return number


def positive(place: str, value: object) -> int:
    """``value`` as a whole number of 1 or more."""
    number = whole(place, value)
    if number == 0:
        refuse(place, "whole-number", "is 0", "give 1 or more")
    return number


def parts(place: str, value: object, *names: str) -> tuple[Any, ...]:
    """``value`` as a tuple of as many parts as there are names."""
    if not isinstance(value, (tuple, list)) or len(value) != len(names):
        refuse(place, "parts", f"holds {value!r}", f"give ({', '.join(names)})")
    return tuple(value)


def finite(place: str, value: object) -> float:
    """``value`` as a finite number, 0 or more."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        refuse(place, "finite-number", f"is {value!r}", "give a finite number, 0 or more")
    return number


def refuse(place: str, rule: str, message: str, fix: str) -> NoReturn:
    """Raise :class:`InvalidArgumentError` with one problem."""
    raise InvalidArgumentError(Problem(place, rule, message, fix))
