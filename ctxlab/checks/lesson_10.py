"""Questions and exercises of notebook 10, image tokens.

Truths come from the rule of patches, from the cache model and from recordings when they are asked for.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from ctxlab.checks.chosen import OneOf, same_spelt
from ctxlab.checks.exercises import Case, Exercise, same
from ctxlab.checks.predictions import Field, Option, Prediction
from ctxlab.checks.runs import MODEL, Asked, Explained, Pair, Piece, bill_usd, run_pieces, strip, user
from ctxlab.images import (
    TIERS,
    image_tokens,
    patches,
    resized_size,
    superseded_image_tokens,
)
from ctxlab.images.limits import MANY_IMAGES, MAX_SIDE_PIXELS, MAX_SIDE_PIXELS_MANY

if TYPE_CHECKING:
    from ctxlab.cache import Plan, Ttl
    from ctxlab.figures import Figure, Table

__all__ = ["EXERCISES", "PREDICTIONS"]

FULL_HD, QUAD_HD, ULTRA_HD = (1920, 1080), (2560, 1440), (3840, 2160)
WIDE, PHOTO = (2000, 1500), (4032, 3024)


# --- what the notebook shows


def screens_table() -> Table:
    """Three screens: what each tier makes of them, and what the superseded rule said."""
    from ctxlab.figures import table

    rows = []
    for name, size in (("full HD", FULL_HD), ("1440p", QUAD_HD), ("4K", ULTRA_HD)):
        cells: list[Any] = [name, _by(size)]
        for tier in TIERS:
            seen = resized_size(*size, tier=tier)
            cells += [_by(seen) if seen != size else "as sent", image_tokens(*size, tier=tier)]
        rows.append((*cells, superseded_image_tokens(*size)))
    header = ("screen", "sent", "standard tier sees", "tokens", "high-res tier sees", "tokens", "750 rule")
    return table(
        rows, header, caption="Three screens, two tiers", labelled="documented", source="the rule of 2026-08"
    )


def _by(size: tuple[int, int]) -> str:
    return "{:,} × {:,}".format(*size)


def patches_figure(width: int = 29, height: int = 29) -> Figure:
    """A small picture under the grid of patches: each patch that is touched is paid for."""
    from ctxlab.figures.svg import INK, MUTED, figure, rect, text

    side, unit, left, top = 28, 3.0, 40.0, 30.0
    step, across, down = side * unit, -(-width // side), -(-height // side)
    shapes = [
        rect(left + step * x, top + step * y, step, step, "#ffffff", MUTED, dash="4 3")
        for x in range(across)
        for y in range(down)
    ]
    shapes.append(rect(left, top, width * unit, height * unit, "#9ec9ea", INK, stroke_width=2))
    shapes += [
        text(f"{side * (x + 1)} px", left + step * (x + 1), top + step * down + 20, anchor="middle")
        for x in range(across)
    ]
    tokens = patches(width, height)
    one = "1 token" if tokens == 1 else f"{tokens} tokens"
    return figure(
        shapes,
        top + step * down + 34,
        f"{width} x {height} pixels: {across} x {down} patches = {one}",
        f"{width} × {height} pixels: {one}",
        f"A picture of {width} by {height} pixels touches {across} by {down} patches, so it costs {one}.",
        "documented",
        "vision page, 2026-08",
    )


MOST_LESS = 280


def staircase(less: int = 16) -> Figure:
    """Tokens of full HD on the high-res tier with so many pixels taken off width and height."""
    from ctxlab.figures import curve

    xs = list(range(MOST_LESS + 1))
    ys = [image_tokens(*_less(x), tier="high-res") for x in xs]
    saved = ys[0] - ys[less]
    return curve(
        [("tokens", xs, ys)],
        x_label="pixels taken off each way",
        y_label="tokens",
        title=f"{_by(_less(less))}: {ys[less]:,} tokens, {saved:,} saved",
        alt=f"Tokens fall in steps, not evenly: {less} pixels less each way save {saved:,} tokens.",
        evidence="documented",
        source="the rule of patches",
        marks=[(less, ys[less], f"{less} less")],
        y_format=lambda value: f"{value:,.0f}",
    )


def recorded_differences() -> Table:
    """Recorded requests that differ in one picture: the tokens between them, and the patches."""
    from ctxlab.figures import table
    from ctxlab.pictures import recorded_differences as differences

    rows = []
    for one in differences():
        billed = one.recorded_tokens - one.text_tokens
        old = superseded_image_tokens(*one.larger) - superseded_image_tokens(*one.smaller)
        rows.append(
            (_by(one.larger), _by(one.smaller), billed, one.patches, old, one.unexplained_tokens or "")
        )
    header = (
        "one picture",
        "the other",
        "tokens between them",
        "patches between them",
        "750 rule",
        "unexplained",
    )
    return table(rows, header, caption="The same prompt, another picture", labelled="recorded")


def sizes_table() -> Table:
    """Every documented, recorded or reported size beside the rule; exceptions say that they are one."""
    from ctxlab.figures import table
    from ctxlab.pictures import documented_sizes

    rows = [
        (_by((one.width, one.height)), one.tier, one.tokens, one.computed_tokens, one.evidence, one.exception)
        for one in documented_sizes()
    ]
    header = ("size", "tier", "tokens told", "by the rule", "told by", "exception")
    return table(
        rows,
        header,
        caption="Every size anybody has told us of",
        labelled="documented",
        source="as each row says",
    )


def sample_request() -> dict[str, Any]:
    """A request with the four pictures of this notebook, one of them wrongly declared."""
    from base64 import b64encode

    from ctxlab.pictures import samples

    def block(data: bytes, media_type: str) -> dict[str, Any]:
        source = {"type": "base64", "media_type": media_type, "data": b64encode(data).decode("ascii")}
        return {"type": "image", "source": source}

    pictures = {one.name: block(one.data, one.header.media_type) for one in samples()}
    pictures["photo"]["source"]["media_type"] = "image/png"
    ask = {"type": "text", "text": "What is on these?"}
    return {"model": MODEL, "max_tokens": 200, "messages": [user(*pictures.values(), ask)]}


class Shown:
    """A picture of ``data/images/`` in a notebook, and in words everywhere else."""

    def __init__(self, name: str):
        from ctxlab.pictures import samples

        self._sample = next(one for one in samples() if one.name == name)

    def __repr__(self) -> str:
        return self._sample.alt

    def _repr_html_(self) -> str:
        from base64 import b64encode

        from ctxlab.figures.svg import caption, card, safe

        data = b64encode(self._sample.data).decode("ascii")
        title = f"{self._sample.name}, {_by(self._sample.header.display_size)} pixels"
        return card(
            caption(title, None, "", tag="figcaption")
            + f'<img alt="{safe(self._sample.alt)}" style="display:block;width:100%;height:auto" '
            f'src="data:{self._sample.header.media_type};base64,{data}">'
        )


# --- a picture in a warm cache

STABLE_TOKENS, BEHIND_TOKENS, ADDED_TOKENS, TURNS = 6_000, 20_000, 400, 20
_PICTURE = Piece("picture", image_tokens(*FULL_HD, tier="high-res"))


@cache
def _session(drop: bool) -> tuple[tuple[Plan, ...], Decimal]:
    """Twenty turns behind a picture; with ``drop`` it is taken out before the first of them."""

    def asked(turn: int) -> Asked:
        stable = Piece("tools and system", STABLE_TOKENS, "system")
        history = [
            Piece("history", BEHIND_TOKENS),
            *(Piece(f"turn {n}", ADDED_TOKENS) for n in range(1, turn + 1)),
        ]
        picture = [] if drop and turn else [_PICTURE]
        pieces = (stable, *picture, *history)
        markers: dict[int, Ttl] = {0: "5m", len(pieces) - 1: "5m"}
        return Asked(pieces, markers)

    plans = tuple(run_pieces([asked(turn) for turn in range(TURNS + 1)])[1:])
    return plans, sum(map(bill_usd, plans), start=Decimal(0))


def twenty_turns_usd(*, drop: bool) -> Decimal:
    """What the input of the twenty turns costs with the picture kept or dropped."""
    return _session(drop)[1]


def extra_usd() -> Decimal:
    """What dropping the picture costs on top of keeping it; negative where it saves."""
    return twenty_turns_usd(drop=True) - twenty_turns_usd(drop=False)


def _first_turns() -> Pair:
    from ctxlab.figures import usd

    figures = []
    for drop, words in ((False, "kept"), (True, "dropped")):
        plans, total_usd = _session(drop)
        first = plans[0]
        called = [position.path.split(" ")[0] for position in first.layout.positions]
        figures.append(
            strip(
                first,
                title=f"The first of {TURNS} turns, picture {words}",
                alt=f"With the picture {words} the first turn reads {first.read_tokens:,} tokens; "
                f"{TURNS} turns cost {usd(total_usd)}.",
                called=called,
                bill=f"{TURNS} turns: {usd(total_usd)}",
            )
        )
    return Pair(*figures)


KEEP, SHRINK, DROP = "keep", "shrink", "drop"
_TURNS_TO_GO = (1, 5, 20, 100, 500)
_BEHIND = (0, 100, 1_000, 10_000, 100_000)


def decision_map(model: str = MODEL) -> Explained:
    """Full HD on the high-res tier: what to do, by what stands behind it and how many turns follow."""
    from ctxlab.figures import table
    from ctxlab.images import trim_or_keep

    words = {"trim": DROP, "keep": KEEP}
    rows: list[tuple[Any, ...]] = [("not sent, needed", *[SHRINK] * len(_TURNS_TO_GO))]
    rows.append(("not sent, not needed", *[DROP] * len(_TURNS_TO_GO)))
    rows += [
        (
            behind,
            *(words[trim_or_keep(_PICTURE.tokens, behind, turns, model).advice] for turns in _TURNS_TO_GO),
        )
        for behind in _BEHIND
    ]
    header = ("tokens behind it", *(f"{turns:,} turn{'s' * (turns > 1)}" for turns in _TURNS_TO_GO))
    caption = f"A picture of {_PICTURE.tokens:,} tokens; where it was sent, nobody needs it any more"
    turns = BEHIND_TOKENS * Decimal("1.20") / (_PICTURE.tokens * Decimal("0.05"))
    return Explained(
        table(rows, header, caption=caption, labelled="emulated", source=model),
        "Let r be the price of a read and w that of a write. Dropping saves r times the picture's tokens on "
        "each turn. It costs w − r times what stands behind, once. With the figures of 10-c it pays after "
        f"{math.floor(turns)} turns.",
        "One thing is not settled. The documents say that a picture that comes or goes loses all messages. "
        "Four recorded turns in which one came say otherwise; that one goes was never recorded.",
    )


def rolling_losses() -> Explained:
    """What a window loses that drops pictures on every turn, by the share that stays behind the cut."""
    from ctxlab.figures import table
    from ctxlab.images import trim_or_keep

    rows = []
    for share in (12, 50, 90):
        loss = trim_or_keep(1_000 - 10 * share, 10 * share, turns=1).every_turn_loss
        rows.append((f"{share} %", f"{float(loss):.2f}", f"{float(loss) * 2:.2f}"))
    header = ("stays behind the cut", "times the cost of keeping", "on Claude Opus 5.5")
    return Explained(
        table(rows, header, caption="Dropping on every turn", labelled="documented"),
        "That is 12.5 times the share that stays: a write at 1.25 against a read at 0.1. Without a marker it "
        "is 10 times, and then 1.5 means that 15 % stays. On Claude Opus 5.5 a read costs half as much, and "
        "the loss doubles.",
        "One agent was reported to keep the newest three pictures. To drop one it wrote 127,720 tokens anew.",
    )


def windows_table(model: str = MODEL) -> Table:
    """Sixty turns with a picture each: all kept, a window that rolls, one that drops in batches."""
    from ctxlab.figures import table, usd
    from ctxlab.images import eviction

    rows = []
    for name, keep, batch in (
        ("keep every picture", None, 1),
        ("keep the newest 3, drop one each turn", 3, 1),
        ("keep 3 to 22, drop 20 at once", 3, 20),
    ):
        one = eviction(60, _PICTURE.tokens, 500, model, keep=keep, batch=batch, prefix_tokens=8_000)
        rows.append((name, len(one.rewrites), one.written_tokens, usd(one.usd)))
    header = ("policy", "rewrites", "tokens written", "60 turns")
    return table(rows, header, caption="Three ways to hold pictures", labelled="emulated", source=model)


# --- predictions


def _on_standard(full: tuple[int, int], larger: tuple[int, int]) -> Mapping[str, int]:
    return {"smaller": image_tokens(*full, tier="standard"), "larger": image_tokens(*larger, tier="standard")}


def _screens(
    number: str, sizes: tuple[tuple[int, int], tuple[int, int]], names: tuple[str, str], right: str
) -> Prediction:
    """Two pictures of one shape, both too large for the standard tier."""
    limit = TIERS["standard"].max_tokens
    by_pixels, by_area = (
        "About {:,} and {:,}".format(*(round(rule(*size), -2) for size in sizes))
        for rule in (patches, superseded_image_tokens)
    )
    wrong = [
        (f"{by_pixels}: a token for each patch of what was sent", "pixels-are-tokens"),
        (f"The same for both: {limit:,}, the limit itself", "the-limit-is-the-price"),
        (f"{by_area}: width times height by 750", "the-750-rule"),
    ]
    letters = [letter for letter in "ABCD" if letter != right]
    options = {letter: Option(letter, *one) for letter, one in zip(letters, wrong, strict=True)}
    options[right] = Option(right, f"The same for both: a little below {limit:,}")
    return Prediction(
        id=number,
        question=f"How many tokens is each of the two on the standard tier: {names[0]}, and {names[1]}?",
        fields=(Field("smaller", names[0], "tokens"), Field("larger", names[1], "tokens")),
        options=tuple(options[letter] for letter in "ABCD"),
        truth=lambda: _on_standard(*sizes),
        read_result=lambda result: dict(zip(("smaller", "larger"), result, strict=True)),
        misconceptions={
            "pixels-are-tokens": lambda: {"smaller": patches(*sizes[0]), "larger": patches(*sizes[1])},
            "the-limit-is-the-price": lambda: {"smaller": limit, "larger": limit},
            "the-750-rule": lambda: {
                "smaller": superseded_image_tokens(*sizes[0]),
                "larger": superseded_image_tokens(*sizes[1]),
            },
        },
        rule="token-limit-binds",
        rule_sentence="A picture is scaled down until sides and patches are within the tier's limits.",
        evidence="documented",
        source="vision page, 2026-08",
        picture=lambda result: screens_table() if number == "10-a" else None,
        why="Both shrink to the same size, and patches are whole: the limit is rarely met exactly. What is "
        "paid is what the model sees. It sees no more of the larger picture than of the smaller: small text "
        "is lost, and no token is saved.",
    )


def _saved(width: int, height: int) -> int:
    full = image_tokens(*FULL_HD, tier="high-res")
    return full - image_tokens(width, height, tier="high-res")


def _less(pixels: int) -> tuple[int, int]:
    return FULL_HD[0] - pixels, FULL_HD[1] - pixels


def _by_area(pixels: int) -> int:
    width, height = _less(pixels)
    return round((FULL_HD[0] * FULL_HD[1] - width * height) / 784)


def _rounded(pixels: int) -> int:
    """What is saved for somebody who counts a patch from half on, and drops what is less."""
    (wide, high), (width, height) = FULL_HD, _less(pixels)
    return round(wide / 28) * round(high / 28) - round(width / 28) * round(height / 28)


PREDICTIONS = (
    _screens("10-a", (FULL_HD, ULTRA_HD), ("full HD", "4K"), "D"),
    Prediction(
        id="10-b",
        question="How many tokens does the smaller picture save: 15 pixels less each way, and 16 less?",
        fields=(Field("saved_15", "15 pixels less", "tokens"), Field("saved_16", "16 pixels less", "tokens")),
        options=(
            Option("A", "Some fifty each: tokens go with the area", "tokens-go-with-area"),
            Option("B", "Nothing for 15, about a hundred for 16: then a row and a column go"),
            Option("C", "About a hundred for both: a patch counts from half on", "patches-are-rounded"),
            Option("D", "Nothing for either: it takes 28 pixels, a whole patch", "a-whole-patch-less"),
        ),
        truth=lambda: {"saved_15": _saved(*_less(15)), "saved_16": _saved(*_less(16))},
        read_result=lambda result: dict(zip(("saved_15", "saved_16"), result, strict=True)),
        misconceptions={
            "tokens-go-with-area": lambda: {"saved_15": _by_area(15), "saved_16": _by_area(16)},
            "patches-are-rounded": lambda: {"saved_15": _rounded(15), "saved_16": _rounded(16)},
            "a-whole-patch-less": lambda: {"saved_15": 0, "saved_16": 0},
        },
        rule="staircase",
        rule_sentence="Every patch that a picture touches is paid whole: tokens fall in steps of 28 pixels.",
        evidence="documented",
        source="vision page, 2026-08",
        picture=lambda result: staircase(16),
        why="1,904 is 68 patches of 28 and no pixel more; one pixel wider touches a 69th column. Tokens over "
        "size are a staircase: between two steps nothing is saved.",
    ),
    Prediction(
        id="10-c",
        question="What do the 20 turns cost more (+) or less (−) when the picture is dropped?",
        fields=(Field("usd", "20 turns, dropped instead of kept (a saving is negative)", "usd"),),
        options=(
            Option("A", "About 22 cents less: 20 times its tokens are not sent", "dropping-saves-its-tokens"),
            Option("B", "About 1 cent less: 20 reads of its tokens are saved", "dropping-saves-its-reads"),
            Option("C", "About 9 cents more: what stands behind it is written again"),
            Option("D", "Nothing: the picture is in the cache, and paid for", "cached-is-free"),
        ),
        truth=lambda: {"usd": extra_usd()},
        read_result=lambda usd: {"usd": usd},
        misconceptions={
            "dropping-saves-its-tokens": lambda: {"usd": -_PICTURE.tokens * TURNS * Decimal(4) / 10**6},
            "dropping-saves-its-reads": lambda: {"usd": -_PICTURE.tokens * TURNS * Decimal("0.2") / 10**6},
            "cached-is-free": lambda: {"usd": 0},
        },
        rule="both-ledgers",
        rule_sentence="What is taken out saves its reads; all behind it is written again, once.",
        evidence="emulated",
        source="20 turns of this notebook's own",
        uses=("exact-prefix", "entries-at-markers"),
        picture=lambda result: _first_turns(),
        why="The picture stands in front of the history. Without it the prefix is another one.",
    ),
    _screens("10-exit", (WIDE, PHOTO), ("2,000 × 1,500", "4,032 × 3,024"), "A"),
)


# --- exercises


def _token_cases(rng: random.Random) -> list[Case]:
    def case(rule: str, width: int, height: int, tier: str) -> Case:
        limits = TIERS[tier]
        args = (width, height, limits.max_edge_pixels, limits.max_tokens)
        expected = image_tokens(width, height, tier=tier)
        return Case(rule, args, expected, label=f"{_by((width, height))}, {tier}")

    small = [(28, 28), (29, 29), (200, 200), (rng.randrange(30, 900), rng.randrange(30, 900))]
    large = [FULL_HD, ULTRA_HD, (6_000, 4_000), (rng.randrange(2_600, 5_000), rng.randrange(2_600, 5_000))]
    narrow = [
        (rng.randrange(3_000, 7_000), rng.randrange(40, 300)),
        (300, 7_999),
        (rng.randrange(6_000, 8_000), 1),
    ]
    return [
        *(case("patches", *size, "standard") for size in small),
        *(case("token-limit-binds", *size, tier) for size in large for tier in TIERS),
        *(case("edge-limit-binds", *size, tier) for size in narrow for tier in TIERS),
    ]


# situation -> (what is done about the picture, rule, in words)
_SITUATIONS: Mapping[str, tuple[str, str, str]] = {
    "S1": (KEEP, "both-ledgers", "warm cache, 20,000 tokens behind the picture, 20 turns to go"),
    "S2": (
        SHRINK,
        "before-it-is-sent",
        "not sent yet, and needed: a 4K screenshot; its text can be read at half the size",
    ),
    "S3": (DROP, "nothing-behind", "warm cache, the picture is the last block, and nobody needs it any more"),
    "S4": (
        KEEP,
        "the-next-step",
        "not sent yet, and needed: 1,920 × 1,080; somebody offers to cut 10 pixels each way",
    ),
    "S5": (DROP, "cold-anyway", "the entry has expired; all is written again on the next turn in any case"),
    "S6": (
        SHRINK,
        "many-images-limit",
        "the 21st picture is on its way, all are needed; another one is 2,400 pixels wide",
    ),
}


def situations() -> Table:
    """Six situations of a picture."""
    from ctxlab.figures import table

    rows = [(name, words) for name, (_, _, words) in _SITUATIONS.items()]
    return table(rows, ("situation", "what is known"), caption="Keep, shrink or drop?", labelled="scripted")


def _situation_cases(rng: random.Random) -> list[Case]:
    word = OneOf((KEEP, SHRINK, DROP))
    return [Case("one-of-three-words", (name,), word, label=f"situation {name}") for name in _SITUATIONS] + [
        Case(rule, (name,), choice, label=f"situation {name}", hidden=True)
        for name, (choice, rule, _) in _SITUATIONS.items()
    ]


def _resize_cases(rng: random.Random) -> list[Case]:
    cases = []
    for rule, (width, height), save in (
        ("enough-is-saved", FULL_HD, 0.25),
        ("enough-is-saved", (1_000, 1_000), 0.5),
        ("staircase", (even := 56 * rng.randrange(8, 20), even), 0.75),
        ("staircase", FULL_HD, 0.01),
        ("staircase", (rng.randrange(700, 1_500), rng.randrange(700, 1_500)), 0.1),
        ("staircase", (1_200, 900), 0.3),
        ("staircase", (1_366, 768), 0.15),
    ):
        label = f"{_by((width, height))}, save {save:.0%}"
        spec = "enough saved, the same shape" if rule == "enough-is-saved" else "as large as possible"
        cases.append(Case(rule, (width, height, save), (width, height, save, rule), label=label, spec=spec))
    return cases


def _resized_well(got: Any, expected: Any) -> bool:
    from ctxlab.images import best_resize

    width, height, save, rule = expected
    wide, high = (int(side) if side == int(side) else side for side in got)
    best = best_resize(width, height, tier="high-res", save=save)
    if rule == "enough-is-saved":
        before = image_tokens(width, height, tier="high-res")
        after = image_tokens(wide, high, tier="high-res")
        of_one_shape = abs(wide * height - high * width) <= max(width, height)
        return bool(after <= before * (1 - save) and of_one_shape)
    return bool(max(wide, high) >= max(best.width, best.height))


def _unstuck_cases(rng: random.Random) -> list[Case]:
    def pictures(count: int, *large: tuple[int, int]) -> list[tuple[int, int]]:
        usual = [(rng.randrange(300, 1_900), rng.randrange(300, 1_900)) for _ in range(count - len(large))]
        at = rng.randrange(len(usual))
        return [*usual[:at], *large, *usual[at:]]

    few, many = pictures(MANY_IMAGES, (2_400, 1_350)), pictures(MANY_IMAGES + 1, (2_400, 1_350))
    tall = pictures(MANY_IMAGES + 5, (900, 6_000), (2_600, 2_600))
    huge = pictures(3, (9_000, 1_000))
    everything = [(one, f"{len(one)} pictures") for one in (few, many, tall, huge)]

    def limited(one: list[tuple[int, int]], most: int, label: str) -> Case:
        return Case("many-images-limit", (one,), (one, most), label=label, spec=f"no side above {most:,}")

    return [
        *(Case("none-is-dropped", (one,), len(one), label=label) for one, label in everything),
        limited(many, MAX_SIDE_PIXELS_MANY, "21 pictures, one wide"),
        limited(tall, MAX_SIDE_PIXELS_MANY, "25 pictures, two large"),
        limited(huge, MAX_SIDE_PIXELS, "3 pictures, one huge"),
        Case("no-more-than-needed", (few,), few, label="20 pictures, one wide"),
        Case("no-more-than-needed", (many,), (many,), label="21 pictures", spec="the others as they were"),
        *(
            Case("no-further", (one,), (one, most, "longer side"), label=label, spec=f"longer side {most:,}")
            for one, most, label in (
                (many, MAX_SIDE_PIXELS_MANY, "21 pictures, one wide"),
                (huge, MAX_SIDE_PIXELS, "3 pictures, one huge"),
            )
        ),
    ]


def _unstuck(got: Any, expected: Any) -> bool:
    got = list(got)
    if isinstance(expected, int):
        return len(got) == expected
    if isinstance(expected, list):
        return same([tuple(one) for one in got], expected)
    before, *limit = expected
    pairs = list(zip(got, before, strict=True))
    if len(limit) == 2:
        return _no_further(got, before, limit[0])
    if not limit:
        return all(tuple(new) == old for new, old in pairs if max(old) <= MAX_SIDE_PIXELS_MANY)
    return all(max(new) <= limit[0] and _same_shape(new, old) for new, old in pairs)


def _no_further(got: Any, before: Sequence[tuple[int, int]], limit: int) -> bool:
    """Whether what was too large still comes to the limit, or nearly so."""
    pairs = zip(got, before, strict=True)
    return all(max(new) >= 0.99 * limit for new, old in pairs if max(old) > limit)


def _same_shape(new: Sequence[int], old: Sequence[int]) -> bool:
    """Whether the sides stand to one another as before, to within a pixel."""
    return abs(new[0] * old[1] - new[1] * old[0]) <= max(old)


_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 40, 30) + b"\x08\x02\x00\x00\x00"
_GIF = b"GIF89a" + struct.pack("<HH", 40, 30) + b"\x00\x00\x00"
_WEBP = b"RIFF" + struct.pack("<I", 30) + b"WEBPVP8L" + struct.pack("<I", 18) + b"\x2f" + bytes(17)
_JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    b"\xff\xc0\x00\x11\x08\x00\x1e\x00\x28\x03" + bytes(9)
)
_BMP = b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + bytes(40)
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"/>'


def _type_cases(rng: random.Random) -> list[Case]:
    known = [("image/png", _PNG), ("image/gif", _GIF), ("image/webp", _WEBP), ("image/jpeg", _JPEG)]
    cases = [
        Case("bytes-not-names", (name, data + rng.randbytes(40)), kind, label=f"a file called {name}")
        for (kind, data), name in zip(known, ("a.png", "b.gif", "c.webp", "d.jpg"), strict=True)
    ]
    cases += [
        Case("bytes-not-names", (name, data), kind, label=f"a file called {name}")
        for (kind, data), name in zip(known, ("a.jpg", "b.png", "c.jpeg", "d.png"), strict=True)
    ]
    sound = b"RIFF\x24\x00\x00\x00WAVEfmt "
    about = b"GIF8" + b" starts a GIF, \x89PNG a PNG, \xff\xd8\xff a JPEG, RIFF....WEBP a WebP"
    refused = (
        ("scan.png", _BMP),
        ("logo.png", _SVG),
        ("empty.jpg", b""),
        ("sound.webp", sound + b"WEBP"),
        ("notes.gif", b"How it begins: " + about),
    )
    return cases + [
        Case("say-no", (name, data), ValueError, label=f"a file called {name}") for name, data in refused
    ]


EXERCISES = (
    Exercise(
        id="10-1",
        title="tokens of a picture",
        asks=("picture_tokens",),
        rules={
            "patches": "Each side is divided by 28 and rounded up; the product is the price.",
            "token-limit-binds": "The largest size of the same shape is taken that has few enough patches.",
            "edge-limit-binds": "Neither side may be longer than the limit of the tier.",
        },
        cases=_token_cases,
    ),
    Exercise(
        id="10-2",
        title="keep, shrink or drop",
        asks=("choices",),
        answers=True,
        rules={
            "one-of-three-words": 'Each answer is `"keep"`, `"shrink"` or `"drop"`, in quotes.',
            "both-ledgers": "Behind a dropped picture everything is written again; its reads are cheap.",
            "before-it-is-sent": "Shrinking costs nothing while the picture has not been sent.",
            "nothing-behind": "With nothing behind it there is nothing to write again.",
            "the-next-step": "Between two steps of the staircase nothing is saved.",
            "cold-anyway": "When all is written again in any case, dropping is free.",
            "many-images-limit": "With more than 20 pictures no side may be longer than 2,000 pixels.",
        },
        cases=_situation_cases,
        compare=same_spelt,
    ),
    Exercise(
        id="10-3",
        title="the best size to shrink to",
        asks=("best_size",),
        rules={
            "enough-is-saved": "The share asked for is saved, and the picture keeps its shape.",
            "staircase": "It is the largest size that saves enough: exactly the share is enough.",
        },
        cases=_resize_cases,
        compare=_resized_well,
        home=True,
    ),
    Exercise(
        id="10-4",
        title="a session that is stuck",
        asks=("unstuck",),
        rules={
            "none-is-dropped": "Every picture is still sent.",
            "many-images-limit": "More than 20 pictures: no side above 2,000 pixels; else none above 8,000.",
            "no-more-than-needed": "A picture within the limit is left as it is.",
            "no-further": "A picture above the limit is scaled down to it, and no further.",
        },
        cases=_unstuck_cases,
        compare=_unstuck,
        home=True,
    ),
    Exercise(
        id="10-5",
        title="what the bytes say",
        asks=("media_type",),
        rules={
            "bytes-not-names": "The first bytes say what a file is; its name may say anything.",
            "say-no": "What is none of the four kinds is refused with a ValueError.",
        },
        cases=_type_cases,
        home=True,
    ),
)
