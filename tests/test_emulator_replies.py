"""Promises about replies: who speaks, where a reply ends, what it costs, how it is streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anthropic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxlab import tokens
from ctxlab.catalogue import get_model
from ctxlab.clock import ManualClock
from ctxlab.emulator import Emulator, Reply, call, overloaded, thinking
from ctxlab.emulator.errors import ApiError, invalid
from ctxlab.emulator.replies import Limits, finish
from ctxlab.emulator.streaming import events
from ctxlab.errors import InvalidArgumentError
from ctxlab.prompt import Prompt
from ctxlab.tokens import rules_of
from ctxlab.usage import Usage
from tests.emulated import HELLO, MODEL, a_request, a_word_a_token, assistant, text, user
from tests.strategies import json_values

TOOL = {"name": "read", "input_schema": {"type": "object"}}
AROUND = {"claude-haiku-4-5": 3, "claude-opus-5-5": 2}


def say(said: Any, **fields: Any) -> Any:
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=said)
    return api.client().messages.create(**a_request(**fields))


# --- who speaks


def test_an_echo_says_the_words_of_the_last_user_message():
    turns = [HELLO, assistant(text("Hi")), user(text("One"), text("two"))]
    assert say("echo", messages=turns).content[0].text == "One\ntwo"


def test_an_echo_looks_into_tool_results_and_says_so_where_there_are_no_words():
    made = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1"}
    turns = [HELLO, assistant(made), user({**result, "content": [text("line 1")]})]
    assert say("echo", messages=turns, tools=[TOOL]).content[0].text == "line 1"
    turns = [HELLO, assistant(made), user(result)]
    assert say("echo", messages=turns, tools=[TOOL]).content[0].text == "(no words to echo)"


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "read"}])
def test_an_echo_that_is_forced_to_call_calls(choice):
    answer = say("echo", model="claude-haiku-4-5", tools=[TOOL], tool_choice=choice)
    assert [(block.type, block.name) for block in answer.content] == [("tool_use", "read")]
    assert answer.stop_reason == "tool_use"


def test_a_script_is_said_line_by_line_and_its_end_is_an_error_nobody_retries():
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=iter(["One.", "Two."]))
    client = api.client(max_retries=2)
    assert [client.messages.create(**a_request()).content[0].text for _ in range(2)] == ["One.", "Two."]
    with pytest.raises(anthropic.InternalServerError, match="no reply left: it had 2"):
        client.messages.create(**a_request())
    assert len(api.calls) == 3


def test_a_refused_request_uses_nothing_of_the_script():
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=["One."])
    with pytest.raises(anthropic.BadRequestError):
        api.client().messages.create(**a_request(max_tokens=-1))
    assert api.client().messages.create(**a_request()).content[0].text == "One."


def test_a_function_sees_the_whole_request_and_may_do_to_it_what_it_likes():
    seen: list[dict[str, Any]] = []

    def reply(request: dict[str, Any]) -> str:
        seen.append(json.loads(json.dumps(request)))
        request["messages"][0]["content"] = "changed"
        request.clear()
        return "Noted."

    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=reply)
    body = a_request(system="Be brief.", metadata={"user_id": "u"})
    for _ in range(2):
        api.client().messages.create(**body)
    assert seen == [body, body]


def test_a_function_may_ask_the_emulator_itself():
    def delegate(request: dict[str, Any]) -> str:
        if request["messages"][0]["content"] == "Ask another.":
            return api.client().messages.create(**a_request()).content[0].text
        return "I am the other."

    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=delegate)
    asked = a_request(messages=[{"role": "user", "content": "Ask another."}])
    assert api.client().messages.create(**asked).content[0].text == "I am the other."
    assert [made.state for made in api.calls] == ["complete", "complete"]


def test_a_function_or_a_script_may_answer_with_an_error():
    for said in ([overloaded()], lambda _: overloaded()):
        with pytest.raises(anthropic.OverloadedError):
            say(said)

    def refuse(request: Mapping[str, Any]) -> str:
        raise invalid("not today")

    with pytest.raises(anthropic.BadRequestError, match="not today"):
        say(refuse)


def test_an_injected_error_leaves_no_entry_and_no_usage():
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=[overloaded(), "Hello."])
    body = a_request(system=[text("[3000]", cache_control={"type": "ephemeral"})])
    with pytest.raises(anthropic.OverloadedError) as told:
        api.client().messages.create(**body)
    assert told.value.body["error"] == {"type": "overloaded_error", "message": "Overloaded"}
    api.client().messages.create(**body)
    assert [made.usage is None for made in api.calls] == [True, False]
    assert api.calls[1].usage.cache_read_input_tokens == 0


SHAPES = {
    "a text": ("Hi", ["text"]),
    "a block": (text("Hi"), ["text"]),
    "a call": (call("read", path="a"), ["tool_use"]),
    "blocks": ([thinking("Hm."), text("Hi"), call("read")], ["thinking", "text", "tool_use"]),
    "a reply": (Reply((text("Hi"),)), ["text"]),
    "nothing": ([], []),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_reply_has_any_of_these_shapes(shape):
    said, types = SHAPES[shape]
    assert [block.type for block in say([said]).content] == types
    assert [block.type for block in say(lambda _: said).content] == types


def test_a_reply_may_say_why_it_stopped():
    assert say([Reply((text("I will not."),), stop_reason="refusal")]).stop_reason == "refusal"


NO_REPLIES = ["Hello.", 3, {"type": "text", "text": "Hi"}]


@pytest.mark.parametrize("said", NO_REPLIES)
def test_what_is_no_script_is_refused_when_the_emulator_is_made(said):
    with pytest.raises(InvalidArgumentError, match="replies"):
        Emulator(replies=said)


NO_REPLY = [
    None,
    3,
    {"type": "image"},
    [text(""), 3],
    {"type": "text"},
    {"type": "tool_use", "name": 3},
    call("read", path={1, 2}),
    Reply(({"type": "image"},)),
]


@pytest.mark.parametrize("said", NO_REPLY)
def test_what_is_no_reply_is_said_to_be_none(said):
    with pytest.raises(
        anthropic.InternalServerError, match=r"the reply function .*<lambda> gave no reply: reply"
    ):
        say(lambda _: said)
    with pytest.raises(anthropic.InternalServerError, match="the script gave no reply: reply"):
        say([said])


@settings(deadline=None)
@given(json_values)
def test_any_arguments_of_a_call_arrive_as_they_are(value):
    made = call("read", value=value)
    assert say([made]).content[0].input == {"value": value}
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=[made])
    with api.client().messages.stream(**a_request()) as stream:
        assert stream.get_final_message().content[0].input == {"value": value}


# --- where it ends


def test_max_tokens_ends_a_text_in_the_middle_and_is_what_is_billed():
    answer = say(["one two three four five six seven"], max_tokens=5)
    assert answer.stop_reason == "max_tokens"
    assert answer.usage.output_tokens == 5
    assert answer.content[0].text.split() == ["one", "two", "three", "four", "five"]


@pytest.mark.parametrize("words", range(1, 12))
def test_a_reply_that_fits_is_whole(words):
    around = rules_of("v4.8", get_model(MODEL)).reply
    answer = say(["w " * (words - 1) + "w"], max_tokens=8)
    whole = words + around <= 8
    assert (answer.stop_reason == "end_turn") == whole
    assert answer.usage.output_tokens == min(words + around, 8)
    assert len(answer.content[0].text.split()) == min(words, 8)


def test_a_call_that_does_not_fit_is_left_out_and_what_is_before_it_stays():
    answer = say([[text("one two"), call("read", path="x " * 40)]], max_tokens=10)
    assert [block.type for block in answer.content] == ["text"]
    assert (answer.stop_reason, answer.usage.output_tokens) == ("max_tokens", 10)


def test_thinking_that_does_not_fit_uses_up_the_room():
    answer = say([[thinking("one " * 40), text("So.")]], max_tokens=10)
    assert (answer.content, answer.stop_reason) == ([], "max_tokens")
    assert answer.usage.output_tokens == answer.usage.output_tokens_details.thinking_tokens == 10


def test_a_stop_sequence_ends_it_and_is_not_said():
    answer = say(["one END two STOP"], stop_sequences=["STOP", "END"])
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "END")
    assert answer.content[0].text == "one "
    assert say(["one two"], stop_sequences=["END"]).stop_reason == "end_turn"


def test_max_tokens_may_come_before_the_stop_sequence():
    answer = say(["one two three four five six END"], stop_sequences=["END"], max_tokens=3)
    assert (answer.stop_reason, answer.stop_sequence) == ("max_tokens", None)


def test_the_end_of_the_window_ends_a_reply_of_newer_models():
    window = get_model(MODEL).window_tokens
    answer = say(["w " * 500], messages=[user(text(f"[{window - 100}] x"))], max_tokens=1000)
    assert answer.stop_reason == "model_context_window_exceeded"
    usage = Usage.from_response(answer.usage)
    assert usage.total_input_tokens + usage.output_tokens == window


def test_older_models_refuse_what_would_not_fit_unless_the_beta_is_named():
    window = get_model("claude-sonnet-4").window_tokens
    said = ["w " * 500]
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, retired_models=True, replies=said)
    almost = [user(text(f"[{window - 100}] x"))]
    body = a_request(model="claude-sonnet-4", messages=almost, max_tokens=1000)
    with pytest.raises(anthropic.BadRequestError, match=f"exceed context limit: .* \\+ 1000 > {window}"):
        api.client().messages.create(**body)
    beta = ["model-context-window-exceeded-2025-08-26"]
    answer = api.client().beta.messages.create(**body, betas=beta)
    assert answer.stop_reason == "model_context_window_exceeded"


# --- what it costs


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-5-5"])
def test_a_plain_text_costs_its_tokens_and_what_a_reply_costs_around_it(model):
    known = get_model(model)
    answer = say(["one two three"], model=model)
    assert answer.usage.output_tokens == 3 + rules_of(known.vocabulary, known).reply


def test_thinking_is_counted_apart_and_within_the_output():
    answer = say([[thinking("one two three"), text("four five")]])
    assert answer.usage.output_tokens_details.thinking_tokens == 3
    assert answer.usage.output_tokens == 5 + rules_of("v4.8", get_model(MODEL)).reply


def test_a_reply_that_comes_back_is_as_long_as_it_was_but_for_its_frame():
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=["one two three four", "Good."])
    client = api.client()
    first = client.messages.create(**a_request())
    back = {"role": "assistant", "content": first.content}
    client.messages.create(**a_request(messages=[HELLO, back, HELLO]))
    (spoken,) = [size for path, _, size in api.calls[-1].spans if path == "messages[1].content[0]"]
    bare = Prompt.from_request({"messages": [HELLO, assistant(text("x"))]})
    before, behind = tokens.count(bare, MODEL, counter=lambda *_: 0).cumulative
    assert spoken == 4 + behind - before


# --- as a stream


blocks = st.one_of(
    st.builds(text, st.text(min_size=1)),
    st.builds(thinking, st.text()),
    st.builds(lambda value: call("read", value=value), json_values),
)


@settings(deadline=None)
@given(st.lists(blocks, max_size=4), st.integers(0, 3000))
def test_any_answer_streamed_is_the_answer(content, output_tokens):
    answer = finish(Reply(tuple(content)), Limits(10**9), lambda block: 1, 2, lambda prefix: prefix + "1")
    usage = {"input_tokens": 8, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(answer.content),
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": output_tokens},
    }
    decoded = [json.loads(chunk.split(b"\ndata: ", 1)[1]) for chunk in events(message)]
    assert Usage.from_stream(decoded) == Usage.from_response(message)
    spoken: list[dict[str, Any]] = []
    for event in decoded:
        if event["type"] == "content_block_start":
            spoken.append({**event["content_block"], "json": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            for name, key in (("text", "text"), ("thinking", "thinking"), ("partial_json", "json")):
                if name in delta:
                    spoken[-1][key] += delta[name]
            spoken[-1]["signature"] = delta.get("signature", spoken[-1].get("signature"))
    for block, original in zip(spoken, message["content"], strict=True):
        if original["type"] == "tool_use":
            block["input"] = json.loads(block["json"] or "{}")
        assert original.items() <= block.items()


def test_a_stream_is_laid_out_in_lines_that_any_reader_of_events_takes():
    message = {
        "id": "msg_1",
        "content": [text("a\r\nb\u2028c\x85d")],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    for chunk in events(message):
        name, data, *rest = chunk.split(b"\n")
        assert name.startswith(b"event: ")
        assert json.loads(data.removeprefix(b"data: "))["type"] == name.removeprefix(b"event: ").decode()
        assert rest == [b"", b""]
        assert b"\r" not in chunk


def test_an_error_is_text_and_never_a_stream():
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=[overloaded()])
    with pytest.raises(anthropic.OverloadedError) as told:
        api.client().messages.create(**a_request(), stream=True)
    assert told.value.response.headers["content-type"] == "application/json"
    assert str(ApiError(529, "overloaded_error", "Overloaded")) == "529 overloaded_error: Overloaded"
