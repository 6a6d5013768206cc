"""Questions and exercises of notebook 02, caching breakpoints.

Truths come from the cache model or from recordings when they are asked for. The learner runs the same
requests through the emulator and the real client; ``reveal`` compares the two.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ctxlab import breakpoints
from ctxlab.checks.chosen import OneOf, same_spelt, spelt
from ctxlab.checks.exercises import Case, Exercise
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
    drawable,
    marked,
    names,
    run_bodies,
    run_pieces,
    strip,
    text,
    user,
    words,
)
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import Prompt

if TYPE_CHECKING:
    from ctxlab.cache import Plan, Ttl
    from ctxlab.figures import Figure, Table
    from ctxlab.usage import Usage

__all__ = ["EXERCISES", "LOOKUP", "PREDICTIONS", "words"]

AT_THE_FLOOR = "ellmer/2025-11-12__e90847a__anthropic-tool-image#1"
ONE_MORE = "ellmer/2025-11-13__e38e181__anthropic-tool-image#1"
LOOP = "crush/update_a_file"
MARK = "MARK"

# --- the requests of the notebook


_WHY = text("why", 48)
_SO = {"role": "assistant", "content": "so " * 58}


def _two_turns() -> tuple[Body, Body]:
    """A conversation whose marker moves from the first question to the second."""
    first = {**agent(), "messages": [user(marked(_WHY))]}
    second = {**agent(), "messages": [user(_WHY), _SO, user(marked(text("then", 28)))]}
    return first, second


def _after_lookback() -> tuple[Body, Body, Body]:
    """A request with its system prompt marked; then 25 texts, or 30 tool blocks, marked at the end."""
    base = agent()
    started = {**base, "system": [marked(base["system"][0])], "messages": [user(_WHY)]}
    lines = [{"type": "text", "text": f"line {i} all quiet on the east side"} for i in range(25)]
    texts = {**base, "messages": [user(_WHY), _SO, user(*lines[:-1], marked(lines[-1]))]}
    calls = [
        {"type": "tool_use", "id": f"toolu_{i}", "name": "lookup", "input": {"q": f"line {i}"}}
        for i in range(15)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "all quiet on the east side"}
        for call in calls
    ]
    answer = {"role": "assistant", "content": calls}
    tools = {**base, "messages": [user(_WHY), answer, user(*results[:-1], marked(results[-1]))]}
    return started, texts, tools


def tool_loop() -> tuple[Body, Body]:
    """Two steps of a tool loop, for the exit question: the marker moves from one result to the next."""
    base = agent("claude-sonnet-5-5", rules=2_289)

    def call(number: int) -> dict[str, Any]:
        used = {"type": "tool_use", "id": f"toolu_{number}", "name": "lookup", "input": {"q": "the log"}}
        return {"role": "assistant", "content": [used]}

    def result(number: int, rows: int) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "row " * rows}

    asked = user(text("who", 28))
    first = {**base, "messages": [asked, call(1), user(marked(result(1, 177)))]}
    after = [asked, call(1), user(result(1, 177)), call(2), user(marked(result(2, 277)))]
    return first, {**base, "messages": after}


@cache
def _plans(number: str) -> tuple[Plan, ...]:
    """The last requests of a prediction, as the cache model answers them."""
    if number == "02-c":
        started, texts, tools = _after_lookback()
        return run_bodies([started, texts])[1], run_bodies([started, tools])[1]
    first, second = _two_turns() if number == "02-a" else tool_loop()
    return (run_bodies([first, second])[1],)


def _sizes(plan: Plan) -> list[int]:
    sizes = [position.cumulative_tokens or 0 for position in plan.layout.positions]
    return [size - before for before, size in pairwise([0, *sizes])]


def _figures(plan: Plan) -> dict[str, int]:
    usage = plan.usage()
    return {
        "read": usage.cache_read_input_tokens,
        "written": usage.cache_creation_input_tokens,
        "fresh": usage.input_tokens,
    }


# --- what the notebook shows


def reasons(first: Body, second: Body) -> None:
    """Print why the second request read and wrote what it did, a line for each marker."""
    plan = run_bodies([first, second])[1]
    print(*plan.reasons, sep="\n")


def recorded_loop() -> Table:
    """A recorded tool loop: each request reads what the one before read and wrote."""
    from ctxlab import recordings
    from ctxlab.figures import table

    rows, left = [], 0
    for exchange in recordings.exchanges():
        if exchange.sequence == LOOP and exchange.step and exchange.usage is not None:
            usage = exchange.usage
            read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
            rows.append((exchange.step, left or "", read, written, usage.input_tokens))
            left = read + written
    header = ("request", "read + written before", "read", "written", "fresh")
    caption = "Each request reads what the one before it read and wrote"
    return table(rows, header, caption=caption, labelled="recorded", source=f"{LOOP}, Claude Sonnet 4.6")


def floors_table() -> Table:
    """Per model: the longest marked prompt that was not stored, the shortest prefix that was, the floor."""
    from ctxlab import recordings
    from ctxlab.catalogue import get_model
    from ctxlab.figures import table

    longest: dict[str, int] = {}
    shortest: dict[str, int] = {}
    for exchange in recordings.exchanges():
        usage, name = exchange.usage, exchange.model_id
        if usage is None or name is None or exchange.evidence != "recorded":
            continue
        cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens
        marked_last = bool(exchange.blocks) and exchange.blocks[-1].cache_control is not None
        model = get_model(name).id
        if cached:
            shortest[model] = min(cached, shortest.get(model, cached))
        elif marked_last:
            longest[model] = max(usage.total_input_tokens, longest.get(model, 0))
    rows = [
        (model, longest[model], shortest[model], get_model(model).min_cacheable_tokens)
        for model in sorted(set(longest) & set(shortest))
        if get_model(model).min_cacheable_tokens
    ]
    header = ("model", "longest prompt not stored", "shortest prefix stored", "documented floor")
    caption = "Prompts marked at their end: some are too short"
    return table(rows, header, caption=caption, labelled="recorded")


def lookback_reported() -> Table:
    """What somebody measured on the API beside what the emulator says of this notebook's own requests."""
    from ctxlab import recordings
    from ctxlab.figures import table

    started, texts, tools = _after_lookback()
    one = texts["messages"][-1]["content"][0]
    told = {
        "1 text block": (
            "reported/lookback-text-blocks#1",
            {**texts, "messages": _with_one(texts, marked(one))},
        ),
        "25 text blocks": ("reported/lookback-text-blocks#2", texts),
        "15 calls and 15 results": ("reported/lookback-parallel-tools#1", tools),
    }
    rows = []
    for between, (exchange, body) in told.items():
        figures = recordings.exchange(exchange).figures
        ours = _figures(run_bodies([started, body])[1])
        read, written = figures["cache_read_input_tokens"], figures["cache_creation_input_tokens"]
        rows.append((between, read, written, ours["read"], ours["written"]))
    header = (
        "behind the entry",
        "read, reported",
        "written, reported",
        "read, emulated",
        "written, emulated",
    )
    caption = "Two prompts of different size, one rule"
    return table(rows, header, caption=caption, labelled="reported", source="emulated beside it")


def _with_one(body: Body, block: Body) -> list[Body]:
    """The messages of a body with this one block in the last of them."""
    return [*body["messages"][:-1], user(block)]


def after_a_pause(marker: int = 3, lifetime: int = 5, pause: int = 4) -> Figure:
    """The second of two requests that begin alike: which of five blocks is marked, two times in minutes."""
    from ctxlab.figures import usd

    ttl: Ttl = "5m" if lifetime == 5 else "1h"
    shared = (Piece("tools", 600, "tools"), Piece("system", 1_500, "system"), Piece("document", 2_000))

    def ask(number: int) -> Asked:
        own = (Piece(f"question {number}", 60), Piece(f"clock {number}", 40))
        return Asked((*shared, *own), {marker - 1: ttl}, pause_s=60.0 * pause)

    first, second = run_pieces([ask(1), ask(2)])
    read = second.read_tokens
    found = f"it reads {read:,} tokens" if read else "it reads nothing"
    return strip(
        second,
        title=f"The first: {usd(bill_usd(first))}. Again after {pause} minutes: {usd(bill_usd(second))}",
        alt=f"With a {ttl} marker behind block {marker}, {pause} minutes after the first request, {found}.",
        called=["tools", "system", "document", "question", "clock"],
        bill=bill_usd(second),
    )


def idle_table() -> Table:
    """Recorded agent steps by idle time: did the next request still find what the one before left?"""
    from ctxlab import recordings
    from ctxlab.figures import table

    bins = {
        "5m": (("under 5 minutes", 300.0), ("5 to 6 minutes", 360.0), ("longer", float("inf"))),
        "1h": (("under 5 minutes", 300.0), ("5 to 60 minutes", 3_600.0), ("longer", float("inf"))),
    }
    found: Counter[tuple[str, str, bool]] = Counter()
    for session in recordings.sessions():
        ttl: str | None = None
        for before, now in pairwise(session.turns):
            ttl = _shortest_written(before.usage) or ttl
            left = before.usage.cache_read_input_tokens + before.usage.cache_creation_input_tokens
            grew = now.usage.total_input_tokens >= before.usage.total_input_tokens
            same = now.model_id == before.model_id and grew and not now.after_compaction
            if ttl in bins and same and now.gap_s is not None:
                span = next(name for name, end_s in bins[ttl] if now.gap_s < end_s)
                found[ttl, span, now.usage.cache_read_input_tokens * 100 >= left * 98] += 1
    rows = [
        (ttl, span, found[ttl, span, True], found[ttl, span, False])
        for ttl, spans in bins.items()
        for span, _ in spans
    ]
    header = ("written for", "idle since the answer", "found", "not found")
    caption = "What agents found again after a pause"
    source = f"{sum(found.values()):,} steps of agent sessions"
    return table(rows, header, caption=caption, labelled="recorded", source=source)


def _shortest_written(usage: Usage) -> str | None:
    """The lifetime of the last thing a request wrote (1h markers come first), None if it wrote nothing."""
    written = usage.cache_creation
    if written.ephemeral_5m_input_tokens:
        return "5m"
    if written.ephemeral_1h_input_tokens:
        return "1h"
    return "unknown" if written.unknown_ttl_input_tokens else None


def read_prices_table() -> Table:
    """What a read costs as a share of fresh input: which models, and since when."""
    from ctxlab.catalogue import models
    from ctxlab.figures import table

    priced: dict[str, list[tuple[str, str]]] = {}
    for model in models():
        if model.released and model.price_history:
            share = f"{float(model.price_history[-1].cache_read_multiplier):g}"
            priced.setdefault(share, []).append((str(model.released), model.id.removeprefix("claude-")))
    rows = [
        (share, min(found)[0], ", ".join(name for _, name in sorted(found)))
        for share, found in sorted(priced.items(), key=lambda item: min(item[1]))
    ]
    header = ("a read, times fresh input", "first model", "models")
    return table(rows, header, caption="What a read costs today", labelled="documented", source="list prices")


# --- the order of a request, over twenty turns

TURNS = 20
PARTS = ("tools", "system", "retrieved", "history", "turn")
DOCUMENT = ("tools", "system", MARK, "retrieved", "history", "turn")
_REPAIRED = ("tools", "system", MARK, "history", MARK, "retrieved", "turn")


def _turn(order: Sequence[str], number: int) -> Asked:
    """Turn ``number`` (from 0) of a conversation whose parts stand in this order."""
    history = [
        piece
        for past in range(number)
        for piece in (Piece(f"question {past}", 60), Piece(f"answer {past}", 340))
    ]
    parts = {
        "tools": [Piece("tools", 1_000, "tools")],
        "system": [Piece("system", 2_000, "system")],
        "retrieved": [Piece(f"documents for question {number}", 1_500)],
        "history": history,
        "turn": [Piece(f"question {number}", 60)],
    }
    pieces: list[Piece] = []
    markers: dict[int, Ttl] = {}
    for name in order:
        if name == MARK:
            markers[len(pieces) - 1] = "5m"
        else:
            pieces += parts[name]
    return Asked(tuple(pieces), markers)


def _twenty(order: Sequence[str]) -> tuple[Plan, Decimal]:
    """The last of twenty turns, and the input bill of all of them."""
    plans = run_pieces([_turn(order, number) for number in range(TURNS)])
    return plans[-1], sum(map(bill_usd, plans), start=Decimal(0))


def twenty_turns(order: Sequence[str]) -> Figure:
    """The last of twenty turns with the parts in this order, and what the input of all twenty costs."""
    from ctxlab.figures import usd

    last, total_usd = _twenty(order)
    figures = _figures(last)
    return strip(
        last,
        title=f"Turn {TURNS}: {', '.join(order)}",
        alt=f"In this order turn {TURNS} reads {figures['read']:,} tokens, writes {figures['written']:,} "
        f"and sends {figures['fresh']:,} fresh; {TURNS} turns cost {usd(total_usd)}.",
        called=[_part(position.path) for position in last.layout.positions],
        together=("history",),
        bill=f"{TURNS} turns: {usd(total_usd)}",
    )


def _part(name: str) -> str:
    if name in PARTS:
        return name
    return (
        "retrieved"
        if name.startswith("documents")
        else "turn"
        if name.endswith(f" {TURNS - 1}")
        else "history"
    )


# --- predictions


def _moved(number: str, options: tuple[Option, ...], source: str) -> Prediction:
    """A marker that moves with the conversation: the opening question, and the exit."""

    def block_alone() -> dict[str, int]:
        plan = _plans(number)[0]
        old, new = _old_and_new_marker(number)
        sizes = _sizes(plan)
        return {
            "read": sizes[old],
            "written": sizes[new],
            "fresh": (plan.layout.total_tokens or 0) - sizes[old] - sizes[new],
        }

    def marker_gone() -> dict[str, int]:
        figures = _figures(_plans(number)[0])
        return {"read": 0, "written": figures["read"] + figures["written"], "fresh": figures["fresh"]}

    def stays_fresh() -> dict[str, int]:
        figures = _figures(_plans(number)[0])
        return {"read": figures["read"], "written": 0, "fresh": figures["written"] + figures["fresh"]}

    return Prediction(
        id=number,
        question="How many tokens does the second request read from the cache, write to it, and send fresh?",
        fields=(
            Field("read", "read from the cache", "tokens"),
            Field("written", "written to the cache", "tokens"),
            Field("fresh", "fresh", "tokens"),
        ),
        options=options,
        truth=lambda: _figures(_plans(number)[0]),
        read_result=_of_usage,
        misconceptions={
            "a-marker-caches-its-block": block_alone,
            "old-markers-must-stay": marker_gone,
            "only-the-first-request-writes": stays_fresh,
        },
        rule="entries-at-markers",
        rule_sentence="A marker stores everything from the first block to the marked one; the entry "
        "outlives the marker.",
        evidence="emulated",
        source=source,
        agreement="4,846 of 5,186 recorded agent steps read exactly what the step before read and wrote.",
        uses=("entries-at-markers", "markers-may-move", "billing-positions"),
        picture=lambda result: _strip_of_moved(number),
        why="A marker does not store a block. It stores the prefix that ends there. "
        "The second marker looks back, finds the entry that ended at the first one, and writes the rest.",
    )


def _old_and_new_marker(number: str) -> tuple[int, int]:
    """The blocks of the second request on which the first one's marker stood, and its own."""
    layout = _plans(number)[0].layout
    old = run_bodies([_two_turns()[0] if number == "02-a" else tool_loop()[0]])[0].layout.markers[-1].position
    return old, layout.markers[-1].position


def _of_usage(usage: Any) -> dict[str, int]:
    return {
        "read": usage.cache_read_input_tokens,
        "written": usage.cache_creation_input_tokens,
        "fresh": usage.input_tokens,
    }


def _strip_of_moved(number: str) -> Figure:
    plan = _plans(number)[0]
    figures = _figures(plan)
    body = (_two_turns() if number == "02-a" else tool_loop())[1]
    return strip(
        plan,
        title="The second request",
        alt=f"Everything up to the old marker is read, {figures['read']:,} tokens; what came after it is "
        f"written, {figures['written']:,}.",
        called=names(Prompt.from_request(body)),
        bill=bill_usd(plan),
    )


def _written_by(name: str) -> int:
    from ctxlab import recordings

    usage = recordings.exchange(name).usage
    assert usage is not None
    return usage.cache_creation_input_tokens


def _marked_tokens() -> int:
    """The prompt of the request that was too short, less the three tokens behind its marker."""
    from ctxlab import recordings

    usage = recordings.exchange(AT_THE_FLOOR).usage
    assert usage is not None
    return usage.total_input_tokens - 3


def _lookback_figures() -> dict[str, int]:
    texts, tools = _plans("02-c")
    return {
        "texts_read": _figures(texts)["read"],
        "texts_written": _figures(texts)["written"],
        "tools_read": _figures(tools)["read"],
    }


def _of_two_usages(result: Any) -> dict[str, int]:
    texts, tools = result
    return {
        "texts_read": texts.cache_read_input_tokens,
        "texts_written": texts.cache_creation_input_tokens,
        "tools_read": tools.cache_read_input_tokens,
    }


def _strips_of_lookback() -> Pair:
    texts, tools = _plans("02-c")
    _, text_body, tool_body = _after_lookback()
    return Pair(
        strip(
            texts,
            title="25 text blocks: the entry is out of reach",
            alt="The marker looks at 20 positions and stops before it reaches the entry behind the system "
            "prompt, so everything is written again.",
            called=names(Prompt.from_request(text_body)),
            lookback=True,
            bill=bill_usd(texts),
        ),
        strip(
            tools,
            title="30 tool blocks: the entry is found",
            alt="Fifteen calls in a row are one position and so are fifteen results, so the marker reaches "
            "the entry behind the system prompt and reads it.",
            called=names(Prompt.from_request(tool_body)),
            lookback=True,
            bill=bill_usd(tools),
        ),
    )


def _as_if_read(names: Sequence[str]) -> Callable[[], dict[str, int]]:
    """The figures of somebody who thinks that of texts and tools those named find the entry."""

    def figures() -> dict[str, int]:
        texts, tools = _plans("02-c")
        prefix = _figures(tools)["read"]
        everything = _figures(texts)["written"]
        reads = "texts" in names
        return {
            "texts_read": prefix if reads else 0,
            "texts_written": everything - prefix if reads else everything,
            "tools_read": prefix if "tools" in names else 0,
        }

    return figures


PREDICTIONS = (
    _moved(
        "02-a",
        (
            Option("A", "It reads about 50: the block that was marked", "a-marker-caches-its-block"),
            Option(
                "B", "It reads nothing and writes it all: the old marker is gone", "old-markers-must-stay"
            ),
            Option("C", "It reads about 2 thousand and writes what is new"),
            Option(
                "D", "It reads about 2 thousand; what is new stays fresh", "only-the-first-request-writes"
            ),
        ),
        "this notebook's own requests",
    ),
    Prediction(
        id="02-b",
        question="How many tokens does this request write to the cache?",
        fields=(Field("written", "written to the cache", "tokens"),),
        options=(
            Option("A", "About a thousand: all but the last 3", "the-floor-is-for-the-prompt"),
            Option("B", "None yet: it is stored when it comes again", "stored-on-the-second-try"),
            Option("C", "None: what the marker covers is too short"),
            Option("D", "About a thousand: the whole prompt", "a-marker-takes-all"),
        ),
        truth=lambda: {"written": _written_by(AT_THE_FLOOR)},
        read_result=lambda usage: {"written": usage.cache_creation_input_tokens},
        misconceptions={
            "the-floor-is-for-the-prompt": lambda: {"written": _marked_tokens()},
            "a-marker-takes-all": lambda: {"written": _marked_tokens() + 3},
        },
        rule="floor",
        rule_sentence="A prefix below the model's floor is neither stored nor found. Both counters are 0, "
        "without an error.",
        evidence="recorded",
        source=f"{AT_THE_FLOOR}, 2025-11-12",
        picture=lambda result: floors_table(),
        why="The prefix ends at the marker: one token short of the floor. A prompt one token longer was "
        "recorded a day later, and its prefix was stored. Two zeros are the sign; no error and no warning "
        "comes with them. Most models since June 2026 store from 512 tokens on; older ones need 1,024 to "
        "4,096.",
    ),
    Prediction(
        id="02-c",
        question="What does the second request read in each case, and what does it write with the texts?",
        fields=(
            Field("texts_read", "25 text blocks: read", "tokens"),
            Field("texts_written", "25 text blocks: written", "tokens"),
            Field("tools_read", "30 tool blocks: read", "tokens"),
        ),
        options=(
            Option("A", "Both read the prefix: nobody touched it", "untouched-means-read"),
            Option("B", "Neither reads it: both put too many blocks behind it", "every-block-is-a-position"),
            Option("C", "Only the texts read it: tool blocks spoil it", "tool-blocks-spoil-the-prefix"),
            Option("D", "Only the tools read it: their blocks count for less"),
        ),
        truth=_lookback_figures,
        read_result=_of_two_usages,
        misconceptions={
            "untouched-means-read": _as_if_read(("texts", "tools")),
            "every-block-is-a-position": _as_if_read(()),
            "tool-blocks-spoil-the-prefix": _as_if_read(("texts",)),
        },
        rule="lookback",
        rule_sentence="A marker looks at 20 positions, its own first; a run of tool blocks is one position.",
        evidence="emulated",
        source="this notebook's own requests",
        agreement="All four experiments that were reported agree.",
        uses=("lookback",),
        picture=lambda result: _strips_of_lookback(),
        why="The entry is alive and the bytes are the same. From each marker the API walks back over at "
        "most 20 positions, the marker's own first. A run of tool calls is one position, and so is a run of "
        "results. The texts were too many: nobody looked as far back as the entry.",
    ),
    _moved(
        "02-exit",
        (
            Option(
                "A", "It reads about 3 thousand; what is new stays fresh", "only-the-first-request-writes"
            ),
            Option(
                "B", "It reads nothing and writes it all: the old marker is gone", "old-markers-must-stay"
            ),
            Option("C", "It reads about 200: the result that was marked", "a-marker-caches-its-block"),
            Option("D", "It reads about 3 thousand and writes what is new"),
        ),
        "two steps of a tool loop",
    ),
)


# --- exercises


def _second_question(body: Body) -> Plan:
    """The plan for the same body with another question behind it."""
    messages = [*body["messages"][:-1]]
    last = body["messages"][-1]
    asked = {**last["content"][-1], "text": "And what about the other one"}
    other = {**body, "messages": [*messages, {**last, "content": [*last["content"][:-1], asked]}]}
    return run_bodies([body, other])[1]


def _one_marker_cases(rng: random.Random) -> list[Case]:
    def body(rules: int, *blocks: Body, before: Sequence[Body] = (), more: int = 0) -> dict[str, Any]:
        system = [text("rule", rules), *([text("also", more)] if more else [])]
        return {"model": MODEL, "max_tokens": 200, "system": system, "messages": [*before, user(*blocks)]}

    question = text("why", 8)
    plain = body(2_053, question)
    with_document = body(rng.randrange(600, 3_000), text("page", rng.randrange(900, 4_000)), question)
    turns = [user(text("first", rng.randrange(9, 90))), {"role": "assistant", "content": [text("so", 40)]}]
    later = body(rng.randrange(600, 3_000), text("page", rng.randrange(900, 4_000)), question, before=turns)
    pages = [text(word, rng.randrange(900, 4_000)) for word in ("page", "leaf", "sheet")]
    two_rules = body(rng.randrange(600, 3_000), question, more=rng.randrange(100, 900))
    cases = []
    for one, label in (
        (plain, "a system prompt and a question"),
        (two_rules, "a system prompt of two blocks and a question"),
        (with_document, "a document before the question"),
        (body(rng.randrange(600, 3_000), *pages, question), "three documents before the question"),
        (later, "a later turn"),
    ):
        told = "one marker, `{'type': 'ephemeral'}`, and all else unchanged"
        cases.append(Case("one-marker", (one,), one, label=label, spec=told))
        best = _with_last_but_one(one) if len(one["messages"][-1]["content"]) > 1 else _with_rules_marked(one)
        figures = _figures(_second_question(best))
        expected = {"second question reads": figures["read"], "fresh": figures["fresh"]}
        cases.append(Case("mark-last-stable", (one,), expected, label=label))
    return cases


def _with_last_but_one(body: Body) -> dict[str, Any]:
    last = body["messages"][-1]
    *before, stays, question = last["content"]
    return {
        **body,
        "messages": [*body["messages"][:-1], {**last, "content": [*before, marked(stays), question]}],
    }


def _with_rules_marked(body: Body) -> dict[str, Any]:
    *before, last = body["system"]
    return {**body, "system": [*before, marked(last)]}


def _one_marker(got: Any, expected: Any) -> bool:
    if "messages" in expected:
        sent, asked = Prompt.from_request(got), Prompt.from_request(expected)
        same = [block.content_sha256 for block in sent.blocks] == [b.content_sha256 for b in asked.blocks]
        others = [{key: body[key] for key in body if key not in _OF_BLOCKS} for body in (got, expected)]
        set_here = [block.cache_control for block in sent.blocks if block.cache_control is not None]
        return same and others[0] == others[1] and [one.get("type") for one in set_here] == ["ephemeral"]
    figures = _figures(_second_question(got))
    return [figures["read"], figures["fresh"]] == list(expected.values())


_OF_BLOCKS = ("tools", "system", "messages")


@drawable
def _draw_second_question(case: Case, got: Any) -> object:
    plan = _second_question(got)
    figures = _figures(plan)
    return strip(
        plan,
        title="Your second question",
        alt=f"With your marker the second question reads {figures['read']:,} tokens and sends "
        f"{figures['fresh']:,} fresh.",
        called=names(Prompt.from_request(got)),
        bill=bill_usd(plan),
    )


def _order_cases(rng: random.Random) -> list[Case]:
    return [
        Case("every-part-once", (), sorted(PARTS), label="the five parts"),
        Case("render-order", (), ["tools", "system"], label="what the API reads first"),
        Case("four-slots", (), 4, label="the markers", spec="at most four, each behind a part"),
        Case("volatile-last", (), "retrieved", label="what changes on every turn", hidden=True),
        Case("mark-what-grows", (), _twenty(_REPAIRED)[1], label="dollars for 20 turns"),
    ]


def _ordered(got: Any, expected: Any) -> bool:
    order = _as_meant(got)
    parts = [name for name in order if name != MARK]
    if isinstance(expected, int):
        return order[0] != MARK and order.count(MARK) <= expected
    if expected == "retrieved":
        after = order[order.index("retrieved") :]
        return "history" not in after and MARK not in after
    if isinstance(expected, list):
        return parts[:2] == expected if len(expected) == 2 else sorted(parts) == expected
    return bool(_twenty(order)[1] <= expected * Decimal("1.01"))


def _as_meant(got: Any) -> list[Any]:
    """The parts of an order, in capitals or not, with blanks around them or not."""
    if isinstance(got, (str, Mapping, set, frozenset)):
        raise InvalidArgumentError(Problem("order", "a-list-of-parts", f"is a {type(got).__name__}"))
    words = [spelt(word) for word in got]
    return [MARK if word == MARK.lower() else word for word in words]


@drawable
def _draw_twenty(case: Case, got: Any) -> object:
    return twenty_turns(_as_meant(got))


def yours(order: Callable[[], Any]) -> Figure:
    """Twenty turns in the learner's order; in the document's, until there is one that can be sent."""
    try:
        return twenty_turns(_as_meant(order()))
    except Exception:  # half an order is drawn as little as none; the check says what is wrong with it
        return twenty_turns(DOCUMENT)


LOOP_STEPS = 40
_STEP_TOKENS = 500


def _loop(step: int, markers: Mapping[int, Any]) -> Asked:
    """Request of a step (from 0): tools, system, question, then a call and a result for each step before."""
    start = (Piece("tools", 1_500, "tools"), Piece("system", 2_500, "system"), Piece("question", 100))
    steps = [
        piece
        for past in range(step)
        for piece in (Piece(f"call {past}", 60, "call"), Piece(f"result {past}", _STEP_TOKENS - 60, "result"))
    ]
    return Asked((*start, *steps), markers)


def _in_the_loop(step: int, got: Sequence[int]) -> Plan:
    """The request of a step with these blocks marked, after steps that were marked at their end."""
    before = [_loop(past, {2 + 2 * past: "5m"}) for past in range(step)]
    return run_pieces([*before, _loop(step, dict.fromkeys(got, "5m"))])[-1]


def _loop_cases(rng: random.Random) -> list[Case]:
    steps = [0, 1, 2, LOOP_STEPS - 1, *sorted(rng.sample(range(3, LOOP_STEPS - 1), 3))]
    return [
        Case(
            "four-slots",
            (step,),
            range(3 + 2 * step),
            label=f"step {step} of {LOOP_STEPS}",
            spec=f"one to four numbers from 0 to {2 + 2 * step}",
        )
        for step in steps
    ] + [
        Case("moving-tail", (step,), step, label=f"step {step}: at most one step stays fresh", hidden=True)
        for step in steps
    ]


def _moves(got: Any, expected: Any) -> bool:
    numbers = set(got)
    if isinstance(expected, range):
        return 0 < len(numbers) <= 4 and all(number in expected for number in numbers)
    plan = _in_the_loop(expected, sorted(numbers))
    return (plan.fresh_tokens or 0) <= _STEP_TOKENS + 2


@drawable
def _draw_loop(case: Case, got: Any) -> object:
    from ctxlab.figures import table

    step = case.args[0]
    if len(set(got)) > 4:
        said = breakpoints.MARKER_RULES["four-markers"].wire or ""
        rows = [("400 invalid_request_error", said.format(found=len(set(got))))]
        return table(rows, ("status", "message"), caption="What the API answers", labelled="reported")
    plan = _in_the_loop(step, got)
    called = [position.path.split()[0] for position in plan.layout.positions]
    figures = _figures(plan)
    return strip(
        plan,
        title=f"Your step {step}",
        alt=f"With your markers step {step} reads {figures['read']:,} tokens and sends "
        f"{figures['fresh']:,} fresh.",
        called=called,
        lookback=True,
        bill=bill_usd(plan),
    )


@dataclass(frozen=True, slots=True)
class _Reaches:
    """Any block from which the entry is seen: its own, or one of the nineteen behind it."""

    entry: int
    tail: int

    def __repr__(self) -> str:
        return f"a block from which the entry at {self.entry} is seen"


def _rescue(entry: int, tail: int, extra: int | None) -> Plan:
    """A request of ``tail`` texts, marked at its end and at ``extra``, when an entry ends at ``entry``."""
    pieces = (Piece("block 1", 1_000), *(Piece(f"block {number}", 100) for number in range(2, tail + 1)))
    markers: dict[int, Ttl] = {tail - 1: "5m"}
    if extra is not None:
        markers[extra - 1] = "5m"
    return run_pieces([Asked(pieces[:entry], {entry - 1: "5m"}), Asked(pieces, markers)])[1]


def _rescue_cases(rng: random.Random) -> list[Case]:
    far, entry = rng.randrange(2, 30), rng.randrange(16, 60)
    pairs = {
        "reach-the-entry": [(1, 27), (2, 60), (far, far + rng.randrange(41, 90))],
        "lookback-counts-itself": [(15, 35), (entry, entry + 20), (entry, entry + 21)],
        "no-slot-wasted": [(15, 34), (entry, entry + 19), (entry, entry + rng.randrange(1, 19))],
    }
    return [
        Case(
            rule,
            pair,
            None if rule == "no-slot-wasted" else _Reaches(*pair),
            label=f"block {pair[1]} is marked",
        )
        for rule, of_rule in pairs.items()
        for pair in of_rule
    ]


def _rescued(got: Any, expected: Any) -> bool:
    if expected is None:
        return got is None
    if isinstance(got, bool) or int(got) != got:
        return False
    return bool(_rescue(expected.entry, expected.tail, int(got)).read_tokens)


@drawable
def _draw_rescue(case: Case, got: Any) -> object:
    entry, tail = case.args
    plan = _rescue(entry, tail, got)
    found = "reads it" if plan.read_tokens else "does not reach it"
    return strip(
        plan,
        title=f"An entry at block {entry}, the last marker at block {tail}",
        alt=f"With your markers the request {found}.",
        lookback=True,
        bill=bill_usd(plan),
    )


_NO_MARKER = "none"
_PAUSES: Sequence[tuple[str, int, int, int]] = (
    ("pays-back", 30, 5, 10),
    ("pays-back", 30, 5, 1),
    ("pays-back", 30, 5, 0),
    ("ended-is-written-again", 420, 10, 10),
    ("pays-back", 420, 10, 1),
    ("lifetime-from-start", 240, 60, 10),
    ("lifetime-from-start", 3_550, 60, 10),
)
"""What decides, the pause and the answer in seconds, and how many requests follow."""


def _told(pause_s: int, answer_s: int, reads: int) -> str:
    return f"{pause_s:,} s after an answer of {answer_s} s, {reads or 'none'} more"


def _lifetime_cases(rng: random.Random) -> list[Case]:
    words = OneOf(("5m", "1h", _NO_MARKER))
    offered = [Case("one-of-three-words", (_told(*row),), words, spec=str(words)) for _, *row in _PAUSES]
    best = [
        Case(rule, (_told(pause_s, answer_s, reads),), _best_lifetime(pause_s + answer_s, reads))
        for rule, pause_s, answer_s, reads in _PAUSES
    ]
    return [*offered, *best]


def _best_lifetime(gap_s: int, reads: int) -> str:
    return breakpoints.lifetime(MODEL, [gap_s] * reads).ttl or _NO_MARKER


EXERCISES = (
    Exercise(
        id="02-1",
        title="one marker",
        asks=("marked_request",),
        rules={
            "one-marker": "One marker is set, and the request is otherwise as it was.",
            "mark-last-stable": "The marker stands on the last block that will be sent again unchanged.",
        },
        cases=_one_marker_cases,
        compare=_one_marker,
        draw=_draw_second_question,
    ),
    Exercise(
        id="02-2",
        title="the expensive mistake",
        asks=("order",),
        rules={
            "every-part-once": "Each of the five parts is sent, once.",
            "render-order": "The API reads tools first, then the system prompt, then messages.",
            "four-slots": "A request carries at most four markers, each of them behind a part.",
            "volatile-last": "What is another text on every turn stands behind the history and behind "
            "every marker.",
            "mark-what-grows": "History only grows: a marker at its end lets the next turn read it.",
        },
        cases=_order_cases,
        compare=_ordered,
        draw=_draw_twenty,
    ),
    Exercise(
        id="02-3",
        title="a loop of forty steps",
        asks=("markers",),
        rules={
            "four-slots": "A request carries one to four markers, on blocks it has; a fifth is refused.",
            "moving-tail": "A marker moves along with the end, so that at most one step stays fresh.",
        },
        cases=_loop_cases,
        compare=_moves,
        draw=_draw_loop,
        home=True,
    ),
    Exercise(
        id="02-4",
        title="one marker more",
        asks=("rescue",),
        rules={
            "reach-the-entry": "The extra marker stands where its own 20 positions reach the entry.",
            "lookback-counts-itself": "A marker looks at 20 positions and is the first of them itself.",
            "no-slot-wasted": "Where the last marker reaches the entry by itself, no other is needed.",
        },
        cases=_rescue_cases,
        compare=_rescued,
        draw=_draw_rescue,
        home=True,
    ),
    Exercise(
        id="02-5",
        title="five minutes, an hour, or no marker",
        asks=("lifetimes",),
        answers=True,
        rules={
            "one-of-three-words": 'Each answer is `"5m"`, `"1h"` or `"none"`, in quotes.',
            "ended-is-written-again": "Where a pause outlasts an entry, it is written again at every "
            "request, at the price of a write.",
            "lifetime-from-start": "An entry's time runs from the start of the request, not from the "
            "end of its answer.",
            "pays-back": "A write is worth its price only if enough reads follow.",
        },
        cases=_lifetime_cases,
        compare=same_spelt,
        home=True,
    ),
)
