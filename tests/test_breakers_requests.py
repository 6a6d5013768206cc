"""One request body: what looks like a breaker in it, and what must not."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from ctxlab.breakers import BREAKERS, Finding, scan_request
from ctxlab.breakpoints import validate
from ctxlab.errors import InvalidRequestError, UnknownModelError
from tests import strategies

CC = {"type": "ephemeral"}
LONG = "Follow these rules to the letter. " * 300
UUID = "3f2b8c1e-8f1d-4b7a-9a64-7b9d3d6a1c55"


def tool(name: str, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return {"name": name, "description": f"The tool {name}.", "input_schema": schema, **fields}


def text(words: str, marked: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"cache_control": CC} if marked else {})}


def body(**fields: Any) -> dict[str, Any]:
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 64,
        "system": [text(LONG, marked=True)],
        "messages": [{"role": "user", "content": "What is new?"}],
        **fields,
    }


def said(words: str) -> tuple[Finding, ...]:
    """What is found in a marked system prompt that ends with these words."""
    return scan_request(body(system=[text(f"{LONG}\n{words}", marked=True)]))


def codes(found: tuple[Finding, ...]) -> set[str]:
    return {one.code for one in found}


# --- volatile spans


def test_a_clock_under_a_marker_is_named_with_its_place_and_what_to_do():
    clock, marker = said("Now: 2026-03-06 14:07:31")
    assert (clock.code, clock.path, clock.evidence) == ("CTX101", "system[0].text", "14:07:31")
    assert clock.certainty == "suspected"
    assert "per second" in clock.message
    assert "coarsen it to the day" in clock.fix
    assert "last breakpoint" in clock.fix
    assert clock.tokens_per_turn is not None
    assert clock.tokens_per_turn > 1000
    assert clock.usd_per_turn is not None
    assert (marker.code, marker.path) == ("CTX401", "system[0].cache_control")


@pytest.mark.parametrize(
    ("words", "code", "evidence"),
    [
        ("Current date and time: Friday, March 6, 2026 at 2:07:31 PM", "CTX101", "2:07:31 PM"),
        (
            "The current time is 2026-03-06T14:07:31.123456+00:00.",
            "CTX101",
            "2026-03-06T14:07:31.123456+00:00",
        ),
        ("Right now it is 10:41.", "CTX101", "10:41"),
        ("current_time: 14:07:31 UTC", "CTX101", "14:07:31 UTC"),
        ("timestamp=1772805651", "CTX101", "1772805651"),
        ("ts: 1772805651123", "CTX101", "1772805651123"),
        ("Fri Mar  6 14:07:31 2026 is the current time", "CTX101", "14:07:31"),
        (f"Session: {UUID}", "CTX102", UUID),
        (f"Your request id is {UUID}", "CTX102", UUID),
        ("trace_id=9f86d081884c7d659a2feaa0c55ad015", "CTX102", "9f86d081884c7d659a2feaa0c55ad015"),
        ("run_8fa3k29dkf0 was started for you", "CTX102", "run_8fa3k29dkf0"),
        ("You talk to <Agent object at 0x7f3a2c1b9d30>.", "CTX103", "0x7f3a2c1b9d30"),
        ("Working directory: /tmp/tmpx8k2j1qz/work", "CTX105", "/tmp/tmpx8k2j1qz/work"),
        ("cwd /private/var/folders/zz/abc123def/T/run", "CTX105", "/private/var/folders/zz/abc123def/T/run"),
        (
            r"cwd C:" + r"\Users\me\AppData\Local\Temp\run-48213",
            "CTX105",
            "C:" + r"\Users\me\AppData\Local\Temp\run-48213",
        ),
        ("PID: 4711", "CTX105", "PID: 4711"),
        ("Request-ID: 01HZX3Q8K9ABCDEFGHJKMNPQRS", "CTX102", "01HZX3Q8K9ABCDEFGHJKMNPQRS"),
        ("nonce=0.8439201", "CTX102", "0.8439201"),
        ("The time is now 2:07 PM.", "CTX101", "2:07 PM"),
        ("container 3f2b8c1e9a7d", "CTX105", "3f2b8c1e9a7d"),
    ],
)
def test_values_of_this_request_are_found_by_kind(words, code, evidence):
    found = said(words)
    assert (found[0].code, found[0].evidence) == (code, evidence)
    assert {one.certainty for one in found} == {"suspected"}


@pytest.mark.parametrize(
    "words",
    [
        "Dates look like 2024-01-01T00:00:00Z.",
        "Give times in ISO format, e.g. 2024-01-01T00:00:00Z or 2024-02-02T10:00:00+01:00.",
        "For example 14:07:32, or 09:00:01.",
        "Stop after 00:30:00. The timeout is 01:00:00.",
        "We are open from 09:00 to 17:00, and on Sundays 10:00-12:00.",
        "The daily meeting is at 10:30.",
        "Version 1.2.3, released 2024-05-01, last updated 2024-06-01 12:00:00.",
        "anthropic-version: 2023-06-01",
        "Fixed in commit 9f2c1ab84e1b4b6f9a0d3c2b1a0f9e8d7c6b5a49 (see 9f2c1ab).",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        f"Your organization is {UUID}.",
        "An id looks like 123e4567-e89b-12d3-a456-426614174000.",
        "Call +1 415 555 0100, or ask for ticket 1772805651.",
        "Write results to /tmp/output.txt and logs to /tmp/agent/log.",
        "The mask is 0x7fffffff, the token 0x52908400098527886E0F7030069857D2E4169EE7.",
        "Slides are 16:9. See John 3:16:22. Servers 10.0.3.17:8080.",
        "```\n$ date\nFri Mar  6 14:07:31 2026\nnow: 14:07:31\n```",
        "00:01:02,345 --> 00:01:05,678\nHello\n00:01:06,000 --> 00:01:08,000\nBye",
        "The knowledge cutoff is 2025-03-01. The company was founded 1999-09-09.",
        "\n".join(f"[2026-03-06 14:07:{i:02}] line {i}" for i in range(10, 30)),
        "Model id: claude-opus-4-5-20251101, seed: 42, docker image sha256 9f86d081884c7d659a2feaa0c55ad015.",
        "Office hours: 09:00:00 – 17:30:00. Between 10:00:00 and 11:00:00 do nothing.",
        "MAC 00:1A:2B:3C:4D:5E, order 1234567890, https://example.com/tmp/abc123/x.png",
        "Colours: #9f86d0, #884c7d; padding 0x10; build 20260306.",
    ],
)
def test_examples_durations_schedules_versions_and_commits_do_not_fire(words):
    assert said(words) == ()


def test_a_bare_date_is_suspected_at_most_and_never_put_first():
    found = said("Today is 2026-03-06. Now: 14:07:31")
    assert [one.evidence for one in found if one.code == "CTX101"] == ["14:07:31", "2026-03-06"]
    assert {one.certainty for one in found} == {"suspected"}
    assert "per day" in found[-1].message


def test_a_marker_on_a_date_is_not_told_to_be_wasted():
    assert codes(said("Today is 2026-03-06.")) == {"CTX101"}


def test_a_clock_behind_the_last_marker_does_not_fire():
    newest = [{"role": "user", "content": "Now: 2026-03-06 14:07:31. What is new?"}]
    assert scan_request(body(messages=newest)) == ()


def test_a_clock_in_the_question_under_the_marker_is_the_classic_mistake():
    newest = [{"role": "user", "content": [text("Now: 14:07:31. What is new?", marked=True)]}]
    found = scan_request(body(messages=newest))
    assert [(one.code, one.path) for one in found] == [
        ("CTX101", "messages[0].content[0].text"),
        ("CTX401", "messages[0].content[0].cache_control"),
    ]


def test_an_automatic_marker_is_under_the_same_trap():
    newest = [{"role": "user", "content": "Now: 14:07:31. What is new?"}]
    found = scan_request(body(system=LONG, messages=newest, cache_control=CC))
    assert codes(found) == {"CTX101", "CTX401"}


def test_an_id_of_this_run_in_the_first_message_fires():
    messages = [
        {"role": "user", "content": [text(f"<file>\nid: {UUID}\n</file>"), text("q1")]},
        {"role": "assistant", "content": "a1"},
        {"role": "user", "content": [text("q2", marked=True)]},
    ]
    found = scan_request(body(messages=messages))
    assert [(one.code, one.path) for one in found] == [("CTX102", "messages[0].content[0].text")]


def test_a_stamp_on_every_message_is_history_and_does_not_fire():
    messages: list[dict[str, Any]] = []
    for minute in range(3):
        messages.append({"role": "user", "content": [text(f"[now 14:0{minute}:31] and then?")]})
        messages.append({"role": "assistant", "content": "a"})
    messages.append({"role": "user", "content": [text("[now 14:09:31] so?", marked=True)]})
    assert scan_request(body(messages=messages)) == ()


def test_answers_calls_and_results_are_history_and_do_not_fire():
    call = {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {"at": "Now: 14:07:31"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "Now: 14:07:32",
        "cache_control": CC,
    }
    messages = [
        {"role": "user", "content": "What time is it?"},
        {"role": "assistant", "content": [text("Now: 14:07:30, I think."), call]},
        {"role": "user", "content": [{**result, "cache_control": CC}]},
    ]
    assert scan_request(body(messages=messages)) == ()


def test_a_clock_in_a_tool_description_or_default_fires_and_an_example_does_not():
    live = tool("a", description="Adds an event. The current time is 14:07:32.")
    found = scan_request(body(tools=[live]))
    assert [(one.code, one.path) for one in found] == [("CTX101", "tools[0].description")]
    schema = {"type": "object", "properties": {"at": {"default": "2026-03-06T14:07:31.123456"}}}
    found = scan_request(body(tools=[tool("a", input_schema=schema)]))
    assert [one.path for one in found] == ["tools[0].input_schema.properties.at.default"]
    schema = {
        "type": "object",
        "properties": {
            "at": {"description": "such as 2024-01-01T00:00:00Z", "examples": ["2026-03-06T14:07:31.123456"]}
        },
    }
    assert scan_request(body(tools=[tool("a", input_schema=schema)])) == ()


def test_without_any_marker_the_fixed_part_is_looked_at_and_the_messages_are_not():
    clock = "Now: 2026-03-06 14:07:31"
    found = scan_request(body(system=f"Be brief. {clock}"))
    assert [(one.code, one.path) for one in found] == [("CTX101", "system")]
    assert scan_request(body(system="Be brief.", messages=[{"role": "user", "content": clock}])) == ()


# --- markers


def test_markers_the_api_refuses_are_the_only_confirmed_finding():
    five = body(system=[text(f"{LONG} {i}", marked=True) for i in range(5)])
    found = scan_request(five)
    assert [(one.code, one.certainty) for one in found] == [("CTX406", "confirmed")]
    assert found[0].message == validate(five)[0].message


def test_a_long_lifetime_behind_a_short_one_is_refused():
    tools = [tool("a", cache_control=CC)]
    system = [{**text(LONG), "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    found = scan_request(body(tools=tools, system=system))
    assert [(one.code, one.path) for one in found] == [("CTX406", "system[0].cache_control.ttl")]


def test_nothing_marked_is_said_of_a_prefix_that_could_be_read_again():
    (one,) = scan_request(body(system=LONG))
    assert (one.code, one.certainty, one.path) == ("CTX403", "suspected", "system")
    assert one.usd_per_turn is not None
    assert one.usd_per_turn > 0


def test_a_short_question_without_a_marker_is_fine_and_so_is_one_long_text_that_is_asked_once():
    assert scan_request(body(system="Be brief.")) == ()
    assert scan_request(body(system="Be brief.", messages=[{"role": "user", "content": LONG}])) == ()


def test_a_long_conversation_without_a_marker_is_not_fine():
    messages = [
        {"role": "user", "content": LONG},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Go on."},
    ]
    found = scan_request(body(system="Be brief.", messages=messages))
    assert [(one.code, one.path) for one in found] == [("CTX403", "messages[1].content")]


def test_automatic_caching_counts_as_a_marker():
    assert scan_request(body(system=LONG, cache_control=CC)) == ()


def test_a_marker_below_the_floor_does_nothing_and_one_near_it_is_left_alone():
    found = scan_request(body(system=[text("Be brief.", marked=True)]))
    assert [(one.code, one.path) for one in found] == [("CTX404", "system[0]")]
    for words in range(300, 700, 20):  # within what the count may be off, nothing is said
        near = body(model="claude-opus-5-5", system=[text("rule " * words, marked=True)])
        one = scan_request(near, counter="calibrated_characters")
        exact = scan_request(near, counter=lambda text, vocabulary: len(text.split()))
        assert "CTX404" not in codes(one) - codes(exact)


def test_the_floor_is_the_models_own():
    near = [text("rule " * 900, marked=True)]
    count = {"counter": lambda text, vocabulary: len(text.split())}
    assert codes(scan_request(body(model="claude-opus-4-5", system=near), **count)) == {"CTX404"}
    assert codes(scan_request(body(model="claude-opus-5-5", system=near), **count)) == set()
    assert codes(scan_request(body(model="claude-next-9", system=near), **count)) == set()


def turn_of(blocks: int, **more: Any) -> dict[str, Any]:
    newest = [text(f"part {i}") for i in range(blocks - 1)] + [text("the last part", marked=True)]
    return body(
        messages=[
            {"role": "user", "content": [text("Here is a question.", **more)]},
            {"role": "assistant", "content": "Yes?"},
            {"role": "user", "content": newest},
        ]
    )


def test_a_turn_of_25_blocks_is_out_of_reach_of_the_last_entry():
    (one,) = scan_request(turn_of(25))
    assert (one.code, one.path) == ("CTX405", "messages[2].content[24]")
    assert "messages[0].content[0]" in one.fix


@pytest.mark.parametrize(("blocks", "fires"), [(18, False), (19, True)])
def test_the_lookback_is_twenty_positions_the_marker_included(blocks, fires):
    # the question, the answer, then the parts: the marker is blocks + 1 positions behind the question
    assert ("CTX405" in codes(scan_request(turn_of(blocks)))) is fires


def test_a_second_marker_at_the_end_of_the_last_request_rescues_it():
    assert scan_request(turn_of(25, marked=True)) == ()


def test_a_first_turn_of_many_blocks_has_no_entry_to_miss():
    many = [text(f"part {i}") for i in range(40)] + [text("go", marked=True)]
    assert scan_request(body(messages=[{"role": "user", "content": many}])) == ()


def test_parallel_results_are_one_position():
    calls = [{"type": "tool_use", "id": f"t{i}", "name": "a", "input": {}} for i in range(30)]
    results = [{"type": "tool_result", "tool_use_id": f"t{i}", "content": "ok"} for i in range(30)]
    results[-1]["cache_control"] = CC
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]
    assert scan_request(body(messages=messages)) == ()


def test_markers_that_are_never_moved_pile_up():
    messages: list[dict[str, Any]] = []
    for i in range(5):
        messages.append({"role": "user", "content": [text(f"q{i}", marked=i < 3)]})
        messages.append({"role": "assistant", "content": f"a{i}"})
    messages.append({"role": "user", "content": "q5"})
    found = scan_request(body(messages=messages))
    assert "CTX402" in codes(found)
    moved = copy.deepcopy(messages)
    for message in moved[:4]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block.pop("cache_control", None)
    moved[-1]["content"] = [text("q5", marked=True)]
    assert scan_request(body(messages=moved)) == ()


# --- orders


def test_tools_in_no_order_are_suspected_last_and_sorted_ones_are_fine():
    clock = [text(f"{LONG} Now: 14:07:31", marked=True)]
    found = scan_request(body(tools=[tool("b"), tool("a")], system=clock))
    assert (found[-1].code, found[-1].path) == ("CTX203", "tools[1]")
    assert scan_request(body(tools=[tool("a"), tool("b")])) == ()


def test_json_with_unsorted_keys_in_the_system_prompt_is_suspected():
    found = said('Settings: {"zone": "eu", "mode": "fast", "limits": {"b": 1, "a": 2}}')
    assert codes(found) == {"CTX201"}
    for fine in (
        'Settings: {"limits": {"a": 2}, "mode": "fast", "zone": "eu-central-1", "zoom": 12}',
        'Answer like this:\n```json\n{"title": "a title", "body": "some text", "tags": []}\n```',
        'Say {"ok": true}.',
        "Use {braces} and {more: braces}.",
    ):
        assert said(fine) == ()


# --- objects and bad input


def test_objects_of_an_sdk_are_read_like_dicts():
    import anthropic
    import pydantic

    class Request(pydantic.BaseModel):
        model: str
        max_tokens: int
        system: list[dict[str, Any]]
        messages: list[dict[str, Any]]

    as_dict = body(system=[text(f"{LONG} Now: 14:07:31", marked=True)])
    assert scan_request(Request(**as_dict)) == scan_request(as_dict)
    answer = anthropic.types.TextBlock(type="text", text="Now: 14:07:31")
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [answer]},
        {"role": "user", "content": "And?"},
    ]
    assert scan_request(body(messages=messages)) == ()


@pytest.mark.parametrize("broken", [None, [], "x", 3, {}, {"messages": 3}, {"messages": [], "tools": 1}])
def test_what_is_no_request_is_a_typed_error(broken):
    with pytest.raises(InvalidRequestError):
        scan_request(broken)


def test_results_in_an_answer_are_scanned_like_any_other_block():
    stray = {"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "t", "content": ""}]}
    clock = [text(f"Now: 2026-03-06 14:07:31. {LONG}", marked=True)]
    for model in ("claude-sonnet-4-5", "claude-opus-5-5"):
        assert "CTX101" in codes(scan_request(body(model=model, system=clock, messages=[stray])))


def test_an_empty_request_is_clean_and_an_unknown_model_is_no_error():
    assert scan_request({"messages": []}) == ()
    assert scan_request({"messages": [], "model": "claude-next-9"}) == ()
    with pytest.raises(UnknownModelError):
        scan_request({"messages": []}, model="claude-next-9")


@given(strategies.requests())
def test_no_request_makes_it_fail_and_every_finding_has_a_place_and_a_code(request):
    for one in scan_request(request, counter="calibrated_characters"):
        assert one.code in BREAKERS
        assert one.path
        assert one.fix
