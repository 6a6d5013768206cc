"""Questions and exercises of notebook 04, four growth levers.

Truths come from the growth of a recorded session and from the cache model, when they are asked for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxlab import cost, levers, recordings, validity
from ctxlab.checks.caps import (
    CAP,
    RECORDED_MODEL,
    SPILL,
    Capped,
    capped,
    fresh_usd,
    own_stable_tokens,
    recorded_usage,
    recorded_usd,
)
from ctxlab.checks.exercises import Case, Exercise, within
from ctxlab.checks.playground import (
    FACTS,
    POLICIES,
    SESSION,
    Played,
    growth,
    play,
)
from ctxlab.checks.predictions import Field, Option, Prediction
from ctxlab.checks.quantities import exact
from ctxlab.checks.runs import (
    LOOKUP,
    MODEL,
    Asked,
    Explained,
    Pair,
    Piece,
    bill_usd,
    drawable,
    run_pieces,
    strip,
    text,
    user,
    words,
)

if TYPE_CHECKING:
    from ctxlab.cache import Plan
    from ctxlab.figures import Figure, Table

__all__ = ["EXERCISES", "PREDICTIONS"]

COMPACTED = "cli/session-1284c080"


# --- a log in the way

_STABLE, _LOG, _BEHIND, _ADDED, _POINTER = 6_000, 20_000, 4_000, 400, 15
_TURNS = 40


@cache
def log_session(offload: bool) -> tuple[Plan, ...]:
    """Turns behind a log that was sent before; with ``offload`` a pointer takes its place on the first."""

    def asked(turn: int) -> Asked:
        log = Piece("pointer", _POINTER) if offload and turn else Piece("log", _LOG)
        more = [Piece(f"turn {n}", _ADDED) for n in range(1, turn + 1)]
        pieces = (Piece("stable", _STABLE, "system"), log, Piece("history", _BEHIND), *more)
        return Asked(pieces, {0: "5m", len(pieces) - 1: "5m"})

    return tuple(run_pieces([asked(turn) for turn in range(_TURNS + 1)])[1:])


def first_cheaper(kept: Sequence[Plan], offloaded: Sequence[Plan]) -> int:
    """The first number of requests after which the second way has cost less in all."""
    paid = Decimal(0)
    for turn, (one, other) in enumerate(zip(kept, offloaded, strict=True), 1):
        paid += bill_usd(other) - bill_usd(one)
        if paid < 0:
            return turn
    raise ValueError(f"never within {len(kept)} requests")


def _turns_to_pay(rewritten_tokens: int, surcharge: str = "1.20") -> int:
    """The same in closed form, for somebody with an idea of what is written again and at which price."""
    return int(rewritten_tokens * Decimal(surcharge) / (Decimal("0.05") * (_LOG - _POINTER))) + 1


def warm_request() -> dict[str, Any]:
    """The request with the log, as the API takes it; one word is one token."""
    called = {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"q": "log"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "row " * 19_997}
    mark = {"type": "ephemeral"}
    body = {
        "model": MODEL,
        "max_tokens": 200,
        "cache_control": mark,
        "tools": [LOOKUP],
        "system": [{**text("rule", 5_250), "cache_control": mark}],
        "messages": [
            user(text("look", 12)),
            {"role": "assistant", "content": [called]},
            user(result),
            {"role": "assistant", "content": "so " * 1_987},
            user(text("on", 1_993)),
        ],
    }
    return levers.with_read_tool(body)


def by_hand_and_by_the_lever() -> Explained:
    """The break-even turn of the log by a sum on paper, and by :func:`ctxlab.levers.offload`."""
    from ctxlab.figures import table

    request = warm_request()
    ledger = levers.PrefixLedger.of(request, counter=words)
    effect = levers.offload(request, which="all", ledger=ledger).effect
    rows = []
    for how, removed, rewritten in (
        ("by hand", _LOG - _POINTER, _POINTER + _BEHIND),
        ("by ctxlab.levers", effect.removed_tokens, effect.rewritten_tokens),
    ):
        requests = rewritten * Decimal("1.20") / (removed * Decimal("0.05"))
        rows.append((how, removed, rewritten, f"{requests:.2f}", f"from request {int(requests) + 1} on"))
    assert effect.break_even_turn() == int(requests) + 1
    header = ("reckoned", "tokens no longer read", "tokens written again", "paid back after", "pays")
    return Explained(
        table(rows, header, caption="From which request on it pays", labelled="emulated"),
        "Each request saves a read: 0.05 times the tokens that are gone. Once, what stays behind the cut is "
        "written at 1.25 instead of read at 0.05. Divide what is paid once by what each request saves.",
        f"The lever was tried on a request as the API takes it. There one word counts as one token, so its "
        f"pointer has {_LOG - effect.removed_tokens:,} tokens instead of {_POINTER}.",
    )


def when_a_cap_pays() -> Explained:
    """From how long a history on a cap on every turn is cheaper than leaving it alone, at two read prices."""
    from ctxlab.figures import table

    rows = [
        (model, read, round(CAP * Decimal("1.25") / read))
        for model, read in (("Claude Opus 4.5", Decimal("0.1")), ("Claude Opus 5.5", Decimal("0.05")))
    ]
    header = ("model", "price of a read", "pays where the history would have more tokens than")
    return Explained(
        table(rows, header, caption=f"A cap of {CAP:,} on every turn", labelled="documented"),
        f"On a turn with a cut, {CAP:,} tokens are written at 1.25. Left alone, the whole history is read at "
        "the price of a read. So the cap pays where the history would be 12.5 times as long, or 25 times.",
    )


def at_arrival() -> str:
    """The same lever on the same log, before it was ever sent."""
    request = warm_request()
    asked = {**request, "messages": request["messages"][:3]}
    before = {**request, "messages": request["messages"][:1]}
    ledger = levers.PrefixLedger.of(asked, sent=before, counter=words)
    return str(levers.offload(asked, ledger=ledger).effect)


# --- what the notebook shows


def recorded_bill() -> Table:
    """The recorded session's input by class."""
    from ctxlab.figures import table, usd

    billed = cost.bill(recorded_usage(), RECORDED_MODEL)
    total = sum(line.amount for line in billed.lines)
    rows = [
        (line.label, line.tokens, usd(line.amount), f"{float(100 * line.amount / total):.0f} %")
        for line in billed.lines
    ]
    header = ("class", "tokens", "dollars", "share")
    return table(
        rows, header, caption="253 turns, cached, compacted once", labelled="recorded", source=SESSION
    )


def _strip_of(run: Capped, turn: int, title: str) -> Figure:
    plan = run.plans[turn - 1]
    called = ["stable", *["history"] * (len(plan.layout.positions) - 1)]
    read = plan.read_tokens or 0
    written = (plan.layout.total_tokens or 0) - read
    alt = f"{title}: {read:,} tokens are read, {written:,} written."
    return strip(plan, title=title, alt=alt, called=called, together=("history",), bill=bill_usd(plan))


def _turn_100() -> Pair:
    from ctxlab.figures import Span, prefix_strip

    usage = recordings.session(SESSION).usages[99]
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    spans = [Span("all but the end", "R", read, "messages"), Span("new", "W", written, "messages")]
    if usage.input_tokens:
        spans.append(Span("end", "F", usage.input_tokens, "messages"))
    whole = prefix_strip(
        spans,
        title="Turn 100 as recorded",
        alt=f"Nearly all is read: {read:,} of {usage.total_input_tokens:,} tokens.",
        evidence="recorded",
        source=SESSION,
        bill=cost.bill(replace(usage, output_tokens=0), RECORDED_MODEL).total_usd,
    )
    return Pair(whole, _strip_of(capped(), 100, "Turn 100 with the cap"))


def _a_cut_and_the_next() -> Pair:
    run = capped(SPILL)
    cut = run.cuts[3]
    return Pair(
        _strip_of(run, cut, f"Turn {cut}, with a cut"), _strip_of(run, cut + 1, f"Turn {cut + 1}, the next")
    )


_RECORDED = "compacted once (recorded)"
_NEVER_CUT = "never cut (longer than the window)"


def caps_table() -> Table:
    """The session under caps, and what becomes of the figures under other assumptions."""
    from ctxlab.figures import table, usd

    total = recorded_usage().total_input_tokens
    rows: list[tuple[object, ...]] = [
        (_RECORDED, total, 1, usd(recorded_usd()), usd(total * fresh_usd(RECORDED_MODEL)))
    ]
    own = own_stable_tokens()
    for name, run in (
        (_NEVER_CUT, capped(cap=None)),
        ("cap on every turn", capped()),
        ("… history not marked", capped(marked=False)),
        ("… only whole turns go", capped(whole_turns=True)),
        (f"… {own:,} stable tokens", capped(stable=own)),
        ("cap in steps of 20,000", capped(SPILL)),
        ("… a fifth is read again", capped(SPILL, read_again=20)),
        ("… only whole turns go", capped(SPILL, whole_turns=True)),
        (f"… {own:,} stable tokens", capped(SPILL, stable=own)),
    ):
        rows.append((name, run.tokens, len(run.cuts), usd(run.usd), usd(run.uncached_usd)))
    header = ("history", "input tokens", "cuts", "with the cache", "without any cache")
    caption = "One session, ten ways. A row with … changes one assumption of the row without"
    return table(rows, header, caption=caption, labelled="emulated", source="growth as recorded")


def six_policies(*, cached: bool = True) -> Figure | Explained:
    """All policies of the playground on one picture; without a cache also what the two pictures show."""
    runs = [play(name, cached=cached) for name in POLICIES]
    drawn = _policies(runs, list(range(len(runs))), cached)
    if cached:
        return drawn
    return Explained(
        drawn,
        "The same policies, in another order. Without a cache, tokens decide. With one, two things do: how "
        "much is left to read, and how often it is written again.",
        "And neither bill knows which of the facts you needed.",
    )


def policy(policy: int = 1, uncached: int = 0) -> Figure:
    """One policy beside doing nothing but caching: policies by number, the cache taken away or not."""
    numbers = sorted({0, policy - 1})
    names = list(POLICIES)
    return _policies([play(names[at], cached=not uncached) for at in numbers], numbers, not uncached)


def _policies(runs: Sequence[Played], numbers: Sequence[int], cached: bool) -> Figure:
    from ctxlab.checks.policies_figure import policies_figure
    from ctxlab.figures import usd

    first, last = runs[0], max(runs, key=lambda one: one.usd[-1])
    how = "with caching" if cached else "without any cache"
    told = [f"{one.policy} {usd(one.usd[-1])} and {one.kept} of {len(FACTS)} facts" for one in runs]
    dear = "" if last is first else f" The dearest is: {last.policy}."
    title = f"253 turns, {how}" if len(runs) > 2 else f"253 turns, {how}: {runs[-1].policy}"
    return policies_figure(runs, numbers, title, f"Input {how}: {'; '.join(told)}.{dear}")


def levers_agree() -> Table:
    """A short session under every policy, by the levers and by the playground's own sums."""
    from ctxlab.checks.twins import twins
    from ctxlab.figures import table

    rows = [
        (one.policy, f"${one.levers_usd:.6f}", f"${one.pieces_usd:.6f}", len(one.levers_rewrites))
        for one in twins()
    ]
    header = ("policy", "by ctxlab.levers", "by adding up blocks", "rewrites")
    return table(rows, header, caption="A short session by both routes", labelled="emulated")


def facts_table() -> Table:
    """The ten facts, where they were planted, and who still has them at the end."""
    from ctxlab.figures import table

    runs = {name: play(name) for name in POLICIES}
    rows = [
        (fact.text, fact.turn, fact.kind, *(_fate(run.fates[at]) for run in runs.values()))
        for at, fact in enumerate(FACTS)
    ]
    header = ("fact", "turn", "stands in", *(str(number) for number in range(1, len(runs) + 1)))
    caption = "Facts under policies 1 to 6: in the window, in the store, or there to a turn"
    return table(rows, header, caption=caption, labelled="emulated")


def _fate(fate: str | int) -> str:
    return {"window": "in", "store": "store"}[fate] if isinstance(fate, str) else f"to {fate}"


def window_or_store() -> Figure:
    """Tokens a turn of a file in the window, and of a pointer whose file is read now and then."""
    from ctxlab.figures import curve

    reads = list(range(0, 101, 10))
    rest = round(_REST)
    window = [_FILE + rest for _ in reads]
    store = [rest + _POINTER + _TOOL + _FILE * share / 100 for share in reads]
    return curve(
        [("window", reads, window), ("store", reads, store)],
        x_label="reads in 100 turns",
        y_label="tokens a turn",
        title="A file of 60,000 tokens: carried, or fetched when needed",
        alt="In the window the file costs the same on every turn, in the store it costs by the read; "
        "only a file that is read on nearly every turn is cheaper in the window.",
        evidence="assumed",
        source="file and rest of exercise 04-3",
    )


def turns_in_dollars() -> Table:
    """What the document's loop does: tokens and dollars with the cap on every turn, and without one."""
    from ctxlab.figures import table, usd

    total, run, whole = recorded_usage().total_input_tokens, capped(), capped(cap=None)
    rows = [
        (name, tokens, usd(paid))
        for name, tokens, paid in (
            (_NEVER_CUT, whole.tokens, whole.usd),
            (_RECORDED, total, recorded_usd()),
            ("cap on every turn", run.tokens, run.usd),
        )
    ]
    return table(rows, ("history", "input tokens", "input dollars"), caption="253 turns", labelled="emulated")


def client_compaction() -> tuple[int, recordings.Turn]:
    """A recorded compaction by a client: tokens of the request before it, and the turn after it."""
    turns = recordings.session(COMPACTED).turns
    at = next(turn.index for turn in turns if turn.after_compaction)
    return turns[at - 1].usage.total_input_tokens, turns[at]


def small_talk() -> list[dict[str, Any]]:
    """Nine messages with two calls at once: the example of exercise 04-1."""
    return _talk(["a", "b"], ["c"])


def sample_request() -> dict[str, Any]:
    """A request in the middle of the playground's session, for the page to take to work."""
    from ctxlab.checks.twins import short_request

    return short_request()


# --- predictions


def _after(other: Callable[[], Capped]) -> Callable[[], dict[str, Decimal]]:
    return lambda: {"usd": other().usd}


def _dollars(label: str) -> tuple[Field, ...]:
    return (Field("usd", label, "usd"),)


def _usd_of(result: Any) -> dict[str, Decimal]:
    return {"usd": result.usd}


def _fewer_tokens_usd() -> Decimal:
    return recorded_usd() * capped().tokens / recorded_usage().total_input_tokens


EXIT_STABLE, EXIT_CAP, EXIT_ADDED, EXIT_TURNS = 10_000, 30_000, 500, 100


@cache
def hundred_turns(cap: bool = True) -> ExitRun:
    """A session of a hundred turns, its history cut to the cap on each of them, or never."""

    def asked(turn: int) -> Asked:
        history = [Piece("early", EXIT_CAP), *(Piece(f"turn {n}", EXIT_ADDED) for n in range(1, turn + 1))]
        if cap and turn:
            gone = turn * EXIT_ADDED
            history[0] = Piece(f"early from {turn}", EXIT_CAP - gone) if gone < EXIT_CAP else history[0]
            drop = max(gone - EXIT_CAP, 0) // EXIT_ADDED
            history = history[1 + drop :] if gone >= EXIT_CAP else history
        pieces = (Piece("stable", EXIT_STABLE, "system"), *history)
        return Asked(pieces, {0: "5m", len(pieces) - 1: "5m"}, tail_tokens=0)

    plans = run_pieces([asked(turn) for turn in range(EXIT_TURNS + 1)])[1:]
    tokens = sum(plan.layout.total_tokens or 0 for plan in plans)
    return ExitRun(sum(map(bill_usd, plans), Decimal(0)), tokens)


class ExitRun(NamedTuple):
    """What a hundred turns cost, and their tokens."""

    usd: Decimal
    tokens: int


def _per_turn(stable_multiplier: str, history_multiplier: str) -> Decimal:
    """The exit question's bill for somebody with an idea of what each part costs."""
    each = EXIT_STABLE * Decimal(stable_multiplier) + EXIT_CAP * Decimal(history_multiplier)
    return EXIT_TURNS * each * fresh_usd(MODEL)


_BOTH_LEDGERS = "What goes saves its reads; what stays behind the cut is written again."

PREDICTIONS = (
    Prediction(
        id="04-a",
        question="What does the input of the 253 turns cost with the cap?",
        fields=_dollars("253 turns, capped"),
        options=(
            Option(
                "A",
                "About $8, because 42 % fewer tokens are sent than as recorded",
                "fewer-tokens-less-money",
            ),
            Option(
                "B", "About $50, because what is not found is plain input", "a-miss-costs-the-fresh-price"
            ),
            Option("C", "About $60, because the history is written anew"),
            Option(
                "D", "About $90, because the whole request is written anew", "a-cut-kills-the-whole-cache"
            ),
        ),
        truth=_after(capped),
        read_result=_usd_of,
        misconceptions={
            "fewer-tokens-less-money": lambda: {"usd": _fewer_tokens_usd()},
            "a-miss-costs-the-fresh-price": _after(lambda: capped(marked=False)),
            "a-cut-kills-the-whole-cache": lambda: {
                "usd": capped().tokens * fresh_usd(RECORDED_MODEL) * Decimal("1.25")
            },
        },
        rule="both-ledgers",
        rule_sentence=_BOTH_LEDGERS,
        evidence="emulated",
        source="growth of cli/session-375d5d79",
        uses=("exact-prefix", "entries-at-markers"),
        picture=lambda result: _turn_100(),
        why="What is dropped at the front makes another prefix of all that follows. Only the stable part is "
        "still read. Two sums have to be made: what is no longer read, and what is written again. Per turn "
        "the cap costs 1.25 times its size; doing nothing costs 0.1 times the history. Doing nothing is no "
        "answer either: a cache divides the growing sum by ten and leaves it growing.",
    ),
    Prediction(
        id="04-b",
        question="What does the input of the 253 turns cost when the cap cuts to 20,000?",
        fields=_dollars("253 turns, cut eight times"),
        options=(
            Option(
                "A",
                "As much as with the first cap, because a cut breaks the prefix at any depth",
                "a-cut-is-a-cut",
            ),
            Option(
                "B",
                "Half as much as with the first cap, because half the history is left",
                "half-the-history",
            ),
            Option("C", "A little above $13.37, because the cuts come on top of it", "cuts-come-on-top"),
            Option("D", "A good deal below $13.37, because cuts are few and reads are short"),
        ),
        truth=_after(lambda: capped(SPILL)),
        read_result=_usd_of,
        misconceptions={
            "a-cut-is-a-cut": _after(capped),
            "half-the-history": lambda: {"usd": capped().usd / 2},
            "cuts-come-on-top": lambda: {
                "usd": recorded_usd()
                + len(capped(SPILL).cuts) * (CAP - SPILL) * Decimal("1.15") * fresh_usd(RECORDED_MODEL)
            },
        },
        rule="batch-the-rewrite",
        rule_sentence="A deep cut is written once and read on many turns; a shallow one is written on each.",
        evidence="emulated",
        source="growth of cli/session-375d5d79",
        uses=("exact-prefix", "entries-at-markers"),
        picture=lambda result: _a_cut_and_the_next(),
        why="Each cut writes 20,000 tokens of history once. Some thirty turns then read a history that is "
        "shorter than the recorded one.",
    ),
    Prediction(
        id="04-c",
        question="From which request on has offloading the log cost less in all than keeping it?",
        fields=(Field("request", "pays from request number", ""),),
        options=(
            Option("A", "The 1st, because a pointer is only appended", "offload-appends"),
            Option("B", "The 2nd, because a rewrite costs its surcharge", "a-rewrite-is-the-surcharge"),
            Option("C", "The 5th, because the history is written again"),
            Option("D", "The 13th, because all of it is written again", "a-cut-kills-the-whole-cache"),
        ),
        truth=lambda: {"request": first_cheaper(log_session(False), log_session(True))},
        read_result=lambda result: {"request": first_cheaper(*result)},
        misconceptions={
            "offload-appends": lambda: {"request": 1},
            "a-rewrite-is-the-surcharge": lambda: {"request": _turns_to_pay(_POINTER + _BEHIND, "0.25")},
            "a-rewrite-saves-no-read": lambda: {"request": _turns_to_pay(_POINTER + _BEHIND, "1.25")},
            "a-cut-kills-the-whole-cache": lambda: {"request": _turns_to_pay(_STABLE + _POINTER + _BEHIND)},
        },
        rule="only-behind-the-cut",
        rule_sentence="Only what stands behind the change is written again; what is marked in front is read.",
        evidence="emulated",
        source="this notebook's own requests",
        uses=("exact-prefix", "entries-at-markers"),
        picture=lambda result: _kept_or_offloaded(),
        near=Fraction(1, 5),
        why="The log was sent before, so the pointer changes the prefix, and what stands behind it is "
        "written again. That is paid once. The log is no longer read, which saves a little on every request.",
    ),
    Prediction(
        id="04-exit",
        question="What does the input of the 100 turns cost with the cap?",
        fields=_dollars("100 turns, capped"),
        options=(
            Option("A", "About $1, because 39 % fewer tokens are sent", "fewer-tokens-less-money"),
            Option(
                "B", "About $12, because what is not found is plain input", "a-miss-costs-the-fresh-price"
            ),
            Option(
                "C", "About $20, because the whole request is written anew", "a-cut-kills-the-whole-cache"
            ),
            Option("D", "About $15, because the history is written anew"),
        ),
        truth=lambda: {"usd": hundred_turns().usd},
        read_result=_usd_of,
        misconceptions={
            "fewer-tokens-less-money": lambda: {
                "usd": hundred_turns(False).usd * hundred_turns().tokens / hundred_turns(False).tokens
            },
            "a-miss-costs-the-fresh-price": lambda: {"usd": _per_turn("0.05", "1")},
            "a-cut-kills-the-whole-cache": lambda: {"usd": _per_turn("1.25", "1.25")},
        },
        rule="both-ledgers",
        rule_sentence=_BOTH_LEDGERS,
        evidence="emulated",
        source="100 turns of this notebook's own",
        uses=("exact-prefix", "entries-at-markers"),
        why="The cap moves the front of the history on every turn, so nothing of it is found again.",
    ),
)


def _kept_or_offloaded() -> Pair:
    figures = []
    for offload, words_ in ((False, "kept"), (True, "offloaded now")):
        first = log_session(offload)[0]
        called = [position.path.split(" ")[0] for position in first.layout.positions]
        read = first.read_tokens or 0
        figures.append(
            strip(
                first,
                title=f"The first request, the log {words_}",
                alt=f"With the log {words_} the first request reads {read:,} tokens.",
                called=called,
                bill=bill_usd(first),
            )
        )
    return Pair(*figures)


# --- exercises


def _call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{name}", "name": "lookup", "input": {"q": name}}


def _result(name: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": f"rows of {name}"}


def _talk(*turns: Sequence[str]) -> list[dict[str, Any]]:
    """A question and an answer for each turn, all calls of a turn at once, and one more question."""
    messages: list[dict[str, Any]] = []
    for number, names in enumerate(turns, 1):
        messages.append({"role": "user", "content": f"question {number}"})
        if names:
            called = [{"type": "text", "text": "I look."}, *map(_call, names)]
            messages += [{"role": "assistant", "content": called}, user(*map(_result, names))]
        messages.append({"role": "assistant", "content": f"answer {number}"})
    return [*messages, {"role": "user", "content": f"question {len(turns) + 1}"}]


def _loop(steps: int) -> list[dict[str, Any]]:
    """One question and a call on every step: nowhere a plain line of the user's."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "do it"}]
    for step in range(steps):
        messages += [{"role": "assistant", "content": [_call(f"s{step}")]}, user(_result(f"s{step}"))]
    return messages


def _safe_places(messages: Sequence[Any], keep: int) -> list[int]:
    return sorted(one for one in validity.safe_cuts(messages) if one <= max(len(messages) - keep, 0))


def _cut_cases(rng: random.Random) -> list[Case]:
    names = [f"{letter}{rng.randrange(100)}" for letter in "abcdefg"]
    talk = _talk([names[0]], [names[1], names[2]], [], [names[3], names[4], names[5]], [names[6]])
    loop = _loop(rng.randrange(5, 9))
    cases = []
    for messages, label in ((talk, "turns with calls"), (loop, "one long loop of calls")):
        results = [at for at, one in enumerate(messages) if _has_result(one)]
        plain = [at for at in range(1, len(messages)) if at not in results]
        for at, where in (
            (rng.choice(results[1:]), "a result would stand first"),
            (rng.choice(plain), "a place that is safe as it is"),
        ):
            keep = len(messages) - at
            cases += _judged(messages, keep, f"{label}: {where}")
        keep = len(messages) + rng.randrange(1, 9)
        cases += [
            case
            for case in _judged(messages, keep, f"{label}: fewer messages than that")
            if case.rule == "enough-is-kept"
        ]
    return cases


def _judged(messages: list[Any], keep: int, label: str) -> list[Case]:
    places = _safe_places(messages, keep)
    every = sorted(validity.safe_cuts(messages) - {len(messages)})
    enough = list(range(max(len(messages) - keep, 0) + 1))
    told = (
        ("pairs-stay-together", every, "a place where no result has lost its call"),
        ("enough-is-kept", enough, f"{keep} messages or more, or all there are"),
        ("no-more-than-needed", places[-1:], "the last place that keeps both rules"),
    )
    return [Case(rule, (messages, keep), allowed, label=label, spec=spec) for rule, allowed, spec in told]


def _has_result(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return not isinstance(content, str) and any(block["type"] == "tool_result" for block in content)


def _is_allowed(got: Any, expected: Any) -> bool:
    return type(got) is int and got in expected


@drawable
def _api_says(case: Case, got: Any) -> object:
    """What the API answers to the list as it was cut."""
    from ctxlab.figures import table

    found = (
        validity.check({"messages": case.args[0][got:]}, MODEL) if case.rule == "pairs-stay-together" else []
    )
    rows = [("400", f"{one.message}") for one in found[:1]]
    header = ("status", "invalid_request_error")
    return (
        table(rows, header, caption=f"The API on messages[{got}:]", labelled="documented") if rows else None
    )


def _net(removed: int, rewritten: int, turns: int, r: float, w: float, call: int = 0) -> float:
    return turns * r * removed - (w - r) * rewritten - call


def _pays(removed: int, rewritten: int, r: float, w: float, call: int = 0) -> int | None:
    turns = range(1, 100_000)
    return next((n for n in turns if removed and _net(removed, rewritten, n, r, w, call) > 0), None)


def _net_cases(rng: random.Random) -> list[Case]:
    def size() -> int:
        return rng.randrange(1_000, 60_000)

    r, w = rng.choice(((0.1, 1.25), (0.05, 1.25), (0.1, 2)))
    cases: list[Case] = []
    for rule, label, rewritten, call in (
        ("every-turn-saves", "nothing stands behind", 0, 0),
        ("both-ledgers", "history stands behind", size(), 0),
        ("both-ledgers", "much history stands behind", 10 * size(), 0),
        ("the-call-is-paid", "a summary was asked for", size(), rng.randrange(3_000, 30_000)),
    ):
        args = (size(), rewritten, rng.randrange(2, 60), r, w, *([call] if call else ()))
        cases.append(Case(rule, args, _net(*args), label=label, asks="net_saving"))
    for label, args in (
        ("history stands behind", (size(), size(), r, w)),
        ("a summary was asked for", (size(), size(), r, w, rng.randrange(3_000, 30_000))),
        ("nothing stands behind", (size(), 0, r, w)),
        ("the second turn only makes it even", (100, 200, 0.5, 1.0)),
        ("nothing is removed", (0, size(), r, w)),
    ):
        cases.append(Case("first-turn-that-pays", args, _pays(*args), label=label, asks="break_even"))
    return cases


_FILE, _TOOL, _READ_EVERY = 4_000 * _POINTER, 597, 20
_REST = (_FILE - 200 * _POINTER) / 199
_SIGNS = re.compile(r"\s*(?:tokens|token|times|×|x)$")


def _offload_figures() -> dict[str, tuple[str, float]]:
    pointer = _POINTER
    average = pointer + _REST + _TOOL + _FILE / _READ_EVERY
    return {
        "tokens of the file": ("margin-is-not-total", _FILE),
        "tokens of the rest": ("the-rest-is-in-both", _REST),
        "times, with the tool": ("the-tool-is-sent-every-turn", (_FILE + _REST) / (pointer + _REST + _TOOL)),
        "times, with reads": ("reads-are-paid", (_FILE + _REST) / average),
    }


def _offload_cases(rng: random.Random) -> list[Case]:
    return [
        Case(rule, (name,), figure, label=name, hidden=True)
        for name, (rule, figure) in _offload_figures().items()
    ]


def _is_near(got: Any, expected: Any) -> bool:
    """Whether a figure, as somebody may write it down, is right to half a percent."""
    bare = _SIGNS.sub("", got.strip().lower()) if isinstance(got, str) else got
    return within(0.005)(exact(bare), expected)


def spill_usd(added: Sequence[int], cap: int, size: int, r: float, w: float) -> float:
    """What a history costs that is cut ``size`` below its cap whenever it is above it; a token fresh is 1."""
    history, paid = 0, 0.0
    for more in added:
        warm, history = history, history + more
        if history > cap:
            warm, history = 0, cap - size
        paid += r * warm + w * (history - warm)
    return paid


def spill_tokens(added: Sequence[int], cap: int, size: int) -> int:
    """The tokens that such a history sends in all."""
    return round(spill_usd(added, cap, size, 1, 1))


def _spill_cases(rng: random.Random) -> list[Case]:
    cases = [
        _spill_case("batch-the-rewrite", growth()[1:], CAP, [600, 5_000, 20_000], "the recorded session")
    ]
    for rule, label in (
        ("batch-the-rewrite", "a long trace"),
        ("both-ledgers", "a trace where tokens and dollars disagree"),
        ("the-trace-decides", "a trace that ends soon"),
        ("the-trace-decides", "another trace that ends soon"),
    ):
        while True:
            turns = rng.randrange(150, 300) if rule == "batch-the-rewrite" else rng.randrange(25, 90)
            added = [rng.randrange(200, 1_200) for _ in range(turns)]
            cap = rng.randrange(9_000, 20_000)
            sizes = rng.sample(range(500, cap - 1_000, 250), 4)
            case = _spill_case(rule, added, cap, sizes, label)
            paid = sorted(spill_usd(added, cap, size, 0.1, 1.25) for size in sizes)
            is_deepest = case.expected == max(sizes)
            fewest = min(sizes, key=lambda size: spill_tokens(added, cap, size))
            wanted = {
                "batch-the-rewrite": is_deepest and fewest == case.expected,
                "both-ledgers": is_deepest and fewest != case.expected,
                "the-trace-decides": not is_deepest,
            }[rule]
            if wanted and case.expected != min(sizes) and paid[1] > 1.002 * paid[0]:
                cases.append(case)
                break
    return [*cases, _at_the_cap(rng)]


def _at_the_cap(rng: random.Random) -> Case:
    """A history that fills its cap to the token; cut on that turn already, another size would be the best."""
    while True:
        cap, added = rng.randrange(9_000, 20_000), [rng.randrange(200, 1_200) for _ in range(50)]
        full = next(turn for turn in range(50) if sum(added[: turn + 1]) >= cap)
        added[full] -= sum(added[: full + 1]) - cap
        sizes = rng.sample(range(500, cap - 1_000, 250), 4)
        paid = {size: spill_usd(added, cap, size, 0.1, 1.25) for size in sizes}
        early = {size: spill_usd(added, cap - 1, size - 1, 0.1, 1.25) for size in sizes}
        best, other = sorted(paid, key=paid.__getitem__)[:2]
        others = (min(sizes), max(sizes), min(early, key=early.__getitem__))
        if best not in others and paid[other] > 1.002 * paid[best]:
            label = "a history that just fills the cap"
            return _spill_case("the-trace-decides", added, cap, sizes, label)


def _spill_case(rule: str, added: Sequence[int], cap: int, sizes: list[int], label: str) -> Case:
    best = min(sizes, key=lambda size: spill_usd(added, cap, size, 0.1, 1.25))
    return Case(rule, (list(added), cap, sizes, 0.1, 1.25), best, label=label)


MOST_USD = Decimal("0.01")
_CARRIED_TURNS = 100
_TALK = (
    "we then looked at the next one and it was fine so the plan is to go on with the rest of it today "
    "while the team checks what was said before and writes down what is still open for the others"
)


def carried_usd(kept: str) -> Decimal:
    """What a text costs that is written once and then read on 99 turns; one word is one token."""
    each = Decimal("1.25") + Decimal("0.05") * (_CARRIED_TURNS - 1)
    return len(kept.split()) * each * fresh_usd(MODEL)


def _planted(rng: random.Random) -> list[str]:
    """Ten facts of as many kinds."""
    low = "abcdefgh"
    name = "".join(rng.choice(low) for _ in range(5))
    return [
        f"10.0.{rng.randrange(256)}.{rng.randrange(256)}:{rng.randrange(1_024, 9_999)}",
        f"src/{name}/Views.py",
        f"{name.title()}Error",
        f"{name.upper()}_HOST",
        f"v{rng.randrange(9)}.{rng.randrange(20)}.{rng.randrange(20)}",
        f"{rng.randrange(16**5):05x}".replace("0", "1") + "a7",
        f"https://ci.example/{name}/{rng.randrange(900)}",
        f"{rng.randrange(11, 99)},{rng.randrange(111, 999)}",
        f"{name}.toml",
        f"ops-{name}@mail.example",
    ]


def _fact_cases(rng: random.Random) -> list[Case]:
    cases = []
    for label in ("a session", "another session"):
        facts, texts = _planted(rng), []
        places = [*rng.sample(range(30), 9), 29]
        for turn in range(30):
            said = [rng.choice(_TALK.split()) for _ in range(100)]
            for fact in (fact for fact, place in zip(facts, places, strict=True) if place == turn):
                said.insert(rng.randrange(100), fact)
            texts.append(" ".join(said))
        cases += [
            Case("exact-survival", (texts,), facts, label=label, spec="each of the ten, to the letter"),
            Case("under-the-budget", (texts,), None, label=label, spec=f"at most ${MOST_USD}"),
        ]
    return cases


def _survives(got: Any, expected: Any) -> bool:
    if not isinstance(got, str):
        return False
    return carried_usd(got) <= MOST_USD if expected is None else not levers.missing(expected, got)


EXERCISES = (
    Exercise(
        id="04-1",
        title="where a list may be cut",
        asks=("safe_cut",),
        rules={
            "pairs-stay-together": "A result never stands without its call in the message before it.",
            "enough-is-kept": "At least as many messages stay as were asked for.",
            "no-more-than-needed": "Of all such places the last one is taken.",
        },
        cases=_cut_cases,
        compare=_is_allowed,
        draw=_api_says,
    ),
    Exercise(
        id="04-2",
        title="net saving",
        asks=("net_saving", "break_even"),
        rules={
            "every-turn-saves": "Each turn, this one included, saves reading what is gone.",
            "both-ledgers": "What stays behind the cut is written again, once: `w` instead of `r`.",
            "the-call-is-paid": "An extra call is paid in full, once.",
            "first-turn-that-pays": "The first number of turns with a saving above 0, or None.",
        },
        cases=_net_cases,
        home=True,
    ),
    Exercise(
        id="04-3",
        title="four thousand and two hundred",
        asks=("figures",),
        answers=True,
        rules={
            "margin-is-not-total": "At the margin file and pointer stand alone; in all the rest is sent too.",
            "the-rest-is-in-both": "The rest stands beside the file and beside the pointer: count all four.",
            "the-tool-is-sent-every-turn": "A read tool is part of every request, read or not.",
            "reads-are-paid": "What is read back is in the request again, and paid.",
        },
        cases=_offload_cases,
        compare=_is_near,
    ),
    Exercise(
        id="04-4",
        title="how much at once",
        asks=("best_spill",),
        rules={
            "batch-the-rewrite": "A deep cut is written once; a shallow one is written on nearly every turn.",
            "both-ledgers": "Count dollars: a written token costs 12.5 times a read one.",
            "the-trace-decides": "Add up every turn: the largest cut is not always the cheapest.",
        },
        cases=_spill_cases,
        home=True,
    ),
    Exercise(
        id="04-5",
        title="ten facts for a cent",
        asks=("kept",),
        rules={
            "exact-survival": "Each fact is still there, to the letter.",
            "under-the-budget": "What is carried costs no more than a cent.",
        },
        cases=_fact_cases,
        compare=_survives,
        home=True,
    ),
)
