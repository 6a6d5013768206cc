"""The closed form of a lever's saving against the bill of the emulated API, exactly, on random sessions."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

from ctxlab.catalogue import get_model
from ctxlab.clock import ManualClock
from ctxlab.cost import bill
from ctxlab.emulator.engine import Engine
from ctxlab.levers import Outcome, PrefixLedger, apply_compaction, clear, compact_call, offload, trim
from ctxlab.properties.conversations import MARK, conversation, words
from ctxlab.usage import Usage
from tests.emulated import HEADERS

SESSIONS = 200
_HEADERS = {**HEADERS, "anthropic-beta": "compact-2026-01-12"}


def letters(text: str, vocabulary: str) -> int:
    return len(text) // 3 + 1 if text else 0


class Api:
    """The emulated API and what it has billed, request by request."""

    def __init__(self, reply: str):
        self.engine = Engine(replies=lambda _: reply, clock=ManualClock(), counter=letters)
        self.usages: list[Usage] = []

    def send(self, body: dict[str, Any]) -> dict[str, Any]:
        data = json.dumps(body).encode()
        status, _, answer = self.engine.respond("POST", "/v1/messages", "", _HEADERS, data)
        message = json.loads(answer)
        assert status == 200, message
        self.usages.append(Usage.from_response(message))
        return message


def session(random: Random) -> dict[str, Any]:
    """A conversation that the emulator serves and whose later turns the server does not shorten by itself."""
    while True:
        body = conversation(random)
        # in the old vocabulary thinking counts only while its tool loop is open
        drops_thinking = get_model(body["model"]).vocabulary == "v3" and "thinking" in body
        told = json.dumps(body)
        if not drops_thinking and "server_tool_use" not in told:
            return {**body, "max_tokens": 2000}


def gone_on(body: dict[str, Any], reply: str, question: str) -> dict[str, Any]:
    """The next request: the answer, the next question, and the marker of the tail moved to it."""
    body = copy.deepcopy(body)
    moved = False
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            moved = block.pop("cache_control", None) is not None or moved
    next_question = {"type": "text", "text": question, **({"cache_control": MARK} if moved else {})}
    body["messages"] += [
        {"role": "assistant", "content": reply},
        {"role": "user", "content": [next_question]},
    ]
    return body


def pull(random: Random, ledger: PrefixLedger, api: Api) -> Outcome:
    """One lever, or two in a row, with random settings; calls it makes go to the API."""
    request = ledger.request
    kind = random.choice(("trim", "clear", "offload", "compact", "trim + clear"))
    if kind == "compact":
        call = compact_call(request, ledger=ledger)
        return apply_compaction(request, api.send(call), pins=["never touch prod"], ledger=ledger)
    if kind == "clear":
        return clear(request, keep=random.randint(0, 2), clear_inputs=random.random() < 0.5, ledger=ledger)
    if kind == "offload":
        return offload(request, which="all", at_least_tokens=50, ledger=ledger)
    return trim(request, keep_turns=random.randint(1, 3), ledger=ledger)


def usd(usages: list[Usage], model: str) -> Decimal:
    return sum((bill(usage, model).total_usd for usage in usages), Decimal(0))


def compared(seed: int) -> tuple[bool, bool]:
    """One session both ways; whether the lever changed something, and whether its form is linear."""
    random = Random(f"bill/{seed}")
    body, reply, is_warm = session(random), words(random, 20), random.random() < 0.7
    without, with_lever = Api(reply), Api(reply)
    ledger = PrefixLedger.of(body, sent=True if is_warm else None, counter=letters)
    if is_warm:
        without.send(body)
        with_lever.send(body)
        without.usages.clear()
        with_lever.usages.clear()
    before = copy.deepcopy(body)
    try:
        made = pull(random, ledger, with_lever)
    except ValueError:  # nothing stands before the last turn
        return False, True
    assert body == before
    turns = random.randint(1, 6)
    one, other = body, dict(made.request)
    for turn in range(turns):
        if turn:
            question = words(random, 40)
            one, other = gone_on(one, reply, question), gone_on(other, reply, question)
        without.send(one)
        with_lever.send(other)
    totals = [usage.total_input_tokens for usage in without.usages]
    added = [later - earlier for earlier, later in pairwise(totals)]
    saving = made.effect.net_saving_usd(
        turns, added_tokens=added, output_tokens=without.usages[0].output_tokens
    )
    assert saving == usd(without.usages, body["model"]) - usd(with_lever.usages, body["model"]), seed
    assert [made.effect.before.now.total_input_tokens, made.effect.removed_tokens] == [
        totals[0],
        totals[0] - with_lever.usages[len(made.effect.calls)].total_input_tokens,
    ]
    return made.changed, made.effect.is_linear


def test_the_net_saving_is_the_difference_of_two_emulated_bills_to_the_last_digit():
    seen = [compared(seed) for seed in range(SESSIONS)]
    assert sum(changed for changed, _ in seen) > SESSIONS / 2
    assert {linear for _, linear in seen} == {True, False}


def test_some_of_these_sessions_were_compacted_by_the_server_on_the_way():
    told = [json.dumps(session(Random(f"bill/{seed}"))) for seed in range(20)]
    assert 0 < sum('"compaction"' in one for one in told) < len(told)
