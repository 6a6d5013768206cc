"""A request rewritten so that the next one can share its prefix: what moves, what is sorted, what stays."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab import breakpoints, validity
from ctxlab.breakers import compare, stabilise
from ctxlab.breakers.spans import volatile_spans
from ctxlab.breakers.stabilise import HEADING, PLACEHOLDER
from ctxlab.catalogue import get_model
from ctxlab.errors import InvalidArgumentError, InvalidRequestError
from ctxlab.prompt import Prompt
from tests import strategies

CC = {"type": "ephemeral"}
CLOCK = "Now: 2026-03-06 14:07:31"


def tool(name: str, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return {"name": name, "description": f"The tool {name}.", "input_schema": schema, **fields}


def text(words: str, marked: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"cache_control": CC} if marked else {})}


def body(**fields: Any) -> dict[str, Any]:
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 64,
        "system": [text("Be brief.", marked=True)],
        "messages": [{"role": "user", "content": "What is new?"}],
        **fields,
    }


# --- clocks


def test_a_clock_goes_behind_the_last_block_of_the_newest_user_message_word_for_word():
    done = stabilise(body(system=[text(f"Rules.\n{CLOCK}\nMore rules.", marked=True)]))
    assert done.request["system"] == [text(f"Rules.\nNow: {PLACEHOLDER}\nMore rules.", marked=True)]
    assert done.request["messages"] == [
        {"role": "user", "content": [text("What is new?"), text(f"{HEADING}\n{CLOCK}")]}
    ]
    assert [one.path for one in done.changes] == ["system[0].text", "messages[0].content[1]"]
    assert done.left == ()


def test_two_requests_a_second_apart_have_one_prefix_once_they_are_stabilised():
    at = [body(system=[text(f"Rules.\nNow: 14:07:3{i}", marked=True)]) for i in range(2)]
    assert not compare(at)[0].stable
    assert compare([stabilise(one).request for one in at])[0].findings == ()


def test_the_next_turn_reads_what_the_last_one_wrote_though_the_clock_moved_on():
    def turn(history: list[dict[str, Any]], clock: str) -> dict[str, Any]:
        request = body(system=f"Rules. Now: {clock}", messages=history)
        request["messages"][-1] = {"role": "user", "content": [text(history[-1]["content"], marked=True)]}
        return stabilise(request).request

    first = turn([{"role": "user", "content": "q1"}], "14:07:31")
    history = [
        {"role": "user", "content": "q1"},
        {"role": "assistant", "content": "a1"},
        {"role": "user", "content": "q2"},
    ]
    assert compare([first, turn(history, "14:09:02")])[0].findings == ()


def test_the_clock_stands_behind_results_and_not_in_front_of_them():
    call = {"type": "tool_use", "id": "toolu_1", "name": "a", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok", "cache_control": CC}
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    done = stabilise(body(system=f"Rules. {CLOCK}", tools=[tool("a")], messages=messages))
    assert [block["type"] for block in done.request["messages"][2]["content"]] == ["tool_result", "text"]
    assert done.request["messages"][:2] == messages[:2]
    assert validity.check(done.request) == []


def test_an_automatic_marker_is_written_out_so_that_it_does_not_cover_the_clock():
    done = stabilise(body(system=f"Rules. {CLOCK}", cache_control={"type": "ephemeral", "ttl": "1h"}))
    assert "cache_control" not in done.request
    question, clock = done.request["messages"][0]["content"]
    assert question["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in clock
    assert breakpoints.validate(done.request) == []
    unmoved = stabilise(body(system="Rules.", cache_control=CC))
    assert unmoved.request["cache_control"] == CC


def test_a_clock_in_a_tool_description_is_moved_too():
    done = stabilise(body(tools=[tool("a", description=f"Adds an event. {CLOCK}")]))
    assert done.request["tools"][0]["description"] == f"Adds an event. Now: {PLACEHOLDER}"
    assert CLOCK in done.request["messages"][0]["content"][1]["text"]


def test_ids_and_paths_of_this_run_are_moved_like_clocks():
    words = "Session: 3f2b8c1e-8f1d-4b7a-9a64-7b9d3d6a1c55\nWorking directory: /tmp/tmpx8k2j1qz/work"
    done = stabilise(body(system=words))
    moved = done.request["messages"][0]["content"][1]["text"]
    for line in words.splitlines():
        assert line in moved
    assert done.request["system"].count(PLACEHOLDER) == 2


@pytest.mark.parametrize(
    "words",
    [
        "Today is 2026-03-06.",
        "Dates look like 2024-01-01T00:00:00Z.",
        "Stop after 00:30:00.",
        "Fixed in commit 9f2c1ab84e1b4b6f9a0d3c2b1a0f9e8d7c6b5a49.",
        'Sample: {"timestamp": "2024-01-01T12:00:00Z"}',
        "The event took place on 2024-05-01 at 12:00:00.",
    ],
)
def test_dates_examples_and_what_may_be_fixed_stay_where_they_are(words):
    request = body(system=words)
    done = stabilise(request)
    assert done.request == request
    assert done.changes == ()


def test_clocks_in_the_history_are_not_touched():
    thinking = {"type": "thinking", "thinking": CLOCK, "signature": CLOCK}
    messages = [
        {"role": "user", "content": CLOCK},
        {
            "role": "assistant",
            "content": [thinking, text(CLOCK)],
        },
        {"role": "user", "content": [text(CLOCK), text("So?", marked=True)]},
    ]
    request = body(messages=messages)
    assert stabilise(request).request == request


def test_where_no_place_is_free_the_clock_stays_and_is_told():
    prefill = {"role": "assistant", "content": [text("The answer is", marked=True)]}
    request = body(
        model="claude-sonnet-4-5",
        system=f"Rules. {CLOCK}",
        messages=[{"role": "user", "content": "Hi"}, prefill],
    )
    done = stabilise(request)
    assert done.request == request
    assert [(one.code, one.path, one.evidence) for one in done.left] == [("CTX101", "system", "14:07:31")]
    assert [one.code for one in stabilise(body(system=CLOCK, messages=[])).left] == ["CTX101"]


def test_a_system_message_carries_the_clock_where_the_model_takes_one():
    request = body(
        system=f"Rules. {CLOCK}", messages=[{"role": "user", "content": [text("Hi", marked=True)]}]
    )
    done = stabilise(request, carrier="system")
    assert done.request["messages"][1] == {
        "role": "system",
        "content": [text(f"{HEADING}\nRules. {CLOCK}")],
        "clear_at": "next_user_message",
    }
    assert "beta" in done.changes[-1].fix
    assert validity.check(done.request) == []
    assert stabilise(done.request, carrier="system").changes == ()


def test_elsewhere_a_user_block_carries_it():
    assert "mid_conversation_system" not in get_model("claude-sonnet-5").capabilities
    done = stabilise(body(model="claude-sonnet-5", system=f"Rules. {CLOCK}"), carrier="system")
    assert [message["role"] for message in done.request["messages"]] == ["user"]


# --- orders


def test_tools_are_sorted_by_name_and_the_marker_stays_at_the_end():
    tools = [tool("c"), tool("a"), tool("b", cache_control=CC)]
    done = stabilise(body(tools=tools))
    assert [one["name"] for one in done.request["tools"]] == ["a", "b", "c"]
    assert [one.get("cache_control") for one in done.request["tools"]] == [None, None, CC]
    assert "tools: sorted by name: a, b, c [tool-order]" in map(str, done.changes)


def test_server_tools_keep_their_type_and_deferred_tools_get_no_marker():
    tools = [
        tool("z", cache_control=CC),
        {"type": "web_search_20250305", "name": "web_search", "blocked_domains": ["b.org", "a.org"]},
        tool("a", defer_loading=True),
        {"type": "mcp_toolset", "mcp_server_name": "files"},
    ]
    done = stabilise(body(tools=tools))
    named = {one.get("name") or one["mcp_server_name"]: one for one in done.request["tools"]}
    assert list(named) == ["a", "files", "web_search", "z"]
    assert named["web_search"]["type"] == "web_search_20250305"
    assert named["web_search"]["blocked_domains"] == ["a.org", "b.org"]
    assert "cache_control" not in named["a"]
    assert breakpoints.validate(done.request) == []


def test_sets_of_a_schema_are_sorted_and_whatever_bears_order_is_not():
    schema = {
        "type": ["string", "null"],
        "required": ["b", "a"],
        "enum": ["low", "high", "medium"],
        "anyOf": [{"type": "null"}, {"type": "integer"}],
        "prefixItems": [{"title": "b"}, {"title": "a"}],
        "examples": ["b", "a"],
        "default": {"required": ["b", "a"]},
        "properties": {"required": {"type": "array", "items": {"required": ["y", "x"]}}},
    }
    done = stabilise(body(tools=[tool("a", input_schema=schema)])).request["tools"][0]["input_schema"]
    assert done == {
        **schema,
        "type": ["null", "string"],
        "required": ["a", "b"],
        "properties": {"required": {"type": "array", "items": {"required": ["x", "y"]}}},
    }
    assert list(done) == sorted(schema)


def test_keys_of_a_schema_are_sorted_but_for_the_properties_of_a_strict_tool():
    properties = {"z": {"type": "string"}, "a": {"type": "string"}}
    schema = {"type": "object", "properties": properties}
    loose, strict = tool("loose", input_schema=schema), tool("strict", input_schema=schema, strict=True)
    done = stabilise(body(tools=[loose, strict])).request["tools"]
    assert list(done[0]["input_schema"]) == list(done[1]["input_schema"]) == ["properties", "type"]
    assert list(done[0]["input_schema"]["properties"]) == ["a", "z"]
    assert list(done[1]["input_schema"]["properties"]) == ["z", "a"]


def test_output_schemas_and_calls_are_not_touched():
    call = {"type": "tool_use", "id": "toolu_1", "name": "a", "input": {"b": ["y", "x"], "a": 1}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    schema = {"type": "object", "required": ["b", "a"], "properties": {"b": {}, "a": {}}}
    request = body(
        output_config={"format": {"type": "json_schema", "schema": schema}},
        messages=[
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
    )
    assert json.dumps(stabilise(request).request) == json.dumps(request)


def test_any_two_orders_of_the_same_tools_become_the_same_bytes():
    one, other = (body(tools=[tool(name) for name in names]) for names in ("abc", "cab"))
    other["tools"][0]["input_schema"] = dict(reversed(other["tools"][0]["input_schema"].items()))
    assert json.dumps(stabilise(one).request) == json.dumps(stabilise(other).request)


# --- promises for every request


volatile = st.sampled_from(
    [
        CLOCK,
        "It is 10:41.",
        "The time is 2026-03-06T14:07:31.123456Z and now 14:07:32.",
        "Session: 3f2b8c1e-8f1d-4b7a-9a64-7b9d3d6a1c55",
        "cwd /tmp/tmpx8k2j1qz/work, pid 4711",
        "Today is 2026-03-06.",
        "now 14:07:31 10:00:00 11:11:11",
        "e.g. 14:07:31",
        PLACEHOLDER,
        "",
    ]
)


@st.composite
def unstable_requests(draw: st.DrawFn) -> dict[str, Any]:
    """A request with clocks in system prompt and tools, and markers here and there."""
    request = draw(strategies.requests())
    lines = draw(st.lists(volatile, max_size=4))
    request["system"] = draw(
        st.sampled_from(["\n".join(lines), [text(line or "x", draw(st.booleans())) for line in lines]])
    )
    for one in request.get("tools", ()):
        one["description"] += draw(volatile)
        one["input_schema"]["required"] = draw(st.permutations(["x", "y"]))
    if draw(st.booleans()):
        request["cache_control"] = CC
    elif request["messages"] and isinstance(request["messages"][-1]["content"], list):
        request["messages"][-1]["content"][-1]["cache_control"] = CC
    return request


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(item)


@given(unstable_requests(), st.sampled_from(["user", "system"]))
def test_twice_is_once_and_the_given_request_is_not_changed(request, carrier):
    before = copy.deepcopy(request)
    once = stabilise(request, carrier=carrier)
    assert request == before
    twice = stabilise(once.request, carrier=carrier)
    assert json.dumps(twice.request) == json.dumps(once.request)
    assert twice.changes == ()


@given(unstable_requests(), st.sampled_from(["user", "system"]))
def test_what_the_api_accepted_it_still_accepts(request, carrier):
    done = stabilise(request, carrier=carrier).request
    faults = {problem.rule for problem in validity.check(request)}
    assert {problem.rule for problem in validity.check(done)} <= faults
    marker_faults = {problem.rule for problem in breakpoints.validate(request)}
    assert {problem.rule for problem in breakpoints.validate(done)} <= marker_faults


@given(unstable_requests(), st.sampled_from(["user", "system"]))
def test_what_was_moved_is_still_there_and_the_history_is_as_it_was(request, carrier):
    done = stabilise(request, carrier=carrier)
    moved = [one for one in done.changes if one.rule in VOLATILE_RULES]
    everything = "\n".join(strings(done.request["messages"]))
    assert all(one.message.split("'")[1] in everything for one in moved)
    before, after = history(request), history(done.request)
    added = [digest for digest in after if digest not in before]
    assert len(added) <= bool(moved)
    assert [digest for digest in after if digest not in added] == before


@given(unstable_requests())
def test_no_likely_value_of_this_request_is_left_in_front_unless_it_is_told(request):
    done = stabilise(request)
    system = [text for text in strings(request_part(done.request, "system")) if text != "ephemeral"]
    found = [span for words in system for span in volatile_spans(words) if span.likely]
    assert {span.shown for span in found} <= {one.evidence for one in done.left}


VOLATILE_RULES = ("clock", "random-value", "per-run-value", "object-identity")


def request_part(request: dict[str, Any], field: str) -> list[Any]:
    part = request.get(field) or []
    return [part] if isinstance(part, str) else part


def history(request: dict[str, Any]) -> list[bytes]:
    blocks = Prompt.from_request(request).blocks
    said = (one for one in blocks if one.segment == "messages" and (one.chars or one.type != "text"))
    return [one.wire_sha256 for one in said]


@pytest.mark.parametrize("broken", [None, [], "x", {}, {"messages": 3}])
def test_what_is_no_request_is_a_typed_error(broken):
    with pytest.raises(InvalidRequestError):
        stabilise(broken)


def test_an_unknown_carrier_is_refused_in_words():
    with pytest.raises(InvalidArgumentError, match="carrier"):
        stabilise(body(), carrier="pigeon")  # type: ignore[arg-type]


def test_objects_of_an_sdk_come_out_as_the_dicts_they_send():
    import anthropic

    answer = anthropic.types.TextBlock(type="text", text="Yes.")
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [answer]},
        {"role": "user", "content": "And?"},
    ]
    done = stabilise(body(system=CLOCK, messages=messages))
    assert done.request["messages"][1]["content"] == [text("Yes.")]
    assert json.loads(json.dumps(done.request)) == done.request
