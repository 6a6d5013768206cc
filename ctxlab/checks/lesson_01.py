"""Questions and exercises of notebook 01, what history really costs.

Truths come from recorded sessions and the price list when they are asked for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ctxlab import cost
from ctxlab.checks.exercises import Case, Exercise, same, within
from ctxlab.checks.predictions import Field, Figures, Option, Prediction
from ctxlab.checks.quantities import agrees, in_unit
from ctxlab.usage import Usage

if TYPE_CHECKING:
    from ctxlab.figures import Figure, Table
    from ctxlab.recordings import Session

HOUSE_MODEL = "claude-opus-4-5"
LONG, LONG_TURNS = "cli/session-375d5d79", 182
OTHER, OTHER_TURNS = "cli/session-379ab089", 166
SHORTEST_STRETCH = 50
TASK_ADDED_TOKENS = 1_000


# --- what the notebook shows


def _session(name: str) -> Session:
    from ctxlab import recordings

    return recordings.session(name)


def _usages(session: Session) -> list[Usage]:
    return [turn.usage for turn in session.turns if turn.usage is not None]


def _totals(name: str) -> list[int]:
    return [usage.total_input_tokens for usage in _usages(_session(name))]


def _growing() -> Iterator[tuple[str, str, list[int]]]:
    """Every recorded stretch of 50 turns or more between two rewrites: session, turns, prompt sizes."""
    from ctxlab import recordings

    for session in recordings.sessions():
        totals = [usage.total_input_tokens for usage in _usages(session)]
        for stretch in cost.stretches(totals):
            if len(stretch) >= SHORTEST_STRETCH:
                turns = f"{stretch.start + 1}–{stretch.stop}"
                yield session.name, turns, totals[stretch.start : stretch.stop]


def _doubled(totals: list[int]) -> Fraction:
    half = len(totals) // 2
    return Fraction(sum(totals[: 2 * half]), sum(totals[:half]))


def doublings() -> Table:
    """What doubling did in every recorded stretch: the smallest, a few in between, and the largest."""
    from ctxlab.figures import table

    found = sorted((_doubled(totals), name, turns, totals) for name, turns, totals in _growing())
    shown = [found[i * (len(found) - 1) // 6] for i in range(7)]
    rows = []
    for factor, name, turns, totals in shown:
        fit = cost.fit_growth(totals)
        predicted = cost.doubling_factor(
            len(totals) // 2, max(0, round(fit.prefix_tokens)), max(0, round(fit.added_tokens))
        )
        rows.append(
            (
                name,
                turns,
                round(fit.prefix_tokens),
                round(fit.added_tokens),
                f"{float(predicted):.2f}",
                f"{float(factor):.2f}",
            )
        )
    header = ("session", "turns", "P", "a", "× by the law", "× recorded")
    low, high = float(found[0][0]), float(found[-1][0])
    caption = f"Twice the turns: {low:.1f} to {high:.1f} times the tokens in {len(found)} stretches, never 4"
    return table(
        rows, header, caption=caption, labelled="recorded", source="seven of them, smallest to largest"
    )


def integral_of(session: Session) -> Figure:
    """The integral of a whole session in read, written and fresh, with the law fitted to each stretch."""
    from ctxlab.figures import integral

    usages = _usages(session)
    totals = [usage.total_input_tokens for usage in usages]
    law: list[float] = []
    fitted = []
    for stretch in cost.stretches(totals):
        if len(stretch) == 1:  # no line goes through one turn
            law.append(totals[stretch.start])
            continue
        fit = cost.fit_growth(totals[stretch.start : stretch.stop])
        law += [float(fit.prompt_tokens(k)) for k in range(1, len(stretch) + 1)]
        fitted.append(f"{round(fit.prefix_tokens):,} + k·{round(fit.added_tokens):,}")
    reads = sum(usage.cache_read_input_tokens for usage in usages)
    alt = (
        f"The area under {len(totals)} requests is {sum(totals):,} tokens, nearly all of it read "
        "from the cache. "
        f"One straight line fits until the history is rewritten, then another ({'; '.join(fitted)})."
    )
    return integral(
        [usage.cache_read_input_tokens for usage in usages],
        [usage.cache_creation_input_tokens for usage in usages],
        [usage.input_tokens for usage in usages],
        title=f"{sum(totals):,} tokens went in, {100 * reads / sum(totals):.1f} % of them from the cache",
        alt=alt,
        evidence="recorded",
        source=f"{session.name}, fitted by {', then '.join(fitted)}",
        law=law,
        law_label="P + k·a, fitted",
    )


def classes_table(usage: Usage) -> Table:
    """The three input classes of one request, and their sum."""
    from ctxlab.figures import table

    rows = [
        ("fresh", "input_tokens", usage.input_tokens),
        ("read", "cache_read_input_tokens", usage.cache_read_input_tokens),
        ("written", "cache_creation_input_tokens", usage.cache_creation_input_tokens),
        ("the whole prompt", "their sum", usage.total_input_tokens),
    ]
    caption = "Three input classes that never overlap"
    return table(rows, ("class", "field", "tokens"), caption=caption, labelled="scripted")


def foretold_table() -> Table:
    """The law fitted to the first half of a stretch, against the second half as recorded."""
    from ctxlab.figures import table

    found = []
    for name, turns, totals in _growing():
        half = len(totals) // 2
        fit = cost.fit_growth(totals[:half])
        law = sum(fit.prompt_tokens(k) for k in range(half + 1, len(totals) + 1))
        found.append((float(law / sum(totals[half:]) - 1), name, turns))
    found.sort(key=lambda row: abs(row[0]))
    shown = [found[i * (len(found) - 1) // 4] for i in range(5)]
    rows = [(name, turns, f"{100 * off:+.1f} %") for off, name, turns in shown]
    above = sum(off > 0 for off, _, _ in found)
    caption = f"Second halves foretold from the first: too high in {above} of {len(found)} stretches"
    header = ("session", "turns", "the law is off by")
    return table(rows, header, caption=caption, labelled="recorded", source="five of them, best to worst")


def input_bill(session: Session) -> cost.Bill:
    """The whole session at its models' list prices, output left out."""
    calls = [turn for turn in session.turns if turn.usage is not None]
    return sum(
        (cost.bill(_input_only(turn.usage), turn.model_id) for turn in calls if turn.usage), start=cost.Bill()
    )


def _input_only(usage: Usage) -> Usage:
    from dataclasses import replace

    return replace(usage, output_tokens=0)


def _bill_table(bill: object) -> Table:
    from ctxlab.figures import table, usd

    assert isinstance(bill, cost.Bill)
    total = bill.input_usd
    rows = [
        (
            {"input": "fresh"}.get(line.label, line.label),
            line.tokens,
            usd(line.usd_per_mtok),
            usd(line.usd),
            f"{100 * line.usd / total:.1f} %",
        )
        for line in sorted(bill.lines, key=lambda line: -line.usd)
        if line.tokens
    ]
    tokens = sum(line.tokens for line in bill.lines)
    rows.append(("all input", tokens, "", usd(total), "100 %"))
    uncached = cost.bill(Usage(input_tokens=tokens), HOUSE_MODEL).total_usd
    header = ("class", "tokens", "per million", "dollars", "share")
    return table(
        rows,
        header,
        caption=f"The input bill: {usd(total)}, where it would be {usd(uncached)} without a cache",
        labelled="recorded",
        source="list prices of 2026-10-09",
    )


def task_usd(turns: int) -> Decimal:
    """What a task costs that adds 1,000 tokens a turn to no stable part, without a cache."""
    tokens = cost.history_input_tokens(turns, 0, TASK_ADDED_TOKENS)
    return cost.bill(Usage(input_tokens=tokens), HOUSE_MODEL).total_usd


def task_curve(turns: int = 12) -> Figure:
    """The cost of that task over its turns, with the document's two prices and the chosen number of turns."""
    from ctxlab.figures import curve, usd

    xs = list(range(1, 61))
    ys = [float(task_usd(n)) for n in xs]
    here = float(task_usd(turns))
    named = {turns: "here", 12: "$0.40", 40: "$4"}
    marks = [(n, float(task_usd(n)), name) for n, name in sorted(named.items())]
    return curve(
        [("no cache", xs, ys), ("at the read price", xs, [y / 10 for y in ys])],
        x_label="turns",
        y_label="dollars for the task",
        title=f"{turns} turns cost {usd(here)}",
        alt=f"Both prices lie on one curve: {usd(float(task_usd(12)))} at 12 turns and "
        f"{usd(float(task_usd(40)))} at 40.",
        evidence="documented",
        source="P = 0, a = 1,000, $5 per million tokens; a read costs a tenth",
        marks=marks,
        y_format=usd,
    )


def bounded_bill(name: str) -> Table:
    """The bill of a session whose writes have no known lifetime: from all 5m to all 1h."""
    from ctxlab.figures import table, usd

    session = _session(name)
    bill = sum(
        (cost.bill(turn.usage, turn.model_id) for turn in session.turns if turn.usage), start=cost.Bill()
    )
    low, high = bill.range_usd
    rows = [
        ("input, if every write was for 5 minutes", usd(bill.input_range_usd[0])),
        ("input, if every write was for an hour", usd(bill.input_range_usd[1])),
        ("output, counted in full by this agent", usd(bill.output_usd)),
        ("in all", f"{usd(low)} to {usd(high)}"),
    ]
    return table(
        rows,
        ("part", "dollars"),
        caption=f"{name}: {len(session.turns)} turns",
        labelled="recorded",
        source=session.agent or "",
    )


def break_evens() -> Table:
    """Reads, expiries and pings at which each way of caching starts to pay, per read price."""
    from ctxlab.figures import table

    rows = []
    for model in ("claude-opus-4-5", "claude-opus-5-5", "claude-fable-5-1"):
        found = cost.break_evens(model)
        rows.append((model, found.reads_5m.n, found.reads_1h.n, found.gaps_1h_over_5m.n, found.pings.n))
    header = ("model", "reads, 5m", "reads, 1h", "long gaps", "pings")
    return table(
        rows,
        header,
        caption="How often until it has paid",
        labelled="documented",
        source="price list of 2026-10-09",
    )


def characters_table() -> Table:
    """Characters per token of recorded prompts of one kind of text, lowest and highest per vocabulary."""
    from ctxlab.figures import table
    from ctxlab.recordings import characters_per_token

    found = sorted(characters_per_token(min_tokens=1_000), key=lambda row: row.ratio)
    shown = found if len(found) <= 8 else [found[i * (len(found) - 1) // 7] for i in range(8)]
    rows = [(row.model, row.chars, row.tokens, f"{row.ratio:.2f}") for row in shown]
    header = ("model", "characters", "tokens", "characters per token")
    return table(
        rows,
        header,
        caption="Characters per token, as recorded",
        labelled="recorded",
        source=f"{len(found)} prompts of 1,000 tokens or more, lowest to highest",
    )


def four_characters_table() -> Table:
    """Where the error of the four-characters rule sits: mostly in tokens that no block shows."""
    from ctxlab.figures import table
    from ctxlab.recordings import error_shares, measured_errors

    rows: list[tuple[object, ...]] = []
    shares = error_shares("four_characters")
    for error in measured_errors("four_characters"):
        if error.model != "all" or error.kind == "all":
            continue
        parts = [share for share in shares if share.kind == error.kind]
        worst = min(parts, key=lambda share: share.bias_pct)
        rows.append(
            (error.kind, error.prompts, f"{error.bias_pct:+.0f} %", f"{worst.part} ({worst.bias_pct:+.0f} %)")
        )
    whole = next(
        error for error in measured_errors("four_characters") if (error.model, error.kind) == ("all", "all")
    )
    rows.append(("all", whole.prompts, f"{whole.bias_pct:+.0f} %", ""))
    header = ("kind of prompt", "prompts", "off by, on average", "most of it from")
    return table(
        rows, header, caption="All characters divided by four, beside what was recorded", labelled="recorded"
    )


# --- predictions


def _doubling(
    number: str,
    name: str,
    turns: int,
    options: tuple[Option, ...],
    others: Mapping[str, Callable[[], Figures]],
) -> Prediction:
    """The same question about two agents: the house session, and the exit."""

    def picture(result: object) -> Figure:
        from ctxlab.figures import compact, curve

        totals = _totals(name)[:turns]
        running = list(accumulate(totals))
        half, factor = running[turns // 2 - 1], float(_doubled(totals))
        return curve(
            [("as recorded", list(range(1, turns + 1)), running)],
            x_label="turns",
            y_label="input tokens so far",
            title=f"Twice the turns took {factor:.2f} times the tokens",
            alt=f"After {turns} turns the sum is {factor:.2f} times that after {turns // 2}; "
            "four times lies far above.",
            evidence="recorded",
            source=f"{name}, turns 1 to {turns}",
            marks=[
                (turns // 2, half, f"half of the turns: {compact(half)}"),
                (turns, running[-1], f"× {factor:.2f}"),
                (turns, 2 * half, "× 2"),
                (turns, 4 * half, "× 4"),
            ],
        )

    return Prediction(
        id=number,
        question=f"The input of turns 1 to {turns} is how many times that of turns 1 to {turns // 2}?",
        fields=(Field("factor", "times the tokens", "", tolerance=0.06),),
        options=options,
        truth=lambda: {"factor": _doubled(_totals(name)[:turns])},
        read_result=lambda result: {"factor": result},
        misconceptions={
            "twice-the-turns-twice-the-tokens": lambda: {"factor": 2},
            "doubling-quadruples": lambda: {"factor": 4},
            **others,
        },
        rule="between-two-and-four",
        rule_sentence="Doubling gives 2 where the stable part rules, and close to 4 where the growth does.",
        evidence="recorded",
        source=f"{name}, turns 1 to {turns}",
        picture=picture,
        why="Twice the turns double the stable part and nearly quadruple the growing part. "
        "Four is the limit for an agent that has no stable part and grows steadily.",
    )


PREDICTIONS = (
    _doubling(
        "01-a",
        LONG,
        LONG_TURNS,
        (
            Option("A", "2: twice the turns, twice the tokens", "twice-the-turns-twice-the-tokens"),
            Option("B", "4: the history term is a square", "doubling-quadruples"),
            Option("C", "between 2 and 3: much of every turn is the same"),
            Option("D", "about 1: the second half is read from the cache", "cached-tokens-do-not-count"),
        ),
        {"cached-tokens-do-not-count": lambda: {"factor": 1}},
    ),
    Prediction(
        id="01-b",
        question="What do the `input_tokens` fields of all 253 turns add up to?",
        fields=(Field("input_tokens", "sum of the field input_tokens", "tokens", tolerance=0.25),),
        options=(
            Option("A", "about 25 million: it is the input", "input-tokens-is-the-input"),
            Option("B", "about 180 thousand: everything that was new", "new-means-fresh"),
            Option("C", "a few thousand: only what stands behind the last marker"),
            Option("D", "nothing at all: with a cache there is no fresh input", "a-cache-leaves-nothing"),
        ),
        truth=lambda: {"input_tokens": sum(usage.input_tokens for usage in _usages(_session(LONG)))},
        read_result=lambda result: {"input_tokens": result},
        misconceptions={
            "input-tokens-is-the-input": lambda: {"input_tokens": sum(_totals(LONG))},
            "new-means-fresh": lambda: {
                "input_tokens": sum(
                    usage.input_tokens + usage.cache_creation_input_tokens
                    for usage in _usages(_session(LONG))
                )
            },
            "a-cache-leaves-nothing": lambda: {"input_tokens": 0},
        },
        rule="disjoint-classes",
        rule_sentence="Fresh, read and written never overlap; input_tokens is only what stands "
        "behind the last marker.",
        evidence="recorded",
        source=f"{LONG}, 253 turns",
        why="What is new on a turn is written to the cache by the same request. So it counts as "
        "written, not as fresh.",
    ),
    Prediction(
        id="01-c",
        question="What does the input of the whole session cost?",
        fields=(Field("input_usd", "dollars for all input", "usd"),),
        options=(
            Option("A", "about $120: every input token costs the input price", "cached-at-full-price"),
            Option("B", "about $1: reads are free", "reads-are-free"),
            Option("C", "about $13: each class at its own rate"),
            Option("D", "about $140: the input price, and the cache on top", "cached-twice"),
        ),
        truth=lambda: {"input_usd": input_bill(_session(LONG)).input_usd},
        read_result=lambda bill: {"input_usd": bill.input_usd},
        misconceptions={
            "cached-at-full-price": lambda: {"input_usd": _at_full_price()},
            "reads-are-free": lambda: {"input_usd": _bill_of_long().input_usd - _reads_usd()},
            "cached-twice": lambda: {"input_usd": _at_full_price() + _bill_of_long().input_usd},
        },
        rule="a-rate-per-class",
        rule_sentence="Each class has one rate: fresh once, written 1.25 times, read a tenth; "
        "no token is billed twice.",
        evidence="recorded",
        source=f"{LONG}, at list prices of 2026-10-09",
        picture=_bill_table,
        why="Caching divides the price of a token that is read again by ten. It does not stop the reading. "
        "So most of a well-cached bill is still the same history, read over and over.",
    ),
    _doubling(
        "01-exit",
        OTHER,
        OTHER_TURNS,
        (
            Option("A", "4: the history term is a square", "doubling-quadruples"),
            Option("B", "the factor of 01-a: it is the same kind of agent", "one-factor-for-all"),
            Option("C", "2: twice the turns, twice the tokens", "twice-the-turns-twice-the-tokens"),
            Option("D", "close to 3: less of every turn is the same"),
        ),
        {"one-factor-for-all": lambda: {"factor": _doubled(_totals(LONG)[:LONG_TURNS])}},
    ),
)


def _bill_of_long() -> cost.Bill:
    return input_bill(_session(LONG))


def _at_full_price() -> Decimal:
    return cost.bill(Usage(input_tokens=sum(_totals(LONG))), HOUSE_MODEL).total_usd


def _reads_usd() -> Decimal:
    reads = sum(usage.cache_read_input_tokens for usage in _usages(_session(LONG)))
    return cost.bill(Usage(cache_read_input_tokens=reads), HOUSE_MODEL).total_usd


# --- exercises


def _sum_cases(rng: random.Random) -> list[Case]:
    cases = [
        Case("stable-part-every-turn", (turns, stable, 0), turns * stable, label="an agent that adds nothing")
        for turns, stable in ((1, 2_000), (7, rng.randrange(500, 9_000)))
    ]
    for turns, stable, added in ((1, 2_000, 1_000), (2, 2_000, 1_000), (40, 2_000, 1_000)):
        expected = sum(stable + k * added for k in range(turns))
        label = "1 turn" if turns == 1 else f"{turns} turns"
        cases.append(Case("turn-one-has-no-history", (turns, stable, added), expected, label=label))
    others = [(rng.randrange(2, 300), rng.randrange(60_000), rng.randrange(1, 3_000)) for _ in range(3)]
    others.append((2 * rng.randrange(2, 100) + 1, rng.randrange(60_000), 2 * rng.randrange(99, 999) + 1))
    for turns, stable, added in others:
        expected = turns * stable + added * turns * (turns - 1) // 2
        cases.append(Case("turn-one-has-no-history", (turns, stable, added), expected, label="another agent"))
    return cases


def _bug_cases(rng: random.Random) -> list[Case]:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    cases = []
    for figures in ((10, 1_000, 200, 5), tuple(rng.randrange(1, 50_000) for _ in names)):
        usage = dict(zip(names, figures, strict=True))
        cases.append(
            Case(
                "disjoint-classes",
                (usage,),
                sum(figures[:3]),
                label="a usage object",
                asks="total_input_tokens",
            )
        )
    prompt, cached = rng.randrange(20_000, 40_000), rng.randrange(1_000, 20_000)
    read_whole = (cached, cached, 5, 5.0, 0.5, 25.0)
    for one in (
        (20_212, 16_298, 931, 0.5, 0.05, 3.0),
        (prompt, cached, 700, 5.0, 0.5, 25.0),
        read_whole,
    ):
        label = (
            "all of the prompt is cached" if one is read_whole else "the prompt includes the cached tokens"
        )
        usd = ((one[0] - one[1]) * one[3] + one[1] * one[4] + one[2] * one[5]) / 1e6
        cases.append(Case("billed-once", one, usd, label=label, asks="prompt_usd"))
    cases.append(
        Case(
            "refuse-the-impossible",
            (10, 1_000, 5, 5.0, 0.5, 25.0),
            ValueError,
            label="10 tokens, 1,000 of them cached",
            asks="prompt_usd",
        )
    )
    for short, long in ((600_000, 400_000), (rng.randrange(10_000), rng.randrange(10_000))):
        usd = (short * 1.25 + long * 2) * 5 / 1e6
        cases.append(
            Case(
                "ttl-price",
                (short, long, 5.0),
                usd,
                label="writes for 5 minutes and for an hour",
                asks="writes_usd",
            )
        )
    return cases


def _fold_cases(rng: random.Random) -> list[Case]:
    def row(name: str, read: int, output: int) -> dict[str, Any]:
        return {"id": name, "input_tokens": 2, "cache_read_input_tokens": read, "output_tokens": output}

    read = rng.randrange(1_000, 90_000)
    apart = [row("msg_Z", read, 8), row("msg_M", read + 3, 5), row("msg_P", read + 9, 6)]
    twice = [row("msg_A", 15_030, 412) for _ in range(5)] + [row("msg_B", 23_685, 38)]
    alike = [row("msg_C", read, 7), row("msg_D", read, 9)]
    mixed = [
        row("msg_F", read, 300),
        row("msg_E", read + 1, 2),
        row("msg_F", read, 1),
        row("msg_E", read + 1, 60),
    ]
    return [
        Case("order-of-appearance", (apart,), apart, label="three messages of one row"),
        Case("one-row-per-message", (twice,), [twice[4], twice[5]], label="six rows, two messages"),
        Case("one-row-per-message", ([],), [], label="an empty log"),
        Case("largest-row-wins", (mixed,), [mixed[0], mixed[3]], label="rows out of order"),
        Case("same-figures-other-message", (alike,), alike, label="two messages with the same input"),
    ]


def _same_rows(got: Any, expected: list[dict[str, Any]]) -> bool:
    """Rows from a list, from the values of a dict or from a generator: all of them are rows."""
    return not isinstance(got, (str, Mapping)) and same(list(got), expected)


def _growth_cases(rng: random.Random) -> list[Case]:
    def fit(totals: list[int]) -> tuple[float, float]:
        found = cost.fit_growth(totals)
        return found.prefix_tokens, found.added_tokens

    stable, added = rng.randrange(1_000, 60_000), rng.randrange(100, 2_000)
    exact = [stable + k * added for k in range(1, 41)]
    uneven = [total + rng.randrange(-added // 3, added // 3) for total in exact]
    recorded = _totals(LONG)
    end = cost.stretches(recorded)[0].stop
    # the second line is longer and ends higher, so that neither the longest nor the largest will do
    again = [exact[-1] * 4 // 5 + k * exact[-1] // 100 for k in range(60)]
    dipped = [*exact, *(exact[-1] * 95 // 100 + k * added for k in range(20))]
    return [
        Case("turn-one-is-k-one", (exact,), (float(stable), float(added)), label="an exact line"),
        Case("all-turns-count", (uneven,), fit(uneven), label="uneven turns"),
        Case(
            "law-holds-between-rewrites",
            (exact + again,),
            (float(stable), float(added)),
            label="turn 41 a fifth smaller",
        ),
        Case("law-holds-between-rewrites", (dipped,), fit(dipped), label="turn 41 a twentieth smaller"),
        Case("law-holds-between-rewrites", (recorded,), fit(recorded[:end]), label="the recorded session"),
    ]


def _close_pair(got: Any, expected: tuple[float, float]) -> bool:
    """Both figures to a hundredth of a token: whoever rounds to two digits is not wrong."""
    pair = tuple(got)
    return len(pair) == 2 and all(
        abs(float(one) - other) <= 0.011 for one, other in zip(pair, expected, strict=True)
    )


def _close_dollars(got: Any, expected: Decimal) -> bool:
    """Within 1 %, with or without a dollar sign: a prediction may bear one, too."""
    return agrees(in_unit(got, "usd"), expected, Fraction(1, 100))


def _haiku_cases(_rng: random.Random) -> list[Case]:
    asked = (
        ("rates-are-per-million", "5,000 in, 2,000 out", 5_000, 2_000),
        ("more-than-not-at-least", "100,000 in, nothing out", 100_000, 0),
        ("one-card-per-request", "100,001 in, nothing out", 100_001, 0),
        ("one-card-per-request", "250,000 in, 4,000 out", 250_000, 4_000),
        ("one-card-per-request", "99,000 in, 3,000 out", 99_000, 3_000),
    )
    return [
        Case(
            rule,
            (words,),
            cost.bill(Usage(input_tokens=tokens, output_tokens=output), "claude-haiku-5-5").total_usd,
            label=words,
        )
        for rule, words, tokens, output in asked
    ]


EXERCISES = (
    Exercise(
        id="01-1",
        title="the sum, exactly",
        asks=("total_input",),
        rules={
            "stable-part-every-turn": "The stable part is sent on every turn.",
            "turn-one-has-no-history": "Turn 1 sends no history, turn 2 one turn of it, turn n sends n - 1.",
        },
        cases=_sum_cases,
    ),
    Exercise(
        id="01-2",
        title="find the bug, three times",
        asks=("total_input_tokens", "prompt_usd", "writes_usd"),
        rules={
            "disjoint-classes": "The prompt is fresh + read + written: three classes, none inside another.",
            "billed-once": "Each token is billed once, at the rate of its class, per million.",
            "refuse-the-impossible": "More cached tokens than prompt tokens is an error (raise "
            "ValueError), not zero.",
            "ttl-price": "A write costs 1.25 times the base price for five minutes and 2 times for an hour.",
        },
        cases=_bug_cases,
        compare=within(1e-9),
    ),
    Exercise(
        id="01-3",
        title="one message, many rows",
        asks=("fold",),
        rules={
            "order-of-appearance": "Messages stay in the order in which they first appear.",
            "one-row-per-message": "One row per message id: rows of one message repeat its usage.",
            "largest-row-wins": "Of the rows of one message, the one with the most output is the final one.",
            "same-figures-other-message": "Two messages may have the same figures: the id decides.",
        },
        cases=_fold_cases,
        compare=_same_rows,
        home=True,
    ),
    Exercise(
        id="01-4",
        title="fit the law, and stop in time",
        asks=("growth",),
        rules={
            "turn-one-is-k-one": "The first turn is k = 1, so that P is what a turn without "
            "history would send.",
            "all-turns-count": "Least squares weighs every turn, not only the first and the last.",
            "law-holds-between-rewrites": "A request more than a tenth smaller starts another line: "
            "fit all turns before it, and no others.",
        },
        cases=_growth_cases,
        compare=_close_pair,
        home=True,
    ),
    Exercise(
        id="01-5",
        title="a rate card with a step",
        asks=("haiku_usd",),
        answers=True,
        rules={
            "rates-are-per-million": "Input and output have a rate each, in dollars per million tokens.",
            "more-than-not-at-least": "The dearer card starts above 100,000 tokens, not at them.",
            "one-card-per-request": "The size of the prompt picks one card for every token of "
            "the request, output included.",
        },
        cases=_haiku_cases,
        compare=_close_dollars,
        home=True,
    ),
)
