"""Promises of ctxlab.effective: what the server does to a request before the model reads it."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxlab.catalogue import get_model
from ctxlab.effective import (
    BEFORE_SUMMARY,
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    OLD_THINKING,
    PLACEHOLDER,
    EditRules,
    due_compaction,
    edit_problems,
    effective,
    unread,
    without,
)
from ctxlab.errors import InvalidRequestError
from ctxlab.prompt import Prompt, extend
from ctxlab.validity import check, repair
from tests.strategies import valid_messages
from tests.test_validity import (
    NEW,
    OLD,
    assistant,
    call,
    found,
    request,
    result,
    search,
    summary,
    text,
    thinking,
    user,
)

slow = settings(suppress_health_check=[HealthCheck.too_slow])
ADAPTIVE = {"thinking": {"type": "adaptive"}}


def letters(body: Any) -> int:
    """A counter a person can follow: one token for each letter of the request as Python prints it."""
    return len(str(body["messages"]))


def edited(*edits: dict[str, Any], messages: list[Any], **fields: Any) -> Any:
    return request(*messages, context_management={"edits": list(edits)}, **fields)


def uses(n: int, name: str = "read", first: int = 1) -> list[Any]:
    found = []
    for i in range(first, first + n):
        found += [assistant({**call(i), "name": name, "input": {"path": "a" * 40}})]
        found += [user({**result(i), "content": "long " * 100})]
    return found


def clear(**parameters: Any) -> dict[str, Any]:
    units = {"keep": "tool_uses", "clear_at_least": "input_tokens"}
    sized = {
        name: {"type": units[name], "value": value} if name in units else value
        for name, value in parameters.items()
    }
    return {"type": CLEAR_TOOL_USES, "trigger": {"type": "tool_uses", "value": 0}, **sized}


def cleared_results(body: Any) -> list[str]:
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return [b["tool_use_id"] for b in blocks if b["type"] == "tool_result" and b["content"] == PLACEHOLDER]


def test_a_history_that_is_a_deque_is_read_like_a_list():
    messages = [user(), *uses(5)]
    body = edited(clear(keep=1), messages=messages)
    as_deque = {**body, "messages": deque(messages)}
    assert list(effective(as_deque).request["messages"]) == effective(body).request["messages"]
    assert check(as_deque) == check(body) == []
    assert repair(as_deque).request["messages"] == repair(body).request["messages"]


# --- summaries


def test_what_stands_before_the_last_summary_is_not_read():
    kept = [assistant(summary(content="Second."), text("Going on.")), user()]
    body = request(user(), assistant(summary(), text()), user(), *kept)
    read, applied = effective(body)
    assert read["messages"] == kept
    assert [one.type for one in applied] == [BEFORE_SUMMARY]
    assert applied[0].paths[0] == "messages[0].content"


def test_a_summary_that_did_not_come_about_hides_nothing():
    body = request(user(), assistant(summary(content=None), text()), user())
    read, applied = effective(body)
    assert read["messages"] == [user(), assistant(text()), user()]
    assert applied[0].paths == ("messages[1].content[0]",)


def test_blocks_ahead_of_the_summary_in_its_own_message_go_too():
    body = request(user(), assistant(text("Wait."), summary(), text("On.")), user())
    assert effective(body).request["messages"] == [assistant(summary(), text("On.")), user()]


# --- thinking


def thought(*turns: Any) -> list[Any]:
    """Turns with thinking: a loop of two answers, then the next question."""
    return [
        user(text("one")),
        assistant(thinking(thinking="1a"), call(1)),
        user(result(1)),
        assistant(thinking(thinking="1b"), text()),
        user(text("two")),
        assistant(thinking(thinking="2"), text()),
        user(text("three")),
        *turns,
    ]


def thoughts(body: Any) -> list[str]:
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return [b["thinking"] for b in blocks if b["type"] == "thinking"]


def test_models_that_keep_the_last_turn_only_drop_the_thinking_of_earlier_ones():
    open_loop = [assistant(thinking(thinking="3"), call(3)), user(result(3))]
    old = effective(request(*thought(*open_loop), model=OLD))
    new = effective(request(*thought(*open_loop), model=NEW))
    assert thoughts(old.request) == ["3"]
    assert [one.type for one in old.applied] == [OLD_THINKING]
    assert (thoughts(new.request), new.applied) == (["1a", "1b", "2", "3"], ())


@pytest.mark.parametrize(
    ("keep", "left", "turns"),
    [
        ({"type": "thinking_turns", "value": 1}, ["2"], 1),
        ({"type": "thinking_turns", "value": 2}, ["1a", "1b", "2"], 0),
        ({"type": "all"}, ["1a", "1b", "2"], 0),
        ("all", ["1a", "1b", "2"], 0),
    ],
)
@pytest.mark.parametrize("model", [NEW, OLD])
def test_an_edit_says_how_many_turns_keep_their_thinking_on_every_model(keep, left, turns, model):
    body = edited({"type": CLEAR_THINKING, "keep": keep}, messages=thought(), model=model, **ADAPTIVE)
    read, applied = effective(body, count=letters)
    assert thoughts(read) == left
    assert [(one.type, one.cleared) for one in applied] == ([(CLEAR_THINKING, turns)] if turns else [])


def test_without_keep_the_edit_keeps_what_the_model_keeps_by_itself():
    by_model = {
        model: thoughts(
            effective(edited({"type": CLEAR_THINKING}, messages=thought(), model=model, **ADAPTIVE)).request
        )
        for model in (NEW, OLD)
    }
    assert by_model == {NEW: ["1a", "1b", "2"], OLD: ["2"]}


def test_a_switch_says_whether_each_answer_of_a_loop_is_a_turn_of_its_own():
    edit = {"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": 2}}
    body = edited(edit, messages=thought(), **ADAPTIVE)
    assert thoughts(effective(body, rules=EditRules(thinking_turn="message")).request) == ["1b", "2"]


def test_thinking_edits_need_thinking_that_is_on():
    edit = {"type": CLEAR_THINKING}
    for body in (
        edited(edit, messages=[user()], thinking={"type": "disabled"}),
        edited(edit, messages=[user()], model=OLD),
    ):
        with pytest.raises(InvalidRequestError, match="requires `thinking` to be enabled or adaptive"):
            effective(body)
    assert effective(edited(edit, messages=[user()], model="claude-opus-5-5")).applied == ()


# --- tool results


def test_by_default_the_newest_three_results_are_kept():
    body = edited(clear(), messages=[user(), *uses(5)])
    read, [applied] = effective(body, count=letters)
    assert cleared_results(read) == ["toolu_1", "toolu_2"]
    assert applied.as_api() == {
        "type": CLEAR_TOOL_USES,
        "cleared_tool_uses": 2,
        "cleared_input_tokens": letters(body) - letters(read),
    }
    assert applied.paths == ("messages[2].content[0]", "messages[4].content[0]")
    assert check(read) == []


def test_the_default_trigger_is_100_000_tokens_and_has_to_be_exceeded():
    body = edited({"type": CLEAR_TOOL_USES}, messages=[user(), *uses(5)])
    fired = {n: bool(effective(body, count=lambda _, n=n: n).applied) for n in (99_999, 100_000, 100_001)}
    assert fired == {99_999: False, 100_000: False, 100_001: True}
    reached = effective(body, count=lambda _: 100_000, rules=EditRules(clearing_at="reaches"))
    assert reached.applied


def test_a_trigger_may_count_uses():
    body = edited(clear(trigger={"type": "tool_uses", "value": 5}), messages=[user(), *uses(5)])
    more = edited(clear(trigger={"type": "tool_uses", "value": 5}), messages=[user(), *uses(6)])
    assert effective(body, count=letters).applied == ()
    assert effective(more, count=letters).applied


@pytest.mark.parametrize(("keep", "cleared"), [(0, 5), (1, 4), (5, 0), (50, 0)])
def test_keep_says_how_many_and_more_than_there_are_keeps_all(keep, cleared):
    read, _ = effective(edited(clear(keep=keep), messages=[user(), *uses(5)]), count=letters)
    assert len(cleared_results(read)) == cleared


def test_excluded_tools_are_never_cleared_and_a_switch_says_whether_they_take_places():
    messages = [user(), *uses(2), *uses(3, "search", first=3)]
    body = edited(clear(keep=1, exclude_tools=["search"]), messages=messages)
    assert cleared_results(effective(body, count=letters).request) == ["toolu_1"]
    counting = effective(body, count=letters, rules=EditRules(excluded_count_in_keep=True))
    assert cleared_results(counting.request) == ["toolu_1", "toolu_2"]


def test_nothing_is_cleared_where_too_little_would_be():
    messages = [user(), *uses(5)]
    gain = effective(edited(clear(), messages=messages), count=letters).applied[0].cleared_input_tokens
    enough = edited(clear(clear_at_least=gain), messages=messages)
    too_little = edited(clear(clear_at_least=gain + 1), messages=messages)
    assert effective(enough, count=letters).applied
    assert effective(too_little, count=letters) == (too_little, ())


@pytest.mark.parametrize(
    ("inputs", "emptied"), [(False, []), (True, ["toolu_1", "toolu_2"]), (["search"], ["toolu_2"]), ([], [])]
)
def test_arguments_of_calls_are_cleared_where_that_is_asked_for(inputs, emptied):
    messages = [user(), *uses(1), *uses(1, "search", first=2), *uses(1, first=3)]
    read, _ = effective(edited(clear(keep=1, clear_tool_inputs=inputs), messages=messages), count=letters)
    calls = [b for m in read["messages"] if m["role"] == "assistant" for b in m["content"]]
    assert [one["id"] for one in calls if one["input"] == {}] == emptied


def test_results_of_server_tools_are_uses_like_any_other_unless_a_switch_says_no():
    hit = {**found(1), "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "x" * 99}]}
    body = edited(clear(keep=0), messages=[user(), assistant(search(1), hit, text()), user()])
    assert effective(body, count=letters).request["messages"][1]["content"][1]["content"] == []
    assert effective(body, count=letters, rules=EditRules(clears_server_tools=False)).applied == ()


def test_parallel_results_are_cleared_one_by_one():
    messages = [user(), assistant(call(1), call(2)), user({**result(1), "content": "long"}, result(2))]
    read, _ = effective(edited(clear(keep=1), messages=messages), count=letters)
    assert cleared_results(read) == ["toolu_1"]


def test_a_switch_says_whether_a_trigger_sees_what_earlier_edits_cleared():
    messages = [*thought(), *uses(5, first=9)]
    whole = letters({"messages": messages})
    edits = [
        {"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": 1}},
        clear(trigger={"type": "input_tokens", "value": whole - 1}),
    ]
    body = edited(*edits, messages=messages, **ADAPTIVE)
    so_far = effective(body, count=letters)
    as_sent = effective(body, count=letters, rules=EditRules(trigger_counts="as_sent"))
    assert [one.type for one in so_far.applied] == [CLEAR_THINKING]
    assert [one.type for one in as_sent.applied] == [CLEAR_THINKING, CLEAR_TOOL_USES]


# --- edits that are refused


@pytest.mark.parametrize(
    ("management", "path", "rule"),
    [
        (7, "context_management", "object"),
        ({"edits": "x"}, "context_management.edits", "list"),
        ({"edits": [{"type": "clear_tool_uses"}]}, "context_management.edits[0].type", "known-edit"),
        ({"edits": [None]}, "context_management.edits[0].type", "known-edit"),
        (
            {"edits": [{"type": CLEAR_TOOL_USES}, {"type": CLEAR_THINKING}]},
            "context_management.edits[1]",
            "thinking-first",
        ),
        ({"edits": [clear(), clear()]}, "context_management.edits[1]", "one-of-each"),
        (
            {"edits": [clear(trigger={"type": "tokens", "value": 1})]},
            "context_management.edits[0].trigger.type",
            "unit",
        ),
        ({"edits": [clear(keep=-1)]}, "context_management.edits[0].keep.value", "whole-number"),
        ({"edits": [clear(keep=True)]}, "context_management.edits[0].keep.value", "whole-number"),
        (
            {"edits": [{"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": 0}}]},
            "context_management.edits[0].keep.value",
            "whole-number",
        ),
        (
            {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 49_999}}]},
            "context_management.edits[0].trigger.value",
            "least-trigger",
        ),
        ({"edit": []}, "context_management.edit", "known-parameter"),
        ({"edits": [clear(triger=1)]}, "context_management.edits[0].triger", "known-parameter"),
        ({"edits": [clear(exclude_tools="read")]}, "context_management.edits[0].exclude_tools", "type"),
        ({"edits": [clear(exclude_tools=[["read"]])]}, "context_management.edits[0].exclude_tools", "type"),
        ({"edits": [clear(clear_tool_inputs=1)]}, "context_management.edits[0].clear_tool_inputs", "type"),
        (
            {"edits": [{"type": "compact_20260112", "pause_after_compaction": "yes"}]},
            "context_management.edits[0].pause_after_compaction",
            "type",
        ),
    ],
)
def test_an_edit_the_api_refuses_is_a_typed_error_with_its_place(management, path, rule):
    body = request(user(), context_management=management)
    assert [(one.path, one.rule) for one in edit_problems(body)] == [(path, rule)]
    with pytest.raises(InvalidRequestError):
        effective(body)


def test_all_three_edits_in_their_order_are_legal_with_every_parameter_they_have():
    edits = [{"type": CLEAR_THINKING}, {"type": CLEAR_TOOL_USES}, {"type": "compact_20260112"}]
    assert edit_problems({"context_management": {"edits": edits}}) == []
    clearing = clear(keep=1, clear_at_least=1, exclude_tools=["read"], clear_tool_inputs=("read",))
    compacting = {"type": "compact_20260112", "instructions": "Briefly.", "pause_after_compaction": True}
    nulls = {**clear(exclude_tools=None, clear_tool_inputs=None), "keep": None}
    for edits in ([clearing, compacting], [nulls], [clear(clear_tool_inputs=True)]):
        assert edit_problems({"context_management": {"edits": edits}}) == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (None, "request"),
        ([], "request"),
        ({"messages": []}, "model"),
        ({"model": NEW, "messages": "Hi"}, "messages"),
        ({"model": NEW, "messages": {"role": "user"}}, "messages"),
        ({"model": NEW, "messages": (one for one in ())}, "messages"),
        ({"model": NEW, "messages": [None]}, "messages[0]"),
        ({"model": NEW, "messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"model": NEW, "messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content[0]"),
    ],
)
def test_what_is_no_request_is_named_by_its_place(body, path):
    with pytest.raises(InvalidRequestError) as caught:
        effective(body)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert edit_problems({"context_management": {}}) == edit_problems({}) == []


# --- compaction that is due


def test_a_compaction_is_due_where_the_prompt_reaches_its_trigger():
    plain, body = request(user()), edited({"type": "compact_20260112"}, messages=[user()])
    due = {n: due_compaction(body, count=lambda _, n=n: n) is not None for n in (149_999, 150_000)}
    assert due == {149_999: False, 150_000: True}
    assert due_compaction(plain, count=lambda _: 10**9) is None
    exceeding = EditRules(compacting_at="exceeds")
    assert due_compaction(body, count=lambda _: 150_000, rules=exceeding) is None


# --- both faces


def test_a_prompt_without_some_messages_goes_on_under_the_numbers_that_were_sent():
    prompt = Prompt.from_request(request(user(), assistant(summary()), user()))
    longer = extend(without(prompt, {0}), [assistant(text("Yes."))])
    assert [block.message for block in longer.blocks] == [1, 2, 3]


@slow
@given(valid_messages(), st.sampled_from([NEW, OLD]))
def test_a_prompt_without_what_is_unread_is_the_prompt_of_the_effective_request(messages, model):
    body = request(*messages, model=model)
    before = copy.deepcopy(body)
    read, _ = effective(body)
    assert body == before
    prompt = Prompt.from_request(body)
    left = without(prompt, unread(prompt.blocks, get_model(model)))
    assert left.chain() == Prompt.from_request(read).chain()
    assert effective(read) == (read, ())
    assert check({**read, "messages": read["messages"]}) == []


edits_asked_for = st.builds(
    lambda keep, at_least, excluded, inputs, value: clear(
        keep=keep,
        clear_at_least=at_least,
        exclude_tools=excluded,
        clear_tool_inputs=inputs,
        trigger={"type": "input_tokens", "value": value},
    ),
    st.integers(0, 4),
    st.integers(0, 50),
    st.sampled_from([None, ["read"], ["web_search"]]),
    st.booleans() | st.just(["read"]),
    st.integers(0, 3000),
)


@slow
@given(valid_messages(), edits_asked_for, st.booleans())
def test_edits_leave_a_valid_request_valid_and_account_for_every_token(messages, edit, with_thinking):
    thinking_edit = {"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": 1}}
    edits = [thinking_edit, edit] if with_thinking else [edit]
    body = edited(*edits, messages=messages, **ADAPTIVE)
    read, applied = effective(body, count=letters)
    assert check(read) == []
    start = letters(effective(request(*messages)).request)
    lost = sum(one.cleared_input_tokens or 0 for one in applied)
    if all(one.cleared_input_tokens for one in applied):  # a short result gives way to a longer note
        assert letters(read) == start - lost
    if not applied:
        assert read == body
