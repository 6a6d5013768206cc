"""Promises of the diagnostics: which of the six reasons is told, to whom, when, and how much was missed."""

from __future__ import annotations

from itertools import pairwise, permutations
from statistics import median
from typing import Any

import pytest
from anthropic.types import Diagnostics
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.cache import CacheRules
from ctxlab.cache.rules import table
from ctxlab.clock import ManualClock
from ctxlab.emulator import Emulator
from ctxlab.emulator.diagnostics import BYTES_A_TOKEN, ORDER, RETENTION_S, fingerprint
from ctxlab.emulator.diagnostics import reason as first_reason
from ctxlab.errors import InvalidArgumentError
from ctxlab.prompt import Prompt
from ctxlab.recordings import exchanges, sessions
from ctxlab.tokens.thumb import ratios
from tests.emulated import HELLO, MARK, a_request, a_word_a_token, assistant, text, user

TOOL = {"name": "read", "input_schema": {"type": "object"}}
TURNS = [HELLO, assistant(text("Hello to you.")), user(text("And now?"))]
BASE = a_request(tools=[TOOL], system=[text("[3000] The rules.", cache_control=MARK)], messages=TURNS)


def an_emulator(**options: Any) -> Emulator:
    return Emulator(clock=ManualClock(), counter=a_word_a_token, **options)


def ask(api: Emulator, body: dict[str, Any], previous: str | None, workspace: str = "default") -> Any:
    told = {"previous_message_id": previous}
    return api.client(workspace).beta.messages.create(
        **body, diagnostics=told, betas=["cache-diagnosis-2026-04-07"]
    )


def reason(api: Emulator, before: dict[str, Any], now: dict[str, Any]) -> Any:
    return ask(api, now, ask(api, before, None).id).diagnostics


CHANGES = {
    "model_changed": {"model": "claude-opus-5"},
    "tools_changed": {"tools": [{**TOOL, "description": "Reads."}]},
    "system_changed": {"system": [text("[3000] The rules!", cache_control=MARK)]},
    "messages_changed": {"messages": [user(text("Hello!")), *TURNS[1:]]},
    "unavailable": {"tool_choice": {"type": "none"}},
}


@pytest.mark.parametrize("kind", CHANGES)
def test_each_change_has_its_reason(kind):
    told = reason(an_emulator(), BASE, {**BASE, **CHANGES[kind]})
    assert told.cache_miss_reason.type == kind


def test_the_sixth_is_that_there_is_nothing_to_compare_with():
    told = ask(an_emulator(), BASE, "msg_unknown").diagnostics
    assert told.cache_miss_reason.type == "previous_message_not_found"


def test_every_reason_the_sdk_knows_is_told_by_somebody():
    known = {one.model_fields["type"].annotation.__args__[0] for one in _reasons()}
    assert known == {*CHANGES, "previous_message_not_found"}


def _reasons() -> tuple[Any, ...]:
    union = Diagnostics.model_fields["cache_miss_reason"].annotation.__args__[0]
    return getattr(union, "__origin__", union).__args__


NO_DIVERGENCE = {
    "the same again": BASE,
    "a longer conversation": {**BASE, "messages": [*TURNS, assistant(text("Now.")), user(text("Thanks."))]},
    "another marker": {**BASE, "system": [text("[3000] The rules.")]},
    "another max_tokens": {**BASE, "max_tokens": 7},
    "the default effort, written out": {**BASE, "output_config": {"effort": "medium"}},
}


@pytest.mark.parametrize("case", NO_DIVERGENCE)
def test_where_nothing_diverges_there_is_no_diagnosis(case):
    assert reason(an_emulator(), BASE, NO_DIVERGENCE[case]) is None


@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_an_effort_is_diagnosed_just_where_it_loses_the_cache(level):
    marked = {**BASE, "messages": [*TURNS[:2], user(text("[2000] And now?", cache_control=MARK))]}
    api = an_emulator()
    first = ask(api, marked, None)
    second = ask(api, {**marked, "output_config": {"effort": level}}, first.id)
    lost = second.usage.cache_creation_input_tokens > 0
    assert lost == (level != table()["default_effort"][BASE["model"]])
    assert lost == (second.diagnostics is not None)
    if lost:
        assert second.diagnostics.cache_miss_reason.type == "unavailable"


def told_by(order, changes):
    """What the emulator tells of several changes at once."""
    changed = {name: value for kind in changes for name, value in CHANGES[kind].items()}
    api = an_emulator(**({} if order is None else {"diagnostics_order": order}))
    return reason(api, BASE, {**BASE, **changed}).cache_miss_reason.type


KIND_OF = {one: "unavailable" if one == "settings" else f"{one}_changed" for one in ORDER}


@pytest.mark.parametrize("order", [None, ORDER, ("system", "settings", "messages", "tools", "model")])
def test_of_several_differences_the_first_of_the_order_is_told(order):
    kinds = [KIND_OF[one] for one in (order or ("model", "tools", "system", "settings", "messages"))]
    for i, kind in enumerate(kinds):
        assert told_by(order, kinds[i:]) == kind


ALL_ORDERS = list(permutations(ORDER))


@given(order=st.sampled_from(ALL_ORDERS), changes=st.sets(st.sampled_from(sorted(CHANGES)), min_size=1))
def test_in_any_order_what_is_told_did_change_and_nothing_before_it_did(order, changes):
    def made(body):
        prompt = Prompt.from_request(body)
        return fingerprint(prompt, body["model"], frozenset(), "default", 0.0, CacheRules())

    changed = {name: value for kind in changes for name, value in CHANGES[kind].items()}
    told = first_reason(made(BASE), made({**BASE, **changed}), order)
    assert told is not None
    assert told["type"] == next(KIND_OF[one] for one in order if KIND_OF[one] in changes)


@pytest.mark.parametrize(
    "order", [(), ORDER[:-1], (*ORDER, "model"), ("model", "tools", "system", "speed", "messages"), "model"]
)
def test_an_order_names_everything_that_is_compared_once(order):
    with pytest.raises(InvalidArgumentError, match="diagnostics_order"):
        an_emulator(diagnostics_order=order)


def test_a_shorter_conversation_is_told_as_a_change_of_messages():
    told = reason(an_emulator(), BASE, {**BASE, "messages": [HELLO]})
    assert told.cache_miss_reason.type == "messages_changed"


def test_what_was_missed_is_what_the_earlier_request_had_behind_the_change():
    long = {**BASE, "system": [text("rule " * 1000)]}
    changed = {**long, "messages": [user(text("Hello!")), *TURNS[1:]]}
    missed = {
        kind: reason(
            an_emulator(), long, {**long, **CHANGES[kind]}
        ).cache_miss_reason.cache_missed_input_tokens
        for kind in ("model_changed", "tools_changed", "system_changed")
    }
    assert missed["model_changed"] == missed["tools_changed"] > missed["system_changed"] > 0
    messages = reason(an_emulator(), long, changed).cache_miss_reason.cache_missed_input_tokens
    assert 0 < messages < missed["system_changed"] - 5000 // BYTES_A_TOKEN + 50


@pytest.mark.parametrize("bytes_a_token", [None, 3, 4, 2.5])
def test_an_estimate_is_as_many_tokens_as_its_measure_says(bytes_a_token):
    long = {**BASE, "system": [text("rule " * 1000)]}
    changed = {**long, **CHANGES["system_changed"]}
    api = an_emulator(**({} if bytes_a_token is None else {"diagnostics_bytes_a_token": bytes_a_token}))
    missed = reason(api, long, changed).cache_miss_reason.cache_missed_input_tokens
    size = sum(
        len(block.wire_bytes) for block in Prompt.from_request(long).blocks if block.segment != "tools"
    )
    assert missed == int(size / (bytes_a_token or 3))


@pytest.mark.parametrize("bytes_a_token", [0, -4, float("inf"), float("nan"), "4"])
def test_a_token_has_a_positive_number_of_bytes(bytes_a_token):
    with pytest.raises(InvalidArgumentError, match="diagnostics_bytes_a_token"):
        an_emulator(diagnostics_bytes_a_token=bytes_a_token)


def test_recorded_estimates_stay_below_the_tokens_that_were_lost_with_the_messages():
    """What the measure rests on: these models' texts have a little less than three bytes a token."""
    shares = []
    for rows in (*(session.turns for session in sessions()), *by_sequence().values()):
        for before, now in pairwise(rows):
            told = (now.diagnostics or {}).get("cache_miss_reason", {})
            if "cache_missed_input_tokens" not in told or now.usage is None or before.usage is None:
                continue
            lost = before.usage.total_input_tokens - now.usage.cache_read_input_tokens
            if lost > now.usage.total_input_tokens * 0.1:  # else it was read all the same
                shares.append(told["cache_missed_input_tokens"] / lost)
    assert len(shares) > 3
    a_token = float(ratios()["calibrated_characters"]["characters_per_token"]["v4.8"])
    low, middle, high = min(shares), median(shares), max(shares)
    assert 0.8 < low < high < 1
    assert abs(a_token / BYTES_A_TOKEN - middle) < abs(a_token / 4 - middle)


def by_sequence() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in exchanges():
        found.setdefault(row.sequence, []).append(row)
    return found


def test_every_recorded_reason_is_one_that_is_told_here():
    recorded = [row.diagnostics for row in exchanges() if row.diagnostics]
    recorded += [turn.diagnostics for session in sessions() for turn in session.turns if turn.diagnostics]
    kinds = {one["cache_miss_reason"]["type"] for one in recorded}
    assert kinds <= {*CHANGES, "previous_message_not_found"}
    for one in recorded:
        Diagnostics.model_validate(one)
    told = [one["cache_miss_reason"] for one in recorded]
    with_size = {one["type"] for one in told if "cache_missed_input_tokens" in one}
    assert with_size
    assert with_size.isdisjoint({"unavailable", "previous_message_not_found"})


# --- to whom, and when


def test_another_workspace_finds_nothing():
    api = an_emulator()
    first = ask(api, BASE, None, "team")
    assert (
        ask(api, BASE, first.id, "other").diagnostics.cache_miss_reason.type == "previous_message_not_found"
    )
    assert ask(api, BASE, first.id, "team").diagnostics is None


@pytest.mark.parametrize(("after_s", "found"), [(0, True), (RETENTION_S, True), (RETENTION_S + 1, False)])
def test_a_fingerprint_is_kept_for_a_while(after_s, found):
    api = an_emulator()
    first = ask(api, BASE, None)
    api.clock.advance(after_s)
    told = ask(api, BASE, first.id).diagnostics
    assert (told is None) == found


def test_how_long_is_a_setting():
    api = an_emulator(diagnostics_retention_s=10)
    first = ask(api, BASE, None)
    api.clock.advance(11)
    assert ask(api, BASE, first.id).diagnostics.cache_miss_reason.type == "previous_message_not_found"


def test_an_answer_that_begins_when_its_fingerprint_is_over_is_still_an_answer():
    api = an_emulator()
    stream = api.client().messages.create(**BASE, diagnostics={"previous_message_id": None}, stream=True)
    api.clock.advance(RETENTION_S + 1)
    assert [event.type for event in stream][-1] == "message_stop"


def test_only_requests_that_ask_for_diagnostics_leave_a_fingerprint():
    api = an_emulator()
    plain = api.client().messages.create(**BASE)
    assert "diagnostics" not in plain.model_fields_set
    assert ask(api, BASE, plain.id).diagnostics.cache_miss_reason.type == "previous_message_not_found"


def test_a_comparison_may_still_be_running():
    api = an_emulator(diagnostics_pending=True)
    first = ask(api, BASE, None)
    assert first.diagnostics is None  # nothing to compare: nothing is pending
    changed = {**BASE, **CHANGES["system_changed"]}
    second = ask(api, changed, first.id)
    assert second.diagnostics is not None
    assert second.diagnostics.cache_miss_reason is None
    api.diagnostics_pending = False
    assert ask(api, changed, first.id).diagnostics.cache_miss_reason.type == "system_changed"


def test_a_stream_tells_it_where_it_starts():
    api = an_emulator()
    first = ask(api, BASE, None)
    asked = {"previous_message_id": first.id}
    events = list(
        api.client().messages.create(**{**BASE, **CHANGES["system_changed"]}, diagnostics=asked, stream=True)
    )
    assert events[0].message.diagnostics.cache_miss_reason.type == "system_changed"
    assert api.calls[-1].diagnostics["cache_miss_reason"]["type"] == "system_changed"


def test_diagnostics_change_nothing_in_the_books():
    api = an_emulator()
    ask(api, BASE, None)
    with_it = ask(api, BASE, "msg_unknown")
    without = api.client().messages.create(**BASE)
    assert with_it.usage.cache_read_input_tokens == without.usage.cache_read_input_tokens > 3000
