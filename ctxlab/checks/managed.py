"""Conversations that the server shortens: two turns, a compaction, forty turns under five policies.

Models: requests whose sizes are known to the token, sent through the emulator and the real client or laid out
for the prompt cache; strips of them; from which turn on a compaction pays.
Does not model: what a model does without what is gone. Summaries and replies are *scripted*, and so is their
length. The emulator clears anew on every request: whether a server remembers what it cleared is not said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxlab import cost
from ctxlab.catalogue import get_model
from ctxlab.checks.runs import (
    MODEL,
    Body,
    Pair,
    agent,
    bill_usd,
    marked,
    names,
    run_bodies,
    strip,
    text,
    user,
    words,
)
from ctxlab.clock import ManualClock
from ctxlab.effective import CLEAR_TOOL_USES, COMPACT, DEFAULT_KEEP_TOOL_USES, effective
from ctxlab.prompt import Prompt, first_difference
from ctxlab.usage import Iteration

if TYPE_CHECKING:
    from ctxlab.cache import Plan
    from ctxlab.emulator import Call
    from ctxlab.figures import Figure, Table

COMPACTING, EDITING = "compact-2026-01-12", "context-management-2025-06-27"
"""The headers of the two betas."""

_MTOK = 1_000_000


def emulated(**options: Any) -> tuple[Any, ManualClock]:
    """An emulator on a clock of its own that counts words, and that clock."""
    from ctxlab.emulator import Emulator

    clock = ManualClock()
    return Emulator(clock=clock, counter=words, **options), clock


def _call(number: int) -> dict[str, Any]:
    used = {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": "lookup",
        "input": {"q": f"page {number} of it"},
    }
    return {"role": "assistant", "content": [used]}


def _result(number: int, rows: int = 3_997) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "row " * rows}


def _looked_up(base: Body, uses: int, rows: int = 3_997) -> Body:
    """An agent that has looked up so many pages; rules and the last result are marked."""
    messages = [user(text("why", 48))]
    for number in range(1, uses + 1):
        messages += [_call(number), user(_result(number, rows))]
    messages[-1] = user(marked(_result(uses, rows)))
    return {**base, "system": [marked(base["system"][0])], "messages": messages}


def clearing(
    trigger_tokens: int, keep: int = DEFAULT_KEEP_TOOL_USES, *, at_least: int | None = None
) -> dict[str, Any]:
    """The setting that clears tool results beyond a trigger, all but the newest ``keep``.

    With ``at_least`` nothing is cleared where that would take out fewer tokens.
    """
    edit: dict[str, Any] = {
        "type": CLEAR_TOOL_USES,
        "trigger": {"type": "input_tokens", "value": trigger_tokens},
        "keep": {"type": "tool_uses", "value": keep},
    }
    if at_least is not None:
        edit["clear_at_least"] = {"type": "input_tokens", "value": at_least}
    return {"edits": [edit]}


def four_and_five() -> tuple[Body, Body]:
    """Two turns of an agent: at the second the trigger is passed."""
    first, second = ({**_looked_up(agent(), uses), "context_management": clearing(20_000)} for uses in (4, 5))
    return first, second


def as_read(request: Body) -> dict[str, Any]:
    """The request as the model reads it, without the setting."""
    from ctxlab import tokens

    def count(asked: Mapping[str, Any]) -> int:
        prompt = Prompt.from_request(asked)
        return tokens.count(prompt, request["model"], counter=words).total

    body = effective(request, count=count).request
    return {name: value for name, value in body.items() if name != "context_management"}


@cache
def edited() -> tuple[Plan, Plan]:
    """What the cache makes of two requests in a row as the model reads them, the second one cleared."""
    first, second = run_bodies([as_read(request) for request in four_and_five()])
    return first, second


def first_cleared() -> int:
    """The number of the first block that is not what it was."""
    found = first_difference(*(Prompt.from_request(as_read(request)) for request in four_and_five()))
    assert found is not None
    return found.index


def before_and_after() -> Pair:
    """Both requests as strips: what clearing left to be read, and what is written again."""
    drawn = []
    for title, plan, request in zip(("First", "Second"), edited(), four_and_five(), strict=True):
        second = title == "Second"
        read = f"{plan.read_tokens:,} tokens" if plan.read_tokens else "nothing"
        drawn.append(
            strip(
                plan,
                title=f"{title} request, as the model reads it",
                alt=f"The {title.lower()} request reads {read} and writes {plan.written_5m_tokens:,}.",
                called=names(Prompt.from_request(as_read(request))),
                bill=bill_usd(plan),
                first_difference=first_cleared() if second else None,
            )
        )
    return Pair(*drawn)


# --- around a compaction


SUMMARY_TOKENS = 600
_REPLY = "So " * 40


def summary_of(request: Any) -> str:
    """A scripted summary of a fixed size, whatever the request says."""
    return "kept " * SUMMARY_TOKENS


def around_the_cut() -> Pair:
    """An emulated compaction: the pass that reads all, and the reply that reads what was marked before."""
    api, clock = emulated(summaries=summary_of, replies=lambda request: _REPLY)
    edit = {"edits": [{"type": COMPACT, "trigger": {"type": "input_tokens", "value": 50_000}}]}
    for uses in (11, 12):
        request = _looked_up(agent(), uses)
        api.client().beta.messages.create(**request, context_management=edit, betas=[COMPACTING])
        clock.advance(40)
    call = api.calls[-1]
    summary = call.compaction
    assert summary is not None
    billed = cost.bill(call.usage, MODEL).by_iteration()
    prompt = Prompt.from_request(request)
    of_pass = [block.segment if block.segment != "messages" else "history" for block in prompt.blocks]
    return Pair(
        strip(
            summary.plan,
            title="The pass",
            alt=f"The pass reads {summary.plan.read_tokens:,} tokens of the conversation from the cache.",
            source="the summary is scripted",
            called=of_pass,
            together=("history",),
            bill=billed["compaction"],
        ),
        strip(
            call.plan,
            title="The reply, on the summary",
            alt=f"Tools and system prompt are still read: {call.plan.read_tokens:,} tokens.",
            source="the summary is scripted",
            called=["tools", "system", "summary"],
            bill=billed["message"],
        ),
    )


_ASSUMED = "assumed: cleared anew; summaries scripted"


class Run(NamedTuple):
    """What forty turns under one policy came to."""

    largest_tokens: int
    rewrites: int
    usd: Decimal
    uncached_usd: Decimal


TURNS, BATCH = 40, 8
POLICIES = (
    "left alone",
    "cleared on every turn",
    f"cleared in batches of {BATCH}",
    "compacted at 50,000",
    "cleared, clear_at_least 20,000",
)


def _setting(policy: str, turn: int) -> dict[str, Any]:
    """What a policy asks for on a turn. A batch: ``keep`` grows, until it falls back to three."""
    kept = DEFAULT_KEEP_TOOL_USES
    if policy == POLICIES[1]:
        return {"context_management": clearing(20_000)}
    if policy == POLICIES[2]:
        return {"context_management": clearing(20_000, kept + max(turn - kept, 0) % BATCH)}
    if policy == POLICIES[4]:
        return {"context_management": clearing(20_000, at_least=20_000)}
    if policy == POLICIES[3]:
        edit = {"type": COMPACT, "trigger": {"type": "input_tokens", "value": 50_000}}
        return {"context_management": {"edits": [edit]}}
    return {}


def turn_by_turn(policy: str, turns: int = TURNS) -> Iterator[Call]:
    """The books of each turn: a page of 4,000 tokens is looked up, 40 seconds after the last."""
    api, clock = emulated(summaries=summary_of, replies=lambda request: _REPLY)
    client = api.client()
    base = {**agent(), "system": [marked(agent()["system"][0])]}
    history = [user(text("why", 48))]
    for turn in range(1, turns + 1):
        history = [*history, _call(turn), user(_result(turn))]
        messages = [*history[:-1], user(marked(_result(turn)))]
        asked = {**base, "messages": messages, **_setting(policy, turn)}
        answer = client.beta.messages.create(**asked, betas=[EDITING, COMPACTING]).to_dict()
        if answer["content"][0]["type"] == "compaction":
            history = [*history, {"role": "assistant", "content": answer["content"]}, user(text("on", 3))]
        yield api.calls[-1]
        clock.advance(40)


@cache
def session_under(policy: str, turns: int = TURNS) -> Run:
    """What a session of so many turns comes to under a policy: largest prompt, rewrites, dollars."""
    stored, rewrites, largest = 0, 0, 0
    usd = uncached_usd = Decimal(0)
    for call in turn_by_turn(policy, turns):
        assert call.usage is not None
        rewrites += call.usage.cache_read_input_tokens < stored
        stored = call.usage.cache_read_input_tokens + call.usage.cache_creation_input_tokens
        largest = max(largest, call.usage.context_tokens)
        usd += cost.bill(call.usage, MODEL).total_usd
        steps = tuple(
            Iteration(type=one.type, input_tokens=one.total_input_tokens, output_tokens=one.output_tokens)
            for one in call.usage.billed
        )
        uncached_usd += cost.bill(replace(call.usage, iterations=steps), MODEL).total_usd
    return Run(largest, rewrites, usd, uncached_usd)


def five_policies() -> Table:
    """Forty turns under five policies: the largest request, how often a prefix broke, what it all cost."""
    from ctxlab.figures import table, usd

    rows = []
    for policy in (*POLICIES[:2], POLICIES[4], *POLICIES[2:4]):
        run = session_under(policy)
        rows.append((policy, run.largest_tokens, run.rewrites, usd(run.usd), usd(run.uncached_usd)))
    header = ("the history is", "largest request", "prefix broken", "with cache", "without")
    caption = f"{TURNS} turns that look up 4,000 tokens each, Claude Opus 5.5"
    return table(rows, header, caption=caption, labelled="emulated", source=_ASSUMED)


# --- when a compaction pays


class Rates(NamedTuple):
    """Prices relative to fresh input: reading, writing, output."""

    read: Fraction
    write: Fraction
    output: Fraction


def rates_for(cached: bool, model: str = MODEL) -> Rates:
    """Read, write and output of a model in units of its fresh input; all input is fresh without a cache."""
    prices = get_model(model).rates_at()
    card = prices.card(0)
    output = card.output_usd_per_mtok / card.input_usd_per_mtok
    if not cached:
        return Rates(Fraction(1), Fraction(1), output)
    return Rates(prices.cache_read_multiplier, prices.cache_write_5m_multiplier, output)


FIXED_TOKENS = 16_600


def turns_until(history: int, summary: int, fixed: int, rates: Rates) -> Fraction | None:
    """The turns after which a compaction has cost no more; None where it never comes."""
    saved = rates.read * (history - fixed - summary)
    if saved <= 0:
        return None
    spent = rates.read * history + rates.output * summary + (rates.write - rates.read) * summary
    return spent / saved


def turns_to_pay(history: int, summary: int, fixed: int, *, cached: bool = True) -> int | None:
    """The first whole number of turns after which a compaction has cost no more, on Claude Opus 5.5."""
    turns = turns_until(history, summary, fixed, rates_for(cached))
    return None if turns is None else math.ceil(turns)


def pays_back(history: int = 180_000, summary: int = 3_500, uncached: int = 0) -> Figure:
    """Dollars over the turns that follow, compacted and left alone; 16,600 tokens are assumed to stay."""
    from ctxlab.figures import curve, usd

    cached = not uncached
    rates = rates_for(cached)
    turns = turns_to_pay(history, summary, FIXED_TOKENS, cached=cached)
    assert turns is not None
    card = get_model(MODEL).rates_at().card(0)
    unit = card.input_usd_per_mtok / _MTOK
    across = list(range(max(8, 2 * turns) + 1))
    alone = [float(turn * rates.read * history * unit) for turn in across]
    spent = rates.read * history + rates.output * summary
    compacted = []
    for turn in across:
        written = (rates.write - rates.read) * summary if turn else 0
        compacted.append(float((spent + turn * rates.read * (FIXED_TOKENS + summary) + written) * unit))
    how = "a warm cache" if cached else "no cache"
    return curve(
        [("left alone", across, alone), ("compacted", across, compacted)],
        x_label="turns after the compaction",
        y_label="dollars",
        title=f"{history:,} tokens into {summary:,}, with {how}",
        alt=f"With {how}, putting {summary:,} tokens in place of {history:,} has cost no more "
        f"from turn {turns} on.",
        evidence="documented",
        source="list prices of Claude Opus 5.5; 16,600 fixed tokens assumed",
        marks=[(turns, compacted[turns], f"turn {turns}")],
        y_format=usd,
    )
