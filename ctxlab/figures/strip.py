"""The prefix strip: one request from left to right, as wide as its tokens, coloured by how they were billed.

Models: blocks in prefix order with their class, the three segments, cache markers above (what the request
says), cache entries below (what the server holds), the positions a marker looks at, the first block that
differs. Does not model: which block is read or written; the caller says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from ctxlab.figures.svg import (
    ALARM,
    INK,
    MARGIN,
    MUTED,
    PAGE,
    PALETTE,
    RULE,
    SMALL,
    UNCLASSED,
    WIDTH,
    Figure,
    clip,
    figure,
    flags,
    legend,
    line,
    n,
    paint,
    parts,
    path,
    plain,
    rect,
    refuse,
    text,
    text_width,
    usd,
    whole,
)

MAX_BLOCKS = 24  # more would be too narrow to hold their letter
COUNT_FONT = 18.0
TICK_SPACE = 13.0  # units between two positions of a lookback: 20 of them can be counted


class Span(NamedTuple):
    """A run of tokens: ``cls`` is R, W, F, O or None; ``segment`` defaults to the label's first word."""

    label: str
    cls: str | None
    tokens: int
    segment: str = ""


AnySpan = Span | tuple[str, str | None, int]


class Layout(NamedTuple):
    """Where the drawn blocks stand: block ``i`` lies between ``edges[i]`` and ``edges[i + 1]``."""

    blocks: list[Span]
    edges: list[float]
    place: list[int]  # for each given span (and one past the last) the drawn block it is in
    to_scale: bool


def prefix_strip(
    spans: Sequence[AnySpan],
    *,
    title: str,
    alt: str,
    evidence: str,
    source: str = "",
    markers: Iterable[tuple[int, str]] = (),
    lookback: tuple[int, int] | None = None,
    looked_at: Sequence[int] = (),
    entries: Iterable[int] = (),
    first_difference: int | None = None,
    bill: Decimal | str | None = None,
) -> Figure:
    """A request as a strip. Indexes count spans from 0.

    ``markers`` are (index, label): the pin stands behind that span. ``entries`` are spans behind which the
    cache held an entry when the request came. ``lookback`` is the (first, last) span looked at, or
    ``looked_at`` every position of it, drawn as a tick each. ``first_difference`` is the first span that is
    not as it was, ``bill`` dollars or ready words.
    Of more than 24 spans, neighbours of one class and segment are drawn as one.

    >>> prefix_strip([("tools", "R", 3733), ("system", "W", 4563)], title="Request 2",
    ...              alt="The tools were read, the system prompt written again.", evidence="recorded")
    [tools R 3733][system W 4563]
    """
    pins = [parts("markers", one, "index", "label") for one in markers]
    held, seen = sorted(set(entries)), sorted(set(looked_at))
    if seen and lookback is None:
        lookback = (seen[0], seen[-1])
    layout = strip_layout(
        spans,
        markers=pins,
        lookback=lookback,
        looked_at=seen,
        entries=held,
        first_difference=first_difference,
    )
    blocks, edges, place, to_scale = layout

    labels = [(edges[place[at + 1]], str(label), INK) for at, label in pins]
    if first_difference is not None:
        labels.append((edges[place[first_difference]], "first difference", ALARM))
    band = 24.0 if any(block.segment for block in blocks) else 0.0  # the names of the segments
    pin_shapes, height = flags(labels, 4, foot=band + 72)
    top = height + (8 if labels else 4)
    shapes = _segments(blocks, edges, top)
    top += band
    for at, block in enumerate(blocks):
        shapes += _block(block, edges[at], edges[at + 1], top)
    shapes += pin_shapes
    y = top + 64

    if held:
        ends = [edges[place[at + 1]] for at in held]
        shapes += [_entry(x, y) for x in ends]
    if lookback is not None:
        y += 16 if held else 6
        left, right = edges[place[lookback[0]]], edges[place[lookback[1] + 1]]
        shapes += _looked_at(left, right, [_end(at, layout) for at in seen], y)
        y += 34
    elif held:
        y += 16
    narrow = [
        ((edges[at] + edges[at + 1]) / 2, _words(block, ","))
        for at, block in enumerate(blocks)
        if not _fits(block, edges[at + 1] - edges[at])
    ]
    below, height = _labels_below(narrow, top + 64, y)
    shapes = below + shapes  # what is drawn under the strip lies over the leader lines
    y += height
    totals: dict[str | None, int] = {}
    for block in blocks:
        totals[block.cls] = totals.get(block.cls, 0) + block.tokens
    swatches: list[tuple[str | None, str]] = [
        (cls, f"{cls} {PALETTE[cls].word} {totals[cls]:,}") for cls in PALETTE if cls in totals
    ]
    if swatches and None in totals:
        swatches.append((None, f"unclassed {totals[None]:,}"))
    total = f"{sum(totals.values()):,} tokens" + ("" if bill is None else f" · {_money(bill)}")
    key, height = legend(swatches, y + 10, total)
    shapes += key
    y += height + 10
    notes = ["▲ entry held before this request."] if held else []
    notes += [] if to_scale else ["Small blocks are drawn wider than to scale."]
    if notes:
        shapes.append(text(" ".join(notes), MARGIN, y + 14, fill=MUTED))
        y += 20
    twin = strip_text(
        blocks,
        markers=[(place[at + 1] - 1, label) for at, label in pins],
        looked_at=[place[at] for at in seen],
        entries=[place[at + 1] - 1 for at in held],
        first_difference=None if first_difference is None else place[first_difference],
        bill=bill,
    )
    return figure(shapes, y + 4, twin, title, alt, evidence, source)


def strip_text(
    spans: Sequence[AnySpan],
    *,
    markers: Iterable[tuple[int, str]] = (),
    looked_at: Sequence[int] = (),
    entries: Iterable[int] = (),
    first_difference: int | None = None,
    bill: Decimal | str | None = None,
) -> str:
    """The strip in characters.

    ``<5m>`` is a marker behind a span, ``^`` an entry in the cache, ``!`` the first difference; ``(20:``
    opens what a lookback of 20 positions looks at, ``)`` ends it.

    >>> strip_text([("tools", "R", 3733), ("system", "W", 4563)], markers=[(1, "5m")], first_difference=1)
    '[tools R 3733]![system W 4563]<5m>'
    >>> strip_text([("tools", "R", 9), ("system", "W", 5)], looked_at=[0, 1], entries=[0])
    '(2:[tools R 9]^[system W 5])'
    """
    before: dict[int, str] = {}
    behind: dict[int, str] = dict.fromkeys(entries, "^")
    if looked_at:
        before[min(looked_at)] = f"({len(looked_at)}:"
        behind[max(looked_at)] = behind.get(max(looked_at), "") + ")"
    for at, label in markers:
        behind[at] = behind.get(at, "") + f"<{plain(label)}>"
    parts = [
        f"{'!' if at == first_difference else ''}{before.get(at, '')}[{_words(block)}]{behind.get(at, '')}"
        for at, block in enumerate(_checked(spans))
    ]
    return "".join(parts) + ("" if bill is None else f" {_money(bill)}")


def strip_layout(
    spans: Sequence[AnySpan],
    *,
    markers: Iterable[tuple[int, str]] = (),
    lookback: tuple[int, int] | None = None,
    looked_at: Sequence[int] = (),
    entries: Iterable[int] = (),
    first_difference: int | None = None,
) -> Layout:
    """The blocks a strip draws and where they stand, in units of the picture's width."""
    blocks = _checked(spans)
    pins = [parts("markers", one, "index", "label") for one in markers]
    cuts = {_index("markers", at, blocks) + 1 for at, _ in pins}
    cuts |= {_index("entries", at, blocks) + 1 for at in entries}
    if first_difference is not None:
        cuts.add(_index("first_difference", first_difference, blocks))
    seen = [_index("looked_at", at, blocks) for at in looked_at]
    lookback = (min(seen), max(seen)) if seen and lookback is None else lookback
    if lookback is not None:
        first, last = (_index("lookback", at, blocks) for at in parts("lookback", lookback, "first", "last"))
        if first > last:
            refuse("lookback", "first-before-last", f"is {lookback!r}", "give (first, last)")
        cuts |= {first, last + 1}
    drawn, place = _joined(blocks, cuts)
    ticks = [0] * len(drawn)
    for at in seen:
        ticks[place[at]] += 1
    edges, to_scale = _edges(drawn, [TICK_SPACE * count for count in ticks])
    return Layout(drawn, edges, place, to_scale)


def _checked(spans: Sequence[AnySpan]) -> list[Span]:
    blocks = []
    for at, given in enumerate(spans):
        place = f"spans[{at}]"
        if not isinstance(given, tuple) or not 3 <= len(given) <= 4:
            refuse(place, "span-shape", f"is {given!r}", "give (label, class, tokens)")
        span = Span(*given)
        if span.cls is not None and span.cls not in PALETTE:
            refuse(f"{place}.cls", "token-class", f"is {span.cls!r}", "use R, W, F, O or None")
        named = (s for s in ("tools", "system", "messages") if str(span.label).startswith(s))
        segment = span.segment or next(named, "")
        blocks.append(Span(plain(span.label), span.cls, whole(f"{place}.tokens", span.tokens), segment))
    if not blocks:
        refuse("spans", "not-empty", "has no block", "give at least one span")
    return blocks


def _joined(blocks: list[Span], cuts: set[int]) -> tuple[list[Span], list[int]]:
    if len(blocks) <= MAX_BLOCKS:
        return blocks, list(range(len(blocks) + 1))
    drawn: list[Span] = []
    members, place = 0, []
    for at, block in enumerate(blocks):
        if drawn and at not in cuts and (drawn[-1].cls, drawn[-1].segment) == (block.cls, block.segment):
            members += 1
            tokens = drawn[-1].tokens + block.tokens
            drawn[-1] = drawn[-1]._replace(label=f"{members} blocks", tokens=tokens)
        else:
            members = 1
            drawn.append(block)
        place.append(len(drawn) - 1)
    return drawn, [*place, len(drawn)]


def _edges(blocks: list[Span], least: Sequence[float]) -> tuple[list[float], bool]:
    """Edges of blocks as wide as their tokens, and whether none had to be widened to stay visible."""
    usable = WIDTH - 2 * MARGIN
    floors = [max(26.0, wanted) for wanted in least]
    for first, last in _runs(blocks):  # a segment is at least as wide as its name
        share = (text_width(blocks[first].segment, SMALL) + 10) / (last - first)
        floors[first:last] = [max(floor, share) for floor in floors[first:last]]
    if sum(floors) > usable:
        floors = [min(26.0, usable / len(blocks))] * len(blocks)
    # hand every block its share; whoever falls below its floor gets the floor and leaves the sharing
    small: set[int] = set()
    while True:
        rest = usable - sum(floors[at] for at in small)
        tokens = sum(block.tokens for at, block in enumerate(blocks) if at not in small)
        widths = [
            floors[at] if at in small else rest * block.tokens / tokens if tokens else 0.0
            for at, block in enumerate(blocks)
        ]
        more = {at for at, width in enumerate(widths) if at not in small and width < floors[at]}
        if not more:
            break
        small |= more
    edges = [MARGIN]
    for width in widths:
        edges.append(edges[-1] + width * usable / sum(widths))
    return edges, not small


def _runs(blocks: list[Span]) -> Iterator[tuple[int, int]]:
    first = 0
    for at in range(1, len(blocks) + 1):
        if at == len(blocks) or blocks[at].segment != blocks[first].segment:
            yield first, at
            first = at


def _segments(blocks: list[Span], edges: list[float], y: float) -> list[str]:
    shapes = []
    for first, last in _runs(blocks):
        left, right = edges[first], edges[last]
        if blocks[first].segment:
            name = clip(blocks[first].segment, right - left, SMALL)
            shapes.append(rect(left, y, right - left, 24, "#f0f0f0"))
            shapes.append(text(name, (left + right) / 2, y + 17, anchor="middle"))
    return shapes


def _block(block: Span, left: float, right: float, top: float) -> list[str]:
    middle, halo = (left + right) / 2, PALETTE[block.cls].colour if block.cls else UNCLASSED
    shapes = [rect(left, top, right - left, 64, paint(block.cls), block=_words(block, ","))]
    letter = block.cls or ""
    if text_width(letter, COUNT_FONT, bold=True) > right - left:
        letter = ""
    fits = _fits(block, right - left)
    words = f"{letter} {block.tokens:,}".strip() if fits else letter
    named = fits and block.label != block.segment
    if named:
        label = clip(block.label, right - left - 8, SMALL)
        shapes.append(text(label, middle, top + 25, anchor="middle", halo=halo))
    if words:
        y = top + (49 if named else 39)
        shapes.append(text(words, middle, y, COUNT_FONT, bold=True, anchor="middle", halo=halo))
    return shapes


def _fits(block: Span, width: float) -> bool:
    """Whether the count, and the label or a good part of it, can stand inside the block."""
    label = "" if block.label == block.segment else block.label
    count = text_width(f"{block.cls or ''} {block.tokens:,}", COUNT_FONT, bold=True)
    return width - 10 >= max(count, min(text_width(label, SMALL), 80.0))


def _labels_below(labels: list[tuple[float, str]], foot: float, y: float) -> tuple[list[str], float]:
    """Labels of the narrow blocks below ``y``, on up to five rows, with lines from the strip's ``foot``.

    What finds no room is in the tooltip and the twin.
    """
    ends = [0.0] * 5
    leaders, words, used = [], [], 0
    for x, label in labels:
        label = clip(label, 260, SMALL)
        width = text_width(label, SMALL)
        left = min(max(x - width / 2, 4), WIDTH - 4 - width)
        row = next((at for at, end in enumerate(ends) if left > end), None)
        if row is None:
            continue
        ends[row], used = left + width + 10, max(used, row + 1)
        base = y + 24 + 21 * row
        leaders.append(line(x, foot, x, base - 13, RULE, 1.5))
        words.append(text(label, left + width / 2, base, anchor="middle", halo=PAGE))
    return leaders + words, 21.0 * used + (8 if used else 0)


def _looked_at(left: float, right: float, ticks: list[float], y: float) -> list[str]:
    """What a marker looks at: a bracket, or a line with a tick for each position."""
    ends = f"M{n(left + 1)} {n(y + 7)}v-7H{n(right - 1)}v7"
    words = "lookback"
    if ticks:
        left, right = ticks[0], ticks[-1]
        ends = f"M{n(right)} {n(y + 5)}H{n(left)}" + "".join(f"M{n(x)} {n(y)}v10" for x in ticks)
        words = f"looks at {len(ticks)} position{'s' * (len(ticks) != 1)}"
    half = text_width(words, SMALL) / 2
    middle = min(max((left + right) / 2, half + 4), WIDTH - half - 4)
    return [
        path(ends, stroke=INK, width=2),
        rect(middle - half, y + 13, 2 * half, 17, PAGE, PAGE),  # keeps leader lines off the words
        text(words, middle, y + 26, anchor="middle"),
    ]


def _entry(x: float, y: float) -> str:
    return path(f"M{n(x - 7)} {n(y + 14)}L{n(x)} {n(y + 2)}L{n(x + 7)} {n(y + 14)}z", fill=INK)


def _end(at: int, layout: Layout) -> float:
    """Where a span ends; spans that are drawn as one share its width evenly."""
    drawn = layout.place[at]
    members = [span for span, place in enumerate(layout.place[:-1]) if place == drawn]
    left, right = layout.edges[drawn], layout.edges[drawn + 1]
    return left + (right - left) * (at - members[0] + 1) / len(members)


def _words(block: Span, separator: str = "") -> str:
    count = f"{block.tokens:,}" if separator else str(block.tokens)
    return " ".join(part for part in (block.label, block.cls or "", count) if part)


def _money(bill: Decimal | str) -> str:
    return plain(bill) if isinstance(bill, str) else usd(bill)


def _index(place: str, at: object, blocks: Sequence[Span]) -> int:
    number = whole(place, at)
    if number >= len(blocks):
        refuse(place, "span-index", f"is {at}", f"give a span from 0 to {len(blocks) - 1}")
    return number
