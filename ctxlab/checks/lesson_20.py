"""Cache Puzzles: fourteen small functions, each a rule of the prompt cache.

What is right comes from the cache model, run on the blocks of each case; nothing here is a table of answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from ctxlab.cache import LIFETIME_S
from ctxlab.checks import record
from ctxlab.checks.exercises import Case, Exercise, same
from ctxlab.checks.predictions import Prediction
from ctxlab.checks.runs import MODEL, Asked, Pair, Piece, drawable, run_pieces, strip
from ctxlab.figures import Figure, Span, prefix_strip

if TYPE_CHECKING:
    from ctxlab.cache import Plan, Ttl

TITLE = "Cache Puzzles"
DONE, OPEN = "■", "□"
Blocks = Sequence[int]
PREDICTIONS: tuple[Prediction, ...] = ()


# --- shared by the puzzles


def _pieces(tokens: Blocks, kinds: Sequence[str] = (), *, new: str = "") -> tuple[Piece, ...]:
    """Blocks of these sizes; ``new`` makes the last one another text than elsewhere."""
    last = len(tokens) - 1
    named = [f"{at}{new if at == last else ''}" for at in range(len(tokens))]
    told = kinds or ["text"] * len(tokens)
    return tuple(Piece(*one) for one in zip(named, tokens, told, strict=True))


def _after_entry(
    tokens: Blocks, entry: int | None, markers: Mapping[int, Ttl], kinds: Sequence[str] = ()
) -> Plan:
    """A request with these markers, when an earlier one has left an entry behind block ``entry``."""
    pieces = _pieces(tokens, kinds)
    before = [] if entry is None else [Asked(pieces[: entry + 1], {entry: "1h"}, tail_tokens=0)]
    return run_pieces([*before, Asked(pieces, markers, tail_tokens=0)])[-1]


def _letters(plan: Plan) -> str:
    return "".join(plan.classes())


def _same_letters(got: Any, expected: Any) -> bool:
    """A letter for each block; small letters and a list of letters say the same."""
    return bool("".join(got).upper() == expected)


def _same_list(got: Any, expected: Any) -> bool:
    """The same items in the same order, whatever holds them."""
    return not isinstance(got, (Mapping, set, frozenset)) and same(list(got), expected)


def _lettered(tokens: Blocks, letters: Sequence[str]) -> Figure:
    """Blocks with the learner's letters on them."""
    pairs = zip(tokens, letters, strict=True)
    spans = [Span(str(at), letter, size) for at, (size, letter) in enumerate(pairs)]
    told = " ".join(f"{at} {letter}" for at, letter in enumerate(letters))
    return prefix_strip(spans, title="Yours", alt=f"Yours: {told}.", evidence="scripted")


def _scene(plan: Plan, title: str, *, lookback: bool = False, markers: bool = True) -> Figure:
    """What the cache makes of a request."""
    called = [position.path for position in plan.layout.positions]
    told = f"read {plan.read_tokens:,}, written {_written(plan):,}, fresh {plan.fresh_tokens:,}"
    return strip(
        plan, title=title, alt=f"{title}: {told}.", called=called, lookback=lookback, markers=markers
    )


def _written(plan: Plan) -> int:
    return (plan.written_5m_tokens or 0) + (plan.written_1h_tokens or 0)


def _sizes(rng: random.Random, count: int) -> list[int]:
    """Sizes of which the first one alone is above the floor."""
    return [rng.randrange(600, 3_000), *(rng.randrange(20, 900) for _ in range(count - 1))]


SPEC = "Specification"


# --- 1 to 5: what a marker stores


def _pin_cases(rng: random.Random) -> list[Case]:
    first = ["tools", "system", "manual", "question"]
    more = [[f"block {n}" for n in range(rng.randrange(2, 18))] for _ in range(2)]
    return [Case("mark-last-stable", (names,), len(names) - 2) for names in (first, *more)]


def _pinned(blocks: int, marker: int) -> Plan:
    """The second request of two that end in different texts, both with the same block marked."""
    tokens = [700] * (blocks - 1) + [100]
    return run_pieces([Asked(_pieces(tokens, new=new), {marker: "5m"}) for new in (" one", " other")])[1]


def _pin_scene(case: Case) -> Figure:
    return _scene(_pinned(len(case.args[0]), case.expected), "The next request", markers=False)


def _prefix_cases(rng: random.Random) -> list[Case]:
    cases = [([600, 900, 50, 40], 2)]
    for count in (3, 9, 14):
        cases.append((_sizes(rng, count), rng.randrange(1, count - 1)))
    return [Case("entries-at-markers", one, _after_entry(*one, {one[1]: "5m"}).read_tokens) for one in cases]


def _prefix_scene(case: Case) -> Figure:
    tokens, entry = case.args
    return _scene(_after_entry(tokens, entry, {entry: "5m"}), SPEC)


def _letters_cases(rng: random.Random) -> list[Case]:
    cases: list[tuple[list[int], int | None, int]] = [
        ([600, 900, 50, 40, 30], 1, 3),
        ([600, 900, 50], None, 1),
        ([600, 900, 50, 40], 0, 2),
    ]
    for count in (4, 9, 15):
        entry = rng.randrange(0, count - 3)
        cases.append((_sizes(rng, count), entry, rng.randrange(entry + 1, count - 1)))
    return [
        Case("read-written-fresh", one, _letters(_after_entry(*one[:2], {one[2]: "5m"}))) for one in cases
    ]


def _letters_scene(case: Case) -> Figure:
    tokens, entry, marker = case.args
    return _scene(_after_entry(tokens, entry, {marker: "5m"}), SPEC)


def _survivor(before: Sequence[str], after: Sequence[str], entries: Sequence[int]) -> Plan:
    told = [[Piece(text, 700) for text in texts] for texts in (before, after)]
    markers: dict[int, Ttl] = dict.fromkeys(entries, "5m")
    return run_pieces([Asked(tuple(told[0]), markers), Asked(tuple(told[1]), {len(after) - 1: "5m"})])[1]


def _survivor_cases(rng: random.Random) -> list[Case]:
    def case(before: Sequence[str], after: Sequence[str], entries: Sequence[int]) -> Case:
        return Case("exact-prefix", (before, after, entries), _survivor(before, after, entries).hit)

    letters = [chr(97 + n) for n in range(14)]
    cases = [
        case(["a", "b", "c", "d"], ["a", "b", "X", "d"], [0, 1, 3]),
        case(["a", "b", "c"], ["a", "b", "c", "d"], [0, 2]),
        case(["a", "b", "c"], ["X", "b", "c"], [0, 1, 2]),
        case(["a", "b", "c"], ["a", "b"], [0, 2]),
    ]
    for _ in range(3):
        at = rng.randrange(3, len(letters))
        after = [*letters[:at], "X", *letters[at + 1 :]]
        cases.append(case(letters, after, sorted(rng.sample(range(len(letters)), 4))))
    return cases


def _survivor_scene(case: Case) -> Figure:
    return _scene(_survivor(*case.args), "After the change")


_TIERS = ("tools", "system", "messages")
_Part = tuple[str, str, int]  # tier, name, turns for which its text stays the same


def _arrange_cases(rng: random.Random) -> list[Case]:
    first = [
        ("messages", "question", 1),
        ("system", "manual", 400),
        ("tools", "lookup", 900),
        ("system", "today", 30),
    ]
    cases = []
    for parts in (first, _parts(rng), _parts(rng)):
        wanted = sorted(parts, key=lambda part: (_TIERS.index(part[0]), -part[2]))
        tiers = [part[0] for part in wanted]
        cases.append(Case("render-order", (parts,), tiers, label="their tiers, in order"))
        cases.append(Case("stable-first", (parts,), wanted))
    return cases


def _parts(rng: random.Random) -> list[_Part]:
    lasts = rng.sample(range(1, 1_000), 8)
    tiers = [*_TIERS, *rng.choices(_TIERS, k=5)]
    return [(tier, f"part {n}", last) for n, (tier, last) in enumerate(zip(tiers, lasts, strict=True))]


def _arranged(got: Any, expected: Any) -> bool:
    tiers = isinstance(expected[0], str)
    return bool([part[0] if tiers else tuple(part) for part in got] == expected)


def _arrange_scene(case: Case) -> Figure:
    parts = sorted(case.args[0], key=lambda part: (_TIERS.index(part[0]), -part[2]))
    spans = [
        Span(f"{name}, {lasts} turns", "R" if lasts > 1 else "F", 600, tier) for tier, name, lasts in parts
    ]
    told = ", ".join(f"{name} for {lasts} turns" for _, name, lasts in parts)
    return prefix_strip(
        spans, title=SPEC, alt=f"What stays longest stands first: {told}.", evidence="scripted"
    )


# --- 6 to 9: what is too short, and what is too far


_FLOORS = {512: MODEL, 1_024: "claude-sonnet-4-5"}
"""Floors, and a model that has each."""


def _stored(tokens: Blocks, markers: Sequence[int], floor: int) -> list[int]:
    """The markers that store something, one request for each."""
    pieces, model = _pieces(tokens), _FLOORS[floor]
    plans = {one: run_pieces([Asked(pieces, {one: "5m"}, model=model)])[0] for one in markers}
    return [marker for marker, plan in plans.items() if plan.writes]


def _stored_cases(rng: random.Random) -> list[Case]:
    short, long = _FLOORS
    cases = [
        ([300, 200, 40], [0, 1, 2], short),
        ([300, 212, 40], [0, 1, 2], short),
        ([511, 1], [0, 1], short),
        ([600, 424, 40], [0, 1], long),
        ([300, 200], [0, 1], long),
    ]
    for floor in (short, short, long):
        tokens = [rng.randrange(20, 160) for _ in range(12)]
        tokens[rng.randrange(6, 12)] = floor + rng.randrange(1, 400)
        cases.append((tokens, sorted(rng.sample(range(12), 4)), floor))
    return [Case("floor", one, _stored(*one)) for one in cases]


def _stored_scene(case: Case) -> Figure:
    tokens, markers, _ = case.args
    return _scene(_after_entry(tokens, None, {markers[1]: "5m"}), f"A marker behind block {markers[1]}")


def _seen(kinds: Sequence[str], marker: int) -> list[int]:
    """The blocks whose ends a marker looks at, newest first; of a run every block is one."""
    plan = _after_entry([600, *[20] * (len(kinds) - 1)], None, {marker: "5m"}, kinds)
    return list(plan.layout.looked_at(marker))


def _seen_cases(rng: random.Random) -> list[Case]:
    markers = [27, 5, 0, 19, 20, rng.randrange(21, 60), rng.randrange(2, 19)]
    return [Case("lookback-counts-itself", (one,), _seen(["text"] * (one + 1), one)) for one in markers]


def _seen_scene(case: Case) -> Figure:
    (marker,) = case.args
    tokens = [600, *[20] * marker]
    return _scene(_after_entry(tokens, None, {marker: "5m"}), SPEC, lookback=True)


_CALLS = ("text", "call", "call", "call", "result", "result", "result", "text")


def _kinds(rng: random.Random, blocks: int) -> list[str]:
    """Texts, and turns of a few calls with as many results."""
    kinds = ["text"]
    while len(kinds) < blocks:
        calls = rng.randrange(0, 6)
        kinds += ["call"] * calls + ["result"] * calls or ["text"] * rng.randrange(1, 9)
    return kinds


def _positions(kinds: Sequence[str]) -> int:
    plan = _after_entry([600, *[20] * (len(kinds) - 1)], None, {}, kinds)
    return plan.layout.positions[-1].lookback_unit + 1


def _positions_cases(rng: random.Random) -> list[Case]:
    cases = [list(_CALLS), ["text"] * 4, *(_kinds(rng, rng.randrange(12, 40)) for _ in range(3))]
    return [Case("a-run-is-one", (kinds,), _positions(kinds)) for kinds in cases]


def _positions_scene(case: Case) -> Figure:
    (kinds,) = case.args
    last = len(kinds) - 1
    plan = _after_entry([600, *[40] * last], None, {last: "5m"}, kinds)
    return strip(
        plan,
        title=SPEC,
        alt=f"{len(kinds)} blocks are {_positions(kinds)} positions.",
        called=kinds,
        lookback=True,
    )


def _found(kinds: Sequence[str], entry: int) -> Plan:
    return _after_entry([600, *[20] * (len(kinds) - 1)], entry, {len(kinds) - 1: "5m"}, kinds)


def _found_cases(rng: random.Random) -> list[Case]:
    calls = ["text", *["call"] * 15, *["result"] * 15]
    cases: list[tuple[list[str], int]] = [(calls, 0), (["text"] * 21, 0), (["text"] * 20, 0)]
    for _ in range(2):
        kinds = _kinds(rng, rng.randrange(40, 70))
        ends = [at for at in range(len(kinds) - 1) if kinds[at] == "text" or kinds[at] != kinds[at + 1]]
        near = [at for at in ends if _found(kinds, at).hit is not None]
        cases += [(kinds, near[0]), (kinds, ends[ends.index(near[0]) - 1])] if near[0] != ends[0] else []
    return [Case("lookback", one, _found(*one).hit is not None) for one in cases]


def _found_scene(case: Case) -> Figure:
    kinds, entry = case.args
    plan = _found(kinds, entry)
    said = "found" if plan.hit is not None else "out of reach"
    return strip(
        plan, title=SPEC, alt=f"The entry behind block {entry} is {said}.", called=kinds, lookback=True
    )


# --- 10 and 11: lifetimes in one request


def _legal_cases(rng: random.Random) -> list[Case]:
    lists = [
        ["1h", "1h", "5m", "5m"],
        ["5m", "1h"],
        ["5m"] * 4,
        ["1h"] * 5,
        ["1h", "5m", "1h"],
        [],
        *(rng.choices(["5m", "1h"], k=rng.randrange(1, 6)) for _ in range(8)),
    ]
    rules = {True: "legal", False: "four-slots-long-first"}
    return [Case(rules[_is_legal(ttls)], (ttls,), _is_legal(ttls)) for ttls in lists]


def _is_legal(ttls: Sequence[Any]) -> bool:
    from ctxlab.errors import InvalidRequestError

    tokens = [600] * (len(ttls) + 1)
    try:
        _after_entry(tokens, None, dict(enumerate(ttls)))
    except InvalidRequestError:
        return False
    return True


def _legal_scene(case: Case) -> Figure:
    (ttls,) = case.args
    spans = [Span(str(at), None, 600) for at in range(len(ttls) + 1)]
    said = "legal" if _is_legal(ttls) else "refused"
    return prefix_strip(
        spans,
        title=said.capitalize(),
        alt=f"Markers {', '.join(ttls)} in this order: {said}.",
        evidence="documented",
        markers=list(enumerate(ttls)),
    )


def _split_of(plan: Plan) -> tuple[int | None, ...]:
    return plan.read_tokens, plan.written_1h_tokens, plan.written_5m_tokens, plan.fresh_tokens


def _split_cases(rng: random.Random) -> list[Case]:
    cases: list[tuple[list[int], int | None, dict[int, Ttl]]] = [
        ([900, 700, 500, 300, 100], 0, {1: "1h", 3: "5m"}),
        ([900, 700, 500, 300, 100], None, {1: "1h", 3: "5m"}),
        ([900, 700, 500, 300, 100], 1, {1: "1h", 3: "5m"}),
        ([900, 700, 500], None, {1: "5m"}),
    ]
    for _ in range(4):
        count = rng.randrange(6, 15)
        places = sorted(rng.sample(range(1, count - 1), 3))
        long = rng.randrange(0, 4)
        markers: dict[int, Ttl] = {at: "1h" if n < long else "5m" for n, at in enumerate(places)}
        cases.append((_sizes(rng, count), rng.choice([None, 0, places[0], places[2]]), markers))
    return [Case("billing-positions", one, _split_of(_after_entry(*one))) for one in cases]


def _split_scene(case: Case) -> Figure:
    return _scene(_after_entry(*case.args), SPEC)


# --- 12 and 13: one prefix, asked for again and again


def _timeline(starts: Sequence[float], ttl: Ttl) -> str:
    """R or W for the same request at each of these seconds."""
    pauses = [0, *(later - sooner for sooner, later in pairwise(starts))]
    asked = [Asked((Piece("prefix", 2_000),), {0: ttl}, pause_s=pause) for pause in pauses]
    return "".join(map(_letters, run_pieces(asked)))


def _timeline_cases(rng: random.Random) -> list[Case]:
    def case(rule: str, starts: Sequence[float], ttl: Ttl) -> Case:
        return Case(rule, (starts, LIFETIME_S[ttl]), _timeline(starts, ttl))

    def random_starts(mean_s: int) -> list[float]:
        pauses = [pause for pause in range(10, 2 * mean_s) if pause != LIFETIME_S["5m"]]
        return list(accumulate([0, *rng.choices(pauses, k=9)]))

    return [
        case("a-read-begins-it-anew", [0, 200, 400, 800, 900], "5m"),
        case("a-read-begins-it-anew", [0, 3_000, 6_000, 9_000], "1h"),
        case("a-read-begins-it-anew", random_starts(200), "5m"),
        case("gone-on-the-second", [0, 299, 599, 898], "5m"),
        case("gone-on-the-second", [0, 3_600, 7_199], "1h"),
    ]


def _timeline_scene(case: Case) -> Figure:
    starts, ttl_s = case.args
    ttl: Ttl = "5m" if ttl_s == LIFETIME_S["5m"] else "1h"
    return _requests(starts, _timeline(starts, ttl), SPEC)


def _requests(starts: Sequence[float], letters: str, title: str) -> Figure:
    """Requests in a row, one box each, called by the second at which they start."""
    spans = [Span(f"{start:g} s", letter, 2_000) for start, letter in zip(starts, letters, strict=True)]
    told = ", ".join(f"at {start:g} s {letter}" for start, letter in zip(starts, letters, strict=True))
    return prefix_strip(spans, title=title, alt=f"Requests {told}.", evidence="emulated")


def _fan_out(starts: Sequence[float], first_byte_s: float) -> str:
    """R or W for the same request at each of these seconds, when an answer begins ``first_byte_s`` later."""
    from ctxlab.cache import PromptCache
    from ctxlab.clock import ManualClock

    clock = ManualClock()
    cache = PromptCache(clock)
    layout = _after_entry([2_000], None, {0: "5m"}).layout
    open_plans: list[Plan] = []
    letters = ""
    for start in starts:
        for plan in [plan for plan in open_plans if plan.started_s + first_byte_s <= start]:
            clock.advance(plan.started_s + first_byte_s - clock.now_s())
            cache.commit(plan)
            open_plans.remove(plan)
        clock.advance(start - clock.now_s())
        open_plans.append(cache.lookup(layout))
        letters += _letters(open_plans[-1])
    return letters


def _fan_out_cases(rng: random.Random) -> list[Case]:
    cases: list[tuple[list[float], float]] = [([0, 1, 2, 5, 6], 3), ([0, 0, 0], 1), ([0, 10, 11], 4)]
    for _ in range(3):
        starts = list(accumulate([0.0, *(rng.randrange(0, 8) for _ in range(9))]))
        cases.append((starts, rng.randrange(4, 20) + 0.5))
    return [Case("visible-once-answering", one, _fan_out(*one)) for one in cases]


def _fan_out_scene(case: Case) -> Figure:
    starts, first_byte_s = case.args
    return _requests(starts, _fan_out(starts, first_byte_s), SPEC)


# --- 14: all of it


_Request = list[tuple[str, int, bool]]  # name, tokens, whether the next request sends the block again


def _conversation(rng: random.Random, turns: int, long_turn: int) -> list[_Request]:
    """Turns of a chat: one adds 30 short texts, each ends with two blocks that nobody sends again."""
    history: _Request = [("tools", 900, True), ("system", 1_400, True)]
    asked = []
    for turn in range(turns):
        texts = 30 if turn == long_turn else 1
        new: _Request = [(f"turn {turn} text {n}", rng.randrange(20, 60), True) for n in range(texts)]
        found: _Request = [(f"found for {turn}", rng.randrange(300, 600), False), (f"clock {turn}", 8, False)]
        asked.append([*history, *new, *found])
        history = [*history, *new, (f"answer {turn}", rng.randrange(40, 200), True)]
    return asked


def _played(conversation: Sequence[_Request], marks: Sequence[Sequence[int]]) -> list[Plan]:
    asked = []
    for request, numbers in zip(conversation, marks, strict=True):
        pieces = tuple(Piece(name, tokens, name if name in _TIERS else "text") for name, tokens, _ in request)
        asked.append(Asked(pieces, dict.fromkeys(numbers, "5m")))
    return run_pieces(asked)


def _agent_cases(rng: random.Random) -> list[Case]:
    cases = []
    for conversation in (_conversation(random.Random(1), 5, 3), _conversation(rng, 12, rng.randrange(4, 11))):
        for rule in ("four-slots", "nothing-written-in-vain", "all-that-stays-is-read"):
            cases.append(Case(rule, (conversation,), (rule, conversation), hidden=True))
    return cases


def _stays(request: _Request) -> int:
    """How many tokens at the beginning are sent again."""
    return sum(tokens for _, tokens, again in request if again)


def _agent(got: Any, expected: Any) -> bool:
    rule, conversation = expected
    got = [list(numbers) for numbers in got]
    if rule == "four-slots":
        return all(len(set(numbers)) <= 4 for numbers in got) and bool(_played(conversation, got))
    plans = _played(conversation, got)
    if rule == "nothing-written-in-vain":
        return all(
            (plan.read_tokens or 0) + _written(plan) <= _stays(request)
            for plan, request in zip(plans, conversation, strict=True)
        )
    before = [0, *map(_stays, conversation)]
    return all(plan.read_tokens == tokens for plan, tokens in zip(plans, before, strict=False)) and _written(
        plans[-1]
    ) == (_stays(conversation[-1]) - before[-2])


def _agent_scene(case: Case) -> Figure:
    (conversation,) = case.args
    marks: list[list[int]] = []
    for request in conversation:
        end = sum(again for *_, again in request) - 1
        marks.append([marks[-1][-1], end] if marks else [end])
    return _long_turn(conversation, marks, "Specification", markers=False)


def _long_turn(
    conversation: Sequence[_Request], marks: Sequence[Sequence[int]], title: str, *, markers: bool
) -> Figure:
    """The request that grew most."""
    longest = max(range(1, len(conversation)), key=lambda n: len(conversation[n]) - len(conversation[n - 1]))
    plan = _played(conversation, marks)[longest]
    title = f"{title}: request {longest} of {len(conversation)}"
    told = f"read {plan.read_tokens:,}, written {_written(plan):,}, fresh {plan.fresh_tokens:,}"
    called = [
        "text" if name.startswith(("turn", "answer")) else name.split()[0]
        for name, *_ in conversation[longest]
    ]
    return strip(
        plan, title=title, alt=f"{title}: {told}.", called=called, together=("text",), markers=markers
    )


# --- the fourteen


def picture(number: str) -> Figure:
    """The first case of a puzzle, as it has to come out."""
    puzzle = next(one for one in EXERCISES if one.id == number)
    return _SCENES[number](puzzle.cases(random.Random(0))[0])


def line() -> str:
    """What of the fourteen is done, in one line to paste into a chat; it gives no solution away."""
    done = record.load()["exercises"]
    marks = [done.get(one.id, {}).get("state") == "done" for one in EXERCISES]
    return f"{TITLE} {sum(marks)}/{len(marks)} " + "".join(DONE if mark else OPEN for mark in marks)


def _drawn(number: str) -> Callable[[Case, Any], object]:
    @drawable
    def draw(case: Case, got: Any) -> object:
        spec = _SCENES[number](case)
        if number == "20-1":
            return Pair(_scene(_pinned(len(case.args[0]), got), "Yours"), spec)
        if number == "20-14":
            return Pair(_long_turn(case.args[0], got, "Yours", markers=True), spec)
        if number == "20-3":
            return Pair(_lettered(case.args[0], got), spec)
        if number in ("20-12", "20-13"):
            return Pair(_requests(case.args[0], got, "Yours"), spec)
        return spec

    return draw


def _puzzle(
    number: int,
    title: str,
    asks: str,
    rules: Mapping[str, str],
    cases: Callable[[random.Random], Sequence[Case]],
    compare: Callable[[Any, Any], bool] | None = None,
) -> Exercise:
    name = f"20-{number}"
    return Exercise(name, title, (asks,), rules, cases, compare=compare, draw=_drawn(name))


_SCENES: Mapping[str, Callable[[Case], Figure]] = {
    "20-1": _pin_scene,
    "20-2": _prefix_scene,
    "20-3": _letters_scene,
    "20-4": _survivor_scene,
    "20-5": _arrange_scene,
    "20-6": _stored_scene,
    "20-7": _seen_scene,
    "20-8": _positions_scene,
    "20-9": _found_scene,
    "20-10": _legal_scene,
    "20-11": _split_scene,
    "20-12": _timeline_scene,
    "20-13": _fan_out_scene,
    "20-14": _agent_scene,
}

EXERCISES = (
    _puzzle(
        1,
        "pin",
        "pin",
        {"mark-last-stable": "The marker stands on the last block that comes again."},
        _pin_cases,
    ),
    _puzzle(
        2,
        "prefix",
        "read",
        {"entries-at-markers": "An entry holds everything from the first block to its last one."},
        _prefix_cases,
    ),
    _puzzle(
        3,
        "letters",
        "letters",
        {"read-written-fresh": "Up to the entry it is read, up to the marker written, behind it fresh."},
        _letters_cases,
        _same_letters,
    ),
    _puzzle(
        4,
        "survivor",
        "survivor",
        {"exact-prefix": "An entry is found if every block up to its end is as it was."},
        _survivor_cases,
    ),
    _puzzle(
        5,
        "order",
        "arrange",
        {
            "render-order": "Tools come first, then system, then messages, whatever else is true.",
            "stable-first": "Within a tier, what stays longest comes first.",
        },
        _arrange_cases,
        _arranged,
    ),
    _puzzle(
        6,
        "floor",
        "stored",
        {"floor": "The prefix up to the marker has to reach the floor; reaching it is enough."},
        _stored_cases,
        _same_list,
    ),
    _puzzle(
        7,
        "twenty",
        "seen",
        {"lookback-counts-itself": "A marker looks at 20 blocks and is the first of them itself."},
        _seen_cases,
        _same_list,
    ),
    _puzzle(
        8,
        "positions",
        "positions",
        {"a-run-is-one": "Calls in a row are one position, and so are results in a row."},
        _positions_cases,
    ),
    _puzzle(
        9,
        "reach",
        "found",
        {"lookback": "The entry is found if its end is among the 20 positions, runs counted once."},
        _found_cases,
    ),
    _puzzle(
        10,
        "legal",
        "legal",
        {
            "legal": "Up to four markers, long ones first, are accepted; so is no marker.",
            "four-slots-long-first": "A fifth marker is refused, and so is 1h behind 5m.",
        },
        _legal_cases,
    ),
    _puzzle(
        11,
        "split",
        "split",
        {
            "billing-positions": "Read up to the entry, then 1h up to the last 1h marker, then 5m up to "
            "the last marker, fresh behind it."
        },
        _split_cases,
        _same_list,
    ),
    _puzzle(
        12,
        "timeline",
        "timeline",
        {
            "a-read-begins-it-anew": "A read begins the lifetime anew, as a write does.",
            "gone-on-the-second": "When exactly the lifetime has passed, the entry is gone.",
        },
        _timeline_cases,
        _same_letters,
    ),
    _puzzle(
        13,
        "fan-out",
        "fan_out",
        {"visible-once-answering": "What a request writes can be read once its answer has begun."},
        _fan_out_cases,
        _same_letters,
    ),
    _puzzle(
        14,
        "agent",
        "plan",
        {
            "four-slots": "At most four markers a request, on blocks it has.",
            "nothing-written-in-vain": "What is not sent again is never written.",
            "all-that-stays-is-read": "Each request reads all that stayed of the one before, and writes "
            "what stays of itself.",
        },
        _agent_cases,
        _agent,
    ),
)
