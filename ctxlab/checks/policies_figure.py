"""Policies side by side: cumulative dollars with a tick at each rewrite, and ten dots for ten facts.

Models: any of the playground's policies over one session. A dot is a fact: full in the window, a ring in the
store, a cross once it is gone; the text twin says the same.
Does not model: a cost or a loss. Both come from :mod:`ctxlab.checks.playground`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from ctxlab.checks.playground import FACTS, Played
from ctxlab.figures import Figure, usd
from ctxlab.figures.charts import DASHES, LINES
from ctxlab.figures.svg import (
    INK,
    MARGIN,
    MUTED,
    NORMAL,
    PAGE,
    RULE,
    SMALL,
    WIDTH,
    figure,
    line,
    n,
    path,
    text,
)

_LEFT, _RIGHT, _TOP, _HEIGHT = 64.0, WIDTH - 40, 40.0, 230.0
_ROW, _DOTS = 30.0, 452.0


def policies_figure(played: Sequence[Played], colours: Sequence[int], title: str, alt: str) -> Figure:
    """Runs of one session; ``colours`` numbers their lines, so that a policy keeps its own."""
    most = max(one.usd[-1] for one in played) * Decimal("1.05")
    turns = len(played[0].usd)
    shapes = _axes(most, turns)
    ends = []
    for one, colour in zip(played, colours, strict=True):
        shapes += _line(one, colour, most)
        ends.append((_y(one.usd[-1], most), colour))
    shapes += _numbers(ends)
    top = _TOP + _HEIGHT + 70
    shapes += _head(top)
    twin = []
    for at, (one, colour) in enumerate(zip(played, colours, strict=True)):
        shapes += _row(one, colour, top + _ROW * (at + 1))
        twin.append(_words(one))
    foot = top + _ROW * (len(played) + 1) + 8
    shapes += _legend(foot)
    twin.append("facts: " + ", ".join(f"{fact.text} from turn {fact.turn} on" for fact in FACTS))
    return figure(shapes, foot + 24, "\n".join(twin), title, alt, "emulated", "on recorded structure")


def _x(turn: int, turns: int) -> float:
    return _LEFT + (_RIGHT - _LEFT) * turn / turns


def _y(value: Decimal, most: Decimal) -> float:
    return _TOP + _HEIGHT * (1 - float(value / most))


def _axes(most: Decimal, turns: int) -> list[str]:
    shapes = [text("dollars of input so far, a tick for each rewrite", MARGIN, _TOP - 16, NORMAL, bold=True)]
    step = next(size for size in (1, 2, 5, 10, 20, 25, 50, 100) if most / size <= 6)
    for value in range(0, int(most) + 1, step):
        y = _y(Decimal(value), most)
        shapes.append(line(_LEFT, y, _RIGHT, y, RULE if value else INK, 0.6 if value else 2))
        shapes.append(text(f"${value}", _LEFT - 8, y + 5, SMALL, anchor="end"))
    for turn in range(0, turns + 1, 50):
        shapes.append(text(str(turn), _x(turn, turns), _TOP + _HEIGHT + 22, SMALL, anchor="middle"))
    shapes.append(text("turn", _RIGHT, _TOP + _HEIGHT + 40, NORMAL, bold=True, anchor="end"))
    return shapes


def _line(one: Played, colour: int, most: Decimal) -> list[str]:
    turns = len(one.usd)
    spots = [(_x(at + 1, turns), _y(value, most)) for at, value in enumerate(one.usd)]
    drawn = path(
        "M" + "L".join(f"{n(x)} {n(y)}" for x, y in spots), stroke=LINES[colour], width=3, dash=DASHES[colour]
    )
    ticks = "".join(f"M{n(spots[turn - 1][0])} {n(spots[turn - 1][1] - 9)}v18" for turn in one.rewrites)
    return [drawn, path(ticks, stroke=LINES[colour], width=1.2)] if ticks else [drawn]


def _numbers(ends: Sequence[tuple[float, int]]) -> list[str]:
    """The number of each line behind its end, moved apart where lines end close together."""
    shapes, below = [], _TOP + _HEIGHT + 5 + 17
    for y, colour in sorted(ends, reverse=True):
        below = min(y + 5, below - 17)
        shapes.append(text(str(colour + 1), _RIGHT + 10, below, NORMAL, bold=True, fill=LINES[colour]))
    return shapes


def _head(y: float) -> list[str]:
    places = (("policy", 66.0, "start"), ("input", 330.0, "end"), ("rewrites", 424.0, "end"))
    return [
        *(text(words, x, y, SMALL, bold=True, anchor=anchor) for words, x, anchor in places),
        text("ten planted facts", _DOTS - 9, y, SMALL, bold=True),
    ]


def _row(one: Played, colour: int, y: float) -> list[str]:
    shapes = [
        text(str(colour + 1), MARGIN, y, NORMAL, bold=True, fill=LINES[colour]),
        line(MARGIN + 16, y - 5, MARGIN + 50, y - 5, LINES[colour], 3, DASHES[colour]),
        text(one.policy, 66, y, NORMAL),
        text(usd(one.usd[-1]), 330, y, NORMAL, anchor="end"),
        text(str(len(one.rewrites)), 424, y, NORMAL, anchor="end"),
    ]
    return shapes + [_dot(fate, _DOTS + 26 * at, y - 5) for at, fate in enumerate(one.fates)]


def _dot(fate: str | int, x: float, y: float) -> str:
    if isinstance(fate, int):
        return path(f"M{n(x - 6)} {n(y - 6)}l12 12m0 -12l-12 12", stroke=MUTED, width=2)
    fill = INK if fate == "window" else PAGE
    around = f"M{n(x - 8)} {n(y)}a8 8 0 1 0 16 0a8 8 0 1 0 -16 0z"
    return path(around, fill=fill, stroke=INK, width=2.5)


def _legend(y: float) -> list[str]:
    shapes, x = [], MARGIN + 10
    for fate, words in (("window", "in the window"), ("store", "in the store, one read away"), (1, "gone")):
        shapes += [_dot(fate, x, y - 5), text(words, x + 16, y, SMALL)]
        x += 60 + 8.2 * len(words)
    return shapes


def _words(one: Played) -> str:
    gone = [f"turn {fate}" for fate in one.fates if isinstance(fate, int)]
    lost = f", gone from {', '.join(gone)} on" if gone else ""
    held, stored = one.fates.count("window"), one.fates.count("store")
    rewrites = f"{len(one.rewrites)} rewrite{'s' * (len(one.rewrites) != 1)}"
    return (
        f"{one.policy}: {usd(one.usd[-1])}, {rewrites}; of {len(FACTS)} facts {held} in the window, "
        f"{stored} in the store, {len(gone)} gone{lost}"
    )
