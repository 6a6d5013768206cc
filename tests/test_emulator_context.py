"""Promises of edited contexts: what is cleared, what answer and count say of it, what the cache sees."""

from __future__ import annotations

import asyncio
import copy
import json
from dataclasses import fields
from typing import Any

import anthropic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxlab import tokens
from ctxlab.clock import ManualClock
from ctxlab.effective import PLACEHOLDER, effective
from ctxlab.emulator import ContextRules, Emulator, call
from ctxlab.errors import InvalidArgumentError
from ctxlab.prompt import Prompt
from ctxlab.usage import Usage
from tests.emulated import HELLO, MARK, MODEL, a_request, a_word_a_token, assistant, text, user
from tests.strategies import valid_messages

pytestmark = pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")

EDITING = "context-management-2025-06-27"
COMPACTING = "compact-2026-01-12"
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("read", "remember")]


def clear(trigger: int = 2, keep: int = 1, **more: Any) -> dict[str, Any]:
    """Clear tool uses beyond ``trigger`` of them."""
    return {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": trigger},
        "keep": {"type": "tool_uses", "value": keep},
        **more,
    }


def forget(turns: int | None = 1) -> dict[str, Any]:
    keep = "all" if turns is None else {"type": "thinking_turns", "value": turns}
    return {"type": "clear_thinking_20251015", "keep": keep}


def use(n: int, size: int = 900, name: str = "read") -> list[dict[str, Any]]:
    one = {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": {"page": n}}
    return [
        assistant(one),
        user({"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"page {n}" + " word" * size}),
    ]


def uses(*numbers: int, marked: bool = True) -> list[dict[str, Any]]:
    messages = [HELLO, *(message for n in numbers for message in use(n))]
    if marked:
        messages = copy.deepcopy(messages)
        messages[-1]["content"][-1]["cache_control"] = MARK
    return messages


def an_emulator(**switches: Any) -> Emulator:
    return Emulator(
        clock=ManualClock(),
        counter=a_word_a_token,
        replies=lambda _: "Noted.",
        context_rules=ContextRules(**switches),
    )


def edited(*edits: dict[str, Any], **more: Any) -> dict[str, Any]:
    system = [text("[2000] Rules.", cache_control=MARK)]
    return a_request(tools=TOOLS, system=system, context_management={"edits": list(edits)}, **more)


def ask(api: Emulator, request: dict[str, Any], *betas: str) -> Any:
    return api.client().beta.messages.create(**request, betas=list(betas) or [EDITING])


def counted(api: Emulator, request: dict[str, Any], *betas: str) -> Any:
    body = {name: value for name, value in request.items() if name != "max_tokens"}
    return api.client().beta.messages.count_tokens(**body, betas=list(betas) or [EDITING])


# --- what is refused

BAD: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "no header": (edited(clear()), [], "context_management: Extra inputs are not permitted"),
    "another header": (
        edited(clear()),
        ["compact-2026-09-04"],
        "context_management: Extra inputs are not permitted",
    ),
    "the other edit's header": (
        edited({"type": "compact_20260112"}),
        [EDITING],
        "context_management.edits.0: Input tag 'compact_20260112' found using 'type' does not match any of "
        "the expected tags: 'clear_thinking_20251015', 'clear_tool_uses_20250919'",
    ),
    "clearing with the compaction header only": (
        edited(clear()),
        [COMPACTING],
        "context_management.edits.0: Input tag 'clear_tool_uses_20250919' found using 'type' does not match "
        "any of the expected tags: 'compact_20260112'",
    ),
    "a name without its date": (
        edited({"type": "clear_tool_uses"}),
        [EDITING],
        "context_management.edits.0: Input tag 'clear_tool_uses' found using 'type' does not match any of "
        "the expected tags: 'clear_thinking_20251015', 'clear_tool_uses_20250919'",
    ),
    "a name without its date, with both headers": (
        edited({"type": "clear_tool_uses"}),
        [EDITING, COMPACTING],
        "context_management.edits.0: Input tag 'clear_tool_uses' found using 'type' does not match any of "
        "the expected tags: 'clear_thinking_20251015', 'clear_tool_uses_20250919', 'compact_20260112'",
    ),
    "thinking second": (
        edited(clear(), forget()),
        [EDITING],
        "context_management.edits.1: clear_thinking_20251015 comes behind another edit",
    ),
    "twice": (
        edited(clear(), clear()),
        [EDITING],
        "context_management.edits.1: is a second clear_tool_uses_20250919",
    ),
    "no turns": (edited(forget(0)), [EDITING], "context_management.edits.0.keep.value: is 0"),
    "a count below zero": (
        edited(clear(keep=-1)),
        [EDITING],
        "context_management.edits.0.keep.value: is -1",
    ),
    "a keep in tokens": (
        edited({**clear(), "keep": {"type": "input_tokens", "value": 5}}),
        [EDITING],
        "context_management.edits.0.clear_tool_uses_20250919.keep.type: Input should be 'tool_uses'",
    ),
    "an unknown parameter": (
        edited({**clear(), "keeps": 3}),
        [EDITING],
        "context_management.edits.0.clear_tool_uses_20250919.keeps: Extra inputs are not permitted",
    ),
    "thinking that is off": (
        edited(forget(), model="claude-sonnet-4-5"),
        [EDITING],
        "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive",
    ),
    "a trigger that is too low": (
        edited({"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 49_999}}),
        [COMPACTING],
        "context_management.edits.0.trigger.value: is 49,999, below the minimum of 50,000",
    ),
    "a model that cannot": (
        edited({"type": "compact_20260112"}, model="claude-haiku-4-5"),
        [COMPACTING],
        "context_management.edits.0: compact_20260112 is not supported on claude-haiku-4-5",
    ),
    "edits that are no list": (
        edited() | {"context_management": {"edits": "clear"}},
        [EDITING],
        "context_management.edits: Input should be a valid list",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_edit_is_refused_by_its_place_and_leaves_nothing(case):
    request, betas, says = BAD[case]
    api, before = an_emulator(), copy.deepcopy(request)
    with pytest.raises(anthropic.BadRequestError) as refused:
        api.client().beta.messages.create(**request, betas=betas)
    assert refused.value.body["error"] == {"type": "invalid_request_error", "message": says}
    last = api.calls[-1]
    assert (last.state, last.usage, last.plan, last.applied, len(api.engine.cache)) == (
        "refused",
        None,
        None,
        (),
        0,
    )
    assert request == before


@pytest.mark.parametrize("case", BAD)
def test_a_count_is_refused_with_the_same_words(case):
    request, betas, says = BAD[case]
    with pytest.raises(anthropic.BadRequestError) as refused:
        counted(an_emulator(), request, *(betas or ["token-counting-2024-11-01"]))
    assert refused.value.body["error"]["message"] == says


def test_each_edit_is_taken_with_its_own_header():
    assert ask(an_emulator(), edited(clear()), EDITING).stop_reason == "end_turn"
    assert ask(an_emulator(), edited({"type": "compact_20260112"}), COMPACTING).stop_reason == "end_turn"
    both = edited(clear(), {"type": "compact_20260112"})
    assert ask(an_emulator(), both, EDITING, COMPACTING).stop_reason == "end_turn"


# --- what is cleared, and what is said of it


def test_old_results_are_cleared_and_the_answer_and_the_books_say_so():
    api = an_emulator()
    request = edited(clear(), messages=uses(1, 2, 3))
    before = copy.deepcopy(request)
    answer = ask(api, request)
    (told,) = answer.context_management.applied_edits
    assert (told.type, told.cleared_tool_uses) == ("clear_tool_uses_20250919", 2)
    whole = ask(an_emulator(), edited(messages=uses(1, 2, 3)))
    total = Usage.from_response(answer).total_input_tokens
    assert told.cleared_input_tokens == Usage.from_response(whole).total_input_tokens - total > 1700
    (applied,) = api.calls[0].applied
    assert applied.paths == ("messages[2].content[0]", "messages[4].content[0]")
    assert request == before


def test_what_is_read_has_the_placeholder_and_a_reply_function_is_shown_what_was_sent():
    seen = []
    api = Emulator(
        clock=ManualClock(), counter=a_word_a_token, replies=lambda body: seen.append(body) or "Hi"
    )
    ask(api, edited(clear(), messages=uses(1, 2, 3)))
    assert PLACEHOLDER.encode() in b"".join(block.wire_bytes for block in api.calls[0].prompt.blocks)
    assert PLACEHOLDER not in json.dumps(seen)


def test_below_the_trigger_nothing_is_cleared_and_an_empty_list_is_told():
    for request in (edited(clear(), messages=uses(1, 2)), edited()):
        answer = ask(an_emulator(), request)
        assert answer.context_management.to_dict() == {"applied_edits": []}


def test_without_a_context_header_the_answer_does_not_speak_of_edits():
    answer = an_emulator().client().beta.messages.create(**a_request(), betas=["files-api-2025-04-14"])
    assert answer.context_management is None


def test_less_than_was_asked_for_is_not_cleared():
    at_least = {"clear_at_least": {"type": "input_tokens", "value": 1_000}}
    one_page = uses(1, 2, 3)[:5]
    assert ask(an_emulator(), edited(clear(1, **at_least), messages=one_page)).to_dict()[
        "context_management"
    ] == {"applied_edits": []}
    three = ask(an_emulator(), edited(clear(1, **at_least), messages=uses(1, 2, 3)))
    assert three.context_management.applied_edits[0].cleared_tool_uses == 2


def test_excluded_tools_keep_their_results_and_inputs_go_only_where_it_is_asked_for():
    messages = [HELLO, *use(1, name="remember"), *use(2), *use(3)]
    api = an_emulator()
    answer = ask(api, edited(clear(0, 0, exclude_tools=["remember"]), messages=messages))
    assert answer.context_management.applied_edits[0].cleared_tool_uses == 2
    sent = b"".join(block.wire_bytes for block in api.calls[0].prompt.blocks)
    assert b"page 1" in sent
    assert b"page 2" not in sent
    assert b'"page":2' in sent
    ask(api, edited(clear(0, 0, clear_tool_inputs=True), messages=messages))
    assert b'"page":2' not in b"".join(block.wire_bytes for block in api.calls[1].prompt.blocks)


def test_a_stream_tells_the_edits_in_its_last_delta_and_adds_up_to_the_same_message():
    request = edited(clear(), messages=uses(1, 2, 3))
    whole = ask(an_emulator(), request)
    events = []
    with an_emulator().client().beta.messages.stream(**request, betas=[EDITING]) as stream:
        for event in stream:
            events.append(event)
        streamed = stream.get_final_message()
    (delta,) = [event for event in events if event.type == "message_delta"]
    assert delta.context_management == whole.context_management == streamed.context_management
    assert Usage.from_response(streamed) == Usage.from_response(whole)


def test_an_asynchronous_client_is_told_the_same():
    request = edited(clear(), messages=uses(1, 2, 3))
    answer = asyncio.run(an_emulator().async_client().beta.messages.create(**request, betas=[EDITING]))
    assert answer.to_dict() == ask(an_emulator(), request).to_dict()


# --- what is counted


def test_a_count_is_of_what_is_read_and_says_what_was_sent():
    request = edited(clear(), messages=uses(1, 2, 3))
    api = an_emulator()
    count, plain = counted(api, request), counted(api, edited(messages=uses(1, 2, 3)))
    assert count.context_management.original_input_tokens == plain.input_tokens
    assert plain.context_management.original_input_tokens == plain.input_tokens
    assert (
        count.input_tokens == Usage.from_response(ask(api, request)).total_input_tokens < plain.input_tokens
    )


def test_what_stood_in_front_of_a_summary_is_counted_as_sent_unless_it_is_switched_off():
    block = {"type": "compaction", "content": "[50] Two books."}
    messages = [user(text("[5000] The story.")), assistant(block), HELLO]
    request = a_request(messages=messages, context_management={"edits": [{"type": "compact_20260112"}]})
    told = counted(an_emulator(), request, COMPACTING)
    assert told.input_tokens < 200
    assert told.context_management.original_input_tokens > 5_000
    less = counted(an_emulator(original_counts="summary"), request, COMPACTING)
    assert less.context_management.original_input_tokens == less.input_tokens == told.input_tokens


# --- what the cache sees


def reads(api: Emulator) -> list[int]:
    """Two uses, then three with the edit that then fires, and once more."""
    for messages in (uses(1, 2), uses(1, 2, 3), uses(1, 2, 3)):
        ask(api, edited(clear(), messages=messages))
    return [one.usage.cache_read_input_tokens for one in api.calls]


def test_clearing_breaks_the_prefix_at_the_first_cleared_result_and_reads_go_on_behind_it():
    api = an_emulator()
    none, system_only, whole = reads(api)
    written = api.calls[0].usage.cache_creation_input_tokens
    assert none == 0 < system_only < written
    assert api.calls[1].spans[3][:2] == (
        "messages[0].content",
        "W",
    )  # no marker stands in front of the results
    assert (
        whole == api.calls[1].usage.cache_read_input_tokens + api.calls[1].usage.cache_creation_input_tokens
    )


def test_where_edits_come_after_the_lookup_prefixes_are_those_sent_and_reads_go_on():
    api = an_emulator(edits_and_cache="after")
    none, first, again = reads(api)
    broken = an_emulator()
    reads(broken)
    assert none == 0
    assert first > broken.calls[1].usage.cache_read_input_tokens
    assert again > first
    assert [one.usage.total_input_tokens for one in api.calls] == [
        one.usage.total_input_tokens for one in broken.calls
    ]


def test_an_edit_that_does_not_fire_loses_nothing():
    api = an_emulator()
    ask(api, edited(messages=uses(1, 2)))
    ask(api, edited(clear(), messages=uses(1, 2)))
    assert api.calls[1].usage.cache_creation_input_tokens == 0
    assert api.calls[1].usage.cache_read_input_tokens == api.calls[0].usage.cache_creation_input_tokens


# --- thinking


def thoughts(turns: int) -> list[dict[str, Any]]:
    messages = [user(text("Question 0", cache_control=MARK))]
    for n in range(turns):
        thought = {"type": "thinking", "thinking": f"[70] thought {n}", "signature": f"s{n}"}
        messages += [assistant(thought, text(f"Answer {n}")), user(text(f"Question {n + 1}"))]
    return messages


def test_thinking_of_all_but_the_last_turns_is_cleared():
    api = an_emulator(kept_thinking="text")
    answer = ask(api, edited(forget(1), messages=thoughts(3)))
    (told,) = answer.context_management.applied_edits
    assert (told.type, told.cleared_thinking_turns) == ("clear_thinking_20251015", 2)
    assert told.cleared_input_tokens == 140
    assert [block.path for block in api.calls[0].prompt.blocks if block.type == "thinking"] == [
        "messages[5].content[0]"
    ]
    assert ask(api, edited(forget(None), messages=thoughts(3))).context_management.applied_edits == []


def test_kept_thinking_costs_what_the_switch_says():
    totals = {}
    for switch in ("free", "text"):
        api = an_emulator(kept_thinking=switch)
        ask(api, edited(messages=thoughts(3)))
        totals[switch] = api.calls[0].usage.total_input_tokens
    request = edited(messages=thoughts(3))
    by_rules = tokens.count(Prompt.from_request(request), MODEL, counter=a_word_a_token).total
    assert totals == {"free": by_rules, "text": by_rules + 210}


def test_a_model_that_drops_thinking_keeps_it_where_the_edit_says_so():
    thinking = {"type": "enabled", "budget_tokens": 1024}
    request = edited(model="claude-sonnet-4-5", thinking=thinking, max_tokens=4000, messages=thoughts(2))
    api = an_emulator()
    ask(api, request)
    ask(api, {**request, "context_management": {"edits": [forget(None)]}})
    kept = [[block.type for block in one.prompt.blocks].count("thinking") for one in api.calls]
    assert kept == [0, 2]


def test_clearing_thinking_breaks_the_prefix_where_it_stood():
    api = an_emulator()
    marked = thoughts(3)
    marked[-1]["content"][0]["cache_control"] = MARK
    ask(api, edited(messages=marked))
    ask(api, edited(forget(1), messages=marked))
    ends = [span[0] for span in api.calls[1].spans if span[1] == "R"]
    assert ends[-1] == "messages[0].content[0]"


# --- everything at once


@st.composite
def edits(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = [forget(draw(st.sampled_from([None, 1, 2])))] if draw(st.booleans()) else []
    if draw(st.booleans()):
        more = draw(st.sampled_from([{}, {"clear_tool_inputs": True}, {"exclude_tools": ["read"]}]))
        found.append(clear(draw(st.integers(0, 2)), draw(st.integers(0, 2)), **more))
    return found


@settings(deadline=None, max_examples=60)
@given(valid_messages(), edits(), st.sampled_from(["before", "after"]))
def test_a_request_is_billed_and_counted_as_what_the_model_reads(messages, asked, position):
    request = {
        "model": MODEL,
        "max_tokens": 50,
        "tools": TOOLS,
        "messages": messages,
        "cache_control": MARK,
        "context_management": {"edits": asked},
    }
    api = an_emulator(edits_and_cache=position)
    status, _, answer = api.engine.respond(
        "POST",
        "/v1/messages",
        "",
        {"x-api-key": api.key(), "anthropic-version": "2026-10-21", "anthropic-beta": EDITING},
        json.dumps(request).encode(),
    )
    if status != 200:
        assert b"not emulated" in answer or status == 400
        return

    def count(body: Any) -> int:
        return tokens.count(Prompt.from_request(body), MODEL, counter=a_word_a_token).total

    read, applied = effective(request, count=count)
    last = api.calls[-1]
    assert last.usage.total_input_tokens == count(read)
    assert last.applied == applied
    sent = {block.path for block in Prompt.from_request(request).blocks}
    assert {position.path for position in last.plan.layout.positions} <= sent


# --- switches


def test_a_switch_of_an_edit_reaches_the_emulator():
    at_the_trigger = edited(clear(3), messages=uses(1, 2, 3))
    cleared = {}
    for switch in ("exceeds", "reaches"):
        cleared[switch] = len(
            ask(an_emulator(clearing_at=switch), at_the_trigger).context_management.applied_edits
        )
    assert cleared == {"exceeds": 0, "reaches": 1}


@pytest.mark.parametrize("name", [one.name for one in fields(ContextRules)])
def test_a_value_that_is_no_position_of_a_switch_is_named(name):
    with pytest.raises(InvalidArgumentError, match=f"context_rules.{name}"):
        ContextRules(**{name: "sometimes"})


def test_a_call_in_a_reply_is_cleared_like_any_other_when_it_comes_back():
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=[call("read", page=1), "Done."])
    request = edited(clear(0, 0))
    answer = ask(api, request)
    result = {"type": "tool_result", "tool_use_id": answer.content[0].id, "content": "page" + " word" * 900}
    messages = [HELLO, {"role": "assistant", "content": answer.content}, user(result)]
    told = ask(api, {**request, "messages": messages}).context_management.applied_edits
    assert told[0].cleared_tool_uses == 1
