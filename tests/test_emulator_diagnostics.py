"""Promises of the diagnostics: which of the six reasons is told, to whom, when, and how much was missed."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import Diagnostics

from ctxlab.cache.rules import table
from ctxlab.clock import ManualClock
from ctxlab.emulator import Emulator
from ctxlab.emulator.diagnostics import BYTES_A_TOKEN, RETENTION_S
from ctxlab.recordings import exchanges, sessions
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


def test_the_first_thing_that_differs_in_render_order_is_told():
    ordered = ["model_changed", "tools_changed", "system_changed", "messages_changed"]
    for i, kind in enumerate(ordered):
        changed = {name: value for later in ordered[i:] for name, value in CHANGES[later].items()}
        assert reason(an_emulator(), BASE, {**BASE, **changed}).cache_miss_reason.type == kind


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
