"""The policies of the playground a second time, with the levers of the house on real requests.

Models: a short session as bodies the API takes, one word one token; each policy pulled by
:mod:`ctxlab.levers`; every request counted and priced by the prompt cache. The playground's own sums are made
from the same blocks, so that the two can be held against each other.
Does not model: reading an offloaded payload again.
Source: the first turns of the playground's session, a tenth of their size; words from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from ctxlab import levers
from ctxlab.catalogue import get_model
from ctxlab.checks.playground import (
    POLICIES,
    Conversation,
    Limits,
    Step,
    conversation,
    play,
)
from ctxlab.checks.runs import LOOKUP, MODEL, bill_usd, run_bodies, user, words
from ctxlab.cost import exact_decimal
from ctxlab.levers import PrefixLedger

_TURNS, _SCALE, _STABLE_WORDS = 24, 10, 1_050
_LIMITS = Limits(
    cap=5_500,
    spill=2_500,
    clear_at_least=150,
    offload_from=50,
    read_back=10**6,
    summary=150,
    instructions=0,
)
_VOCABULARY = ("log", "row", "value", "test", "passed", "file", "line", "check", "next", "open", "so", "then")
Body = dict[str, Any]


class Twin(NamedTuple):
    """A policy by both routes: dollars, and turns in which warm tokens were written again."""

    policy: str
    levers_usd: Decimal
    pieces_usd: Decimal
    levers_rewrites: tuple[int, ...]
    pieces_rewrites: tuple[int, ...]


@cache
def _messages(seed: int) -> tuple[list[Body], list[int]]:
    """The messages of a short session, and how many of them each request has."""
    talk, rng = conversation(seed), random.Random(f"words {seed}")

    def text(count: int, least: int = 3) -> str:
        return " ".join(rng.choice(_VOCABULARY) for _ in range(max(count // _SCALE, least)))

    messages: list[Body] = []
    ends = []
    for number, step in enumerate((*talk.early, *talk.turns[:_TURNS])):
        calls = [
            {"type": "tool_use", "id": f"toolu_{number}_{n}", "name": "lookup", "input": {"q": text(9)}}
            for n in range(len(step.results))
        ]
        if step.answer:
            said = {"type": "text", "text": text(step.answer)}
            messages.append({"role": "assistant", "content": [said, *calls]})
        if calls:
            given = [
                {"type": "tool_result", "tool_use_id": call["id"], "content": text(size, 20)}
                for call, size in zip(calls, step.results, strict=True)
            ]
            messages.append(user(*given))
        messages.append(user({"type": "text", "text": text(step.line * _SCALE)}))
        ends.append(len(messages))
    return messages, ends[len(talk.early) - 1 :]


def _body(messages: Sequence[Body], *, read_tool: bool = False) -> Body:
    mark = {"type": "ephemeral"}
    system = [{"type": "text", "text": "rule " * _STABLE_WORDS, "cache_control": mark}]
    made = {
        "model": MODEL,
        "max_tokens": 200,
        "cache_control": mark,
        "tools": [LOOKUP],
        "system": system,
        "messages": list(messages),
    }
    return levers.with_read_tool(made) if read_tool else made


def _ledger(body: Body) -> PrefixLedger:
    return PrefixLedger.of(body, sent=None, counter=words)


@cache
def counted(seed: int = 0) -> Conversation:
    """The same session in the tokens its blocks really have."""
    messages, ends = _messages(seed)
    ledger = _ledger(_body(messages))
    sizes = [
        [ledger.tokens_of(f"messages[{n}].content[{j}]") for j in range(len(one["content"]))]
        for n, one in enumerate(messages)
    ]
    steps: list[Step] = []
    now = Step(0, (), 0)
    for size, message in zip(sizes, messages, strict=True):
        blocks = message["content"]
        if message["role"] == "assistant":
            now = replace(now, answer=sum(size))
        elif blocks[0]["type"] == "tool_result":
            held = [len(block["content"].split()) for block in blocks]
            frames = tuple(whole - inside for whole, inside in zip(size, held, strict=True))
            now = replace(now, results=tuple(size), frames=frames)
        else:
            steps.append(replace(now, line=sum(size)))
            now = Step(0, (), 0)
    tail = ledger.total_tokens - ledger.cumulative_tokens[-1]
    early = len(steps) - (len(ends) - 1)
    return Conversation(tuple(steps[:early]), tuple(steps[early:]), ledger.fixed_tokens, tail)


def short_request(seed: int = 0) -> Body:
    """The last request of the short session, nothing taken out."""
    return _body(_messages(seed)[0])


# --- the levers


def _pull(policy: str, body: Body, limits: Limits) -> tuple[Body, Body | None]:
    """The request a policy sends instead, and the call it makes for a summary."""
    if policy == "nothing but caching":
        return body, None
    if policy == "offload at arrival":
        results = [one for one in body["messages"] if one["content"][0]["type"] == "tool_result"]
        ids = [block["tool_use_id"] for one in results[-1:] for block in one["content"]]
        if max(words(block["content"], "") for block in results[-1]["content"]) < limits.offload_from - 20:
            return body, None
        moved = levers.offload(body, which=ids, at_least_tokens=limits.offload_from, ledger=_ledger(body))
        return dict(moved.request), None
    ledger = _ledger(body)
    around = ledger.fixed_tokens + ledger.total_tokens - ledger.cumulative_tokens[-1]
    if ledger.total_tokens <= limits.cap + around:
        return body, None
    if policy == "compact at the cap":
        call = levers.compact_call(body, keep_turns=1, instructions=_INSTRUCTIONS, ledger=ledger)
        summary = {"content": [{"type": "text", "text": _SUMMARY}], "stop_reason": "end_turn"}
        done = levers.apply_compaction(body, summary, keep_turns=1, facts=(), ledger=ledger)
        return dict(done.request), call
    if policy == "clear in batches":
        done = levers.clear(
            body, keep=limits.keep, clear_at_least_tokens=limits.clear_at_least, ledger=ledger
        )
    else:
        target = limits.cap - (limits.spill if policy == "trim in batches" else 0)
        done = levers.trim(body, keep_tokens=target + around, ledger=ledger)
    return dict(done.request), None


_INSTRUCTIONS = "Summarise what was done, decided and left open, and keep every figure word for word."
_SUMMARY = "done " * 150


def _by_levers(policy: str, seed: int, limits: Limits) -> tuple[Decimal, tuple[int, ...]]:
    messages, ends = _messages(seed)
    offloads = policy == "offload at arrival"
    sent = _body(messages[: ends[0]], read_tool=offloads)
    if offloads:
        sent = dict(
            levers.offload(
                sent, which="all", at_least_tokens=limits.offload_from, ledger=_ledger(sent)
            ).request
        )
    bodies, is_turn = [sent], [False]
    for before, end in pairwise(ends):
        body = {**sent, "messages": [*sent["messages"], *messages[before:end]]}
        sent, call = _pull(policy, body, limits)
        if call is not None:
            bodies.append(call)
            is_turn.append(False)
        bodies.append(sent)
        is_turn.append(True)
    return _priced(bodies, is_turn, limits)


def _priced(
    bodies: Sequence[Body], is_turn: Sequence[bool], limits: Limits
) -> tuple[Decimal, tuple[int, ...]]:
    plans = run_bodies(bodies, pause_s=2.0)
    output = get_model(MODEL).rates_at().cards[0].output_usd_per_mtok
    summary_usd = exact_decimal(limits.summary * output / 10**6)
    paid, turn, left, rewrites = Decimal(0), 0, 0, []
    for plan, counts in zip(plans, is_turn, strict=True):
        end = plan.layout.positions[-1].cumulative_tokens or 0
        if plan is not plans[0]:
            paid += bill_usd(plan) + (0 if counts else summary_usd)
        if counts:
            turn += 1
            if (plan.read_tokens or 0) < left:
                rewrites.append(turn)
        if counts or plan is plans[0]:
            left = end
    return paid, tuple(rewrites)


@cache
def limits_in_words(seed: int = 0) -> Limits:
    """The limits of the short session, with notes, pointers and summary as long as the levers make them."""
    messages, _ = _messages(seed)
    body = _body(messages)
    ledger = _ledger(body)
    ready = ledger.after(levers.with_read_tool(body))
    summary = {"content": [{"type": "text", "text": _SUMMARY}], "stop_reason": "end_turn"}
    short = levers.apply_compaction(body, summary, facts=(), ledger=ledger)
    trimmed = levers.trim(body, keep_turns=1, ledger=ledger)
    asked = levers.compact_call(body, instructions=_INSTRUCTIONS, ledger=ledger)
    return replace(
        _LIMITS,
        cleared=words(levers.CLEARED, ""),
        pointer=words(levers.pointer("", ""), ""),
        read_tool=ready.fixed_tokens - ledger.fixed_tokens,
        summary=sum(short.ledger.message_tokens()) - ledger.message_tokens()[-1],
        instructions=ledger.after(asked).total_tokens - ledger.total_tokens,
        first_line_less=ledger.message_tokens()[-1] - trimmed.ledger.message_tokens()[0],
    )


@cache
def twins(seed: int = 0) -> tuple[Twin, ...]:
    """Every policy on the short session: by the levers, and by the playground's own sums."""
    limits = limits_in_words(seed)
    found = []
    for policy in POLICIES:
        usd, rewrites = _by_levers(policy, seed, limits)
        played = play(policy, counted(seed), limits=limits)
        found.append(Twin(policy, usd, played.usd[-1], rewrites, played.rewrites))
    return tuple(found)
