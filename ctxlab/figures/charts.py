"""Charts over the turns of a session: bars under a ceiling, the integral, small curves.

Models: exact step areas (a turn is a step, not a point on a slope), a running sum on a scale of its own.
Where there are more turns than a picture can hold, turns are merged and the picture says how.
Does not model: fits or laws; a law arrives as figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from ctxlab.figures.svg import (
    ALARM,
    DASHED,
    INK,
    LARGE,
    MARGIN,
    MUTED,
    NORMAL,
    PAGE,
    PALETTE,
    SMALL,
    WIDTH,
    Figure,
    clip,
    compact,
    figure,
    finite,
    flags,
    legend,
    line,
    n,
    paint,
    parts,
    path,
    plain,
    positive,
    refuse,
    text,
    text_width,
    whole,
)

SLATE, PALE = "#3d5a73", "#c9d3dc"  # totals, which belong to no token class
LINES = ("#0b5c8f", "#8a4b00", "#00684d", "#8a0f3c", "#5b3f9e", "#4d4d4d")
DASHES = ("", "10 5", "3 4", "14 4 3 4", "6 3", "1 3")


class Series(NamedTuple):
    """One line of a curve."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]


def bars_under_ceiling(
    values: Sequence[int],
    *,
    ceiling: int,
    title: str,
    alt: str,
    evidence: str,
    source: str = "",
    ceiling_label: str = "window",
    max_bars: int = 320,
) -> Figure:
    """Tokens per turn under a ceiling, and below them the running sum on its own scale.

    More than ``max_bars`` turns: a bar stands for several and is as high as the largest of them.

    >>> bars_under_ceiling([60, 90], ceiling=100, title="t", alt="a", evidence="scripted")
    2 turns, largest 90 at turn 2, window 100
    running sum 150 = 1.5 x the window
    turn 1: 60, sum 60
    turn 2: 90, sum 150
    """
    tokens = [whole(f"values[{at}]", value) for at, value in enumerate(values)]
    if not tokens or whole("ceiling", ceiling) == 0:
        refuse("values, ceiling", "not-empty", "no turn, or a ceiling of 0", "give both, in tokens")
    sums = list(accumulate(tokens))
    peak = max(range(len(tokens)), key=tokens.__getitem__)
    merged = math.ceil(len(tokens) / positive("max_bars", max_bars))

    top = _Panel(y=36, height=165, x_max=len(tokens), y_max=max(ceiling, max(tokens)))
    gap = 0.15 * (top.x(1) - top.x(0))
    bars = ""
    for first in range(0, len(tokens), merged):
        group = tokens[first : first + merged]
        left, right = top.x(first) + gap, top.x(first + len(group)) - gap
        bars += f"M{_n1(left)} {_n1(top.base)}V{_n1(top.y_of(max(group)))}H{_n1(right)}V{_n1(top.base)}z"
    limit, ceiling_label = top.y_of(ceiling), clip(ceiling_label, 200, NORMAL)
    words = f"{ceiling_label} {ceiling:,}"
    taken = [
        _Box.around(words, top.right - text_width(words, NORMAL, bold=True), limit - 9),
        _Box.around("tokens per turn", MARGIN, top.y - 14),
    ]
    shapes = [
        *top.axes("tokens per turn"),
        path(bars, fill=SLATE),
        line(top.left, limit, top.right, limit, ALARM, 3, dash="10 5"),
        text(words, top.right, limit - 9, NORMAL, bold=True, anchor="end", fill=ALARM, halo=PAGE),
        *_callout(f"largest {tokens[peak]:,}", top.x(peak + 0.5), top.y_of(tokens[peak]), top, taken),
    ]

    low = _Panel(y=top.base + 50, height=130, x_max=len(tokens), y_max=max(sums[-1], 1) * 1.12)
    limit = low.y_of(ceiling)
    times = f"{sums[-1] / ceiling:,.1f}"
    shapes += [
        *low.axes("running sum of all turns", x_label="turn"),
        path(_steps([*map(float, sums)], low, 1), fill=PALE, stroke=SLATE, width=2),
    ]
    if limit > low.y:
        shapes.append(line(low.left, limit, low.right, limit, ALARM, 3, dash="10 5"))
        one = f"one {ceiling_label}"
        shapes.append(text(one, low.right - 8, limit - 8, anchor="end", fill=ALARM, halo=PALE))
    shapes += [
        text(f"{sums[-1]:,} in all", low.left + 14, low.y + 24, LARGE, bold=True, halo=PAGE),
        text(f"{times} × the {ceiling_label}", low.left + 14, low.y + 48, NORMAL, halo=PAGE),
    ]
    shapes, foot = _footnote(shapes, low.foot, merged, "A bar is the largest of {} turns.")
    twin = [
        f"{len(tokens):,} turns, largest {tokens[peak]:,} at turn {peak + 1:,}, {ceiling_label} {ceiling:,}",
        f"running sum {sums[-1]:,} = {times} x the {ceiling_label}",
        *(f"turn {at + 1:,}: {tokens[at]:,}, sum {sums[at]:,}" for at in _sample(len(tokens))),
    ]
    return figure(shapes, foot, "\n".join(twin), title, alt, evidence, source)


def integral(
    read: Sequence[int],
    written: Sequence[int],
    fresh: Sequence[int],
    *,
    title: str,
    alt: str,
    evidence: str,
    source: str = "",
    law: Sequence[float] = (),
    law_label: str = "law",
    marks: Iterable[tuple[int, str]] = (),
    max_steps: int = 600,
) -> Figure:
    """A session as an area: tokens per turn by class, a law as a dashed line, below them the running sum.

    One figure per turn everywhere; ``law`` may stop early or run on. ``marks`` are (turn, label), turns
    counted from 1. More than ``max_steps`` turns: a step is the mean of several, so that areas stay true.

    >>> integral([0, 90], [90, 10], [10, 10], title="t", alt="a", evidence="scripted")
    2 turns, 210 tokens: R 90 (42.9 %), W 100 (47.6 %), F 20 (9.5 %)
    turn 1: R 0 W 90 F 10, all 100, sum 100
    turn 2: R 90 W 10 F 10, all 110, sum 210
    """
    rows = {
        cls: [whole(f"{PALETTE[cls].word}[{at}]", value) for at, value in enumerate(values)]
        for cls, values in (("R", read), ("W", written), ("F", fresh))
    }
    turns = len(rows["R"])
    if not turns or {len(row) for row in rows.values()} != {turns}:
        lengths = ", ".join(f"{PALETTE[cls].word} {len(row)}" for cls, row in rows.items())
        refuse("read, written, fresh", "one-figure-per-turn", f"hold {lengths}", "give each turn all three")
    line_of_law = [finite(f"law[{at}]", value) for at, value in enumerate(law)]
    named = [parts("marks", one, "turn", "label") for one in marks]
    pins = [(whole("marks", turn), str(label)) for turn, label in named]
    for turn, _ in pins:
        if not 1 <= turn <= turns:
            refuse("marks", "turn-in-range", f"turn {turn} is marked", f"mark a turn from 1 to {turns}")
    totals = [sum(column) for column in zip(*rows.values(), strict=True)]
    sums, law_sums = list(accumulate(totals)), list(accumulate(line_of_law))
    shares = {cls: f"{sum(row):,} ({_share(sum(row), sums[-1])})" for cls, row in rows.items()}
    merged = math.ceil(turns / positive("max_steps", max_steps))
    across = max(turns, len(line_of_law))

    entries: list[tuple[str | None, str]] = [
        (cls, f"{cls} {PALETTE[cls].word} {words}") for cls, words in shares.items()
    ]
    if line_of_law:
        entries.append((DASHED, clip(law_label, 400, NORMAL)))
    shapes, y = legend(entries, 4)
    y += 10
    height = 175.0
    top = _Panel(y=y, height=height, x_max=across, y_max=max(*totals, *line_of_law, 1) * 1.04)
    pin_shapes, rise = flags([(top.x(t - 0.5), label, INK) for t, label in pins], y, foot=30 + height)
    top.move_down(rise + 30)
    shapes += top.axes("tokens per turn")
    # the whole stack first, then what lies under it on top: only upper edges are needed
    stack = [float(total) for total in totals]
    for cls in ("F", "W", "R"):
        shapes.append(path(_steps(stack, top, merged), fill=paint(cls)))
        stack = [a - b for a, b in zip(stack, rows[cls], strict=True)]
    shapes += [*_dashed(line_of_law, top), *pin_shapes]

    low = _Panel(y=top.base + 48, height=105, x_max=across, y_max=max(sums[-1], *law_sums, 1) * 1.12)
    shapes += [
        *low.axes("running sum of all turns", x_label="turn"),
        path(_steps([*map(float, sums)], low, 1), fill=PALE, stroke=SLATE, width=2),
        *_dashed(law_sums, low),
        text(f"{sums[-1]:,} in all", low.left + 14, low.y + 24, LARGE, bold=True, halo=PAGE),
    ]
    shapes, foot = _footnote(shapes, low.foot, merged, "A step is the mean of {} turns.")
    thin = [cls for cls, row in rows.items() if 0 < sum(row) < 0.01 * sums[-1]]
    if thin:
        words = f"Hardly to be seen, at less than a hundredth: {' and '.join(thin)}."
        shapes.append(text(words, MARGIN, foot + 10, fill=MUTED))
        foot += 20
    said = {turn - 1: f" <- {plain(label)}" for turn, label in pins}
    twin = [f"{turns:,} turns, {sums[-1]:,} tokens: " + ", ".join(f"{cls} {shares[cls]}" for cls in rows)]
    for at in sorted({*_sample(turns), *said}):
        classes = " ".join(f"{cls} {rows[cls][at]:,}" for cls in rows)
        ruled = f", {plain(law_label)} {line_of_law[at]:,.0f}" if at < len(line_of_law) else ""
        twin.append(
            f"turn {at + 1:,}: {classes}, all {totals[at]:,}{ruled}, sum {sums[at]:,}{said.get(at, '')}"
        )
    return figure(shapes, foot, "\n".join(twin), title, alt, evidence, source)


def curve(
    series: Sequence[Series | tuple[str, Sequence[float], Sequence[float]]],
    *,
    x_label: str,
    y_label: str,
    title: str,
    alt: str,
    evidence: str,
    source: str = "",
    marks: Iterable[tuple[float, float, str]] = (),
    y_format: Callable[[float], str] = compact,
) -> Figure:
    """One to six lines, each named at its end and told apart by its dashes; points may be marked.

    ``marks`` are (x, y, label). ``y_format`` writes a value of y: :func:`usd` for money.

    >>> curve([("no cache", [1, 40], [0.005, 4.1])], x_label="turns", y_label="dollars", title="t",
    ...       alt="a", evidence="documented", marks=[(40, 4.1, "B's figure")])
    no cache: 0.005 at 1, 4.1 at 40 turns
    B's figure: 4.1 at 40 turns
    """
    if not 1 <= len(series) <= len(LINES):
        refuse("series", "one-to-six", f"has {len(series)} lines", "draw one to six")
    lines = []
    for at, one in enumerate(series):
        label, xs, ys = parts(f"series[{at}]", one, "label", "xs", "ys")
        if len(xs) != len(ys) or not len(xs):
            refuse(f"series[{at}]", "as-many-y-as-x", f"{len(xs)} x and {len(ys)} y", "give pairs")
        lines.append(
            (
                plain(label),
                [finite(f"series[{at}].xs", x) for x in xs],
                [finite(f"series[{at}].ys", y) for y in ys],
            )
        )
    named = [parts("marks", one, "x", "y", "label") for one in marks]
    points = [(finite("marks", x), finite("marks", y), plain(label)) for x, y, label in named]
    all_x = [x for _, xs, _ in lines for x in xs] + [x for x, _, _ in points]
    all_y = [y for _, _, ys in lines for y in ys] + [y for _, y, _ in points]
    room = min(max(text_width(label, NORMAL, bold=True) for label, _, _ in lines) + 24, 240)
    panel = _Panel(
        y=36,
        height=240,
        x_max=max(all_x),
        y_max=(max(all_y) or 1) * 1.06,
        x_min=min(all_x),
        right=WIDTH - MARGIN - room,
        y_format=y_format,
    )
    shapes = panel.axes(y_label, x_label=x_label)
    for at, (_, xs, ys) in enumerate(lines):
        d = "L".join(f"{_n1(panel.x(x))} {_n1(panel.y_of(y))}" for x, y in zip(xs, ys, strict=True))
        shapes.append(path(f"M{d}", stroke=LINES[at], width=3, dash=DASHES[at]))
    taken: list[_Box] = []
    for at, base in _spread([panel.y_of(ys[-1]) + 5 for _, _, ys in lines], panel):
        label = clip(lines[at][0], (room - 22) / 1.12, NORMAL)
        taken.append(_Box.around(label, panel.x(lines[at][1][-1]) + 14, base))
        shapes.append(taken[-1].draw(label, LINES[at]))
    drawn = [[(panel.x(x), panel.y_of(y)) for x, y in zip(xs, ys, strict=True)] for _, xs, ys in lines]
    spots = [(panel.x(x), panel.y_of(y)) for x, y, _ in points]
    taken += [_Box(x - 9, y - 9, x + 9, y + 9) for x, y in spots]
    for (x, y), (_, _, label) in zip(spots, points, strict=True):
        shapes += _point(label, x, y, panel, drawn, taken)
    twin = [
        f"{label}: {y_format(ys[0])} at {xs[0]:,.10g}, {y_format(ys[-1])} at {xs[-1]:,.10g} {plain(x_label)}"
        for label, xs, ys in lines
    ] + [f"{label}: {y_format(y)} at {x:,.10g} {plain(x_label)}" for x, y, label in points]
    return figure(shapes, panel.foot, "\n".join(twin), title, alt, evidence, source)


class _Panel:
    """A plot area: figures to units, and its axes."""

    def __init__(
        self,
        *,
        y: float,
        height: float,
        x_max: float,
        y_max: float,
        x_min: float = 0.0,
        right: float = WIDTH - 14,
        y_format: Callable[[float], str] = compact,
    ):
        self.right, self.y, self.base = right, y, y + height
        self.x_min, self.x_max, self.y_max = x_min, x_max, y_max
        ticks = _ticks(0, y_max, 5 if height > 150 else 3)
        self.y_ticks = [(value, plain(y_format(value))) for value in ticks]
        self.left = max(70.0, 20 + max(text_width(words, SMALL) for _, words in self.y_ticks))

    @property
    def foot(self) -> float:
        """Below the labels of the x axis."""
        return self.base + 52

    def move_down(self, by: float) -> None:
        self.y, self.base = self.y + by, self.base + by

    def x(self, value: float) -> float:
        spread = self.x_max - self.x_min
        return self.left + (self.right - self.left) * ((value - self.x_min) / spread if spread else 0.5)

    def y_of(self, value: float) -> float:
        return self.base - (self.base - self.y) * value / self.y_max

    def axes(self, y_label: str, *, x_label: str = "") -> list[str]:
        shapes = [text(clip(y_label, 600, NORMAL), MARGIN, self.y - 14, NORMAL, bold=True)]
        for value, words in self.y_ticks:
            y = self.y_of(value)
            shapes.append(line(self.left, y, self.right, y, "#d4d4d4" if value else INK, 1 if value else 2))
            shapes.append(text(words, self.left - 8, y + 5, anchor="end"))
        if x_label:
            for value in _ticks(self.x_min, self.x_max, 6):
                x = self.x(value)
                shapes.append(line(x, self.base, x, self.base + 6, INK, 2))
                words = f"{value:,.6g}" if value < 1e5 else compact(value)
                middle = min(x, WIDTH - 2 - text_width(words, SMALL) / 2)
                shapes.append(text(words, middle, self.base + 22, anchor="middle"))
            words = clip(x_label, 240, NORMAL)
            shapes.append(text(words, self.right, self.base + 43, NORMAL, bold=True, anchor="end"))
        return shapes


def _steps(values: Sequence[float], panel: _Panel, merged: int) -> str:
    """A filled step path; each step is the mean of ``merged`` turns."""
    d = f"M{_n1(panel.left)} {_n1(panel.base)}"
    for first in range(0, len(values), merged):
        group = values[first : first + merged]
        height = panel.y_of(sum(group) / len(group))
        d += f"V{_n1(height)}H{_n1(panel.x(first + len(group)))}"
    return f"{d}V{_n1(panel.base)}z"


def _dashed(values: Sequence[float], panel: _Panel) -> list[str]:
    if not values:
        return []
    d = "M" + "L".join(f"{_n1(panel.x(at + 0.5))} {_n1(panel.y_of(v))}" for at, v in enumerate(values))
    return [path(d, stroke=INK, width=2.5, dash="9 6")]


def _spread(wanted: Sequence[float], panel: _Panel) -> list[tuple[int, float]]:
    """Base lines as near to the wanted ones as 20 units between them allow, by index."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    bases: list[float] = []
    for at in order:
        bases.append(max(wanted[at], bases[-1] + 20 if bases else panel.y))
    limit = panel.base - 4
    for at in reversed(range(len(bases))):
        bases[at] = min(bases[at], limit)
        limit = bases[at] - 20
    return list(zip(order, bases, strict=True))


def _callout(label: str, x: float, y: float, panel: _Panel, taken: list[_Box]) -> list[str]:
    """A wedge on the peak and its label above it, or below its top where the room above is taken."""
    width = text_width(label, NORMAL, bold=True)
    left = min(max(x - width / 2, panel.left), panel.right - width)
    boxes = [_Box.around(label, left, base) for base in (y - 15, y + 24, y + 44, y + 64)]
    box = next((box for box in boxes if not any(box.meets(other) for other in taken)), boxes[-1])
    return [path(f"M{n(x)} {n(y)}l-6 -9h12z", fill=INK), box.draw(label)]


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, label: str, left: float, base: float) -> _Box:
        return cls(left, base - 15, left + text_width(label, NORMAL, bold=True), base + 5)

    def draw(self, label: str, fill: str = INK) -> str:
        middle = (self.left + self.right) / 2
        return text(label, middle, self.bottom - 5, NORMAL, bold=True, anchor="middle", fill=fill, halo=PAGE)

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def free(
        self, panel: _Panel, taken: Iterable[_Box], lines: Iterable[Sequence[tuple[float, float]]]
    ) -> bool:
        return (
            panel.left < self.left
            and self.right < WIDTH - 2
            and panel.y - 10 < self.top
            and self.bottom < panel.base
            and not any(self.meets(other) for other in taken)
            and not any(self.crossed_by(points) for points in lines)
        )

    def crossed_by(self, line_of_points: Sequence[tuple[float, float]]) -> bool:
        for (x1, y1), (x2, y2) in pairwise(line_of_points):
            left, right = max(self.left, min(x1, x2)), min(self.right, max(x1, x2))
            if left <= right:
                slope = (y2 - y1) / (x2 - x1) if x2 != x1 else 0.0
                ends = y1 + slope * (left - x1), y1 + slope * (right - x1)
                if min(ends) < self.bottom and max(ends) > self.top:
                    return True
        return False


def _point(
    label: str,
    x: float,
    y: float,
    panel: _Panel,
    lines: Sequence[Sequence[tuple[float, float]]],
    taken: list[_Box],
) -> list[str]:
    """A marked point with its label where neither a line nor another label is; ``taken`` grows by it.

    A label that finds no room is in the text twin alone.
    """
    label = clip(label, 260, NORMAL)
    width = text_width(label, NORMAL, bold=True)
    middle = min(max(x - width / 2, panel.left + 6), WIDTH - 6 - width)
    beside = [(x - 12 - width, y - 10), (x + 14, y + 5), (x - 12 - width, y + 24), (x + 10, y + 24)]
    farther = [(middle, y + by) for by in (-30, -50, -70, -90, 40, 60, 80)]
    boxes = [_Box.around(label, left, base) for left, base in beside + farther]
    circle = f'<circle cx="{n(x)}" cy="{n(y)}" r="6" fill="{PAGE}" stroke="{INK}" stroke-width="3"/>'
    box = next((box for box in boxes if box.free(panel, taken, lines)), None)
    if box is None:
        return [circle]
    taken.append(box)
    leader = []
    if box in boxes[len(beside) :]:
        foot = box.bottom if box.bottom < y else box.top
        leader = [line(x, y, min(max(x, box.left), box.right), foot, INK, 1.5)]
    return [*leader, circle, box.draw(label)]


def _footnote(shapes: list[str], y: float, merged: int, words: str) -> tuple[list[str], float]:
    if merged == 1:
        return shapes, y
    return [*shapes, text(words.format(merged), MARGIN, y + 10, fill=MUTED)], y + 20


def _ticks(low: float, high: float, about: int) -> list[float]:
    """Round values between ``low`` and ``high``, roughly ``about`` of them."""
    raw = max((high - low) / about, high * 1e-9, 1e-9)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(at * step, 10) for at in range(first, last + 1)]


def _sample(count: int) -> list[int]:
    """Up to eleven indexes, evenly spread, the first and the last among them."""
    return sorted({round(at * (count - 1) / 10) for at in range(11)})


def _share(part: int, whole_: int) -> str:
    percent = 100 * part / whole_ if whole_ else 0.0
    return f"{percent:.1f} %" if percent >= 0.1 or not part else f"{percent:.2g} %"


def _n1(value: float) -> str:
    """A coordinate on a long path: a tenth of a unit is finer than any screen shows."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")
