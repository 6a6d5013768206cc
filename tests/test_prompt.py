"""Promises of ctxlab.prompt: what a block is, when two prompts are the same prefix, and where they part."""

from __future__ import annotations

import copy
import enum
import hashlib
import json
import pickle
from collections import UserDict, deque
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

import pytest
from anthropic import Timeout
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.errors import InvalidArgumentError, InvalidRequestError
from ctxlab.prompt import Prompt, extend, first_difference, first_different_byte, plain
from tests.strategies import conversations, requests

TOOL = {
    "name": "read_file",
    "description": "Reads a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
OTHER = {"name": "list_dir", "description": "Lists.", "input_schema": {"type": "object", "properties": {}}}
THIRD = {"name": "zip", "description": "Packs.", "input_schema": {"type": "object", "properties": {}}}


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def assistant(content) -> dict:
    return {"role": "assistant", "content": content}


def request(**fields) -> dict:
    return {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [user("Hi")], **fields}


def parted(a: dict, b: dict):
    return first_difference(Prompt.from_request(a), Prompt.from_request(b))


# --- what a block is


def test_blocks_stand_in_render_order_whatever_the_order_of_the_body():
    body = {"messages": [user("Hi")], "system": "Be brief.", "tools": [TOOL], "model": "m"}
    assert [b.segment for b in Prompt.from_request(body).blocks] == ["tools", "system", "messages"]


def test_a_plain_string_is_the_one_text_block_it_stands_for():
    as_strings = Prompt.from_request(request(system="Be brief."))
    as_lists = Prompt.from_request(
        request(
            system=[{"type": "text", "text": "Be brief."}],
            messages=[{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        )
    )
    assert as_strings.chain() == as_lists.chain()
    assert first_difference(as_strings, as_lists) is None
    assert [b.path for b in as_strings.blocks] == ["system", "messages[0].content"]
    assert [b.path for b in as_lists.blocks] == ["system[0]", "messages[0].content[0]"]


def test_a_marker_is_not_content_wherever_it_stands():
    mark = {"type": "ephemeral"}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "ok"}]}
    marked = copy.deepcopy(result)
    marked["cache_control"] = mark
    marked["content"][0]["cache_control"] = mark
    plain, with_marks = (
        Prompt.from_request(request(messages=[{"role": "user", "content": [r]}])) for r in (result, marked)
    )
    assert plain.chain() == with_marks.chain()
    assert plain.blocks[0].cache_control is None
    assert with_marks.blocks[0].cache_control == mark


MARK = {"type": "ephemeral"}


def with_inner_texts(**on_the_text) -> dict:
    """Blocks that hold texts, one in the other."""
    inner = {"type": "text", "text": "found", **on_the_text}
    document = {"type": "document", "source": {"type": "content", "content": [inner]}}
    found = {"type": "search_result", "source": "https://example.com", "title": "t", "content": [inner]}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [document, found, inner]}
    return request(messages=[{"role": "user", "content": [document, found, result]}])


def test_a_marker_is_not_content_however_deep_the_text_that_carries_it():
    plain, marked = (
        Prompt.from_request(with_inner_texts()),
        Prompt.from_request(with_inner_texts(cache_control=MARK)),
    )
    assert plain.chain() == marked.chain()
    assert [b.content_sha256 for b in plain.blocks] == [b.content_sha256 for b in marked.blocks]
    other = Prompt.from_request(with_inner_texts(title="another"))
    assert not set(plain.chain()) & set(other.chain())


CALL = {"type": "tool_use", "id": "t", "name": "grep", "input": {"q": "x", "flags": None}}
FOUND = {"type": "web_search_result", "title": "t", "url": "u", "encrypted_content": "e"}
CITED = {"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 0}
#: Blocks, and the same ones with what a dump of an answer writes out besides.
DUMPED = {
    "text": ({"type": "text", "text": "Hello"}, {"citations": None}),
    "citation": (
        {"type": "text", "text": "Hello", "citations": [CITED]},
        {"citations": [{**CITED, "document_title": None, "file_id": None}]},
    ),
    "call": (CALL, {"caller": None, "toolset_name": None}),
    "marked call": (CALL, {"cache_control": None}),
    "document": (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
        {"title": None, "context": None, "citations": None, "cache_control": None},
    ),
    "search": (
        {"type": "web_search_tool_result", "tool_use_id": "t", "content": [FOUND]},
        {"content": [{**FOUND, "page_age": None}], "caller": None},
    ),
    "result": ({"type": "tool_result", "tool_use_id": "t", "content": "ok"}, {"is_error": False}),
    "inner text": (
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "ok"}]},
        {"content": [{"type": "text", "text": "ok", "citations": None}], "cache_control": None},
    ),
}


@pytest.mark.parametrize("name", DUMPED)
def test_what_is_null_or_the_default_counts_as_not_sent(name):
    block, more = DUMPED[name]
    bare, dumped = request(messages=[assistant([block])]), request(messages=[assistant([{**block, **more}])])
    assert parted(bare, dumped) is None
    assert Prompt.from_request(bare).chain() == Prompt.from_request(dumped).chain()
    if "is_error" not in more:
        digests = {Prompt.from_request(body).blocks[0].content_sha256 for body in (bare, dumped)}
        assert len(digests) == 1


def test_nulls_of_a_tool_count_as_not_sent_but_for_those_in_its_schema():
    dumped = {**TOOL, "strict": None, "defer_loading": None, "cache_control": None}
    assert parted(request(tools=[TOOL]), request(tools=[dumped])) is None
    nullable = copy.deepcopy(TOOL)
    nullable["input_schema"]["properties"]["path"]["default"] = None
    assert parted(request(tools=[TOOL]), request(tools=[nullable])).kind == "changed"
    with_example, with_null = ({**TOOL, "input_examples": [e]} for e in ({"a": "b"}, {"a": "b", "c": None}))
    assert parted(request(tools=[with_example]), request(tools=[with_null])).kind == "changed"


SIGNIFICANT = {
    "a null the model wrote": (CALL, {"input": {"q": "x"}}),
    "an error": ({"type": "tool_result", "tool_use_id": "t", "content": "ok"}, {"is_error": True}),
    "no citations, said": ({"type": "text", "text": "Hello"}, {"citations": []}),
    "who called": (CALL, {"caller": {"type": "direct"}}),
    "an empty title": ({"type": "document", "source": {"type": "file", "file_id": "f"}}, {"title": ""}),
    "a type nobody knows": ({"type": "hologram_2031"}, {"depth": None}),
    "a summary that failed": ({"type": "compaction", "content": "So far."}, {"content": None}),
    "text that looks like it": ({"type": "text", "text": "{}"}, {"text": '{"citations":null}'}),
}


@pytest.mark.parametrize("name", SIGNIFICANT)
def test_what_says_something_stays_content(name):
    block, more = SIGNIFICANT[name]
    other = {**block, **more}
    found = parted(request(messages=[assistant([block])]), request(messages=[assistant([other])]))
    assert found.kind == "changed"


def test_an_answer_is_the_same_block_however_it_is_dumped():
    from anthropic.types import Message

    sent = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Let me look.", "citations": None}, CALL],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    content = Message.model_validate(sent).content
    ways = [
        content,
        [block.model_dump() for block in content],
        [block.to_dict() for block in content],
    ]
    chains = {Prompt.from_request(request(messages=[user("Hi"), assistant(way)])).chain() for way in ways}
    assert len(chains) == 1


def test_the_digest_of_a_result_is_the_one_in_the_recordings_also_where_it_says_that_it_is_no_error():
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok", "is_error": False}
    [block] = Prompt.from_request(request(messages=[{"role": "user", "content": [result]}])).blocks
    text = json.dumps(result, sort_keys=True, separators=(",", ":"))
    assert block.content_sha256 == sha256(text.encode()).hexdigest()


def test_a_field_of_the_users_own_called_cache_control_stays_content():
    call = {"type": "tool_use", "id": "t", "name": "x", "input": {"cache_control": "no-store"}}
    other = {"type": "tool_use", "id": "t", "name": "x", "input": {}}
    assert (
        parted(request(messages=[assistant([call])]), request(messages=[assistant([other])])).kind
        == "changed"
    )


def test_the_callers_dicts_can_change_afterwards_without_changing_the_prompt():
    body = request(tools=[copy.deepcopy(TOOL)])
    prompt = Prompt.from_request(body)
    before = prompt.chain()
    body["tools"][0]["input_schema"]["properties"]["path"]["type"] = "integer"
    assert prompt.chain() == before
    with pytest.raises(AttributeError, match="does not change"):
        prompt.blocks = ()
    with pytest.raises(AttributeError, match="does not change"):
        del prompt.blocks
    with pytest.raises(TypeError):
        prompt.parameters["model"] = '"another"'


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_a_copy_of_a_prompt_is_the_same_prompt_and_goes_on_like_it(copied):
    prompt = Prompt.from_request(request(tools=[TOOL], system="Be brief.", thinking={"type": "adaptive"}))
    other = copied(prompt)
    assert first_difference(prompt, other) is None
    assert (other.chain(), other.parameters) == (prompt.chain(), prompt.parameters)
    assert extend(other, [user("More")]).blocks[-1].path == extend(prompt, [user("More")]).blocks[-1].path


def test_the_content_digest_is_sha256_of_sorted_json_without_spaces():
    [block] = Prompt.from_request(request(messages=[user("Zürich ☂")])).blocks
    text = json.dumps(
        {"type": "text", "text": "Zürich ☂"}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert block.content_sha256 == sha256(text.encode("utf-8")).hexdigest()


def test_the_content_digest_is_the_one_in_the_recordings():
    from ctxlab.recordings import exchange

    # texts any reader can guess; the recordings hold only their hashes
    for text, row in {
        "What is the capital of France?": "pydantic-ai/test_anthropic_model_instructions#0",
        "Hello, world!": "dd-trace-py/anthropic_v1_messages_beta_true_post_1913e018#0",
        "Tell me a joke about OpenTelemetry": "openllmetry/test_anthropic_message_create_legacy#0",
    }.items():
        [block] = Prompt.from_request(request(messages=[user(text)])).blocks
        recorded = {b.sha256: b for b in exchange(row).blocks}
        assert block.content_sha256 in recorded
        assert recorded[block.content_sha256].chars == block.chars


def test_characters_are_counted_as_in_the_recordings():
    call = {"type": "tool_use", "id": "t", "name": "grep", "input": {"q": "é"}}
    blocks = Prompt.from_request(
        request(
            tools=[TOOL],
            messages=[
                assistant([{"type": "thinking", "thinking": "hmm", "signature": "s"}, call]),
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t",
                            "content": [
                                {"type": "text", "text": "ab"},
                                {"type": "image", "source": {"type": "url", "url": "u"}},
                                {"type": "text", "text": "c"},
                            ],
                        }
                    ],
                },
            ],
        )
    ).blocks
    assert blocks[0].chars == len(json.dumps(TOOL, separators=(",", ":")))
    assert [b.chars for b in blocks[1:]] == [3, len("grep") + len('{"q":"é"}'), 3]
    assert [(p.type, p.chars) for p in blocks[3].parts] == [("text", 2), ("image", 0), ("text", 1)]


def test_sdk_objects_are_the_dicts_they_would_be_sent_as():
    from anthropic.types import TextBlock, ToolUseBlock
    from anthropic.types.beta import BetaCompactionBlock

    text = TextBlock.model_validate({"type": "text", "text": "Hello"})
    call = ToolUseBlock.model_validate(
        {"type": "tool_use", "id": "t", "name": "grep", "input": {"z": 1, "a": 2}}
    )
    summary = BetaCompactionBlock.model_validate({"type": "compaction", "content": "So far: …"})
    objects = request(messages=[assistant([summary, text, call])])
    dicts = request(
        messages=[
            assistant(
                [
                    {"type": "compaction", "content": "So far: …"},
                    {"type": "text", "text": "Hello"},
                    {"type": "tool_use", "id": "t", "name": "grep", "input": {"z": 1, "a": 2}},
                ]
            )
        ]
    )
    assert parted(objects, dicts) is None


def test_a_tool_of_the_sdk_is_the_definition_it_sends():
    from anthropic import beta_tool

    @beta_tool
    def look(city: str) -> str:
        """Looks out of the window."""
        return city

    assert parted(request(tools=[look]), request(tools=[look.to_dict()])) is None


def test_a_pydantic_object_is_sent_under_the_names_of_the_api_and_without_what_nobody_set():
    from pydantic import BaseModel, Field

    class Text(BaseModel):
        type: str
        said: str = Field(alias="text")
        note: str = "mine"

    given = Text.model_validate({"type": "text", "text": "Hello"})
    assert parted(request(messages=[assistant([given])]), request(messages=[assistant("Hello")])) is None
    noted = Text.model_validate({"type": "text", "text": "Hello", "note": "sent"})
    assert parted(request(messages=[assistant([noted])]), request(messages=[assistant("Hello")])) is not None


def test_what_the_sdk_is_told_to_leave_out_is_not_sent():
    from anthropic import NOT_GIVEN, omit

    left_out = request(system=NOT_GIVEN, tools=omit, thinking=omit, temperature=NOT_GIVEN)
    assert Prompt.from_request(left_out).chain() == Prompt.from_request(request()).chain()
    assert Prompt.from_request(left_out).parameters == Prompt.from_request(request()).parameters
    assert plain({"thinking": omit, "system": "x"}) == {"system": "x"}
    with pytest.raises(InvalidRequestError, match="messages: is missing"):
        Prompt.from_request({"messages": omit})


class Speaker(str, enum.Enum):  # noqa: UP042 - its str() is not its value, and people have such classes
    USER = "user"
    TEXT = "text"


def test_any_mapping_and_sequence_and_a_member_of_an_enumeration_is_what_it_says():
    arguments = {"when": datetime(2026, 9, 1, tzinfo=UTC), "where": {"city": "Zürich"}}
    call = {"type": "tool_use", "id": "t", "name": "look", "input": arguments}
    as_sent = {**call, "input": {"when": "2026-09-01T00:00:00+00:00", "where": {"city": "Zürich"}}}
    frozen = {**call, "input": MappingProxyType({**arguments, "where": UserDict(arguments["where"])})}
    hi = {"type": Speaker.TEXT, "text": "Hi"}
    odd = MappingProxyType(
        {
            "messages": deque(
                [
                    UserDict({"role": Speaker.USER, "content": deque([hi])}),
                    assistant([frozen]),
                ]
            ),
            "tools": {"the one": MappingProxyType(TOOL)}.values(),
        }
    )
    ordinary = {"messages": [user("Hi"), assistant([as_sent])], "tools": [TOOL]}
    assert Prompt.from_request(odd).chain() == Prompt.from_request(ordinary).chain()
    assert [(b.role, b.type) for b in Prompt.from_request(odd).blocks][1] == ("user", "text")


def test_a_marker_without_a_lifetime_has_none_whether_left_out_or_null():
    def marked(marker: dict):
        block = {"type": "text", "text": "x", "cache_control": marker}
        [read] = Prompt.from_request(request(messages=[{"role": "user", "content": [block]}])).blocks
        return read.cache_control

    assert (
        marked({"type": "ephemeral", "ttl": None}) == marked({"type": "ephemeral"}) == {"type": "ephemeral"}
    )
    assert marked({"type": "ephemeral", "ttl": "1h"}) == {"type": "ephemeral", "ttl": "1h"}


def test_inside_a_type_nobody_knows_only_a_marker_is_taken_for_one():
    def opaque(**fields) -> dict:
        return request(messages=[assistant([{"type": "hologram_2031", "of": fields}])])

    assert parted(opaque(), opaque(cache_control=MARK)) is None
    assert parted(opaque(), opaque(cache_control="no-store")).kind == "changed"


def test_unknown_block_types_and_compaction_pass_as_they_are():
    blocks = [{"type": "hologram_2031", "depth": {"b": 1, "a": 2}}, {"type": "compaction", "content": None}]
    read = Prompt.from_request(request(messages=[assistant(blocks)])).blocks
    assert [b.type for b in read] == ["hologram_2031", "compaction"]
    swapped = [{"type": "hologram_2031", "depth": {"a": 2, "b": 1}}, blocks[1]]
    # what the server does with a type nobody knows is not known, so its key order counts
    assert (
        parted(request(messages=[assistant(blocks)]), request(messages=[assistant(swapped)])).kind
        == "key_order"
    )


def test_everything_beside_the_blocks_is_a_parameter():
    prompt = Prompt.from_request(request(thinking={"type": "adaptive"}, tool_choice=None))
    assert prompt.parameters == {
        "model": '"claude-opus-5-5"',
        "max_tokens": "100",
        "thinking": '{"type":"adaptive"}',
    }


# --- the chain


def test_role_and_message_borders_are_part_of_the_chain():
    two_blocks = request(messages=[{"role": "user", "content": [{"type": "text", "text": t} for t in "ab"]}])
    two_messages = request(messages=[user("a"), user("b")])
    spoken_by_the_model = request(messages=[assistant("a"), user("b")])
    chains = {Prompt.from_request(r).chain()[-1] for r in (two_blocks, two_messages, spoken_by_the_model)}
    assert len(chains) == 3


def test_the_switch_decides_whether_schema_key_order_counts():
    swapped = copy.deepcopy(TOOL)
    swapped["input_schema"] = dict(reversed(swapped["input_schema"].items()))
    a, b = Prompt.from_request(request(tools=[TOOL])), Prompt.from_request(request(tools=[swapped]))
    assert a.chain() != b.chain()
    assert a.chain("sorted") == b.chain("sorted")
    assert a.blocks[0].content_sha256 == b.blocks[0].content_sha256


@given(requests(), conversations())
def test_extending_is_reading_the_whole_and_leaves_the_prefix_alone(body, more):
    whole = Prompt.from_request({**body, "messages": [*body["messages"], *more]})
    start = Prompt.from_request(body)
    grown = extend(start, more)
    assert grown.chain() == whole.chain()
    assert [b.path for b in grown.blocks] == [b.path for b in whole.blocks]
    assert grown.chain()[: len(start)] == start.chain()


def test_extending_hashes_only_what_is_new(monkeypatch):
    start = Prompt.from_request(
        request(system="s" * 50_000, messages=[user(f"turn {i}") for i in range(200)])
    )
    hashed: list[int] = []

    def counting(data: bytes = b""):
        hashed.append(len(data))
        return sha256(data)

    monkeypatch.setattr(hashlib, "sha256", counting)
    extend(start, [assistant("yes"), user("go on")])
    # per new block: its own bytes once, and one link of the chain
    assert len(hashed) == 4
    assert sum(hashed) < 400


def test_reading_hashes_every_block_once(monkeypatch):
    calls = []
    monkeypatch.setattr(hashlib, "sha256", lambda data=b"": calls.append(len(data)) or sha256(data))
    prompt = Prompt.from_request(request(tools=[TOOL, OTHER], system="x"))
    assert len(calls) == 2 * len(prompt)


# --- the first difference, by kind


def test_the_same_request_has_no_difference():
    assert parted(request(tools=[TOOL], system="x"), request(tools=[TOOL], system="x")) is None


def test_a_longer_conversation_is_appended_and_its_prefix_is_intact():
    found = parted(request(), request(messages=[user("Hi"), assistant("Hello"), user("More")]))
    assert (found.kind, found.appended, found.blocks, found.index) == ("inserted", True, 2, 1)


def test_a_shorter_history_is_removed_from_the_end():
    found = parted(request(messages=[user("Hi"), assistant("Hello")]), request())
    assert (found.kind, found.path, found.blocks) == ("removed", "messages[1].content", 1)


def test_a_clock_in_the_system_prompt_is_found_to_the_character():
    found = parted(request(system="Now: 10:41:07. Be brief."), request(system="Now: 10:41:08. Be brief."))
    assert (found.kind, found.path, found.at_char, found.index) == ("changed", "system", 12, 0)
    assert "system at character 12: changed" in str(found)


def test_a_change_deep_inside_a_tool_is_found_by_its_json_path():
    other = copy.deepcopy(TOOL)
    other["input_schema"]["properties"]["path"]["type"] = "array"
    found = parted(request(tools=[OTHER, TOOL]), request(tools=[OTHER, other]))
    assert (found.kind, found.path) == ("changed", "tools[1].input_schema.properties.path.type")
    longer = copy.deepcopy(TOOL)
    longer["input_schema"]["required"].append("mode")
    assert parted(request(tools=[TOOL]), request(tools=[longer])).path == "tools[0].input_schema.required[1]"
    wider = copy.deepcopy(TOOL)
    wider["input_schema"]["additionalProperties"] = False
    assert (
        parted(request(tools=[TOOL]), request(tools=[wider])).path
        == "tools[0].input_schema.additionalProperties"
    )


def test_one_is_not_true_and_not_one_point_zero():
    for one, other in ((1, True), (1, 1.0), (0, False)):
        a = request(messages=[assistant([{"type": "tool_use", "id": "t", "name": "x", "input": {"n": one}}])])
        b = request(
            messages=[assistant([{"type": "tool_use", "id": "t", "name": "x", "input": {"n": other}}])]
        )
        assert parted(a, b).path == "messages[0].content[0].input.n"


def test_a_tool_added_in_front_is_inserted_and_not_a_changed_system():
    found = parted(request(tools=[TOOL], system="x"), request(tools=[TOOL, OTHER], system="x"))
    assert (found.kind, found.path, found.segment, found.blocks) == ("inserted", "tools[1]", "tools", 1)
    found = parted(request(tools=[TOOL]), request(tools=[OTHER, THIRD, TOOL]))
    assert (found.kind, found.path, found.blocks) == ("inserted", "tools[0]", 2)


def test_a_tool_taken_away_is_removed():
    found = parted(request(tools=[TOOL, OTHER], system="x"), request(tools=[OTHER], system="x"))
    assert (found.kind, found.path, found.blocks) == ("removed", "tools[0]", 1)
    found = parted(request(tools=[TOOL], system="x"), request(system="x"))
    assert (found.kind, found.path, found.segment) == ("removed", "tools[0]", "tools")


def test_the_same_tools_in_another_order_are_reordered():
    found = parted(request(tools=[TOOL, OTHER, THIRD]), request(tools=[THIRD, TOOL, OTHER]))
    assert (found.kind, found.segment, found.blocks) == ("reordered", "tools", 3)


def test_a_block_that_went_from_system_to_the_end_is_moved():
    clock, rules = {"type": "text", "text": "It is ten."}, {"type": "text", "text": "Be brief."}
    a = request(system=[clock, rules])
    b = request(
        system=[rules], messages=[{"role": "user", "content": [{"type": "text", "text": "Hi"}, clock]}]
    )
    found = parted(a, b)
    assert (found.kind, found.path, found.to_path) == ("moved", "system[0]", "messages[0].content[1]")
    back = parted(b, a)
    assert (back.kind, back.path, back.to_path) == ("moved", "messages[0].content[1]", "system[0]")


def test_a_reminder_that_moves_with_the_conversation_is_moved_even_when_turns_were_added():
    a = request(messages=[user("note"), user("one"), user("two")])
    b = request(messages=[user("one"), user("two"), user("three"), user("note")])
    found = parted(a, b)
    assert (found.kind, found.path, found.to_path) == ("moved", "messages[0].content", "messages[3].content")


def test_key_order_inside_a_call_is_a_kind_of_its_own():
    def called(arguments: dict) -> dict:
        return request(
            messages=[assistant([{"type": "tool_use", "id": "t", "name": "x", "input": arguments}])]
        )

    found = parted(called({"a": 1, "b": 2}), called({"b": 2, "a": 1}))
    assert (found.kind, found.path) == ("key_order", "messages[0].content[0].input")
    # the twin: what a diff of sorted dumps sees of it
    assert json.dumps(called({"a": 1, "b": 2}), sort_keys=True) == json.dumps(
        called({"b": 2, "a": 1}), sort_keys=True
    )


def test_key_order_of_an_envelope_is_no_difference():
    one = {"type": "tool_use", "id": "t", "name": "x", "input": {"a": 1}}
    other = {"input": {"a": 1}, "name": "x", "id": "t", "type": "tool_use"}
    assert parted(request(messages=[assistant([one])]), request(messages=[assistant([other])])) is None
    assert parted(request(tools=[TOOL]), request(tools=[dict(reversed(TOOL.items()))])) is None


def test_another_role_or_message_border_is_a_change_and_says_so():
    found = parted(request(messages=[user("a"), user("b")]), request(messages=[user("a"), assistant("b")]))
    assert (found.kind, found.index, found.path) == ("changed", 1, "messages[1].role")
    assert "from user to assistant" in str(found)
    together = request(messages=[{"role": "user", "content": [{"type": "text", "text": t} for t in "ab"]}])
    apart = request(messages=[user("a"), user("b")])
    assert "now begins a message" in str(parted(together, apart))
    assert "goes on with the message before it" in str(parted(apart, together))


def test_a_text_that_changed_is_not_told_as_a_role_that_did():
    found = parted(request(messages=[user("a")]), request(messages=[assistant("b")]))
    assert (found.kind, found.path) == ("changed", "messages[0].content")
    assert "role" not in str(found)


def test_tools_whose_keys_were_shuffled_with_their_order_are_reordered_and_not_changed():
    def shuffled(tool: dict) -> dict:
        return {**tool, "input_schema": dict(reversed(tool["input_schema"].items()))}

    found = parted(request(tools=[TOOL, OTHER]), request(tools=[shuffled(OTHER), shuffled(TOOL)]))
    assert (found.kind, found.path, found.blocks) == ("reordered", "tools[0]", 2)
    edited = {**shuffled(OTHER), "description": "Lists files."}
    assert parted(request(tools=[TOOL, OTHER]), request(tools=[edited, shuffled(TOOL)])).kind == "changed"


def test_a_note_that_moves_to_a_later_message_is_moved_and_says_where_to():
    def said(*texts: str) -> dict:
        return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}

    found = parted(
        request(messages=[said("rules", "note", "one")]),
        request(messages=[said("rules", "one"), assistant("done"), said("note", "two")]),
    )
    assert (found.kind, found.path, found.to_path) == (
        "moved",
        "messages[0].content[1]",
        "messages[2].content[0]",
    )


def test_a_repeated_text_does_not_pass_for_a_moved_one():
    found = parted(
        request(messages=[user("ok"), user("y"), user("ok")]),
        request(messages=[user("no"), user("y"), user("ok")]),
    )
    assert found.kind == "changed"


@given(
    st.lists(st.text(min_size=1, max_size=4), unique=True, min_size=2, max_size=8),
    st.data(),
    st.sampled_from(["inserted", "removed", "changed", "reordered", "moved"]),
    st.sampled_from(["system", "messages"]),
)
def test_one_edit_is_told_as_that_edit_wherever_it_is(texts, data, kind, segment):
    at = data.draw(st.integers(0, len(texts) - 2))
    new = "a text that was not there"
    edited = {
        "inserted": [*texts[:at], new, *texts[at:]],
        "removed": texts[:at] + texts[at + 1 :],
        "changed": [*texts[:at], new, *texts[at + 1 :]],
        "reordered": texts[:at] + texts[at:][::-1],
        "moved": texts[:at] + texts[at + 1 :],
    }[kind]

    def body(said: list[str], *turns: dict) -> dict:
        blocks = [{"type": "text", "text": text} for text in said]
        if segment == "system":
            return {"system": blocks, "messages": list(turns)}
        return {"messages": [{"role": "user", "content": blocks}, *turns]}

    # what moved comes back behind the end, and the conversation went on
    turns = [assistant(texts[at]), user(new)] if kind == "moved" else []
    found = parted(body(texts), body(edited, *turns))
    assert (found.kind, found.index, found.segment, found.appended) == (kind, at, segment, False)
    assert found.path.startswith("system" if segment == "system" else "messages[0].content")


@given(requests(), requests())
def test_the_shared_prefix_is_exactly_where_the_chains_agree(a, b):
    one, other = Prompt.from_request(a), Prompt.from_request(b)
    shared = sum(x == y for x, y in zip(one.chain(), other.chain(), strict=False))
    found = first_difference(one, other)
    if found is None:
        assert one.chain() == other.chain()
    else:
        assert found.index == shared
        assert str(found)


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 70_000))
def test_the_first_different_byte_is_the_first_one(a, b, padding):
    head = b"x" * padding
    expected = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    if expected is None and len(a) != len(b):
        expected = min(len(a), len(b))
    assert first_different_byte(head + a, head + b) == (None if expected is None else expected + padding)


# --- bad input

IN_RESULT = "messages[0].content[0].content"


def with_result(content) -> dict:
    return {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": content}]}]}


def test_a_result_may_be_a_string_a_list_of_blocks_or_nothing():
    for content in ("ok", [{"type": "text", "text": "ok"}], [], None):
        assert len(Prompt.from_request(with_result(content))) == 1


@pytest.mark.parametrize(
    ("body", "path", "rule"),
    [
        ([], "request", "object"),
        ({"model": "m"}, "messages", "required"),
        ({"messages": "Hi"}, "messages", "list"),
        ({"messages": {"role": "user"}}, "messages", "list"),
        ({"messages": ["Hi"]}, "messages[0]", "object"),
        ({"messages": [{}]}, "messages[0]", "required"),
        ({"messages": [{"content": "Hi"}]}, "messages[0].role", "role"),
        ({"messages": [{"role": 7, "content": "Hi"}]}, "messages[0].role", "role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "required"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content", "content"),
        ({"messages": [{"role": "user", "content": [7]}]}, "messages[0].content[0]", "object"),
        (
            {"messages": [{"role": "user", "content": [{"text": "x"}]}]},
            "messages[0].content[0].type",
            "required",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": 7}]}]},
            "messages[0].content[0].text",
            "string",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages[0].content[0].text",
            "string",
        ),
        ({"messages": [], "system": 7}, "system", "content"),
        ({"messages": [], "tools": [{"description": "x"}]}, "tools[0].name", "required"),
        ({"messages": [], "tools": {"name": "x"}}, "tools", "list"),
        (
            {"messages": [], "tools": [{"name": "x", "input_schema": {"minimum": float("nan")}}]},
            "tools[0].input_schema.minimum",
            "finite-number",
        ),
        ({"messages": [], "top_p": float("inf")}, "top_p", "finite-number"),
        (
            {"messages": [{"role": "user", "content": "a\ud800b"}]},
            "messages[0].content",
            "lone-surrogate",
        ),
        ({"messages": [], "metadata": {"k": {1, 2}}}, "metadata.k", "json"),
        ({"messages": [], "metadata": {1: "x", "a": "y"}}, "metadata", "string-keys"),
        ({"messages": [], "metadata": {1: "x", "1": "y"}}, "metadata", "string-keys"),
        ({"messages": [{"role": "us\ud800er", "content": "x"}]}, "messages[0].role", "lone-surrogate"),
        ({"messages": [], "k\ud800": 1}, "request.<key>", "lone-surrogate"),
        ({"messages": [], 1: "x"}, "request", "string-keys"),
        ({"messages": [], "tools": [{"name": "x", b"strict": True}]}, "tools[0]", "string-keys"),
        ({"messages": [], "tools": [{}]}, "tools[0]", "required"),
        ({"messages": [], "tools": [Speaker]}, "tools[0]", "object"),
        ({"messages": (one for one in ())}, "messages", "list"),
        ({"messages": {"Hi"}}, "messages", "list"),
        ({"messages": [], "metadata": {"n": 10**5000}}, "metadata.n", "whole-number"),
        (with_result({"ok": True}), f"{IN_RESULT}", "content"),
        (with_result(7), f"{IN_RESULT}", "content"),
        (with_result(b"ok"), f"{IN_RESULT}", "content"),
        (with_result(["ok"]), f"{IN_RESULT}[0]", "object"),
        (with_result([{"text": "ok"}]), f"{IN_RESULT}[0].type", "required"),
        (with_result([{"type": "text", "text": 7}]), f"{IN_RESULT}[0].text", "string"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": "yes"}]}
                ]
            },
            "messages[0].content[0].cache_control",
            "object",
        ),
    ],
)
def test_what_cannot_be_read_is_named_by_place_and_rule(body, path, rule):
    with pytest.raises(InvalidRequestError) as caught:
        Prompt.from_request(body)
    assert (path, rule) in [(p.path, p.rule) for p in caught.value.problems]


def test_a_role_that_nobody_knows_yet_is_read_as_it_is():
    prompt = Prompt.from_request({"messages": [{"role": "critic", "content": "Hm."}]})
    assert prompt.blocks[0].role == "critic"


def test_a_number_as_a_key_is_the_string_that_json_makes_of_it():
    def called(arguments: dict) -> dict:
        return request(
            messages=[assistant([{"type": "tool_use", "id": "t", "name": "x", "input": arguments}])]
        )

    assert parted(called({1: "x"}), called({"1": "x"})) is None


def test_all_faults_are_reported_at_once_and_the_list_stays_short():
    with pytest.raises(InvalidRequestError) as caught:
        Prompt.from_request({"messages": [{"role": "user", "content": 7}] * 50, "system": 7})
    assert len(caught.value.problems) == 20


def test_what_messages_create_takes_beside_the_body_is_no_part_of_the_prompt():
    beside = {"extra_headers": {"x-request-id": "1"}, "extra_query": {"a": 1}, "timeout": Timeout(5.0)}
    assert parted(request(), request(**beside)) is None
    assert Prompt.from_request(request(**beside)).parameters == Prompt.from_request(request()).parameters


def test_what_json_cannot_hold_comes_with_what_to_send_instead():
    class Whole:
        def __index__(self) -> int:
            return 5

    told = {
        "int(value)": Whole(),
        "float(value)": Decimal("1.5"),
        "JSON schema": Whole,
        "base64": Path("chart.png"),
        "a string": UUID(int=1),
    }
    for fix, value in told.items():
        with pytest.raises(InvalidRequestError) as caught:
            Prompt.from_request(request(metadata={"user_id": value}))
        assert fix in caught.value.problems[0].fix


def test_a_system_message_may_set_the_effort_and_say_nothing():
    effort = {"role": "system", "output_config": {"effort": "low"}}
    for message in (effort, {**effort, "content": None}):
        prompt = Prompt.from_request(request(messages=[user("Hi"), message, user("And?")]))
        assert [block.path for block in prompt.blocks] == ["messages[0].content", "messages[2].content"]
        assert extend(Prompt.from_request(request(messages=[user("Hi")])), [message]).message_count == 2
    for message in ({"role": "system", "output_config": {}}, {**effort, "role": "user"}):
        with pytest.raises(InvalidRequestError, match=r"messages\[0\]\.content: is missing"):
            Prompt.from_request({"messages": [message]})


def test_a_field_that_is_not_there_is_missing_and_one_that_is_null_is_null():
    for message, told in (({"content": "x"}, "is missing"), ({"role": None, "content": "x"}, "is null")):
        with pytest.raises(InvalidRequestError, match=rf"messages\[0\]\.role: {told}"):
            Prompt.from_request({"messages": [message]})


def test_what_branches_and_contains_itself_is_refused_and_not_followed_for_ever():
    circle: dict = {}
    circle.update(left=circle, right=circle)
    for block in ({"type": "document", "source": circle}, {"type": "hologram_2031", "of": circle}):
        with pytest.raises(InvalidRequestError, match="holds itself"):
            Prompt.from_request(request(messages=[assistant([block])]))


def test_an_object_that_cannot_say_what_it_sends_is_named_by_its_place():
    class Broken:
        def to_dict(self) -> dict:
            raise RuntimeError("no connection")

    nested = {"type": "document", "source": Broken()}
    for content in ([Broken()], [nested], [{**CALL, "input": {"x": Broken()}}]):
        with pytest.raises(InvalidRequestError, match=r"messages\[0\]\.content\[0\].*no connection"):
            Prompt.from_request(request(messages=[assistant(content)]))
    with pytest.raises(InvalidRequestError, match="no connection"):
        plain([Broken()])


def test_a_pydantic_block_without_its_type_is_an_error_and_not_left_out():
    from pydantic import BaseModel

    class Text(BaseModel):
        type: str = "text"  # nobody sets it, so the SDK would not send it

    with pytest.raises(InvalidRequestError, match=r"content\[0\]\.type: is missing"):
        Prompt.from_request(request(messages=[assistant([Text()])]))


def test_what_is_no_prompt_is_refused_by_name():
    prompt = Prompt.from_request(request())
    for call in (
        lambda: first_difference(request(), prompt),
        lambda: first_difference(prompt, None),
        lambda: extend(request(), []),
    ):
        with pytest.raises(InvalidArgumentError, match="not a Prompt"):
            call()
    with pytest.raises(InvalidArgumentError, match="schema_key_order"):
        prompt.chain("shuffled")


def test_a_body_that_contains_itself_or_has_no_bottom_is_refused():
    circle: dict = {"name": "x"}
    circle["input_schema"] = {"self": circle}
    deep: dict = {}
    for _ in range(5_000):
        deep = {"d": deep}
    for tool in (circle, {"name": "x", "input_schema": deep}):
        with pytest.raises(InvalidRequestError, match="nested too deeply"):
            Prompt.from_request({"messages": [], "tools": [tool]})


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('{"messages": [', r"request\.json:1:15"),
        ('{"messages": [], "temperature": NaN}', "NaN is not JSON"),
        (b'{"messages": "\xff"}', "not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ("7", "not an object"),
        ('{"messages": [], "n": ' + "9" * 5000 + "}", r"request\.json: cannot be read"),
        (None, "null, not JSON text"),
        ({"messages": []}, "an object, not JSON text"),
    ],
)
def test_json_text_that_cannot_be_read_is_named_by_line_and_column(text, match):
    with pytest.raises(InvalidRequestError, match=match):
        Prompt.from_json(text)


def test_json_text_is_read_like_the_body_it_holds():
    body = request(tools=[TOOL], system="Zürich")
    for text in (json.dumps(body), "\ufeff" + json.dumps(body), json.dumps(body).encode("utf-8-sig")):
        assert Prompt.from_json(text).chain() == Prompt.from_request(body).chain()


def test_fifty_megabytes_are_read_and_compared():
    body = request(messages=[user(f"{i} " + "x" * 1_000_000) for i in range(50)])
    before = Prompt.from_request(body)
    body["messages"][-1] = user("49 " + "x" * 999_999 + "y")
    found = first_difference(before, Prompt.from_request(body))
    assert (found.path, found.at_char) == ("messages[49].content", 3 + 999_999)
