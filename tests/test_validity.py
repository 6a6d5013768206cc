"""Promises of ctxlab.validity: what a list of messages may not be, in whose words, where it may be cut."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxlab.catalogue import get_model, models
from ctxlab.recordings import exchange, exchanges
from ctxlab.validity import RULES, check, safe_cuts
from ctxlab.validity.rule import read
from tests.rebuilt import request_of
from tests.strategies import junk, valid_messages

NEW, OLD = "claude-opus-4-8", "claude-haiku-4-5"


def text(words: str = "Hello.") -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(n: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{n}", "name": "read", "input": {}}


def result(n: object) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "ok"}


def search(n: object) -> dict[str, Any]:
    return {"type": "server_tool_use", "id": f"srvtoolu_{n}", "name": "web_search", "input": {}}


def found(n: object) -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{n}", "content": []}


def thinking(**more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "Hm.", "signature": "s", **more}


def summary(**more: Any) -> dict[str, Any]:
    return {"type": "compaction", "content": "So far.", **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks) or "Hello."}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks) or "Hello."}


def system(words: Any = "Be quick.", **more: Any) -> dict[str, Any]:
    return {"role": "system", "content": words, **more}


def request(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": NEW, "max_tokens": 100, "messages": list(messages), **fields}


PICTURE = {"type": "image", "source": {"type": "url", "url": "x"}}
ON = {"thinking": {"type": "enabled", "budget_tokens": 1024}}

# rule: requests that break it, with the place and the words of the API (or ours where those are not known)
WRONG: dict[str, list[tuple[dict[str, Any], str, str]]] = {
    "some-message": [(request(), "messages", "messages: at least one message is required")],
    "known-role": [
        (
            request(user(), {"role": "tool", "content": "ok"}),
            "messages[1].role",
            "messages.1.role: Input should be 'user' or 'assistant'",
        )
    ],
    "system-role": [
        (
            request(user(), system(), model=OLD),
            "messages[1].role",
            "role 'system' is not supported on this model",
        )
    ],
    "system-not-first": [
        (
            request(system(), assistant(), user()),
            "messages[0]",
            "messages.0: use the top-level 'system' parameter for the initial system prompt; the "
            "directive-only form (content: [] with output_config) is accepted at any position",
        )
    ],
    "system-after-user": [
        (
            request(user(), assistant(), system()),
            "messages[2]",
            "messages.2: role 'system' must follow a 'user' message or an 'assistant' message ending in a "
            "server tool result",
        )
    ],
    "system-before-assistant": [
        (
            request(user(), system(), user()),
            "messages[1]",
            "messages.1: role 'system' must precede an 'assistant' message or end the array; the "
            "directive-only form (content: [] with output_config) is accepted at any position",
        )
    ],
    "content": [
        (
            request({"role": "user", "content": empty}, assistant(), user()),
            "messages[0].content",
            "messages.0: all messages must have non-empty content except for the optional final assistant "
            "message",
        )
        for empty in ("", [])
    ],
    "text": [
        (
            request(user(PICTURE, text(""))),
            "messages[0].content[1].text",
            "messages: text content blocks must be non-empty",
        ),
        (
            request(user(), system=[text("")]),
            "system[0].text",
            "system: text content blocks must be non-empty",
        ),
    ],
    "blank-text": [
        (
            request(user(), assistant(text(" \n"), call(1)), user(result(1))),
            "messages[1].content[0]",
            "messages: text content blocks must contain non-whitespace text",
        ),
        (
            request({"role": "user", "content": " "}),
            "messages[0].content",
            "messages: text content blocks must contain non-whitespace text",
        ),
    ],
    "prefill": [
        (
            request(user(), assistant(thinking(), text("{")), thinking={"type": "adaptive"}),
            "messages[1].content[1]",
            "This model does not support assistant message prefill. The conversation must end with a user "
            "message.",
        )
    ],
    "prefill-blank": [
        (
            request(user(), assistant(text("So: ")), model=OLD),
            "messages[1].content[0]",
            "messages: final assistant content cannot end with trailing whitespace",
        )
    ],
    "pictures": [
        (
            request(user(*[PICTURE] * 120), model=OLD),
            "messages[0].content[100]",
            "too many images and documents: 120 + 0 > 100",
        ),
        (
            request(
                assistant(call(1)),
                user({**result(1), "content": [PICTURE] * 600}, {"type": "document", "source": {}}),
            ),
            "messages[1].content[1]",
            "too many images and documents: 600 + 1 > 600",
        ),
    ],
    "calls-by-assistant": [
        (
            request(user(call(1))),
            "messages[0]",
            "messages.0: `tool_use` blocks can only be in `assistant` messages",
        )
    ],
    "results-by-user": [
        (
            request(user(), assistant(result(1)), user()),
            "messages[1]",
            "messages.1: `tool_result` blocks can only be in `user` messages",
        )
    ],
    "call-id": [
        (
            request(assistant({**call(1), "id": "a:b"}), user({**result(1), "tool_use_id": "a:b"})),
            "messages[0].content[0].id",
            "messages.0.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        )
    ],
    "calls-unique": [
        (
            request(assistant(call(1)), user(result(1)), assistant(text(), call(1)), user(result(1))),
            "messages[2].content[1].id",
            "messages.2.content.1: `tool_use` ids must be unique",
        )
    ],
    "calls-answered": [
        (
            request(user(), assistant(text(), call(1), call(2))),
            "messages[1]",
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1, "
            "toolu_2. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message.",
        ),
        (
            request(assistant(call(1)), user(text(), result(1))),
            "messages[0]",
            "messages.0: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
    ],
    "results-asked-for": [
        (
            request(user(text()), assistant(), user(result(1), text())),
            "messages[2].content[0]",
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each "
            "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
        )
    ],
    "one-result-each": [
        (
            request(assistant(call(1)), user(result(1), result(1))),
            "messages[1].content[1]",
            "messages.1.content.1: each tool_use must have a single result. Found multiple `tool_result` "
            "blocks with id: toolu_1",
        )
    ],
    "server-calls-answered": [
        (
            request(user(), assistant(search(1), text()), user()),
            "messages[1].content[0]",
            "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding "
            "`web_search_tool_result` block",
        )
    ],
    "server-results-asked-for": [
        (
            request(user(), assistant(found(1), search(1), text()), user()),
            "messages[1].content[0]",
            "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: "
            "srvtoolu_1. Each `web_search_tool_result` block must have a corresponding `server_tool_use` "
            "block before it.",
        )
    ],
    "thinking-by-assistant": [
        (
            request(user(thinking(), text())),
            "messages[0].content",
            "messages.0.content: thinking blocks may only be in `assistant` messages",
        )
    ],
    "thinking-signed": [
        (
            request(user(), assistant({"type": "thinking", "thinking": "Hm."}, text()), user()),
            "messages[1].content[0].signature",
            "messages.1.content.0.thinking.signature: Field required",
        )
    ],
    "thinking-in-loop": [
        (
            request(*[user(), assistant()] * 104, user(), assistant(call(1)), user(result(1)), **ON),
            "messages[209].content[0].type",
            exchange("reported/error-thinking_missing-14#0").error.message,
        )
    ],
    "thinking-switched-off": [
        (
            request(*[user()] * 139, assistant(thinking()), model=OLD, thinking={"type": "disabled"}),
            "messages[139].content[0]",
            exchange("reported/error-thinking_disabled-15#0").error.message,
        ),
        (
            request(*[user()] * 139, assistant(thinking()), model=OLD),
            "messages[139].content[0]",
            exchange("reported/error-thinking_disabled-15#0").error.message,
        ),
    ],
    "signed-summary-first": [
        (
            request(user(), assistant(summary(signature="s")), user()),
            "messages[1].content[0]",
            "`compaction` block must be sent first, in place of the messages it summarizes; remove those "
            "messages",
        )
    ],
    "one-signed-summary": [
        (
            request(assistant(summary(signature="s"), summary(signature="t")), user()),
            "messages[0].content[1]",
            "is a second signed compaction block",
        )
    ],
    "summary-content": [
        (
            request(user(), assistant(summary(content=""), text()), user()),
            "messages[1].content[0].content",
            "is empty",
        )
    ],
}
# a second signed summary is never the first block
TOGETHER = {"one-signed-summary": {"one-signed-summary", "signed-summary-first"}}


@pytest.mark.parametrize(
    ("rule", "body", "path", "message"),
    [(rule, *case) for rule, cases in WRONG.items() for case in cases],
)
def test_a_broken_rule_names_its_place_and_what_the_api_says(rule, body, path, message):
    before = copy.deepcopy(body)
    problems = check(body)
    assert {problem.rule for problem in problems} == TOGETHER.get(rule, {rule})
    [problem] = [problem for problem in problems if problem.rule == rule]
    assert (problem.path, problem.message) == (path, message)
    assert problem.fix
    assert body == before


def test_every_rule_has_a_request_that_breaks_it():
    assert set(WRONG) == set(RULES)


def test_every_rule_says_where_it_comes_from_and_whose_words_it_uses():
    for rule in RULES.values():
        assert str(rule.date.year) in rule.source
        assert (rule.wire is None) == bool(rule.ours)
        assert (rule.wire is None) == ("wording not known" in rule.source)


RIGHT = {
    "two user messages in a row (recorded)": request(user(), user()),
    "two assistant messages in a row (recorded)": request(user(), assistant(), assistant(), user()),
    "a leading assistant message (recorded)": request(assistant(), user()),
    "system messages in a row (recorded)": request(user(), assistant(), user(), user(), system(), system()),
    "a system message before the answer (recorded)": request(user(), system(), assistant(), user()),
    "a directive without text, anywhere": request(
        user(), assistant(), system([], output_config={"effort": "low"}), user()
    ),
    "a tool change, anywhere": request(user(), system([{"type": "tool_addition", "tool": {}}]), user()),
    "a system message behind a server tool's result": request(
        user(), assistant(search(1), found(1)), system(), assistant(), user()
    ),
    "a system message on a model that is in no list yet": request(user(), system(), model="claude-fable-5-2"),
    "a model nobody knows": request(user(), system(), model="claude-nobody"),
    "an empty last assistant message": request(user(), {"role": "assistant", "content": []}, model=OLD),
    "blanks beside words": request(user(text(" "), text("real"))),
    "a result without content": request(
        assistant(call(1)), user({"type": "tool_result", "tool_use_id": "toolu_1"})
    ),
    "an empty text inside a result": request(assistant(call(1)), user({**result(1), "content": [text("")]})),
    "a prefill on a model that takes one (recorded)": request(user(), assistant(text("{")), model=OLD),
    "an answer that the server paused": request(user(), assistant(text(), search(1))),
    "a paused answer that ends in text": request(user(), assistant(search(1), found(1), text("and"))),
    "a summary that is sent back to go on": request(user(), assistant(summary(), text())),
    "600 pictures": request(user(*[PICTURE] * 600)),
    "100 pictures on a small window": request(user(*[PICTURE] * 100), model=OLD),
    "results in another order, then text": request(
        assistant(call(1), call(2)), user(result(2), result(1), text())
    ),
    "the same name called twice": request(assistant(call(1), call(2)), user(result(1), result(2))),
    "a server call that waits for the client's result": request(
        user(), assistant(search(1), call(1)), user(result(1))
    ),
    "a server result in a later answer": request(
        user(), assistant(search(1), call(1)), user(result(1)), assistant(found(1), text()), user()
    ),
    "thinking behind a server tool (recorded)": request(
        user(), assistant(search(1), found(1), thinking(), search(2), found(2), text()), user()
    ),
    "thinking that starts the loop, not its later steps": request(
        user(), assistant(thinking(), call(1)), user(result(1)), assistant(call(2)), user(result(2)), **ON
    ),
    "no thinking in a loop of another kind": request(
        user(), assistant(call(1)), user(result(1)), thinking={"type": "adaptive"}
    ),
    "no thinking in a turn that is over": request(
        user(), assistant(call(1)), user(result(1)), assistant(), user(), **ON
    ),
    "thinking kept in earlier turns while it is off": request(
        user(), assistant(thinking(), text()), user(), model=OLD, thinking={"type": "disabled"}
    ),
    "a signed summary as a message of its own": request(
        assistant(summary(signature="s")), assistant(), user()
    ),
    "a signed summary first in a user message": request(user(summary(signature="s"), text())),
    "several summaries of the threshold kind": request(
        user(), assistant(summary(), text()), user(), assistant(summary(), text()), user()
    ),
    "a summary that did not come about": request(user(), assistant(summary(content=None), text()), user()),
    "the API's name for a place in a document": request(user({"type": "search_result", "content": [text()]})),
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_is_legal_is_left_in_peace(body):
    assert check(body) == []


def test_no_recorded_request_that_was_answered_breaks_a_rule():
    answered = [row for row in exchanges() if row.request_known and row.blocks and row.status == 200]
    assert len(answered) > 500
    assert [(row.id, check(request_of(row))) for row in answered if check(request_of(row))] == []


def test_the_recordings_hold_the_odd_lists_that_are_legal():
    roles = [
        [message["role"] for message in request_of(row)["messages"]]
        for row in exchanges()
        if row.request_known and row.status == 200
    ]
    assert any(list_[:1] == ["assistant"] for list_ in roles)
    assert any(a == b == "user" for list_ in roles for a, b in pairwise(list_))
    assert any(a == b == "system" for list_ in roles for a, b in pairwise(list_))


def test_the_fix_tells_a_late_result_from_a_missing_one():
    late = check(request(assistant(call(1)), user(text(), result(1))))[0]
    missing = check(request(assistant(call(1)), user(text())))[0]
    assert "ahead of everything else" in late.fix
    assert "cut off" in missing.fix


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": None},
        {"messages": "x"},
        {"messages": [None, 7, "x", {}]},
        {"messages": [{"role": 3, "content": 4}]},
    ],
)
def test_what_cannot_be_read_is_no_reason_to_raise(body):
    for problem in check(body):
        assert problem.rule in ("some-message", "known-role")


@given(
    st.lists(st.fixed_dictionaries({}, optional={"role": junk, "content": junk | st.lists(junk)}), max_size=3)
)
def test_junk_is_judged_and_never_raises(messages):
    check({"messages": messages, "model": 3, "system": messages, "thinking": messages})
    safe_cuts(messages)


def test_objects_of_the_sdk_are_read_like_dicts():
    from anthropic.types import ToolUseBlock

    made = ToolUseBlock(type="tool_use", id="toolu_1", name="read", input={})
    history = [user(), {"role": "assistant", "content": [made]}]
    assert [problem.rule for problem in check(request(*history))] == ["calls-answered"]
    assert check(request(*history, user(result(1)))) == []


# --- safe cuts


def loop() -> list[dict[str, Any]]:
    """0 question, 1 call, 2 result, 3 two calls, 4 two results, 5 answer, 6 question."""
    return [
        user(),
        assistant(call(1)),
        user(result(1)),
        assistant(call(2), call(3)),
        user(result(2), result(3)),
        assistant(),
        user(),
    ]


def test_a_call_and_its_results_are_never_parted():
    assert sorted(safe_cuts(loop())) == [0, 1, 3, 5, 6]


@pytest.mark.parametrize("cut", [2, 4])
def test_the_other_cuts_would_break_the_list(cut):
    assert [problem.rule for problem in check(request(*loop()[cut:]))][:1] == ["results-asked-for"]


def test_the_field_case_of_three_messages_kept_starts_behind_the_result():
    # keep the last 3 of u1, a[tu1], u[tr1], a2, u2: the result would stand there without its call
    history = [user(), assistant(call(1)), user(result(1)), assistant(), user()]
    assert 2 not in safe_cuts(history)
    assert min(cut for cut in safe_cuts(history) if cut >= 2) == 3


def test_a_cut_keeps_at_least_one_message():
    assert sorted(safe_cuts([user(), assistant(), user()])) == [0, 1, 2]
    assert safe_cuts([]) == {0}


@pytest.mark.parametrize("broken", [[user(result(1))], [system(), assistant()], [user(found(2)), user()]])
def test_a_list_that_is_broken_already_may_be_left_uncut(broken):
    assert 0 in safe_cuts(broken)
    assert safe_cuts([user(result(1))]) == {0}


def test_a_cut_does_not_put_a_system_message_first():
    assert sorted(safe_cuts([user(), system(), assistant(), user()])) == [0, 2, 3]


def test_a_server_tools_pair_stays_together_over_messages():
    history = [user(), assistant(search(1), call(1)), user(result(1)), assistant(found(1), text()), user()]
    assert sorted(safe_cuts(history)) == [0, 1, 4]


def test_the_open_turn_of_a_thinking_model_stays_whole():
    thinks = [
        user(),
        user(),
        assistant(thinking(), call(1)),
        user(result(1)),
        assistant(call(2)),
        user(result(2)),
    ]
    without = copy.deepcopy(thinks)
    without[2]["content"].pop(0)
    assert sorted(safe_cuts(thinks)) == [0, 1, 2]
    assert sorted(safe_cuts(without)) == [0, 1, 2, 4]


def test_what_a_summary_stands_for_is_not_cut_away_with_it():
    history = [user(), assistant(summary(), text()), user(), assistant(), user()]
    assert sorted(safe_cuts(history)) == [0, 1]
    failed = [user(), assistant(summary(content=None), text()), user(), assistant(), user()]
    assert sorted(safe_cuts(failed)) == [0, 1, 2, 3, 4]


slow = settings(suppress_health_check=[HealthCheck.too_slow])


@slow
@given(valid_messages(), st.sampled_from([NEW, OLD, None]))
def test_a_valid_list_is_found_valid_and_so_is_every_safe_cut_of_it(messages, model):
    cuts = safe_cuts(messages)
    assert 0 in cuts
    for cut in cuts:
        assert check({"model": model, "messages": messages[cut:]}) == []


@slow
@given(valid_messages())
def test_a_cut_that_is_not_offered_breaks_a_rule_or_loses_something(messages):
    """Loses: the summary of what came before, or part of a turn whose thinking is still needed."""
    kept = {"signed-summary-first", "thinking-in-loop"}
    of_structure = [rule for name, rule in RULES.items() if name not in kept]
    for cut in set(range(len(messages) + 1)) - safe_cuts(messages):
        structural = any(cut not in rule.safe_cuts(messages) for rule in of_structure)
        assert bool(check({"messages": messages[cut:]})) == structural


@slow
@given(valid_messages())
def test_cutting_twice_is_cutting_once(messages):
    for first in safe_cuts(messages):
        for second in safe_cuts(messages[first:]):
            assert first + second in safe_cuts(messages)


def blocks_of(message: dict) -> list[dict]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


@slow
@given(valid_messages(), st.data())
def test_dropping_one_block_of_a_pair_is_noticed_unless_the_server_may_still_answer(messages, data):
    pairs = {"tool_use", "tool_result", "web_search_tool_result"}
    places = [
        (i, j)
        for i, message in enumerate(messages)
        if isinstance(message["content"], list)
        for j, block in enumerate(message["content"])
        if block["type"] in pairs
    ]
    if not places:
        return
    i, j = data.draw(st.sampled_from(places))
    broken = copy.deepcopy(messages)
    dropped = broken[i]["content"].pop(j)
    later = [block for message in messages[i + 1 :] for block in blocks_of(message)]
    if dropped["type"] == "web_search_tool_result" and all(b["type"] == "tool_result" for b in later):
        assert check({"messages": broken}) == []  # the turn is still running: the server answers later
    else:
        assert check({"messages": broken})


def test_messages_that_were_read_are_not_read_again():
    once = read(loop())
    assert read(once) is once
    assert [rule.check(once) for rule in RULES.values()] == [rule.check(loop()) for rule in RULES.values()]


@pytest.mark.parametrize("model", [model.id for model in models()])
def test_a_plain_conversation_is_valid_on_every_model(model):
    assert check(request(user(), assistant(), user(), model=model)) == []
    assert get_model(model).id == model
