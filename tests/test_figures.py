"""What every picture promises: true widths, a twin that says the same, legible words, the same bytes."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxlab import recordings
from ctxlab.errors import InvalidArgumentError
from ctxlab.figures import (
    EVIDENCE,
    PALETTE,
    Figure,
    Span,
    bars_under_ceiling,
    charts,
    compact,
    curve,
    integral,
    prefix_strip,
    svg,
    table,
    usd,
    window_and_store,
)
from ctxlab.figures.strip import MAX_BLOCKS, strip_layout
from ctxlab.figures.svg import INK, MARGIN, UNCLASSED, WIDTH, text_width

SVG = "{http://www.w3.org/2000/svg}"
SAID = {"title": "A title", "alt": "The finding.", "evidence": "scripted"}

tokens = st.integers(0, 2_000_000)
labels = st.one_of(
    st.sampled_from(
        ["tools", "system", "messages[0] user", "messages[12].content[3] tool_result", "question"]
    ),
    st.text(max_size=40),
)
spans = st.lists(st.tuples(labels, st.sampled_from([*PALETTE, None]), tokens), min_size=1, max_size=60)
turns = st.lists(tokens, min_size=1, max_size=40)
amounts = st.floats(0, 1e9, allow_nan=False)


@st.composite
def strips(draw):
    blocks = draw(spans)
    places = st.integers(0, len(blocks) - 1)
    first, last = sorted((draw(places), draw(places)))
    return prefix_strip(
        blocks,
        markers=[(at, draw(st.sampled_from(["5m", "1h"]))) for at in draw(st.lists(places, max_size=4))],
        first_difference=draw(st.none() | places),
        lookback=draw(st.none() | st.just((first, last))),
        looked_at=draw(st.lists(st.integers(first, last), max_size=20)),
        entries=draw(st.lists(places, max_size=3)),
        bill=draw(st.none() | st.decimals(0, 1000, places=6)),
        **SAID,
    )


@st.composite
def sessions(draw):
    rows = draw(st.lists(st.tuples(tokens, tokens, tokens), min_size=1, max_size=40))
    marks = draw(st.lists(st.tuples(st.integers(1, len(rows)), st.text(max_size=30)), max_size=3))
    return integral(
        *(list(column) for column in zip(*rows, strict=True)),
        law=draw(st.lists(amounts, max_size=50)),
        law_label=draw(st.text(max_size=30)),
        marks=marks,
        **SAID,
    )


@st.composite
def curves(draw):
    lines = draw(
        st.lists(st.lists(st.tuples(amounts, amounts), min_size=1, max_size=8), min_size=1, max_size=6)
    )
    marks = draw(st.lists(st.tuples(amounts, amounts, labels), max_size=3))
    series = [(draw(labels), [x for x, _ in line], [y for _, y in line]) for line in lines]
    return curve(series, x_label="turns", y_label="dollars", marks=marks, y_format=usd, **SAID)


pictures = st.one_of(
    strips(),
    sessions(),
    curves(),
    st.builds(
        lambda values, top: bars_under_ceiling(values, ceiling=top, **SAID), turns, st.integers(1, 1_000_000)
    ),
    st.builds(
        lambda window, store: window_and_store(window=window, store=store),
        st.lists(labels, min_size=1, max_size=8),
        st.lists(labels, min_size=1, max_size=8),
    ),
)


def shapes(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(figure.svg)


# --------------------------------------------------------------------------------------------- every picture


@given(pictures)
@settings(max_examples=200)
def test_every_picture_is_well_formed_and_named_by_its_finding(figure):
    root = shapes(figure)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == figure.alt
    figure._repr_html_().encode("utf-8")


@given(pictures)
def test_no_coordinate_has_more_than_two_decimals(figure):
    assert re.findall(r"\d\.\d{3,}", re.sub(r">[^<]*<|aria-label=\"[^\"]*\"", "", figure.svg)) == []


@given(pictures)
def test_no_text_is_smaller_than_twelve_pixels_in_a_narrow_notebook(figure):
    sizes = [float(text.get("font-size")) for text in shapes(figure).iter(f"{SVG}text")]
    assert min(sizes) * 0.8 >= 12  # 0.8 px a unit: a page 600 px wide


@given(pictures, pictures)
def test_two_pictures_on_a_page_share_an_id_only_for_the_same_pattern(one, other):
    found = {}
    for figure in (one, other):
        for pattern in shapes(figure).iter(f"{SVG}pattern"):
            drawn = ElementTree.tostring(pattern)
            assert found.setdefault(pattern.get("id"), drawn) == drawn
        known = {pattern.get("id") for pattern in shapes(figure).iter(f"{SVG}pattern")}
        assert set(re.findall(r"url\(#([^)]+)\)", figure.svg)) <= known


@given(pictures)
@settings(max_examples=300)
def test_words_stay_inside_their_picture_and_off_each_other(figure):
    root = shapes(figure)
    _, _, width, height = map(float, root.get("viewBox").split())
    boxes = [word_box(text) for text in root.iter(f"{SVG}text") if text.text]
    for words, left, top, right, bottom in boxes:
        assert left >= -1, words
        assert right <= width + 1, words
        assert top >= 0, words
        assert bottom <= height, words
    for (one, l1, t1, r1, b1), (other, l2, t2, r2, b2) in combinations(boxes, 2):
        assert r1 <= l2 or r2 <= l1 or b1 <= t2 or b2 <= t1, f"{one!r} touches {other!r}"


def word_box(text):
    size, words = float(text.get("font-size")), text.text
    width = text_width(words, size, bold=text.get("font-weight") == "bold")
    shift = {"middle": 0.5, "end": 1.0}.get(text.get("text-anchor"), 0.0)
    left, base = float(text.get("x")) - shift * width, float(text.get("y"))
    return words, left, base - 0.8 * size, left + width, base + 0.2 * size


def test_the_same_arguments_give_the_same_bytes_in_another_process():
    code = (
        "from ctxlab.figures import *\n"
        "print(integral([1, 2], [3, 4], [5, 6], title='t', alt='a', evidence='scripted')._repr_html_())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", 'a" onload="x', "a\x00b\x1f", "\ud83d", "]]>", "a\nb"]
)
def test_no_label_can_break_out_of_the_picture(hostile):
    figure = prefix_strip(
        [(hostile, "R", 9)], title=hostile, alt=hostile, evidence="recorded", source=hostile
    )
    html = figure._repr_html_()
    html.encode("utf-8")
    assert "<script" not in html
    assert ElementTree.fromstring(html).tag == "figure"
    assert shapes(figure).get("onload") is None


def test_the_card_shows_title_evidence_and_twin_as_text_for_whoever_strips_the_picture():
    figure = prefix_strip(
        [("tools", "R", 3733)], title="Request 2", alt="All was read.", evidence="recorded", source="pair 7"
    )
    stripped = re.sub(r"<svg.*</svg>", "", figure._repr_html_())
    for words in ("Request 2", "recorded: pair 7", "[tools R 3733]"):
        assert words in stripped


def test_a_long_twin_folds_away_behind_the_finding():
    figure = bars_under_ceiling(range(1, 20), ceiling=30, title="t", alt="Never full.", evidence="scripted")
    folded = re.search(r"<details>(.*)</details>", figure._repr_html_(), re.DOTALL).group(1)
    assert "Never full." in folded
    assert "turn 19: 19, sum 190" in folded


def test_dollar_signs_stay_dollar_signs():
    for shown in (
        curve([("a", [1], [2])], x_label="x", y_label="y", **SAID),
        table([("$1", "$2")], "ab", caption="c"),
    ):
        assert re.match(r'<figure class="mathjax_ignore tex2jax_ignore"', shown._repr_html_())


# ----------------------------------------------------------------------------------------------- the palette

# linear RGB as protanopes, deuteranopes and tritanopes see it: Machado, Oliveira and Fernandes 2009, full
SIGHT = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "no green": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "no blue": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}


def linear(colour: str) -> tuple[float, ...]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)


def luminance(colour: str) -> float:
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def lab(colour: str, sight: str) -> tuple[float, ...]:
    """CIE L*a*b* of a colour as that eye sees it."""
    rgb = [sum(m * part for m, part in zip(row, linear(colour), strict=True)) for row in SIGHT[sight]]
    rgb = [min(max(part, 0.0), 1.0) for part in rgb]
    x = (0.4125 * rgb[0] + 0.3576 * rgb[1] + 0.1804 * rgb[2]) / 0.9505
    y = 0.2127 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
    z = (0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9502 * rgb[2]) / 1.089
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("sight", SIGHT)
def test_the_classes_stay_apart_for_every_eye(sight):
    for one, other in combinations([*(cls.colour for cls in PALETTE.values()), UNCLASSED], 2):
        assert math.dist(lab(one, sight), lab(other, sight)) >= 20, (one, other)


def test_the_check_for_colour_blind_eyes_bites():
    red, green = "#c86464", "#8c8c3c"
    assert math.dist(lab(red, "full"), lab(green, "full")) >= 40
    assert math.dist(lab(red, "no green"), lab(green, "no green")) < 20


@pytest.mark.parametrize("cls", PALETTE.values(), ids=lambda cls: cls.word)
def test_text_is_legible_on_every_class_and_on_its_marks(cls):
    for colour in (cls.colour, *re.findall("#[0-9a-f]{6}", cls.marks)):
        assert contrast(INK, colour) >= 4.5


@pytest.mark.parametrize("colour", [INK, svg.MUTED, svg.ALARM, *charts.LINES])
def test_coloured_words_are_legible_on_the_page(colour):
    assert contrast(colour, svg.PAGE) >= 4.5


def test_a_class_is_never_told_by_colour_alone():
    assert {cls.letter for cls in PALETTE.values()} == set(PALETTE)
    assert len({cls.marks for cls in PALETTE.values()}) == len(PALETTE)


# ---------------------------------------------------------------------------------------------- prefix strip


def test_a_strip_says_in_characters_what_it_draws():
    figure = prefix_strip(
        [("tools", "R", 3733), ("system", "W", 4563)],
        markers=[(0, "1h"), (1, "5m")],
        first_difference=1,
        bill=Decimal("0.0301"),
        **SAID,
    )
    assert repr(figure) == figure.text == "[tools R 3733]<1h>![system W 4563]<5m> $0.0301"
    words = [text.text for text in shapes(figure).iter(f"{SVG}text")]
    assert words == [
        "tools", "system", "R 3,733", "W 4,563", "1h", "5m", "first difference",
        "R read 3,733", "W written 4,563", "8,296 tokens · $0.0301",
    ]  # fmt: skip


@given(spans)
def test_blocks_are_as_wide_as_their_tokens_or_the_picture_says_otherwise(blocks):
    layout = strip_layout(blocks)
    widths = [right - left for left, right in pairwise(layout.edges)]
    assert layout.edges[0] == MARGIN
    assert layout.edges[-1] == pytest.approx(WIDTH - MARGIN)
    assert min(widths) >= min(26, (WIDTH - 2 * MARGIN) / len(widths)) - 1e-6
    total = sum(block.tokens for block in layout.blocks)
    to_scale = [block.tokens / total * (WIDTH - 2 * MARGIN) if total else 0 for block in layout.blocks]
    assert layout.to_scale == (widths == pytest.approx(to_scale))
    said = "Small blocks are drawn wider than to scale." in prefix_strip(blocks, **SAID).svg
    assert said != layout.to_scale


@given(spans, st.data())
def test_drawing_neighbours_as_one_loses_no_token_and_moves_no_pin(blocks, data):
    at = data.draw(st.integers(0, len(blocks) - 1))
    layout = strip_layout(blocks, markers=[(at, "5m")])
    drawn = layout.place[at + 1]
    assert sum(tokens for _, _, tokens in blocks[: at + 1]) == sum(b.tokens for b in layout.blocks[:drawn])
    assert sum(tokens for _, _, tokens in blocks) == sum(b.tokens for b in layout.blocks)
    if len(blocks) <= MAX_BLOCKS:
        assert len(layout.blocks) == len(blocks)


def test_a_long_conversation_is_drawn_as_runs():
    blocks = [("tools", "R", 3733)] + [(f"messages[{at}]", "R" if at < 40 else "W", 100) for at in range(60)]
    figure = prefix_strip(blocks, markers=[(30, "5m"), (60, "5m")], first_difference=41, **SAID)
    assert figure.text == "[tools R 3733][30 blocks R 3000]<5m>[10 blocks R 1000]![20 blocks W 2000]<5m>"


def test_a_lookback_has_a_tick_where_each_position_ends_and_an_entry_below_its_block():
    blocks = [("tools", "W", 160), ("system", "W", 2000), *[(f"messages[{at}]", "W", 8) for at in range(27)]]
    figure = prefix_strip(blocks, markers=[(28, "5m")], looked_at=range(9, 29), entries=[1], **SAID)
    assert figure.text == "[tools W 160][system W 2000]^[7 blocks W 56](20:[20 blocks W 160])<5m>"
    edges = strip_layout(blocks, markers=[(28, "5m")], looked_at=range(9, 29), entries=[1]).edges
    (ticks,) = re.findall(r'd="M[\d.]+ [\d.]+H[\d.]+((?:M[\d.]+ [\d.]+v10)+)"', figure.svg)
    xs = [float(x) for x in re.findall(r"M([\d.]+) ", ticks)]
    assert len(xs) == 20
    assert xs == sorted(xs)
    assert xs[-1] == pytest.approx(edges[-1], abs=0.1)
    (tip,) = re.findall(r"L([\d.]+) [\d.]+L[\d.]+ [\d.]+z", figure.svg)
    assert float(tip) == pytest.approx(edges[2], abs=0.1)  # the entry ends where the system prompt does
    words = [text.text for text in shapes(figure).iter(f"{SVG}text")]
    assert "looks at 20 positions" in words


def test_a_strip_without_entries_and_lookback_speaks_of_neither():
    figure = prefix_strip([("tools", "R", 3733)], markers=[(0, "5m")], **SAID)
    assert "entry" not in figure.svg
    assert "looks at" not in figure.svg


@pytest.mark.parametrize(
    ("label", "segment"),
    [("tools[3]", "tools"), ("system", "system"), ("messages[0].content", "messages"), ("question", "")],
)
def test_a_block_finds_its_segment_by_its_name(label, segment):
    assert strip_layout([(label, None, 1)]).blocks[0].segment == segment
    assert strip_layout([Span(label, None, 1, "messages")]).blocks[0].segment == "messages"


# ---------------------------------------------------------------------------------------------------- charts


def steps(d: str) -> list[tuple[float, float, float]]:
    """A step path as (left, right, top) per step; the first V leaves the base line."""
    x = float(re.match(r"M([\d.]+)", d).group(1))
    found = []
    for top, right in re.findall(r"V([\d.]+)H([\d.]+)", d):
        found.append((x, float(right), float(top)))
        x = float(right)
    return found


@given(turns, st.integers(1, 1_000_000))
def test_the_running_sum_and_the_largest_turn_are_those_of_the_values(values, ceiling):
    figure = bars_under_ceiling(values, ceiling=ceiling, **SAID)
    assert f"running sum {sum(values):,} = {sum(values) / ceiling:,.1f} x the window" in figure.text
    assert f"largest {max(values):,} at turn {values.index(max(values)) + 1:,}" in figure.text
    assert f"{sum(values):,} in all" in figure.svg


def test_merged_bars_hide_no_peak_and_say_so():
    values = [10] * 999 + [90]
    figure = bars_under_ceiling(values, ceiling=100, max_bars=100, **SAID)
    bars = next(
        path.get("d") for path in shapes(figure).iter(f"{SVG}path") if path.get("fill") == charts.SLATE
    )
    tops = [float(top) for top in re.findall(r"V([\d.]+)H", bars)]
    assert len(tops) == 100
    assert min(tops) < max(tops)
    assert "A bar is the largest of 10 turns." in figure.svg
    assert "A bar is" not in bars_under_ceiling(values[:100], ceiling=100, **SAID).svg


@given(st.lists(st.tuples(tokens, tokens, tokens), min_size=1, max_size=80), st.integers(5, 80))
def test_areas_stay_true_when_turns_are_merged(rows, max_steps):
    columns = [list(column) for column in zip(*rows, strict=True)]
    figure = integral(*columns, max_steps=max_steps, **SAID)
    drawn = [path for path in shapes(figure).iter(f"{SVG}path") if path.get("fill", "").startswith("url")]
    whole = steps(drawn[0].get("d"))  # painted first: the stack of all three classes
    base = float(re.match(r"M[\d.]+ ([\d.]+)", drawn[0].get("d")).group(1))
    area = sum((right - left) * (base - top) for left, right, top in whole)
    highest = max(sum(row) for row in rows) or 1
    turn, height = (whole[-1][1] - whole[0][0]) / len(rows), 175 / (1.04 * highest)
    assert area == pytest.approx(sum(map(sum, rows)) * turn * height, rel=0.01, abs=60)
    merged = math.ceil(len(rows) / max_steps)
    assert (f"A step is the mean of {merged} turns." in figure.svg) == (merged > 1)


def test_a_recorded_session_is_drawn_with_every_token():
    usages = [turn.usage for turn in recordings.session("cli/session-375d5d79").turns]
    figure = integral(
        [usage.cache_read_input_tokens for usage in usages],
        [usage.cache_creation_input_tokens for usage in usages],
        [usage.input_tokens for usage in usages],
        marks=[(184, "compaction")],
        title="What history costs",
        alt="Nearly all of the input is history, read again on every turn.",
        evidence="recorded",
    )
    total = sum(usage.total_input_tokens for usage in usages)
    assert figure.text.startswith(f"{len(usages)} turns, {total:,} tokens: R ")
    assert "turn 184: " in figure.text
    assert "<- compaction" in figure.text
    assert len(figure._repr_html_()) < 40_000


@given(curves())
def test_every_line_and_mark_is_in_the_twin(figure):
    drawn = [path for path in shapes(figure).iter(f"{SVG}path") if path.get("stroke") in charts.LINES]
    assert len(figure.text.splitlines()) == len(drawn) + figure.svg.count("<circle")


# ---------------------------------------------------------------------------------------------------- tables


def test_a_table_has_a_header_row_and_names_its_rows():
    shown = table(
        [("tools", 3733, "$0.01"), ("system", 14563, "12 %")],
        ["segment", "tokens", "share"],
        caption="Blocks",
    )
    root = ElementTree.fromstring(shown._repr_html_().replace("<wbr>", ""))
    assert [cell.text for cell in root.findall(".//thead/tr/th[@scope='col']")] == [
        "segment",
        "tokens",
        "share",
    ]
    assert [cell.text for cell in root.findall(".//tbody/tr/th[@scope='row']")] == ["tools", "system"]
    assert root.find(".//caption/strong").text == "Blocks"
    sides = [
        re.search(r"text-align:(\w+)", cell.get("style")).group(1) for cell in root.findall(".//thead/tr/th")
    ]
    assert sides == ["left", "right", "right"]
    assert shown.text.splitlines()[2:] == ["tools   |  3,733 | $0.01", "system  | 14,563 |  12 %"]


@given(st.lists(st.tuples(st.text(), st.integers() | st.floats() | st.booleans() | st.none()), max_size=5))
def test_whatever_stands_in_a_table_is_well_formed(rows):
    shown = table(rows, ["a", "b"], caption="c", labelled="rebuilt")
    ElementTree.fromstring(shown._repr_html_().replace("<wbr>", ""))
    assert len(shown.text.splitlines()) == len(rows) + 2


@pytest.mark.parametrize("value", [Fraction(1, 4), Decimal("0.25"), 0.25])
def test_money_keeps_its_decimals_in_a_table(value):
    assert "0.25" in table([("a", value)], ["x", "usd"], caption="c").text


# -------------------------------------------------------------------------------------------------- refusals

LONG = [("a", "R", 1), ("b", "W", 2)]


@pytest.mark.parametrize(
    ("draw", "place", "rule"),
    [
        (lambda: prefix_strip([], **SAID), "spans", "not-empty"),
        (lambda: prefix_strip([("a", "X", 1)], **SAID), "spans[0].cls", "token-class"),
        (lambda: prefix_strip([("a", "R", -1)], **SAID), "spans[0].tokens", "whole-number"),
        (lambda: prefix_strip([("a", "R", 1.5)], **SAID), "spans[0].tokens", "whole-number"),
        (lambda: prefix_strip([("a", "R", True)], **SAID), "spans[0].tokens", "whole-number"),
        (lambda: prefix_strip([("a", "R")], **SAID), "spans[0]", "span-shape"),
        (lambda: prefix_strip(LONG, markers=[(2, "5m")], **SAID), "markers", "span-index"),
        (lambda: prefix_strip(LONG, first_difference=-1, **SAID), "first_difference", "whole-number"),
        (lambda: prefix_strip(LONG, lookback=(1, 0), **SAID), "lookback", "first-before-last"),
        (lambda: prefix_strip(LONG, looked_at=[2], **SAID), "looked_at", "span-index"),
        (lambda: prefix_strip(LONG, entries=[2], **SAID), "entries", "span-index"),
        (lambda: prefix_strip(LONG, title="t", alt="a", evidence="guessed"), "evidence", "kind-of-evidence"),
        (lambda: prefix_strip(LONG, title="t", alt=" ", evidence="recorded"), "alt", "says-something"),
        (lambda: window_and_store(window=[]), "window, store", "not-empty"),
        (lambda: bars_under_ceiling([], ceiling=9, **SAID), "values, ceiling", "not-empty"),
        (lambda: bars_under_ceiling([1], ceiling=0, **SAID), "values, ceiling", "not-empty"),
        (lambda: bars_under_ceiling([1, -1], ceiling=9, **SAID), "values[1]", "whole-number"),
        (lambda: integral([1], [1], [], **SAID), "read, written, fresh", "one-figure-per-turn"),
        (lambda: integral([1], [1], [1], marks=[(2, "x")], **SAID), "marks", "turn-in-range"),
        (lambda: integral([1], [1], [1], law=[math.nan], **SAID), "law[0]", "finite-number"),
        (lambda: curve([], x_label="x", y_label="y", **SAID), "series", "one-to-six"),
        (lambda: curve([("a", [1], [])], x_label="x", y_label="y", **SAID), "series[0]", "as-many-y-as-x"),
        (lambda: curve([("", [1], [-1])], x_label="x", y_label="y", **SAID), "series[0].ys", "finite-number"),
        (lambda: table([(1,)], ["a", "b"], caption="c"), "rows[0]", "as-wide-as-header"),
        (lambda: table([], [], caption="c"), "header", "not-empty"),
        (lambda: table([("a", 1)], ["", "tokens"], caption="c"), "header[0]", "not-empty"),
        (lambda: table([("a", 1)], ["part", " "], caption="c"), "header[1]", "not-empty"),
        (lambda: table([], ["a"], caption="c", labelled="sure"), "evidence", "kind-of-evidence"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused_with_its_place_and_rule(draw, place, rule):
    with pytest.raises(InvalidArgumentError) as refused:
        draw()
    (problem,) = refused.value.problems
    assert (problem.path, problem.rule) == (place, rule)
    assert problem.fix


@pytest.mark.parametrize("kind", EVIDENCE)
def test_every_kind_of_evidence_shows(kind):
    assert f">{kind}</span>" in prefix_strip(LONG, title="t", alt="a", evidence=kind)._repr_html_()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: prefix_strip([("a", "R", 1)], markers=[3], **SAID),
        lambda: prefix_strip([("a", "R", 1)], lookback=(0,), **SAID),
        lambda: prefix_strip([("a", "R", 10**400)], **SAID),
        lambda: prefix_strip([("a", "R", 1)], bill=Decimal("nan"), **SAID),
        lambda: bars_under_ceiling([1], ceiling=1, max_bars=0, **SAID),
        lambda: integral([1], [1], [1], max_steps=0, **SAID),
        lambda: integral([1], [1], [1], marks=[1], **SAID),
        lambda: curve(["ab"], x_label="x", y_label="y", **SAID),
        lambda: curve([("a", [1], [1])], x_label="x", y_label="y", marks=[(1, 2)], **SAID),
        lambda: usd(None),
        lambda: usd(float("inf")),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_never_a_bare_error(draw):
    with pytest.raises(InvalidArgumentError):
        draw()


def test_money_has_its_sign_in_front_and_never_loses_its_last_digit():
    assert [usd(amount) for amount in (-4.1, -0.0056, 1e-13, 0)] == [
        "-$4.10",
        "-$0.0056",
        "$0.0000000000001",
        "$0.00",
    ]


def test_an_axis_never_says_a_thousand_thousands():
    assert [compact(value) for value in (999_990, 999_400, 999.99)] == ["1M", "999.4k", "1k"]
