"""Promises of the emulator's memory: what is kept from earlier turns changes the work, never the figures."""

from __future__ import annotations

import json
from functools import partial
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxlab import breakpoints, tokens, validity
from ctxlab.cache import Layout
from ctxlab.catalogue import get_model
from ctxlab.effective import unread, without
from ctxlab.emulator.bodies import Body, Reader
from ctxlab.emulator.checks import check_markers, check_order
from ctxlab.emulator.errors import ApiError
from ctxlab.emulator.rendering import Renderer
from ctxlab.prompt import Prompt
from tests.strategies import json_values, marked_requests, requests, valid_messages

# v4.8, v3 that keeps thinking, v3 that drops it, v4.7
MODELS = ["claude-opus-5-5", "claude-opus-4-6", "claude-sonnet-4-5", "claude-opus-4-7"]


def dumped(request: dict[str, Any], indent: int | None = None) -> bytes:
    return json.dumps(request, ensure_ascii=False, indent=indent).encode()


def by_words(text: str, vocabulary: str) -> int:
    return len(text.split())


def in_any_order(draw: st.DrawFn, request: dict[str, Any]) -> dict[str, Any]:
    names = draw(st.permutations(sorted(request)))
    return {name: request[name] for name in names}


@st.composite
def sessions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Requests of one program: growing, rewound, forked and edited, with another head now and then."""
    messages = draw(valid_messages())
    other = draw(valid_messages())
    request: dict[str, Any] = {"model": draw(st.sampled_from(MODELS)), "max_tokens": 9}
    sent = []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.integers(0, 4)) == 0:
            request["system"] = draw(
                st.sampled_from(["Be brief.", "Be kind.", [{"type": "text", "text": "a"}]])
            )
        if draw(st.integers(0, 4)) == 0:
            request["tools"] = [{"name": "read", "input_schema": {"type": "object"}}]
        if draw(st.integers(0, 4)) == 0:
            request["thinking"] = draw(st.sampled_from([{"type": "adaptive"}, {"type": "disabled"}]))
        if draw(st.integers(0, 4)) == 0:
            messages, other = other, messages
        length = draw(st.integers(0, len(messages)))
        sent.append(in_any_order(draw, {**request, "messages": messages[:length]}))
    return sent


@settings(deadline=None)
@given(requests() | st.dictionaries(st.text(max_size=3), json_values, max_size=3), st.sampled_from([None, 2]))
def test_a_body_in_pieces_is_the_body(request_body, indent):
    data = dumped(request_body, indent)
    assert Reader().read(data).decoded() == json.loads(data)


@settings(deadline=None)
@given(st.lists(requests(), min_size=1, max_size=4), st.sampled_from([0, 200, 10**6]))
def test_what_is_remembered_of_other_bodies_does_not_change_one(bodies, remember_chars):
    reader = Reader(remember_chars=remember_chars)
    for body in (*bodies, *bodies):
        assert reader.read(dumped(body)).decoded() == body


def test_a_message_is_decoded_once_for_all_turns_that_repeat_it():
    reader = Reader()
    turns = [[{"role": "user", "content": f"Question {i}"} for i in range(n)] for n in (1, 2, 3)]
    *_, before, last = [reader.read(dumped({"messages": turn})) for turn in turns]
    assert all(a is b for a, b in zip(before.messages, last.messages, strict=False))


def test_the_same_message_at_another_place_is_another_piece():
    reader = Reader()
    first, second = reader.read(dumped({"messages": [{"role": "user", "content": "Hi"}] * 2})).messages
    assert first is not second


@settings(max_examples=40, deadline=None)
@given(sessions())
def test_a_prompt_rendered_turn_by_turn_is_the_prompt_rendered_whole(session):
    reader, renderer = Reader(), Renderer(by_words)
    for request in session:
        model = get_model(request["model"])
        rendered = renderer.render(reader.read(dumped(request)), model)
        whole = Prompt.from_request(request)
        read = without(whole, unread(whole.blocks, model))
        assert [b.path for b in rendered.prompt.blocks] == [b.path for b in read.blocks]
        assert rendered.prompt.chain() == read.chain()
        assert rendered.prompt.parameters == whole.parameters


@settings(max_examples=100, deadline=None)
@given(sessions(), st.sampled_from([by_words, "calibrated_characters", "four_characters"]))
def test_sizes_counted_turn_by_turn_are_the_sizes_counted_whole(session, counter):
    reader, renderer = Reader(), Renderer(counter)
    for request in session:
        model = get_model(request["model"])
        rendered = renderer.render(reader.read(dumped(request)), model)
        whole = tokens.count(rendered.prompt, model, counter=counter)
        assert rendered.sizes == list(accumulate(whole.cumulative, max))
        assert rendered.total_tokens == max(whole.total, *rendered.sizes, 0)
        assert sorted(map(str, rendered.outside)) == sorted(map(str, whole.outside))


def test_a_turn_asks_the_counter_about_its_new_blocks_only():
    asked = []

    def counter(text: str, vocabulary: str) -> int:
        asked.append(text)
        return len(text)

    reader, renderer = Reader(), Renderer(counter)
    model = get_model("claude-opus-5-5")
    messages: list[dict[str, Any]] = []
    for turn in range(30):
        messages += [
            {"role": "user", "content": [{"type": "text", "text": f"question {turn} of {id(asked)}"}]},
            {"role": "assistant", "content": [{"type": "text", "text": f"answer {turn} of {id(asked)}"}]},
        ]
        asked.clear()
        renderer.render(reader.read(dumped({"messages": messages})), model)
        assert len(asked) == 2


def test_thinking_of_earlier_turns_is_not_in_the_prompt_of_a_model_that_drops_it():
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    messages = [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "One."}]},
        {"role": "user", "content": "Two?"},
    ]
    for name, kept in (("claude-sonnet-4-5", False), ("claude-opus-4-6", True)):
        prompt = (
            Renderer(by_words).render(Reader().read(dumped({"messages": messages})), get_model(name)).prompt
        )
        assert ("thinking" in [block.type for block in prompt.blocks]) is kept
    without = [messages[0], {"role": "assistant", "content": [{"type": "text", "text": "One."}]}, messages[2]]
    dropped = Renderer(by_words).render(
        Reader().read(dumped({"messages": messages})), get_model("claude-sonnet-4-5")
    )
    assert dropped.prompt.chain() == Prompt.from_request({"messages": without}).chain()


def test_thinking_of_an_open_tool_loop_stays_with_a_model_that_drops_the_rest():
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [thought, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]},
    ]
    body = Reader().read(dumped({"messages": messages}))
    prompt = Renderer(by_words).render(body, get_model("claude-sonnet-4-5")).prompt
    assert prompt.chain() == Prompt.from_request({"messages": messages}).chain()


def refusal_of(check: Any, body: Body, *arguments: Any) -> str | None:
    try:
        check(body, *arguments)
    except ApiError as error:
        return error.message
    return None


@settings(max_examples=40, deadline=None)
@given(st.lists(marked_requests(), min_size=1, max_size=4), st.data())
def test_markers_checked_turn_by_turn_are_refused_as_in_the_whole_request(bodies, data):
    reader = Reader()
    for request in bodies:
        length = data.draw(st.integers(1, len(request["messages"])))
        request = {**request, "messages": request["messages"][:length]}
        body = reader.read(dumped(request))
        problems = breakpoints.validate(request)
        if {problem.rule for problem in problems} == {"marker-field"}:
            continue  # a field too many is refused before anybody looks at markers
        lay_out = partial(Layout.from_prompt, Prompt.from_request(request), None)
        told = refusal_of(check_markers, body, lay_out)
        assert (told is None) == (not problems)
        if problems:
            assert problems[0].message in told


@settings(max_examples=40, deadline=None)
@given(st.lists(valid_messages(), min_size=1, max_size=3), st.data())
def test_the_order_of_messages_is_judged_turn_by_turn_as_in_the_whole_request(conversations, data):
    reader, model = Reader(), get_model("claude-opus-4-8")
    for messages in conversations:
        for _ in range(3):
            start = data.draw(st.sampled_from([0, 0, 1]))
            length = data.draw(st.integers(1, len(messages)))
            request = {"model": "claude-opus-4-8", "messages": messages[start:length]}
            problems = validity.check(request)
            told = refusal_of(check_order, reader.read(dumped(request)), model)
            assert (told is None) == (not problems)
            if problems:
                assert problems[0].message in told


@pytest.mark.parametrize(
    ("second_id", "refused"), [("toolu_1", True), ("toolu_2", False)], ids=["same id", "another id"]
)
def test_a_call_with_the_id_of_one_long_ago_is_refused(second_id, refused):
    def turn(call_id: str) -> list[dict[str, Any]]:
        call = {"type": "tool_use", "id": call_id, "name": "read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    reader, model = Reader(), get_model("claude-opus-5-5")
    history = [{"role": "user", "content": "Go."}, *turn("toolu_1")]
    history += [message for i in range(10) for message in turn(f"toolu_between_{i}")]
    assert refusal_of(check_order, reader.read(dumped({"messages": history})), model) is None
    told = refusal_of(check_order, reader.read(dumped({"messages": [*history, *turn(second_id)]})), model)
    assert (told is not None and "ids must be unique" in told) is refused
