"""The picture of notebook 05: what the top level of ``usage`` shows, and what lies below the line.

Models: requests side by side, each with the tokens above the waterline and, by class, those under it.
Does not model: which tokens are shown (the API's rule); what is drawn is handed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ctxlab.figures.svg import (
    INK,
    MARGIN,
    NORMAL,
    PALETTE,
    SMALL,
    WIDTH,
    Figure,
    clip,
    figure,
    legend,
    n,
    paint,
    path,
    plain,
    rect,
    refuse,
    text,
    whole,
)

MOST = 5
_GUTTER, _HEAD, _DEPTH, _WATER = 128.0, 36.0, 190.0, "#2f6fb3"


class Berg(NamedTuple):
    """One request: a name, the tokens that its top level shows, and those under it by class (R, W, F, O)."""

    name: str
    shown_tokens: int
    hidden: Mapping[str, int]

    @property
    def hidden_tokens(self) -> int:
        """All that the top level leaves out."""
        return sum(self.hidden.values())


def iceberg(
    bergs: Sequence[Berg | tuple[str, int, Mapping[str, int]]],
    *,
    title: str,
    alt: str,
    evidence: str,
    source: str = "",
) -> Figure:
    """One to five requests, drawn to one scale above and below the waterline.

    >>> iceberg([("paused", 0, {"F": 900, "O": 20})], title="t", alt="a", evidence="scripted")
    paused: above the line 0 | below it 920: F 900, O 20
    """
    drawn = [_checked(at, Berg(*one)) for at, one in enumerate(bergs)]
    if not 1 <= len(drawn) <= MOST:
        refuse("bergs", "one-to-five", f"holds {len(drawn)} requests", f"draw 1 to {MOST}")
    largest = max(max(one.shown_tokens, one.hidden_tokens) for one in drawn) or 1
    scale = _DEPTH / largest
    rise = max(scale * one.shown_tokens for one in drawn)
    water = _HEAD + 26 + rise
    column = (WIDTH - _GUTTER - MARGIN) / len(drawn)
    shapes = [
        text("top level", MARGIN, water - 10, NORMAL, bold=True),
        text("iterations", MARGIN, water + 26, NORMAL, bold=True),
        text("of summaries", MARGIN, water + 46, SMALL),
    ]
    for at, one in enumerate(drawn):
        shapes += _berg(one, _GUTTER + at * column, column, water, scale)
    shapes += _waterline(water)
    classes = [cls for cls in PALETTE if any(cls in one.hidden for one in drawn)]
    entries: list[tuple[str | None, str]] = [(cls, f"{cls} {PALETTE[cls].word}") for cls in classes]
    key, height = legend(entries, water + _DEPTH + 72)
    twin = "\n".join(
        f"{plain(one.name)}: above the line {one.shown_tokens:,} | below it {one.hidden_tokens:,}: "
        + ", ".join(f"{cls} {tokens:,}" for cls, tokens in one.hidden.items())
        for one in drawn
    )
    return figure(shapes + key, water + _DEPTH + 76 + height, twin, title, alt, evidence, source)


def _checked(at: int, one: Berg) -> Berg:
    whole(f"bergs[{at}].shown_tokens", one.shown_tokens)
    for cls, tokens in one.hidden.items():
        if cls not in PALETTE:
            refuse(f"bergs[{at}].hidden", "token-class", f"names {cls!r}", f"use {', '.join(PALETTE)}")
        whole(f"bergs[{at}].hidden[{cls}]", tokens)
    return one


def _berg(one: Berg, left: float, column: float, water: float, scale: float) -> list[str]:
    width = min(column - 24, 110.0)
    x, middle = left + (column - width) / 2, left + column / 2
    shapes = [text(clip(one.name, column - 6, NORMAL), middle, 20, NORMAL, bold=True, anchor="middle")]
    tip = scale * one.shown_tokens
    if one.shown_tokens:
        shapes.append(rect(x, water - max(tip, 2), width, max(tip, 2), INK, INK))
    shapes.append(text(f"{one.shown_tokens:,} shown", middle, water - tip - 10, NORMAL, anchor="middle"))
    y = water
    for cls, tokens in one.hidden.items():
        height = scale * tokens
        if tokens:
            shapes.append(rect(x, y, width, max(height, 1.5), paint(cls), stroke_width=1))
        y += height
    told = [f"{cls} {tokens:,}" for cls, tokens in one.hidden.items() if tokens]
    for row, words in enumerate(told):
        shapes.append(text(words, middle, y + 20 + 19 * row, SMALL, anchor="middle"))
    return shapes


def _waterline(y: float) -> list[str]:
    """A line with small waves from edge to edge."""
    waves = int((WIDTH - 2 * MARGIN) // 24)
    d = f"M{n(MARGIN)} {n(y)}" + "q6 -5 12 0t12 0" * waves
    return [path(d, stroke=_WATER, width=3)]
