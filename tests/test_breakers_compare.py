"""Two requests of one session: what breaks the prefix, what it costs, and what must not be called a break."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.breakers import Comparison, compare, sorted_dump_difference
from ctxlab.cache import CacheRules
from ctxlab.catalogue import get_model
from ctxlab.errors import InvalidArgumentError, InvalidRequestError
from ctxlab.prompt import Prompt
from ctxlab.usage import Usage
from tests import strategies

CC = {"type": "ephemeral"}
LONG = "Follow these rules to the letter. " * 300


def tool(name: str, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return {"name": name, "description": f"The tool {name}.", "input_schema": schema, **fields}


def text(words: str, marked: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"cache_control": CC} if marked else {})}


def body(**fields: Any) -> dict[str, Any]:
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 64,
        "tools": [tool("a"), tool("b"), tool("c")],
        "system": [text(LONG)],
        "messages": [{"role": "user", "content": [text("What is new?", marked=True)]}],
        **fields,
    }


def answered(request: dict[str, Any], *more: dict[str, Any]) -> dict[str, Any]:
    """The request with an answer and the next question behind it, the marker moved there."""
    request = copy.deepcopy(request)
    for message in request["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block.pop("cache_control", None)
    request["messages"].append({"role": "assistant", "content": [text("Nothing.")]})
    request["messages"].append({"role": "user", "content": [text("And now?", marked=True), *more]})
    return request


def pair(earlier: Any, later: Any, **arguments: Any) -> Comparison:
    (found,) = compare([earlier, later], **{"counter": "calibrated_characters", **arguments})
    return found


def codes(comparison: Comparison) -> list[str]:
    return [one.code for one in comparison.findings]


# --- clocks and other volatile spans (PC-01, PC-11)


def test_a_clock_in_a_marked_system_block_is_named_with_both_times():
    found = pair(
        body(system=[text("Rules...\nNow: 2026-03-06 14:07:31", marked=True)]),
        body(system=[text("Rules...\nNow: 2026-03-06 14:07:32", marked=True)]),
    )
    (one,) = found.findings
    assert (one.code, one.path, one.certainty) == ("CTX101", "system[0].text", "confirmed")
    assert one.evidence == "14:07:31 → 14:07:32"
    assert "per second" in one.message
    assert "day" in one.fix
    assert "last breakpoint" in one.fix
    assert found.survives == "tools"


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("Now: 2026-03-06T14:07:31Z", "Now: 2026-03-06T14:07:32Z", "CTX101"),
        ("It is 10:41.", "It is 10:42.", "CTX101"),
        ("Today is 2026-03-06.", "Today is 2026-03-07.", "CTX101"),
        ("Friday, March 6, 2026 2:07 PM", "Saturday, March 7, 2026 2:07 PM", "CTX101"),
        ("ts=1772805651", "ts=1772805652", "CTX101"),
        (
            "id: 3f2b8c1e-8f1d-4b7a-9a64-7b9d3d6a1c55",
            "id: 90a1c0de-1f2e-4c3d-8b5a-0123456789ab",
            "CTX102",
        ),
        ("nonce aB3k9Zq1x", "nonce c4Rk8Zp2y", "CTX102"),
        ("key 9f86d081884c7d65", "key 2c26b46b68ffc68f", "CTX102"),
        ("<Bot object at 0x7f3a2c1b9d30>", "<Bot object at 0x7f3a2c1bbe10>", "CTX103"),
        ("cwd /tmp/tmpx8k2j1qz/work", "cwd /tmp/tmp9a1bcdef/work", "CTX105"),
        ("pid 4711", "pid 4802", "CTX105"),
        ("Answer in English.", "Answer in French.", "CTX302"),
        ("Version 1.2.3", "Version 1.2.4", "CTX302"),
        ("Turn 3 of 10", "Turn 4 of 10", "CTX302"),
        ("Tags: red, green, blue", "Tags: blue, red, green", "CTX202"),
        ('Config: {"b": 1, "a": 2}', 'Config: {"a": 2, "b": 1}', "CTX201"),
    ],
)
def test_what_changed_inside_a_text_is_named_by_its_kind(before, after, code):
    found = pair(body(system=before), body(system=after))
    assert codes(found) == [code]
    assert found.findings[0].confirmed
    assert found.findings[0].path == "system"


def test_a_time_and_other_words_are_two_findings():
    found = pair(
        body(system=[text("Be kind. Now: 14:07:31"), text("Help Ann.")]),
        body(system=[text("Be kind. Now: 14:07:32"), text("Help Bob.")]),
    )
    assert [(one.code, one.path) for one in found.findings] == [
        ("CTX101", "system[0].text"),
        ("CTX302", "system[1].text"),
    ]


def test_a_clock_in_a_tool_is_a_clock_and_costs_everything():
    found = pair(
        body(tools=[tool("a", description="Now: 14:07:31"), tool("b")]),
        body(tools=[tool("a", description="Now: 14:07:32"), tool("b")]),
    )
    assert [(one.code, one.path) for one in found.findings] == [("CTX101", "tools[0].description")]
    assert found.survives == "nothing"


def test_an_id_per_run_in_the_first_message_is_an_id():
    def run(name: str) -> dict[str, Any]:
        first = {"role": "user", "content": [text(f"<file>\nid: {name}\n</file>"), text("Go", marked=True)]}
        return body(messages=[first])

    found = pair(
        run("3f2b8c1e-8f1d-4b7a-9a64-7b9d3d6a1c55"),
        run("90a1c0de-1f2e-4c3d-8b5a-0123456789ab"),
    )
    assert [(one.code, one.path) for one in found.findings] == [("CTX102", "messages[0].content[0].text")]


def test_what_stands_behind_the_last_marker_may_change():
    earlier = body(messages=[{"role": "user", "content": [text("Go", marked=True), text("Now: 14:07:31")]}])
    later = answered(
        body(messages=[{"role": "user", "content": [text("Go", marked=True)]}]), text("Now: 14:08:02")
    )
    found = pair(earlier, later)
    assert found.findings == ()
    assert found.survives == "everything"
    assert found.lost_tokens == 0
    assert found.difference is not None  # told, and no break


def test_the_same_change_under_the_marker_is_a_break():
    earlier = body(messages=[{"role": "user", "content": [text("Go"), text("Now: 14:07:31", marked=True)]}])
    later = answered(body(messages=[{"role": "user", "content": [text("Go")]}]), text("Now: 14:08:02"))
    assert codes(pair(earlier, later)) == ["CTX306"]


# --- tools (PC-02)


def test_reordered_tools_are_the_same_set_in_another_order():
    found = pair(body(), body(tools=[tool("a"), tool("c"), tool("b")]))
    (one,) = found.findings
    assert (one.code, one.rule, one.path) == ("CTX203", "tool-order", "tools[1]")
    assert "same 3 tools" in one.message
    assert "index 1" in one.message
    assert "sort" in one.fix
    assert found.survives == "nothing"


@given(st.permutations([tool(name) for name in "abcde"]))
def test_any_order_of_the_same_tools_is_one_finding_and_no_other(tools):
    original = [tool(name) for name in "abcde"]
    found = pair(body(tools=original), body(tools=tools), price=False)
    assert codes(found) == ([] if tools == original else ["CTX203"])


def test_a_new_a_missing_and_a_changed_tool_are_each_named():
    found = pair(
        body(tools=[tool("a"), tool("b"), tool("c")]),
        body(tools=[tool("a", description="Another one."), tool("c"), tool("d")]),
    )
    assert [(one.code, one.path) for one in found.findings] == [
        ("CTX308", "tools[0].description"),
        ("CTX308", "tools[1]"),
        ("CTX308", "tools[2]"),
    ]
    assert "the tool b is gone" in found.findings[1].message
    assert "the tool d is new" in found.findings[2].message


def schema_pair(before: dict[str, Any], after: dict[str, Any], **arguments: Any) -> Comparison:
    return pair(
        body(tools=[tool("a", input_schema=before)]), body(tools=[tool("a", input_schema=after)]), **arguments
    )


@pytest.mark.parametrize(
    ("before", "after", "code", "path"),
    [
        ({"required": ["a", "b"]}, {"required": ["b", "a"]}, "CTX204", "required"),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, "CTX204", "enum"),
        ({"type": ["string", "null"]}, {"type": ["null", "string"]}, "CTX204", "type"),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "CTX308",
            "anyOf",
        ),
        ({"examples": ["a", "b"]}, {"examples": ["b", "a"]}, "CTX308", "examples"),
        (
            {"prefixItems": [{"a": 1}, {"b": 1}]},
            {"prefixItems": [{"b": 1}, {"a": 1}]},
            "CTX308",
            "prefixItems",
        ),
        ({"required": ["a"]}, {"required": ["a", "b"]}, "CTX308", "required[1]"),
        ({"minimum": 1}, {"minimum": 1.0}, "CTX308", "minimum"),
    ],
)
def test_arrays_that_list_a_set_are_told_from_those_whose_order_says_something(before, after, code, path):
    found = schema_pair(before, after)
    assert [(one.code, one.path) for one in found.findings] == [(code, f"tools[0].input_schema.{path}")]


def test_keys_in_another_order_are_named_unless_the_rule_says_they_do_not_count():
    before = {"type": "object", "properties": {"a": {}, "b": {}}}
    after = {"type": "object", "properties": {"b": {}, "a": {}}}
    found = schema_pair(before, after)
    assert [(one.code, one.path) for one in found.findings] == [
        ("CTX201", "tools[0].input_schema.properties")
    ]
    assert schema_pair(before, after, rules=CacheRules(schema_key_order="sorted")).findings == ()


def test_keys_of_a_call_in_another_order_are_a_break_and_those_of_a_result_are_not():
    def run(**content: Any) -> dict[str, Any]:
        call = {"type": "tool_use", "id": "toolu_1", "name": "a", "input": content["call"]}
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok", **content["result"]}
        return body(
            messages=[
                {"role": "user", "content": "Go"},
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]
        )

    first = run(call={"a": 1, "b": 2}, result={"is_error": False})
    found = pair(first, run(call={"b": 2, "a": 1}, result={"is_error": False}))
    assert [(one.code, one.path) for one in found.findings] == [("CTX201", "messages[1].content[0].input")]
    same = run(call={"a": 1, "b": 2}, result={})
    result = same["messages"][2]["content"][0]
    same["messages"][2]["content"][0] = {"is_error": False, **result}
    assert pair(first, same).findings == ()


def test_a_tool_that_is_loaded_on_demand_is_outside_the_prefix():
    later = body(tools=[*body()["tools"], tool("d", defer_loading=True)])
    assert pair(body(), later).findings == ()
    assert codes(pair(body(), body(tools=[*body()["tools"], tool("d")]))) == ["CTX308"]


def test_web_search_costs_the_system_prompt_and_keeps_the_tools():
    search = {"type": "web_search_20250305", "name": "web_search"}
    found = pair(body(), body(tools=[search, *body()["tools"]]))
    assert codes(found) == ["CTX308"]
    assert found.survives == "tools"


# --- parameters, model, speed


@pytest.mark.parametrize(
    ("change", "code", "certainty", "survives"),
    [
        ({"tool_choice": {"type": "any"}}, "CTX307", "confirmed", "tools+system"),
        ({"speed": "fast"}, "CTX301", "confirmed", "tools"),
        ({"model": "claude-sonnet-5-5"}, "CTX301", "confirmed", "nothing"),
        ({"output_config": {"effort": "high"}}, "CTX307", "confirmed", "nothing"),
        ({"thinking": {"type": "between_tools"}}, "CTX307", "confirmed", "nothing"),
        ({"something_new": 1}, "CTX307", "suspected", "nothing"),
        ({"thinking": {"type": "adaptive"}}, "CTX307", "suspected", "nothing"),
        ({"tool_choice": {"type": "auto"}}, "CTX307", "suspected", "tools+system"),
    ],
)
def test_a_changed_parameter_is_named_with_what_it_costs(change, code, certainty, survives):
    found = pair(body(), body(**change))
    (one,) = found.findings
    assert (one.code, one.certainty, found.survives) == (code, certainty, survives)
    assert one.path.split(".")[0] in change


@pytest.mark.parametrize(
    "change",
    [
        {"max_tokens": 9000},
        {"temperature": 0.1},
        {"metadata": {"user_id": "u_1"}},
        {"stream": True},
        {"speed": "standard"},
        {"output_config": {"effort": "medium"}},  # what Opus 5.5 has by itself
        {"model": "claude-opus-5-5"},
        {"diagnostics": {"previous_message_id": "msg_1"}},
        {"cache_control": CC, "messages": [{"role": "user", "content": "What is new?"}]},
    ],
)
def test_parameters_outside_the_key_are_no_break(change):
    assert pair(body(), body(**change)).findings == ()


def test_whether_a_written_out_default_is_a_break_is_a_switch():
    change = body(tool_choice={"type": "auto"})
    assert codes(pair(body(), change)) == ["CTX307"]
    assert pair(body(), change, rules=CacheRules(written_out_defaults="same")).findings == ()


def test_a_parameter_that_loses_only_what_is_not_marked_is_no_proven_break():
    system = [text(LONG, marked=True)]
    messages = [{"role": "user", "content": "Hi"}]
    found = pair(
        body(system=system, messages=messages),
        body(system=system, messages=messages, tool_choice={"type": "any"}),
    )
    assert [(one.code, one.certainty) for one in found.findings] == [("CTX307", "suspected")]
    assert found.stable
    assert found.lost_usd == 0


def test_models_that_nobody_lists_are_compared_without_a_price():
    found = pair(body(model="claude-next-9"), body(model="claude-next-9", system="Other."))
    assert codes(found) == ["CTX302"]
    assert found.lost_usd is None
    assert found.lost_tokens is not None
    assert found.lost_tokens > 0
    assert codes(pair(body(model="claude-next-9"), body(model="claude-next-10"))) == ["CTX301"]


# --- blocks that move, come and go (PC-11, PC-13)

CONTEXT, REMINDER = "Here is some context.", "<reminder>Use the tools wisely.</reminder>"


def test_a_block_that_moved_on_resume_is_told_with_its_new_place():
    first = body(messages=[{"role": "user", "content": [text(CONTEXT), text(REMINDER), text("q1")]}])
    resumed = answered(body(messages=[{"role": "user", "content": [text(CONTEXT), text("q1")]}]))
    resumed["messages"][-1]["content"] = [text(REMINDER), text("q2", marked=True)]
    (one,) = pair(first, resumed).findings
    assert (one.code, one.path) == ("CTX304", "messages[0].content[1]")
    assert "block removed" in one.message
    assert "re-appears at messages[2].content[0]" in one.message


def test_a_text_that_moved_into_another_block_is_found_there():
    first = body(messages=[{"role": "user", "content": [text(REMINDER), text("q1", marked=True)]}])
    later = answered(body(messages=[{"role": "user", "content": [text("q1")]}]))
    later["messages"][-1]["content"] = [text(f"{REMINDER}\n\nq2", marked=True)]
    (one,) = pair(first, later).findings
    assert one.code == "CTX304"
    assert "messages[2].content[0]" in one.message


def test_a_block_that_is_only_gone_is_removed():
    first = body(messages=[{"role": "user", "content": [text(CONTEXT), text(REMINDER), text("q1")]}])
    later = answered(body(messages=[{"role": "user", "content": [text(CONTEXT), text("q1")]}]))
    (one,) = pair(first, later).findings
    assert (one.code, one.path) == ("CTX306", "messages[0].content[1]")


def test_blocks_that_change_places_have_moved():
    swapped = pair(body(system=[text("A. " * 9), text("B.")]), body(system=[text("B."), text("A. " * 9)]))
    assert codes(swapped) == ["CTX304"]
    words = [{"role": "user", "content": word} for word in "abc"]
    found = pair(body(messages=words), body(messages=[words[1], words[0], words[2]]))
    assert codes(found) == ["CTX304"]


def test_a_picture_that_is_dropped_from_an_old_message_is_told_at_its_place():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    first = body(messages=[{"role": "user", "content": [text("See:"), picture, text("q1", marked=True)]}])
    dropped = copy.deepcopy(first)
    del dropped["messages"][0]["content"][1]
    replaced = copy.deepcopy(first)
    replaced["messages"][0]["content"][1] = text("[picture removed]")
    for later, code in ((dropped, "CTX306"), (replaced, "CTX303")):
        found = pair(first, answered(later))
        assert [(one.code, one.path) for one in found.findings] == [(code, "messages[0].content[1]")]
        assert found.survives == "messages up to messages[0].content[1]"


def test_a_block_put_in_front_is_injected():
    first = body(messages=[{"role": "user", "content": [text(CONTEXT), text("q1")]}])
    later = answered(
        body(messages=[{"role": "user", "content": [text(CONTEXT), text(REMINDER), text("q1")]}])
    )
    (one,) = pair(first, later).findings
    assert (one.code, one.path) == ("CTX305", "messages[0].content[1]")


def test_a_reminder_that_walks_with_the_newest_turn_has_moved():
    first = body(messages=[{"role": "user", "content": [text("q1"), text(REMINDER, marked=True)]}])
    later = answered(body(messages=[{"role": "user", "content": [text("q1")]}]), text(REMINDER))
    (one,) = pair(first, later).findings
    assert (one.code, one.path) == ("CTX304", "messages[0].content[1]")
    assert "messages[2].content[1]" in one.message


def long_history(turns: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for i in range(turns):
        messages.append({"role": "user", "content": f"Question {i}: {'why ' * 20}"})
        messages.append({"role": "assistant", "content": f"Answer {i}: {'because ' * 20}"})
    return [*messages, {"role": "user", "content": "And then?"}]


def test_dropping_the_oldest_turns_is_a_break_and_going_back_to_an_earlier_turn_is_not_proven_one():
    full = long_history(8)
    dropped = pair(body(messages=full), body(messages=full[4:]))
    assert [(one.code, one.certainty) for one in dropped.findings] == [("CTX306", "confirmed")]
    assert dropped.survives == "tools+system"
    back = pair(body(messages=full), body(messages=full[:5]))
    assert [(one.code, one.certainty) for one in back.findings] == [("CTX306", "suspected")]
    assert back.lost_tokens == 0


def test_a_summary_in_place_of_the_history_is_told_as_a_shorter_history():
    summary = [{"role": "user", "content": "Summary: all went well."}]
    found = pair(body(messages=long_history(8)), body(messages=summary))
    assert codes(found) == ["CTX306"]
    assert "shorter" in found.findings[0].message


def test_an_edited_message_is_an_edit_and_what_is_appended_behind_it_is_not_told():
    first = body(messages=long_history(2))
    later = copy.deepcopy(first)
    later["messages"][1]["content"] = "Another answer"
    later["messages"] += [{"role": "assistant", "content": "Then."}, {"role": "user", "content": "Ah."}]
    (one,) = pair(first, later).findings
    assert (one.code, one.path) == ("CTX303", "messages[1].content")


def test_a_message_split_in_two_is_a_break():
    joined = body(messages=[{"role": "user", "content": [text("a"), text("b")]}])
    split = body(messages=[{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
    assert codes(pair(joined, split)) == ["CTX303"]


def test_a_longer_system_prompt_is_a_break_and_a_longer_history_is_none():
    longer = body(system=[*body()["system"], text("One more rule.")])
    found = pair(body(), longer)
    assert [(one.code, one.path) for one in found.findings] == [("CTX302", "system[1]")]
    assert found.survives == "tools+system"
    assert pair(body(), answered(body())).findings == ()


def test_very_many_changes_are_told_in_a_bounded_number_of_findings():
    later = copy.deepcopy(body(messages=long_history(200)))
    for message in later["messages"]:
        message["content"] += " (edited)"
    found = pair(body(messages=long_history(200)), later, price=False)
    assert 2 <= len(found.findings) <= 25
    assert "more places differ" in found.findings[-1].message


# --- what must not fire


def test_a_turn_more_is_no_break_however_it_is_written():
    first = body(messages=[{"role": "user", "content": "Hi"}])
    as_list = answered(body(messages=[{"role": "user", "content": [text("Hi")]}]))
    as_list["messages"].append({"role": "system", "content": [text("Be brief from here on.")]})
    found = pair(first, as_list)
    assert found.findings == ()
    assert found.stable
    assert found.survives == "everything"
    assert found.difference is not None
    assert found.difference.appended
    assert found.lost_tokens == 0
    assert found.lost_usd == 0


@pytest.mark.parametrize("where", ["tools", "system", "messages"])
def test_markers_may_come_and_go(where):
    plain, marked = body(), body()
    target = marked[where][-1] if where != "messages" else marked["messages"][0]["content"][-1]
    target["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    assert pair(plain, marked).findings == () == pair(marked, plain).findings


def test_the_same_request_twice_has_nothing_to_tell():
    found = pair(body(), body())
    assert found.findings == ()
    assert found.difference is None
    assert found.survives == "everything"
    assert "whole" in str(found)


@given(strategies.requests(), strategies.conversations())
def test_appending_turns_never_fires(request, more):
    longer = {**request, "messages": [*request["messages"], *more]}
    found = pair(request, longer, price=False)
    assert found.findings == ()
    assert found.survives == "everything"


@given(strategies.requests(), st.data())
def test_any_single_edit_fires_at_its_own_block(request, data):
    prompt = Prompt.from_request(request)
    if not prompt.blocks:
        return
    index = data.draw(st.integers(0, len(prompt.blocks) - 1))
    edited = copy.deepcopy(request)
    _edit(edited, prompt.blocks[index].path)
    found = pair(request, edited, price=False)
    assert found.findings, prompt.blocks[index]
    assert all(one.path.startswith(prompt.blocks[index].path) for one in found.findings)
    assert found.kept_blocks == index
    assert not found.stable


def _edit(request: dict[str, Any], path: str) -> None:
    """Another word at the end of one block, whatever its type."""
    target: Any = request
    steps: list[Any] = []
    for part in path.replace("]", "").split("."):
        name, *numbers = part.split("[")
        steps += [name, *map(int, numbers)]
    for step in steps[:-1]:
        target = target[step]
    block = target[steps[-1]]
    if isinstance(block, str):
        target[steps[-1]] = block + " unlike before"
    else:
        field = next(
            (name for name in ("text", "description", "thinking", "content") if name in block), "extra"
        )
        block[field] = str(block.get(field, "")) + " unlike before"


@given(strategies.requests(), strategies.requests())
def test_two_requests_are_whole_exactly_if_the_second_begins_with_the_first(one, other):
    found = pair(one, other, price=False)
    first, second = Prompt.from_request(one), Prompt.from_request(other)
    shared = second.chain()[: len(first.blocks)] == first.chain()
    if shared:  # all of the first is there: only more system prompt or tools in front of later messages
        assert {one.code for one in found.findings} <= {"CTX302", "CTX308"}
    else:
        assert found.findings


# --- what it costs


def test_the_loss_is_written_instead_of_read_at_the_models_card():
    earlier, later = body(), body(tools=[tool("a"), tool("c"), tool("b")])
    found = pair(earlier, later)
    model = get_model("claude-opus-5-5")
    above = model.cache_write_5m_multiplier - model.cache_read_multiplier
    assert found.lost_tokens is not None
    assert found.kept_tokens is not None
    marked = found.lost_tokens + found.kept_tokens
    expected = marked * model.rates[0].input_usd_per_mtok * above / 1_000_000  # no entry ends in the tools
    assert found.lost_usd == Decimal(expected.numerator) / Decimal(expected.denominator)
    assert found.findings[0].tokens_per_turn == found.lost_tokens
    assert found.findings[0].usd_per_turn == found.lost_usd


def test_an_entry_in_front_of_the_break_is_still_read_and_costs_nothing():
    def run(words: str) -> dict[str, Any]:
        return body(system=[text(LONG, marked=True), text(words)])

    with_entry = pair(run("Be kind."), run("Be quick."))
    without = pair(body(system=[text(LONG), text("Be kind.")]), body(system=[text(LONG), text("Be quick.")]))
    assert with_entry.lost_usd is not None
    assert without.lost_usd is not None
    assert 0 < with_entry.lost_usd < without.lost_usd
    assert with_entry.lost_tokens == without.lost_tokens


def test_below_the_floor_nothing_was_cached_and_nothing_is_lost():
    found = pair(body(system="a", tools=[]), body(system="b", tools=[]))
    assert codes(found) == ["CTX302"]
    assert found.lost_usd == 0


def test_an_hour_costs_more_to_write_than_five_minutes():
    def run(system: str, ttl: str) -> dict[str, Any]:
        block = {**text("Hi"), "cache_control": {"type": "ephemeral", "ttl": ttl}}
        return body(system=system, messages=[{"role": "user", "content": [block]}])

    short = pair(run(LONG, "5m"), run("Now " + LONG, "5m")).lost_usd
    long = pair(run(LONG, "1h"), run("Now " + LONG, "1h")).lost_usd
    assert short is not None
    assert long is not None
    assert long > short


def test_what_the_api_billed_corrects_the_figures():
    earlier, later = body(), body(system="x" + LONG)
    guess = pair(earlier, later)
    usages = [Usage(input_tokens=90_000), Usage(input_tokens=90_000)]
    told = pair(earlier, later, usages=usages)
    assert guess.lost_tokens is not None
    assert told.lost_tokens is not None
    assert told.lost_tokens > guess.lost_tokens


def test_figures_can_be_left_out():
    found = pair(body(), body(system="Other."), price=False)
    assert (found.kept_tokens, found.lost_tokens, found.lost_usd) == (None, None, None)
    assert found.findings[0].tokens_per_turn is None


# --- several requests, objects, bad input


def test_a_session_of_n_requests_has_n_minus_one_comparisons():
    third = answered(answered(body()))
    third["system"] = "Another one."
    found = compare([body(), answered(body()), third], price=False)
    assert [(one.earlier, one.later, one.stable) for one in found] == [(0, 1, True), (1, 2, False)]


class Message:
    """An answer as an SDK gives it back."""

    def __init__(self, words: str):
        self._words = words

    def to_dict(self) -> dict[str, Any]:
        return {"type": "text", "text": self._words}


def test_objects_of_an_sdk_and_prompts_are_compared_like_dicts():
    import anthropic
    import pydantic

    class Tool(pydantic.BaseModel):
        name: str
        description: str
        input_schema: dict[str, Any]

    with_objects = answered(body())
    with_objects["messages"][1]["content"] = [anthropic.types.TextBlock(type="text", text="Nothing.")]
    with_objects["messages"][0]["content"] = [Message("What is new?")]
    with_objects["tools"] = [Tool(**one) for one in body()["tools"]]
    assert pair(body(), with_objects).findings == ()
    assert pair(Prompt.from_request(body()), with_objects).findings == ()
    with_objects["tools"].reverse()
    assert codes(pair(body(), with_objects)) == ["CTX203"]


@pytest.mark.parametrize("requests", [[], [body()], body(), "no", Prompt.from_request(body())])
def test_fewer_than_two_requests_are_refused_in_words(requests):
    with pytest.raises(InvalidArgumentError, match="two"):
        compare(requests)


def test_usages_that_do_not_fit_are_refused():
    with pytest.raises(InvalidArgumentError, match="one-per-request"):
        compare([body(), body()], usages=[None])


@pytest.mark.parametrize("broken", [None, 3, {"messages": 3}, {"tools": {}}, {"messages": [{"role": 1}]}])
def test_a_body_that_cannot_be_read_is_a_typed_error(broken):
    with pytest.raises(InvalidRequestError):
        compare([body(), broken])


def test_empty_requests_are_whole():
    assert pair({"messages": []}, {"messages": []}).findings == ()
    assert pair({"messages": []}, {"messages": [{"role": "user", "content": "Hi"}]}).stable


def test_requests_with_markers_the_api_refuses_are_still_compared():
    five = body(system=[text(f"part {i}", marked=True) for i in range(5)])
    changed = copy.deepcopy(five)
    changed["system"][1]["text"] = "another part"
    assert [(one.code, one.path) for one in pair(five, changed).findings] == [("CTX302", "system[1].text")]


# --- the naive diff (E2)


def test_a_diff_of_sorted_dumps_says_identical_where_the_cache_reads_nothing():
    before = body(tools=[tool("a", input_schema={"type": "object", "required": []})])
    after = body(tools=[tool("a", input_schema={"required": [], "type": "object"})])
    assert sorted_dump_difference(before, after) is None
    assert codes(pair(before, after)) == ["CTX201"]


def test_a_diff_of_sorted_dumps_points_at_the_messages_while_the_tools_broke():
    later = answered(body(tools=[*body()["tools"], tool("d")]))
    naive = sorted_dump_difference(body(), later)
    assert naive is not None
    assert naive.field == "messages"
    assert pair(body(), later).findings[0].path == "tools[3]"


def test_where_keys_are_sorted_and_one_text_differs_the_naive_diff_is_right():
    naive = sorted_dump_difference(body(system="It is 10:41."), body(system="It is 10:42."))
    assert naive is not None
    assert naive.field == "system"
    dumped = json.dumps(body(system="It is 10:41."), sort_keys=True)
    assert dumped[naive.at_char] == "1"


# --- one text in two forms


def _with_result(content):
    call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}
    return {
        "model": "claude-opus-5-5",
        "messages": [
            {"role": "user", "content": "go on"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
    }


def test_a_result_as_a_string_and_as_a_text_block_is_suspected_at_most():
    findings = compare([_with_result("ok"), _with_result([{"type": "text", "text": "ok"}])])[0].findings
    assert [(one.code, one.certainty) for one in findings] == [("CTX303", "suspected")]


@pytest.mark.parametrize("other", ["no", [{"type": "text", "text": "no"}], [], [{"type": "text"}] * 2])
def test_another_result_is_confirmed_in_any_form(other):
    findings = compare([_with_result("ok"), _with_result(other)])[0].findings
    assert findings
    assert all(one.confirmed for one in findings)
