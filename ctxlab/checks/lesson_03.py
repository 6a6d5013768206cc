"""Questions and exercises of notebook 03, prefix breakers and the dead cache.

Truths come from the cache model or from recordings when they are asked for. The learner sends the same
requests through the emulator and the real client; ``reveal`` compares the two.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ctxlab.catalogue import get_model
from ctxlab.checks.chosen import OneOf, same_spelt, spelt
from ctxlab.checks.exercises import Case, Exercise, same
from ctxlab.checks.predictions import Field, Option, Prediction
from ctxlab.checks.runs import (
    LOOKUP,
    MODEL,
    Asked,
    Body,
    Pair,
    Piece,
    agent,
    bill_usd,
    marked,
    names,
    run_bodies,
    run_pieces,
    strip,
    text,
    user,
    words,
)
from ctxlab.prompt import Prompt, first_difference

if TYPE_CHECKING:
    from ctxlab.cache import Plan
    from ctxlab.figures import Figure, Table

__all__ = ["EXERCISES", "LOOKUP", "PREDICTIONS", "words"]

LOG: Body = {
    "name": "read_log",
    "description": "find " * 98,
    "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
}
"""A second tool."""

AS_SENT = {"q": "the log", "limit": 20}
FROM_THE_STORE = {"limit": 20, "q": "the log"}


# --- the requests of the notebook


def _call(number: int, given: Mapping[str, Any]) -> dict[str, Any]:
    used = {"type": "tool_use", "id": f"toolu_{number}", "name": "lookup", "input": dict(given)}
    return {"role": "assistant", "content": [used]}


def _result(number: int, rows: int) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "row " * rows}


def _again(base: Body, ask: Body, rows: int) -> tuple[Body, Body]:
    """The same step twice; a store in between has given the keys of the call back in another order."""
    first, second = (
        {**base, "messages": [user(ask), _call(1, given), user(marked(_result(1, rows)))]}
        for given in (AS_SENT, FROM_THE_STORE)
    )
    return first, second


def sent_again() -> tuple[Body, Body]:
    """A step of an agent, and the same step rebuilt from a store."""
    return _again(agent(), text("why", 48), 277)


def sent_again_with_two_markers() -> tuple[Body, Body]:
    """The same of a larger agent that also marks its system prompt: the exit question."""
    base = agent("claude-sonnet-5-5", rules=2_289)
    return _again({**base, "system": [marked(base["system"][0])]}, text("who", 28), 177)


def one_more_of_both() -> tuple[Body, Body]:
    """One more turn and, at the end of the list, one more tool."""
    base = agent()
    base["system"] = [marked(base["system"][0])]
    why, so = text("why", 48), {"role": "assistant", "content": "so " * 58}
    first = {**base, "messages": [user(marked(why))]}
    more = {**base, "tools": [LOOKUP, LOG]}
    return first, {**more, "messages": [user(why), so, user(marked(text("then", 28)))]}


_PAIRS: Mapping[str, Callable[[], tuple[Body, Body]]] = {
    "03-a": sent_again,
    "03-b": one_more_of_both,
    "03-exit": sent_again_with_two_markers,
}


@cache
def _plan(number: str) -> Plan:
    """The second request of a prediction, as the cache model answers it."""
    return run_bodies(_PAIRS[number]())[1]


def _figures(number: str) -> dict[str, int]:
    usage = _plan(number).usage()
    return {"read": usage.cache_read_input_tokens, "written": usage.cache_creation_input_tokens}


def _up_to(number: str, blocks: int) -> dict[str, int]:
    """The figures of somebody who thinks that the first so many blocks are read."""
    plan = _plan(number)
    read = plan.layout.positions[blocks - 1].cumulative_tokens or 0 if blocks else 0
    return {"read": read, "written": sum(_figures(number).values()) - read}


def _shared(number: str) -> int:
    """How many blocks the two requests have in common from the start."""
    found = first_difference(*map(Prompt.from_request, _PAIRS[number]()))
    assert found is not None
    return found.index


def sorted_diff(first: Body, second: Body) -> str:
    """Step 3 as the document has it: the part in which two dumps with sorted keys first differ.

    >>> sorted_diff({"tools": 1, "messages": 2}, {"tools": 3, "messages": 4})
    'messages'
    """
    for part in sorted({*first, *second}):
        one, other = (json.dumps(body.get(part), sort_keys=True) for body in (first, second))
        if one != other:
            return part
    return "identical"


# --- what the notebook shows


def _pinned(plan: Plan, body: Body, at: int | None, title: str, alt: str) -> Figure:
    called = names(Prompt.from_request(body))
    return strip(plan, title=title, alt=alt, called=called, bill=bill_usd(plan), first_difference=at)


def _strips(number: str) -> Pair:
    """Both requests one above the other, the place where they part pinned in the second."""
    first, second = _PAIRS[number]()
    plans, shared = run_bodies([first, second]), _shared(number)
    read = _figures(number)["read"]
    told = f"reads {read:,} tokens" if read else "reads nothing"
    said = sorted_diff(first, second)
    return Pair(
        _pinned(plans[0], first, None, "First", "The first request writes everything up to its marker."),
        _pinned(
            plans[1],
            second,
            shared,
            f"Second. Sorted dumps say: {said}",
            f"The bytes part at block {shared + 1}. No entry ends between there and the marker, so the "
            f"request {told}.",
        ),
    )


TURNS = 20
_STABLE = (Piece("tools", 1_000, "tools"), Piece("system", 5_000, "system"))
_CLOCK_TOKENS = 8
PLACES = ("in front of tools", "in front of system", "behind system", "behind turn 10", "behind the marker")


def _with_clock(place: int, turn: int) -> Asked:
    """Turn ``turn`` (from 1) of a conversation with a clock at one of :data:`PLACES`."""
    clock = Piece(f"clock at turn {turn}", _CLOCK_TOKENS, "tools" if place == 0 else "system")
    history = [Piece(f"turn {past}", 400) for past in range(1, turn + 1)]
    pieces = [*_STABLE, *history]
    marker = len(pieces) - 1
    at = {0: 0, 1: 1, 2: 2, 3: 2 + min(10, turn - 1), 4: len(pieces)}[place]
    if place > 2:
        clock = Piece(clock.name, _CLOCK_TOKENS)
    pieces.insert(at, clock)
    stands = [end + (at <= end) for end in (1, marker)]
    return Asked(tuple(pieces), dict.fromkeys(stands, "5m"))


@cache
def _session(place: int) -> tuple[tuple[Plan, ...], Decimal]:
    plans = tuple(run_pieces([_with_clock(place, turn) for turn in range(1, TURNS + 1)]))
    return plans, sum(map(bill_usd, plans), start=Decimal(0))


def session_usd(place: int) -> Decimal:
    """What the input of twenty turns costs with the clock at one of :data:`PLACES`."""
    return _session(place)[1]


def clock_at(place: int = 1) -> Figure:
    """The last of twenty turns with a clock of 8 tokens at a place, and what all twenty cost."""
    from ctxlab.figures import usd

    plans, total_usd = _session(place)
    last = plans[-1]
    called = [position.path.split()[0] for position in last.layout.positions]
    found = f"reads {last.read_tokens:,} tokens" if last.read_tokens else "reads nothing"
    return strip(
        last,
        title=f"Turn {TURNS}, a clock {PLACES[place]}",
        alt=f"With the clock {PLACES[place]} turn {TURNS} {found}; {TURNS} turns cost {usd(total_usd)}.",
        called=called,
        together=("turn",),
        bill=f"{TURNS} turns: {usd(total_usd)}",
        first_difference=called.index("clock"),
    )


def _two_places() -> Pair:
    return Pair(clock_at(1), clock_at(4))


def shares_of_eight_tokens() -> Table:
    """What eight tokens cost at each of five places."""
    from ctxlab.figures import table, usd

    best = session_usd(len(PLACES) - 1)
    rows = [
        (name, usd(session_usd(place)), f"{session_usd(place) / best:.1f}")
        for place, name in enumerate(PLACES)
    ]
    header = ("the clock stands", f"{TURNS} turns", "times the cheapest")
    return table(rows, header, caption="Where eight tokens stand", labelled="emulated")


def orders_of_a_set(seeds: Sequence[int] = (1, 2, 3)) -> list[str]:
    """The same set of words, joined by child processes that hash with these seeds.

    Where no process can be started (a notebook inside a browser), a line says so instead.
    """
    import os
    import subprocess
    import sys

    program = "print(' '.join({'read', 'write', 'search', 'list', 'move'}))"
    try:
        return [
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONHASHSEED": str(seed)},
                capture_output=True,
                check=True,
                encoding="utf-8",
            ).stdout.strip()
            for seed in seeds
        ]
    except OSError as error:
        return [f"no other process can be started here ({type(error).__name__}); see the answered edition"]


def counters_table() -> Table:
    """What the two counters of the second request mean, and what to do next: the document's lost table."""
    from ctxlab.diagnose import COUNTER_TABLE
    from ctxlab.figures import table

    some = {True: "> 0", False: "0"}
    rows = [(some[one.written], some[one.read], one.means, one.next) for one in COUNTER_TABLE]
    header = ("cache_creation", "cache_read", "means", "next")
    return table(rows, header, caption="Read both counters on request 2", labelled="rebuilt")


# --- recorded patients

ALIVE, LATE, NOTHING, EXPIRED, CHANGED, EARLY, NOT_US = (
    "alive",
    "late change",
    "nothing stored",
    "expired",
    "bytes changed",
    "too early",
    "not our bytes",
)
VERDICTS = {
    ALIVE: "all that was left is read, and what is new is written",
    LATE: "nearly all is read; something behind it changed",
    NOTHING: "there is nothing to read, and nothing was written",
    EXPIRED: "the bytes are the same and the entry has ended",
    CHANGED: "the entry was alive, and a byte in front of it changed",
    EARLY: "sent before the answer to the request before it had begun",
    NOT_US: "same bytes, a living entry, an answer long begun, and still a miss",
}
_FLOOR = get_model("claude-sonnet-4-5").min_cacheable_tokens
_LONG = "esdeveniments-frontend/session-7174eabb"
_MISSED_YOUNG = "crush/glob_tool"

# patient -> (verdict, rule, where it comes from, idle, what is known of the bytes)
_PATIENTS: Mapping[str, tuple[str, str, str, str, str]] = {
    "P1": (
        NOTHING,
        "nothing-stored",
        "ellmer/2025-11-12__e90847a__anthropic-tool-image#1",
        "",
        "first request",
    ),
    "P2": (
        ALIVE,
        "alive",
        "openllmetry/test_anthropic_prompt_caching_legacy#1",
        "seconds",
        "same up to the marker",
    ),
    "P3": (EXPIRED, "expired", f"{_LONG}:163", "", "same, then a new turn; entries of an hour"),
    "P4": (NOT_US, "evidence-first", f"{_MISSED_YOUNG}#2", "seconds", "same hashes, then a new turn"),
    "P5": (CHANGED, "bytes-changed", f"{_LONG}:99", "", "an early message differs; entries of an hour"),
    "P6": (LATE, "late-change", f"{_LONG}:108", "", "a message differs; entries of an hour"),
    "P7": (ALIVE, "alive", "pydantic-ai/test_anthropic_cache_real_api#1", "seconds", "same, then a new turn"),
    "P8": (
        EARLY,
        "visible-once-answering",
        "",
        "none: sent together with the first",
        "the same request twice",
    ),
}


def _chart(name: str) -> tuple[int, int, int]:
    """What was left before, read and written, for one patient."""
    from ctxlab import recordings

    source = _PATIENTS[name][2]
    if not source:
        return 0, *_sent_together()
    if ":" in source:
        session, _, index = source.rpartition(":")
        turns = recordings.session(session).turns
        before, now = turns[int(index) - 1].usage, turns[int(index)].usage
        left = before.cache_read_input_tokens + before.cache_creation_input_tokens
        return left, now.cache_read_input_tokens, now.cache_creation_input_tokens
    found = recordings.exchange(source)
    usage = found.usage
    assert usage is not None
    earlier = [
        one.usage
        for one in recordings.exchanges()
        if one.sequence == found.sequence and one.usage is not None and one.step == (found.step or 0) - 1
    ]
    left = earlier[0].cache_read_input_tokens + earlier[0].cache_creation_input_tokens if earlier else 0
    return left, usage.cache_read_input_tokens, usage.cache_creation_input_tokens


def _sent_together() -> tuple[int, int]:
    """Read and written by the second of two equal requests, both sent before either is answered."""
    from ctxlab import tokens
    from ctxlab.cache import Layout, PromptCache
    from ctxlab.clock import ManualClock

    body = _again(agent(rules=1_701), text("who", 31), 88)[0]
    prompt = Prompt.from_request(body)
    held = PromptCache(ManualClock())
    layout = Layout.from_prompt(prompt, tokens.count(prompt, body["model"], counter=words), rules=held.rules)
    plans = [held.lookup(layout), held.lookup(layout)]
    for plan in plans:
        held.commit(plan)
    usage = plans[1].usage()
    return usage.cache_read_input_tokens, usage.cache_creation_input_tokens


def patients() -> Table:
    """Eight second requests: what was in the cache before, the pause, both counters, what is known."""
    from ctxlab import recordings
    from ctxlab.figures import table

    rows = []
    for name, (_, _, source, idle, known) in _PATIENTS.items():
        if ":" in source:
            session, _, index = source.rpartition(":")
            idle_s = recordings.session(session).turns[int(index)].gap_s or 0
            idle = f"{idle_s:,.0f} s"
        left, read, written = _chart(name)
        if name == "P1":
            usage = recordings.exchange(source).usage
            assert usage is not None
            known = f"first request: {usage.total_input_tokens:,} tokens, the last 3 behind the marker; "
            known += f"the floor is {_FLOOR:,}"
        rows.append((name, left or "", idle, read, written, known))
    header = ("patient", "left by the request before", "idle", "read", "written", "known of the bytes")
    caption = "Eight requests. Which are ill, and with what?"
    source = "Claude 3.5 Sonnet to Sonnet 5, 2025 and 2026; P8 is emulated"
    return table(rows, header, caption=caption, labelled="recorded", source=source)


def told_by_the_api() -> Table:
    """What cache diagnostics said in recorded traffic, beside what the counters say."""
    from ctxlab import recordings
    from ctxlab.figures import table

    rows = []
    for one in recordings.sessions():
        for before, now in pairwise(one.turns):
            reason = (now.diagnostics or {}).get("cache_miss_reason")
            if not reason:
                continue
            left = before.usage.cache_read_input_tokens + before.usage.cache_creation_input_tokens
            read, written = now.usage.cache_read_input_tokens, now.usage.cache_creation_input_tokens
            missed = reason.get("cache_missed_input_tokens", "")
            rows.append((reason["type"], missed, left, read, written))
    header = ("cache_miss_reason", "cache_missed_input_tokens", "left before", "read", "written")
    caption = "What the API said, and what it read"
    return table(
        rows,
        header,
        caption=caption,
        labelled="recorded",
        source="agent sessions, Claude Sonnet 5 and Opus 4.7",
    )


# --- predictions

_RENDER_ORDER = "The cache compares bytes as sent: tools, then system, then messages."


def _fields() -> tuple[Field, ...]:
    return (
        Field("read", "read from the cache", "tokens"),
        Field("written", "written to the cache", "tokens"),
    )


def _of_run(result: Any) -> dict[str, int]:
    usage = result[1]
    return {"read": usage.cache_read_input_tokens, "written": usage.cache_creation_input_tokens}


def _as_if_identical(number: str) -> dict[str, int]:
    plan = _plan(number)
    return _up_to(number, plan.layout.markers[-1].position + 1)


PREDICTIONS = (
    Prediction(
        id="03-a",
        question="What do the two sorted dumps show, and what does the second request read and write?",
        fields=_fields(),
        options=(
            Option("A", "They differ inside the call, and nothing is read", "sorted-dumps-show-the-bug"),
            Option("B", "They are identical, and everything is read", "identical-dumps-hit"),
            Option("C", "They are identical, and it reads up to the call", "reads-up-to-the-change"),
            Option("D", "They are identical, and nothing is read"),
        ),
        truth=lambda: _figures("03-a"),
        read_result=_of_run,
        misconceptions={
            "identical-dumps-hit": lambda: _as_if_identical("03-a"),
            "reads-up-to-the-change": lambda: _up_to("03-a", _shared("03-a")),
        },
        rule="as-sent",
        rule_sentence="The cache compares bytes as they are sent; a dump with sorted keys hides their order.",
        evidence="emulated",
        source="this notebook's own requests",
        uses=("lost/call-key-order", "entries-at-markers"),
        picture=lambda result: _strips("03-a"),
        why="Sorting the keys removed the difference from the dumps, not from the requests, and the cache "
        "compares what is sent. The only entry ends behind the call. Python keeps keys in the order in which "
        "they were put in; some stores and languages do not.",
    ),
    Prediction(
        id="03-b",
        question="What does the second request read and write, and where do the sorted dumps first differ?",
        fields=_fields(),
        options=(
            Option(
                "A",
                "It reads all that was stored; the dumps first differ in `messages`",
                "a-tool-is-appended",
            ),
            Option("B", "It reads nothing; the dumps first differ in `messages`"),
            Option(
                "C", "It reads the first tool; the dumps first differ in `tools`", "reads-up-to-the-change"
            ),
            Option("D", "It reads nothing; the dumps first differ in `tools`", "sorted-dumps-show-the-bug"),
        ),
        truth=lambda: _figures("03-b"),
        read_result=_of_run,
        misconceptions={
            "a-tool-is-appended": lambda: _appended_tool(),
            "reads-up-to-the-change": lambda: _up_to("03-b", 1),
        },
        rule="render-order",
        rule_sentence=_RENDER_ORDER,
        evidence="emulated",
        source="this notebook's own requests",
        uses=("exact-prefix", "entries-at-markers"),
        picture=lambda result: _strips("03-b"),
        why="A tool at the end of its list still stands in front of the system prompt and of every message. "
        "So the first difference is a new block in the middle of the request. The sorted dump has another "
        "order: it finds the turn that was rightly added.",
    ),
    Prediction(
        id="03-c",
        question="What do the same 20 turns cost with the clock behind the marker?",
        fields=(Field("usd", "20 turns", "usd"),),
        options=(
            Option("A", "1 % less: the clock is 8 tokens of some ten thousand", "few-tokens-little-money"),
            Option("B", "A fifth less: the surcharge for writing falls away", "a-miss-is-the-surcharge"),
            Option("C", "About a tenth of it: only what is new is still written"),
            Option("D", "About a twenty-fifth of it: all is read at a twentieth", "all-is-read"),
        ),
        truth=lambda: {"usd": session_usd(4)},
        read_result=lambda usd: {"usd": usd},
        misconceptions={
            "few-tokens-little-money": lambda: {"usd": session_usd(1) * Decimal("0.99")},
            "a-miss-is-the-surcharge": lambda: {"usd": session_usd(1) * Decimal("0.8")},
            "all-is-read": lambda: {"usd": session_usd(1) / 25},
        },
        rule="volatile-behind-marker",
        rule_sentence="What changes on every turn costs its own tokens behind the marker, and everything "
        "behind it anywhere else.",
        evidence="emulated",
        source="20 turns of this notebook's own",
        uses=("exact-prefix", "entries-at-markers"),
        picture=lambda result: _two_places(),
        why="Behind the last marker the clock spoils nothing: each turn writes only what it adds.",
    ),
    Prediction(
        id="03-exit",
        question="What do the two sorted dumps show, and what does the second request read and write?",
        fields=_fields(),
        options=(
            Option("A", "They are identical, and everything is read", "identical-dumps-hit"),
            Option("B", "They are identical, and it reads up to the system prompt"),
            Option("C", "They are identical, and it reads up to the call", "reads-up-to-the-change"),
            Option("D", "They are identical, and nothing is read", "one-change-loses-all"),
        ),
        truth=lambda: _figures("03-exit"),
        read_result=_of_run,
        misconceptions={
            "identical-dumps-hit": lambda: _as_if_identical("03-exit"),
            "reads-up-to-the-change": lambda: _up_to("03-exit", _shared("03-exit")),
            "one-change-loses-all": lambda: _up_to("03-exit", 0),
        },
        rule="as-sent",
        rule_sentence="The cache compares bytes as sent; what survives was marked in front of the change.",
        evidence="emulated",
        source="the same step of a larger agent",
        uses=("lost/call-key-order", "entries-at-markers"),
        picture=lambda result: _strips("03-exit"),
        why="The entry behind the system prompt ends in front of the call, so it is still found.",
    ),
)


def _appended_tool() -> dict[str, int]:
    """Somebody who takes the new tool for an addition: all that the first request stored is read."""
    first = run_bodies([one_more_of_both()[0]])[0]
    read = first.usage().cache_creation_input_tokens
    return {"read": read, "written": sum(_figures("03-b").values()) - read}


# --- exercises


def _verdict_cases(rng: random.Random) -> list[Case]:
    words = OneOf(tuple(VERDICTS))
    offered = [Case("one-of-the-verdicts", (name,), words, spec=str(words)) for name in _PATIENTS]
    return offered + [
        Case(rule, (name,), verdict, label=f"patient {name}", hidden=True)
        for name, (verdict, rule, *_) in _PATIENTS.items()
    ]


def _difference_cases(rng: random.Random) -> list[Case]:
    base: dict[str, Any] = {"tools": [LOOKUP, LOG], "system": [text("rule", rng.randrange(5, 60))]}
    why, so = user(text("why", 9)), {"role": "assistant", "content": "so so"}
    messages = [why, _call(1, AS_SENT), user(_result(1, 8))]
    talk = {**base, "messages": messages}
    other_order = {**base, "messages": [why, _call(1, FROM_THE_STORE), user(_result(1, 8))]}
    deep = rng.randrange(3, 9)
    turns = [user(text(f"turn{n}", 4)) for n in range(deep + 3)]
    edited = [*turns[:deep], user(text("other", 4)), *turns[deep + 1 :]]
    fewer = {**talk, "tools": [LOOKUP]}
    grown = {**talk, "messages": [*messages, so, why]}
    swapped = {**grown, "tools": [LOG, LOOKUP]}
    cleared = {**grown, "system": [text("rule", 3)]}
    both = {**swapped, "messages": [user(text("who", 9)), *grown["messages"][1:]]}
    backwards = [dict(reversed(body.items())) for body in (talk, both)]
    two_rules = {**grown, "system": [*grown["system"], text("also", 5)]}
    no_system = {key: grown[key] for key in ("messages", "tools")}
    turned = [*messages[:2], {**messages[2], "role": "system"}]
    return [
        Case("render-order", (talk, swapped), ("tools", 0), label="other order of tools, one more turn"),
        Case("render-order", (fewer, grown), ("tools", 1), label="one more tool, one more turn"),
        Case("render-order", (talk, cleared), ("system", 0), label="another system prompt, one more turn"),
        Case("render-order", (talk, both), ("tools", 0), label="other tools, and an edited message"),
        Case("render-order", tuple(backwards), ("tools", 0), label="bodies that begin with their messages"),
        Case("render-order", (talk, two_rules), ("system", 1), label="one more system block, one more turn"),
        Case("render-order", (no_system, grown), ("system", 0), label="a system prompt where there was none"),
        Case("as-sent", (talk, other_order), ("messages", 1), label="the keys of a call", hidden=True),
        Case(
            "as-sent",
            ({"system": [], "messages": turns}, {"system": [], "messages": edited}),
            ("messages", deep),
            label="an edited message",
        ),
        Case(
            "as-sent",
            (talk, {**talk, "messages": turned}),
            ("messages", 2),
            label="the same content in another role",
        ),
        Case("appended-is-no-difference", (talk, grown), "nothing", label="one more turn"),
        Case("appended-is-no-difference", (talk, talk), "nothing", label="the same request twice"),
        Case(
            "shortened",
            (grown, talk),
            ("messages", len(messages)),
            label="a turn was dropped from the end",
        ),
        Case("shortened", (talk, {**grown, "tools": [LOOKUP]}), ("tools", 1), label="one tool less"),
        Case("shortened", (talk, no_system), ("system", 0), label="a system prompt that is gone"),
    ]


def _same_place(got: Any, expected: Any) -> bool:
    return bool(spelt(got) == expected) if expected == "nothing" else list(got) == list(expected)


_QUESTION, _PICTURE = "What time is it?", "The clock on the wall has stopped."
_NOW = "Now: 2026-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:{second:02d}"


def _clock_cases(rng: random.Random) -> list[Case]:
    cases: list[Case] = []
    for turns, label in ((1, "a first question"), (3, "a later turn"), (2, "a question of two blocks")):
        now = _NOW.format(
            month=rng.randrange(1, 13),
            day=rng.randrange(1, 28),
            hour=rng.randrange(24),
            minute=rng.randrange(60),
            second=rng.randrange(60),
        )
        talk = [user(text("first", 9)), {"role": "assistant", "content": "so so"}] * (turns - 1)
        rules = "Answer briefly. " * rng.randrange(300, 900)
        before = [{"type": "text", "text": _PICTURE}] if turns == 2 else []
        args = (rules, [*talk, user(*before, {"type": "text", "text": _QUESTION})], now)
        lost = "rules, messages and the time, word for word, and no answer put into the model's mouth"
        cases += [
            Case("nothing-lost", args, args, label=label, spec=lost),
            Case(
                "marked",
                args,
                "marked",
                label=label,
                spec="the last marker on the question or behind",
            ),
            Case(
                "volatile-behind-marker",
                args,
                ("behind", *args),
                label=label,
                spec="the whole time behind the last marker",
            ),
        ]
    return cases


def _texts(request: Any) -> list[tuple[str, bool]]:
    """Text and marker of every block, in render order."""
    blocks = Prompt.from_request({"model": MODEL, "max_tokens": 9, **request}).blocks
    return [(block.wire_bytes.decode(), block.cache_control is not None) for block in blocks]


def _clock_moved(got: Any, expected: Any) -> bool:
    blocks = _texts(got)
    marks = [at for at, (_, is_marked) in enumerate(blocks) if is_marked]
    if got.get("cache_control"):  # the automatic one stands on the last block
        marks.append(len(blocks) - 1)
    if expected == "marked":
        question = max(at for at, (words, _) in enumerate(blocks) if _QUESTION in words)
        return bool(marks) and marks[-1] >= question
    rules, messages, now = expected[-3:]
    said = [block.wire_bytes.decode() for block in Prompt.from_request({"messages": messages}).blocks]
    sent = [words for words, _ in blocks]
    if expected[0] == "behind":
        own = [words.replace(_as_json(rules), "") for words in sent[: marks[-1] + 1] if words not in said]
        return not any(set(_DIGITS.findall(words)) & set(_DIGITS.findall(now)[1:]) for words in own)
    if got["messages"][-1]["role"] == "assistant":
        return False
    return all(sent.count(one) >= said.count(one) for one in said) and all(
        any(_as_json(text) in words for words in sent) for text in (rules, now)
    )


_DIGITS = re.compile(r"\d+")


def _as_json(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)[1:-1]


_MODES = ["slow", "normal", "fast"]


def _tool(name: str, required: Sequence[str]) -> dict[str, Any]:
    properties = {
        "mode": {"type": "string", "enum": [*_MODES]},
        "path": {"type": "string"},
        "q": {"type": "string"},
    }
    schema = {"type": "object", "properties": properties, "required": [*required]}
    return {"name": name, "description": _DESCRIPTIONS[name], "input_schema": schema}


_DESCRIPTIONS = {
    "find": "What is where?",
    "list": "Names of files.",
    "read": "One file, as it is.",
    "write": "A new file.",
}


def _sorting_cases(rng: random.Random) -> list[Case]:
    cases = []
    for _ in range(2):
        required = {
            name: rng.sample(["mode", "path", "q"], number)
            for name, number in zip(sorted(_DESCRIPTIONS), (3, 2, 2, 1), strict=True)
        }
        tools = [_tool(name, required[name]) for name in rng.sample(sorted(required), 4)]
        messages = [user(text(word, 3)) for word in ("you", "are", "first")]
        asked = {"model": MODEL, "max_tokens": 9, "tools": tools, "messages": messages}
        done = {
            **asked,
            "tools": [_tool(name, sorted(required[name])) for name in sorted(required)],
        }
        cases += [
            Case(
                "nothing-lost", (asked,), {"count": [len(tools), len(messages)]}, label="tools and messages"
            ),
            Case("order-bearing", (asked,), {"messages": messages, "enum": _MODES}, label="what bears order"),
            Case(
                "set-like",
                (asked,),
                done,
                label="tools and `required`",
                spec="tools by name, `required` sorted",
            ),
        ]
    return cases


def _sorted_right(got: Any, expected: Any) -> bool:
    if "count" in expected:
        return same([len(got["tools"]), len(got["messages"])], expected["count"])
    if "enum" in expected:
        enums = [tool["input_schema"]["properties"]["mode"]["enum"] for tool in got["tools"]]
        return same([got["messages"], *enums], [expected["messages"], *[expected["enum"]] * len(enums)])
    return same(got, expected)


AGENT = """\
import json, logging, uuid
from datetime import date, datetime

log = logging.getLogger(__name__)
TOPICS = {"billing", "returns", "shipping"}
RULES = "You answer questions about our shop."

def build_system(customer):
    topics = ", ".join(TOPICS)
    today = f"Today is {date.today()}."
    return [{"type": "text", "text": f"{RULES} Topics: {topics}. {today}"}]

def ask(client, history, question):
    log.info("asked at %s", datetime.now())
    said = {"type": "text", "text": question, "cache_control": {"type": "ephemeral"}}
    now = {"type": "text", "text": f"It is {datetime.now():%H:%M:%S}."}
    return client.messages.create(
        model="claude-opus-5-5", max_tokens=500, system=build_system("anyone"),
        messages=[*history, {"role": "user", "content": [said, now]}],
        metadata={"user_id": str(uuid.uuid4())})
"""
"""The first of three broken agents, as source."""

CLOCK_IN_FRONT = """\
from datetime import datetime

RULES = "You answer questions about our shop."

def ask(client, history):
    now = f"It is {datetime.now():%H:%M}."
    return client.messages.create(
        model="claude-opus-5-5", max_tokens=500, system=f"{now} {RULES}", messages=history)
"""
"""An agent with the classic bug, for the last cell: it gives no exercise away."""

_CULPRIT, _SET_NAME = "TOPICS)", "TOPICS ="


def numbered_agent() -> None:
    """Print the source of the first agent with line numbers."""
    for number, line in enumerate(AGENT.splitlines(), 1):
        print(f"{number:2}  {line}".rstrip())


def agent_requests() -> tuple[Body, Body]:
    """Two requests of the second agent: of all that differs, one thing ends the prefix."""
    required = ("path", "q"), ("q", "path")
    first, second = (
        {**agent(), "tools": [LOOKUP, _tool("read", order)], "system": "rule " * 1_389} for order in required
    )
    why = text("why", 48)
    first["messages"] = [user(marked(why))]
    second["system"] = [text("rule", 1_389)]
    second["messages"] = [
        {"role": "user", "content": why["text"]},
        {"role": "assistant", "content": "so " * 58},
        user(marked(text("then", 28))),
    ]
    return first, second


_STEPS = ((0, 8), (40, 12), (250, 20), (30, 90), (200, 150), (235, 110), (285, 6), (120, 9))
"""Seconds of silence before each turn of the third agent, and how long its answer took."""


def _timed() -> list[tuple[float, Plan]]:
    """Start and plan of each turn of the third agent."""
    asked: list[Asked] = []
    starts: list[float] = []
    now = 0.0
    for turn, (silence_s, _) in enumerate(_STEPS):
        begun = now + silence_s
        pause_s = begun - (starts[-1] if starts else 0.0)
        starts.append(begun)
        now = begun + _STEPS[turn][1]
        pieces = [*_STABLE, *(Piece(f"turn {past}", 400) for past in range(turn + 1))]
        asked.append(Asked(tuple(pieces), {len(pieces) - 1: "5m"}, pause_s=pause_s))
    return list(zip(starts, run_pieces(asked), strict=True))


def agent_times() -> Table:
    """The turns of the third agent: silence since the last answer, how long each answer took."""
    from ctxlab.figures import table

    rows = [(turn, silence_s, answer_s) for turn, (silence_s, answer_s) in enumerate(_STEPS, 1)]
    header = ("turn", "seconds since the last answer ended", "seconds the answer took")
    return table(
        rows, header, caption="Eight turns, entries of five minutes, no byte changed", labelled="scripted"
    )


def _culprit_cases(rng: random.Random) -> list[Case]:
    line = next(number for number, one in enumerate(AGENT.splitlines(), 1) if _CULPRIT in one)
    found = first_difference(*map(Prompt.from_request, agent_requests()))
    assert found is not None
    late = [turn for turn, (_, plan) in enumerate(_timed(), 1) if turn > 1 and not plan.read_tokens]
    return [
        Case("set-order", ("line of the source",), line, hidden=True),
        Case("render-order", ("path in the requests",), found.path.split(".")[0], hidden=True),
        Case("lifetime-from-start", ("turns that read nothing",), late, hidden=True),
    ]


def _culprit(got: Any, expected: Any) -> bool:
    if isinstance(expected, str):
        return bool("".join(str(got).lower().split()).removeprefix("request.").startswith(expected))
    numbers = _numbers(got)
    if isinstance(expected, list):
        return sorted({turn for turn in numbers if turn != 1}) == expected
    (line,) = numbers
    return line == expected or (line > 0 and _SET_NAME in AGENT.splitlines()[line - 1])


def _numbers(got: Any) -> list[int]:
    """The numbers of an answer: one, several, or those in a text such as ``line 9`` or ``6, 7``."""
    found = _DIGITS.findall(got) if isinstance(got, str) else [got] if isinstance(got, int | float) else got
    return [int(one) for one in found]


EXERCISES = (
    Exercise(
        id="03-1",
        title="eight patients",
        asks=("verdicts",),
        answers=True,
        rules={
            "one-of-the-verdicts": "Each verdict is one of the seven that are listed, in quotes.",
            "nothing-stored": "Two zeros: no marker took effect, or the prefix is below the floor.",
            "alive": "What was left is read, and no more is written than was added.",
            "expired": "The pause, counted from start to start, is longer than the entry lives.",
            "bytes-changed": "A byte in front of a young entry changed: only what stands before it is read.",
            "late-change": "Something changed, yet nearly all is read: the change lies behind the entry.",
            "visible-once-answering": "An entry can be read once the answer to its request has begun.",
            "evidence-first": "Same bytes, young entry, still written again: no evidence against your code.",
        },
        cases=_verdict_cases,
        compare=same_spelt,
    ),
    Exercise(
        id="03-2",
        title="the first difference",
        asks=("first_difference",),
        rules={
            "render-order": _RENDER_ORDER,
            "as-sent": "Keys in another order are other bytes: compare without sorting.",
            "appended-is-no-difference": "What stands behind the earlier request is new, not different.",
            "shortened": "Where the later request ends early, that is the place.",
        },
        cases=_difference_cases,
        compare=_same_place,
    ),
    Exercise(
        id="03-3",
        title="where the clock goes",
        asks=("with_clock",),
        rules={
            "nothing-lost": "Rules, messages and the time of day are all sent, word for word.",
            "marked": "The conversation is marked up to the question, so that the next turn reads it.",
            "volatile-behind-marker": "All of the time stands behind the last marker, and no part in front.",
        },
        cases=_clock_cases,
        compare=_clock_moved,
        home=True,
    ),
    Exercise(
        id="03-4",
        title="sort what is a set",
        asks=("steady",),
        rules={
            "nothing-lost": "No tool and no message is lost.",
            "order-bearing": "Messages stay in their order, and so do the values of an enum.",
            "set-like": "Tools are sorted by name, and each `required` list is sorted.",
        },
        cases=_sorting_cases,
        compare=_sorted_right,
        home=True,
    ),
    Exercise(
        id="03-5",
        title="three broken agents",
        asks=("culprits",),
        answers=True,
        rules={
            "set-order": "A set of strings has another order in each process.",
            "render-order": _RENDER_ORDER,
            "lifetime-from-start": "An entry's time runs from the start of the request that used it last.",
        },
        cases=_culprit_cases,
        compare=_culprit,
        home=True,
    ),
)
