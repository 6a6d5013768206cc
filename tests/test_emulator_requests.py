"""Promises about requests: what the API refuses and in which words, what it takes, what is not emulated."""

from __future__ import annotations

import base64
import inspect
import json
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anthropic
import pytest
import typing_extensions
from anthropic import resources
from anthropic.types import beta as beta_types
from hypothesis import given, settings

from ctxlab.catalogue import known
from ctxlab.emulator import KEY, Emulator, Engine
from ctxlab.emulator.bodies import MAX_BODY_BYTES
from ctxlab.emulator.fields import check_for, fields_of
from ctxlab.emulator.schemas import supplement
from ctxlab.recordings import exchanges
from tests.emulated import HEADERS, HELLO, MARK, MODEL, a_request, assistant, one_token, text, user
from tests.strategies import junk

TOOL = {"name": "read", "input_schema": {"type": "object"}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}


def ask(
    body: Mapping[str, Any] | bytes,
    *,
    path: str = "/v1/messages",
    method: str = "POST",
    query: str = "",
    engine: Engine | None = None,
    **headers: str | None,
) -> tuple[int, dict[str, Any]]:
    """Status and decoded body; header names have _ for -, None takes a header away."""
    engine = engine or Engine(counter=one_token)
    told = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    status, answered, content = engine.respond(
        method, path, query, {name: value for name, value in told.items() if value is not None}, data
    )
    decoded = json.loads(content)
    assert answered["request-id"].startswith("req_")
    if status >= 400:
        assert decoded["type"] == "error"
        assert decoded["request_id"] == answered["request-id"]
    return status, decoded


def png(width: int, height: int) -> dict[str, Any]:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    data = base64.b64encode(header).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def refusal(status: int, kind: str, message: str) -> Any:
    return status, {"type": kind, "message": message}


def told(answer: tuple[int, dict[str, Any]]) -> Any:
    status, body = answer
    return status, {name: body["error"][name] for name in ("type", "message")}


def invalid(message: str) -> Any:
    return refusal(400, "invalid_request_error", message)


# --- what the API refuses, in its words

FIVE_MARKS = [text(str(i), cache_control=MARK) for i in range(5)]
LONG_BEHIND_SHORT = [text("a", cache_control=MARK), text("b", cache_control={**MARK, "ttl": "1h"})]

REFUSED = {
    "no model": (a_request(model=...), "model: Field required"),
    "no max_tokens": (a_request(max_tokens=...), "max_tokens: Field required"),
    "no messages": (a_request(messages=...), "messages: Field required"),
    "messages are no list": (a_request(messages="Hi"), "messages: Input should be a valid list"),
    "empty messages": (a_request(messages=[]), "messages: at least one message is required"),
    "a message that is no object": (
        a_request(messages=["Invalid content"]),
        "messages.0: Input does not match the expected shape.",
    ),
    "unknown role": (
        a_request(messages=[{"role": "tool", "content": "ok"}]),
        "messages.0.role: Input should be 'user' or 'assistant'",
    ),
    "no role": (a_request(messages=[{"content": "ok"}]), "messages.0.role: Field required"),
    "no content": (a_request(messages=[{"role": "user"}]), "messages.0.content: Field required"),
    "empty content": (
        a_request(messages=[user(), HELLO]),
        "messages.0: all messages must have non-empty content except for the optional final "
        "assistant message",
    ),
    "empty text": (a_request(messages=[user(text(""))]), "messages: text content blocks must be non-empty"),
    "unknown block": (
        a_request(messages=[user({"type": "image_url"})]),
        "messages.0.content.0: Input tag 'image_url' found using 'type' does not match any "
        "of the expected tags: ",
    ),
    "unknown field": (a_request(prompt="Hi"), "prompt: Extra inputs are not permitted"),
    "unknown field of a block": (
        a_request(messages=[user(text(colour="red"))]),
        "messages.0.content.0.text.colour: Extra inputs are not permitted",
    ),
    "unknown field of a tool": (
        a_request(tools=[{**TOOL, "function": {}}]),
        "tools.0.custom.function: Extra inputs are not permitted",
    ),
    "a number as text": (a_request(max_tokens="9"), "max_tokens: Input should be a valid integer"),
    "true as a number": (a_request(max_tokens=True), "max_tokens: Input should be a valid integer"),
    "negative max_tokens": (
        a_request(max_tokens=-1),
        "max_tokens: Input should be greater than or equal to 0",
    ),
    "max_tokens beyond the model": (
        a_request(model="claude-haiku-4-5", max_tokens=64_001),
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for "
        "claude-haiku-4-5-20251001",
    ),
    "five markers": (
        a_request(messages=[user(*FIVE_MARKS)]),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "four markers and an automatic one": (
        a_request(messages=[user(*FIVE_MARKS[:4])], system=[text("x")], cache_control=MARK, tools=[TOOL])
        | {"messages": [user(*FIVE_MARKS[:4], text("last"))]},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "1h after 5m": (
        a_request(messages=[user(*LONG_BEHIND_SHORT)]),
        "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not "
        "come after a ttl='5m' "
        "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, "
        "`messages`.",
    ),
    "marker on thinking": (
        a_request(
            messages=[
                HELLO,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm", "signature": "s", "cache_control": MARK},
                        text(),
                    ],
                },
                HELLO,
            ]
        ),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    "marker on an empty text": (
        a_request(messages=[user(text(), text("", cache_control=MARK))]),
        "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
    ),
    "marker on a message": (
        a_request(messages=[{**HELLO, "cache_control": MARK}]),
        "messages.0.cache_control: Extra inputs are not permitted",
    ),
    "scope in a marker": (
        a_request(system=[text(cache_control={**MARK, "scope": "global"})]),
        "system.0.cache_control.ephemeral.scope: Extra inputs are not permitted",
    ),
    "lifetime of two hours": (
        a_request(system=[text(cache_control={**MARK, "ttl": "2h"})]),
        "system.0.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ),
    "automatic against explicit": (
        a_request(messages=[user(text(cache_control=MARK))], cache_control={**MARK, "ttl": "1h"}),
        "cache_control.ttl: ",
    ),
    "prewarming a stream": (a_request(max_tokens=0, stream=True), "max_tokens: 0 is not supported with "),
    "prewarming a forced call": (
        a_request(model="claude-opus-4-8", max_tokens=0, tools=[TOOL], tool_choice={"type": "any"}),
        "max_tokens: 0 is not supported with ",
    ),
    "prewarming a schema": (
        a_request(max_tokens=0, output_config={"format": {"type": "json_schema", "schema": {}}}),
        "max_tokens: 0 is not supported with ",
    ),
    "unanswered call": (
        a_request(messages=[HELLO, {"role": "assistant", "content": [CALL]}, HELLO], tools=[TOOL]),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately "
        "after: toolu_1. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    "orphan result": (
        a_request(messages=[user(RESULT)], tools=[TOOL]),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each "
        "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
    ),
    "system role the model lacks": (
        a_request(model="claude-sonnet-5", messages=[HELLO, {"role": "system", "content": "Be brief."}]),
        "role 'system' is not supported on this model",
    ),
    "system role in front": (
        a_request(messages=[{"role": "system", "content": "Be brief."}, HELLO]),
        "messages.0: use the top-level 'system' parameter for the initial system prompt",
    ),
    "prefill the model lacks": (
        a_request(messages=[HELLO, {"role": "assistant", "content": "The answer is"}]),
        "This model does not support assistant message prefill. The conversation must end "
        "with a user message.",
    ),
    "broken base64": (
        a_request(
            messages=[
                user(
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "not base64!"},
                    }
                )
            ]
        ),
        "messages.0.content.0.image.source.base64: invalid base64 data",
    ),
    "base64 that is a number": (
        a_request(
            messages=[
                user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": 1}})
            ]
        ),
        "messages.0.content.0.image.source.base64.data: Input should be a valid string",
    ),
    "a PNG called JPEG": (
        a_request(
            messages=[
                user(
                    {
                        "type": "image",
                        "source": {**png(9, 9)["source"], "media_type": "image/jpeg"},
                    }
                )
            ]
        ),
        "messages.0.content.0.image.source.base64: The image was specified using the image/jpeg media "
        "type, but the image appears to be a image/png image",
    ),
    "a picture too large": (
        a_request(messages=[user(png(8001, 100))]),
        "messages.0.content.0.image.source.base64.data: At least one of the image dimensions "
        "exceed max allowed "
        "size: 8000 pixels",
    ),
    "many pictures, one large": (
        a_request(messages=[user(*[png(10, 10)] * 20, png(2001, 10))]),
        "messages.0.content.20.image.source.base64.data: At least one of the image "
        "dimensions exceed max allowed "
        "size for many-image requests: 2000 pixels",
    ),
    "sampling in the new version": (a_request(temperature=1), "temperature: Extra inputs are not permitted"),
    "document of the assistant": (
        a_request(
            model="claude-haiku-4-5",
            messages=[
                HELLO,
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "document",
                            "source": {"type": "text", "media_type": "text/plain", "data": "x"},
                        }
                    ],
                },
                HELLO,
            ],
        ),
        "messages.1.content.0: ",
    ),
    "context management without its beta": (
        a_request(context_management={"edits": []}),
        "context_management: Extra inputs are not permitted",
    ),
    "forced choice the model lacks": (
        a_request(tools=[TOOL], tool_choice={"type": "any"}),
        "tool_choice forces tool use is not compatible with this model.",
    ),
    "choice without tools": (
        a_request(tool_choice={"type": "auto"}),
        "tool_choice may only be specified while providing tools.",
    ),
    "choice of an unknown tool": (
        a_request(model="claude-opus-4-8", tools=[TOOL], tool_choice={"type": "tool", "name": "write"}),
        "Tool 'write' not found in provided tools",
    ),
    "two tools of one name": (a_request(tools=[TOOL, TOOL]), "tools: Tool names must be unique."),
    "a tool with a space in its name": (
        a_request(tools=[{**TOOL, "name": "read file"}]),
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    "a schema without a type": (
        a_request(tools=[{"name": "read", "input_schema": {"properties": {}}}]),
        "tools.0.custom.input_schema.type: Field required",
    ),
    "effort the model lacks": (
        a_request(model="claude-opus-4-6", output_config={"effort": "xhigh"}),
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    ),
    "manual thinking the model lacks": (
        a_request(thinking={"type": "enabled", "budget_tokens": 2000}, max_tokens=4000),
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
    ),
    "adaptive thinking the model lacks": (
        a_request(model="claude-haiku-4-5", thinking={"type": "adaptive"}),
        "adaptive thinking is not supported on this model",
    ),
    "thinking that cannot be switched off": (
        a_request(model="claude-sonnet-5-5", thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported for this model.',
    ),
    "a budget that is too small": (
        a_request(
            model="claude-haiku-4-5", thinking={"type": "enabled", "budget_tokens": 1023}, max_tokens=4000
        ),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "a budget as large as max_tokens": (
        a_request(
            model="claude-haiku-4-5", thinking={"type": "enabled", "budget_tokens": 2000}, max_tokens=2000
        ),
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    "fast mode the model lacks": (
        a_request(model="claude-haiku-5-5", speed="fast"),
        "speed: 'fast' is not supported for this model",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_request_is_refused_with_the_apis_words(case):
    request, message = REFUSED[case]
    status, body = ask(request)
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")
    exact = not message.endswith((": ", " "))
    says = body["error"]["message"]
    assert says == message if exact and "initial system prompt" not in message else says.startswith(message)


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_request_leaves_nothing(case):
    request, _ = REFUSED[case]
    engine = Engine(counter=one_token)
    ask(request, engine=engine)
    assert len(engine.cache) == 0
    assert [(call.state, call.usage, call.plan) for call in engine.calls] == [("refused", None, None)]


# a refusal that fires for everything refuses nothing in particular: each has a neighbour that is taken
TAKEN = {
    "the plainest": a_request(),
    "a leading assistant message": a_request(messages=[{"role": "assistant", "content": "Hi"}, HELLO]),
    "two user messages in a row": a_request(messages=[HELLO, HELLO]),
    "four markers": a_request(messages=[user(*FIVE_MARKS[:4])]),
    "1h before 5m": a_request(messages=[user(*reversed(LONG_BEHIND_SHORT))]),
    "automatic on a marked block, same lifetime": a_request(
        messages=[user(text(cache_control=MARK))], cache_control=MARK
    ),
    "a call and its result": a_request(
        messages=[HELLO, {"role": "assistant", "content": [CALL]}, user(RESULT)], tools=[TOOL]
    ),
    "system messages in a row": a_request(
        messages=[
            HELLO,
            {"role": "system", "content": "Be brief."},
            {"role": "system", "content": "Be kind."},
        ]
    ),
    "prefill on a model that has it": a_request(
        model="claude-haiku-4-5", messages=[HELLO, {"role": "assistant", "content": "The answer is"}]
    ),
    "prewarming": a_request(max_tokens=0),
    "a forced choice on a model that has it": a_request(
        model="claude-opus-4-8", tools=[TOOL], tool_choice={"type": "any"}
    ),
    "an open schema": a_request(
        tools=[{"name": "read", "input_schema": {"type": "object", "$defs": {}, "x": 1}}]
    ),
    "a picture": a_request(messages=[user(png(8000, 100))]),
    "twenty pictures": a_request(messages=[user(*[png(2001, 10)] * 20)]),
    "thinking between tools": a_request(model="claude-sonnet-5-5", thinking={"type": "between_tools"}),
    "fast mode": a_request(speed="fast"),
    "nulls where they are allowed": a_request(
        cache_control=None, diagnostics=None, inference_geo=None, tools=[{**TOOL, "cache_control": None}]
    ),
    "metadata, stop sequences, tier": a_request(
        metadata={"user_id": "u"}, stop_sequences=["END"], service_tier="auto"
    ),
    "a text document": a_request(
        messages=[
            user({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}})
        ]
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_a_good_request_is_taken(case):
    status, body = ask(TAKEN[case])
    assert (status, body["type"]) == (200, "message")


# --- pictures

PLACE = "messages.0.content.0.image.source.base64"
BAD_PICTURES = {
    "no data": ("", f"{PLACE}: image cannot be empty"),
    "more than ten megabytes": (
        "A" * (10 * 1024 * 1024 + 4),
        f"{PLACE}: image exceeds 10 MB maximum: 10485764 bytes > 10485760 bytes",
    ),
    "line breaks": ("iVBO\niVBO", f"{PLACE}: invalid base64 data"),
    "a bitmap": (base64.b64encode(b"BM" + bytes(60)).decode(), "Could not process image"),
    "half a header": (png(9, 9)["source"]["data"][:20], "Could not process image"),
    "no pixels": (png(0, 9)["source"]["data"], "Could not process image"),
    "a GIF": (
        base64.b64encode(b"GIF89a" + bytes([9, 0, 9, 0, 0, 0, 0])).decode(),
        f"{PLACE}: The image was specified using the image/png media type, but the image appears to be a "
        "image/gif image",
    ),
}


def picture_of(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def in_a_result(*parts: Any) -> list[Any]:
    call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    return [
        HELLO,
        assistant(call),
        user({"type": "tool_result", "tool_use_id": "toolu_1", "content": [*parts]}),
    ]


@pytest.mark.parametrize("case", BAD_PICTURES)
def test_a_bad_picture_is_refused_with_the_apis_words(case):
    data, message = BAD_PICTURES[case]
    for messages, place in (
        ([user(picture_of(data))], PLACE),
        (
            in_a_result(text(), picture_of(data)),
            "messages.2.content.0.tool_result.content.1.image.source.base64",
        ),
    ):
        status, body = ask(a_request(tools=[TOOL], messages=messages))
        assert (status, body["error"]["type"]) == (400, "invalid_request_error")
        assert body["error"]["message"] == message.replace(PLACE, place)


def test_pictures_in_results_count_among_the_many_and_are_found_by_the_path_the_sdk_lists():
    messages = in_a_result(*[png(10, 10)] * 20, png(10, 2001))
    status, body = ask(a_request(tools=[TOOL], messages=messages))
    assert status == 400
    assert body["error"]["message"] == (
        "messages.2.content.0.tool_result.content.20.image.source.base64.data: At least one of the image "
        "dimensions exceed max allowed size for many-image requests: 2000 pixels"
    )
    assert body["error"]["details"] == {
        "error_code": "image_dimensions_too_large",
        "max_side_length_pixels": 2000,
        "paths": ["messages.2.content.0.content.20"],
    }
    del messages[2]["content"][0]["content"][0]
    assert ask(a_request(tools=[TOOL], messages=messages))[0] == 200


def test_a_picture_that_may_not_be_scaled_is_refused_with_the_size_that_fits():
    def asked(width: int, height: int, wanted: Any, model: str = "claude-haiku-4-5") -> tuple[int, Any]:
        picture = {**png(width, height), "transformations": wanted}
        return ask(a_request(model=model, messages=[user(text(), picture)]))

    status, body = asked(1920, 1080, {"oversized_image": "error"})
    assert status == 400
    assert "1920x1080" in body["error"]["message"]
    assert "1456x819" in body["error"]["message"]
    assert body["error"]["details"]["error_code"] == "image_dimensions_too_large"
    assert body["error"]["details"]["paths"] == ["messages.0.content.1"]
    assert asked(1456, 819, {"oversized_image": "error"})[0] == 200
    assert asked(1920, 1080, {"oversized_image": "error"}, MODEL)[0] == 200
    for wanted in ({"oversized_image": "downsize"}, {}, None):
        assert asked(1920, 1080, wanted)[0] == 200


def test_the_sdk_raises_the_error_it_has_for_sides():
    client = Emulator().client()
    with pytest.raises(anthropic.types.ImageDimensionsTooLargeError) as caught:
        client.messages.create(**a_request(messages=[user(png(8001, 9))]))
    assert caught.value.details.max_side_length_pixels == 8000


# --- recorded answers


def recorded_errors() -> list[Any]:
    return [row for row in exchanges() if row.evidence == "recorded" and row.error is not None]


def test_every_recorded_error_can_be_met():
    says = {(row.status, row.error.type, row.error.message) for row in recorded_errors()}
    big = a_request(model="claude-haiku-4-5-20251001", messages=[{"role": "user", "content": "x " * 9}])
    met = {
        (status, body["error"]["type"], body["error"]["message"])
        for status, body in (
            ask(a_request(model="claude-does-not-exist", max_tokens=...), path="/v1/messages/count_tokens"),
            ask(a_request(model="claude-opus-4-6", output_config={"effort": "xhigh"})),
            ask(a_request(), x_api_key="wrong"),
            ask(big, engine=Engine(counter=lambda text, vocabulary: 3_333_397)),
            ask(a_request(messages=["Invalid content"])),
        )
    }
    assert says <= met


# --- headers


def test_without_a_key_nobody_is_answered():
    assert told(ask(a_request(), x_api_key=None)) == refusal(
        401, "authentication_error", "x-api-key header is required"
    )


@pytest.mark.parametrize(
    "header", [{"x_api_key": "wrong"}, {"x_api_key": None, "authorization": "Bearer wrong"}]
)
def test_a_wrong_key_is_refused(header):
    assert told(ask(a_request(), **header)) == refusal(401, "authentication_error", "invalid x-api-key")


def test_the_key_may_come_as_a_bearer_token():
    assert ask(a_request(), x_api_key=None, authorization=f"Bearer {KEY}")[0] == 200


def test_of_two_keys_the_x_api_key_counts():
    assert ask(a_request(), authorization="Bearer wrong")[0] == 200
    assert ask(a_request(), x_api_key="wrong", authorization=f"Bearer {KEY}")[0] == 401


def test_the_version_is_required():
    assert told(ask(a_request(), anthropic_version=None)) == invalid("anthropic-version: header is required")


def test_an_unknown_version_is_refused():
    status, body = ask(a_request(), anthropic_version="2024-01-01")
    assert status == 400
    assert "2024-01-01" in body["error"]["message"]


def test_an_unknown_beta_is_refused_by_name():
    message = ask(a_request(), anthropic_beta="compact-2026-09-04, time-travel-2027-01-01")[1]["error"][
        "message"
    ]
    assert message.startswith("Unexpected value(s) `time-travel-2027-01-01` for the `anthropic-beta` header.")


@pytest.mark.parametrize("beta", sorted(known("betas")))
def test_every_beta_of_the_sdk_is_accepted(beta):
    assert ask(a_request(), anthropic_beta=beta)[0] == 200


def test_names_of_headers_have_any_case():
    engine = Engine(counter=one_token)
    headers = {"X-Api-Key": KEY, "Anthropic-Version": "2023-06-01"}
    body = json.dumps(a_request()).encode()
    assert engine.respond("POST", "/v1/messages", "beta=true", headers, body)[0] == 200


# --- versions


@pytest.mark.parametrize("field", [{"temperature": 0.2}, {"top_p": 1}, {"top_k": 5}])
def test_sampling_is_legal_under_the_old_version_only(field):
    assert ask(a_request(**field), anthropic_version="2023-06-01")[0] == 200
    name = next(iter(field))
    assert told(ask(a_request(**field))) == invalid(f"{name}: Extra inputs are not permitted")


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"temperature": 1.5}, "temperature: Input should be less than or equal to 1"),
        ({"top_k": -1}, "top_k: Input should be greater than or equal to 0"),
        ({"top_k": 0.5}, "top_k: Input should be a valid integer"),
        ({"top_p": "high"}, "top_p: Input should be a valid number"),
    ],
)
def test_sampling_has_ranges(field, message):
    assert told(ask(a_request(**field), anthropic_version="2023-06-01")) == invalid(message)


CITED = user(
    text(
        citations=[
            {
                "type": "char_location",
                "cited_text": "x",
                "document_index": 0,
                "document_title": None,
                "start_char_index": 0,
                "end_char_index": 1,
            }
        ]
    )
)


def test_citations_on_a_users_text_are_legal_under_the_old_version_only():
    assert ask(a_request(messages=[CITED]), anthropic_version="2023-06-01")[0] == 200
    status, body = ask(a_request(messages=[CITED]))
    assert (status, body["error"]["message"].split(":")[0]) == (400, "messages.0.content.0.text.citations")
    assert ask(a_request(messages=[user(text(citations=[]))]))[0] == 200


@pytest.mark.parametrize("sequences", [[""], [" "], ["\n\n"], ["END", "\t"]])
def test_a_stop_sequence_holds_more_than_whitespace(sequences):
    says = "stop_sequences: each stop sequence must contain non-whitespace"
    assert told(ask(a_request(stop_sequences=sequences))) == invalid(says)


@pytest.mark.parametrize("sequences", [[], ["END"], ["\n\nHuman:", " x "]])
def test_other_stop_sequences_are_taken(sequences):
    assert ask(a_request(stop_sequences=sequences))[0] == 200


# --- broken bodies


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "The request body is not valid JSON: "),
        (b'{"model": ', "The request body is not valid JSON: expecting value: line 1 column 11 (char 10)"),
        (b'{"a": 1,}', "The request body is not valid JSON: "),
        (b'{"a": NaN}', "The request body is not valid JSON: "),
        (b"\xff\xfe", "The request body is not valid JSON: "),
        (
            b'{"model": "x\\ud83d"}',
            "The request body is not valid JSON: no low surrogate in string: line 1 column 13 (char 12)",
        ),
        (b"[1]", "Input should be an object"),
        (b"[" * 100_000, "The request body is not valid JSON: nested too deeply"),
    ],
)
def test_a_body_that_is_not_json_is_said_to_be_not(data, message):
    status, body = ask(data)
    assert status == 400
    assert body["error"]["message"].startswith(message)


def test_a_body_of_forty_megabytes_is_too_large_even_without_a_key():
    data = b" " * 40_000_000
    answer = ask(data, x_api_key=None, anthropic_version=None)
    assert told(answer) == refusal(413, "request_too_large", "Request exceeds the maximum size")
    assert ask(b" " * MAX_BODY_BYTES)[0] == 400


# --- models


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_an_unknown_model_is_not_found(path):
    request = a_request(model="claude-9", max_tokens=100 if path == "/v1/messages" else ...)
    assert told(ask(request, path=path)) == refusal(404, "not_found_error", "model: claude-9")


def test_a_retired_model_is_not_found_unless_it_is_asked_to_serve():
    request = a_request(model="claude-3-5-haiku-20241022")
    assert ask(request)[0] == 404
    assert ask(request, engine=Engine(counter=one_token, retired_models=True))[0] == 200


def test_a_clouds_name_for_a_model_is_unknown_to_the_api():
    assert ask(a_request(model="us.anthropic.claude-opus-4-5-20251101-v1:0"))[0] == 404


def test_an_alias_is_answered_with_the_dated_id():
    assert ask(a_request(model="claude-haiku-4-5"))[1]["model"] == "claude-haiku-4-5-20251001"


# --- the window


def test_a_prompt_beyond_the_window_is_too_long():
    engine = Engine(counter=lambda text, vocabulary: 200_244)
    message = "prompt is too long: 200251 tokens > 200000 maximum"
    assert told(ask(a_request(model="claude-opus-4-5"), engine=engine)) == invalid(message)
    count = a_request(model="claude-opus-4-5", max_tokens=...)
    assert told(ask(count, path="/v1/messages/count_tokens", engine=engine)) == invalid(message)


def test_a_reply_that_reaches_the_end_of_the_window_stops_there():
    engine = Engine(
        counter=lambda text, vocabulary: 199_980 if text == "Hello" else len(text), replies=["x" * 99]
    )
    status, body = ask(a_request(model="claude-opus-4-5", max_tokens=50), engine=engine)
    assert status == 200
    assert body["stop_reason"] == "model_context_window_exceeded"
    used = body["usage"]
    assert used["input_tokens"] + used["output_tokens"] == 200_000
    assert body["content"][0]["text"] == "x" * used["output_tokens"]


def test_an_older_model_refuses_what_the_window_has_no_room_for():
    request = a_request(model="claude-sonnet-4-20250514", max_tokens=50)
    settings = {"counter": lambda text, vocabulary: 199_980, "retired_models": True}
    message = "input length and `max_tokens` exceed context limit: 199987 + 50 > 200000"
    assert ask(request, engine=Engine(**settings))[1]["error"]["message"].startswith(message)
    beta = "model-context-window-exceeded-2025-08-26"
    assert ask(request, engine=Engine(**settings), anthropic_beta=beta)[0] == 200


# --- not emulated, and not there

NOT_EMULATED = {
    "fallbacks": (a_request(fallbacks=[{"model": "claude-opus-4-8"}]), "server-side-fallback-2026-07-01"),
    "mcp servers": (
        a_request(mcp_servers=[{"type": "url", "url": "https://example.org", "name": "x"}]),
        "mcp-client-2025-11-20",
    ),
    "a container": (a_request(container="container_1"), None),
    "an effort in the middle": (
        a_request(messages=[user(text("Hi")), {"role": "system", "output_config": {"effort": "low"}}]),
        "mid-conversation-output-config-2026-07-01",
    ),
    "web search": (a_request(tools=[{"type": "web_search_20250305", "name": "web_search"}]), None),
    "a picture by address": (
        a_request(
            messages=[user({"type": "image", "source": {"type": "url", "url": "https://example.org"}})]
        ),
        None,
    ),
    "a PDF": (
        a_request(
            messages=[
                user(
                    {
                        "type": "document",
                        "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
                    }
                )
            ]
        ),
        None,
    ),
}


@pytest.mark.parametrize("case", NOT_EMULATED)
def test_what_is_not_emulated_is_said(case):
    request, beta = NOT_EMULATED[case]
    status, body = ask(request, anthropic_beta=beta)
    assert (status, body["error"]["type"]) == (501, "api_error")
    assert body["error"]["message"].startswith("not emulated: ")


def test_a_field_whose_beta_is_missing_is_an_extra_input_beside_any_other_beta():
    answer = ask(a_request(context_management={"edits": []}), anthropic_beta="compact-2026-09-04")
    assert told(answer) == invalid("context_management: Extra inputs are not permitted")


def test_a_thread_is_refused_with_the_code_the_sdk_goes_on_from():
    answer = ask(a_request(thread={"type": "create"}), anthropic_beta="message-threads-2026-08-12")
    assert answer[0] == 400
    assert answer[1]["error"]["details"] == {"error_code": "thread_unsupported_request"}
    assert answer[1]["error"]["message"].startswith("not emulated: ")


def sdk_paths() -> set[str]:
    """Every path of the SDK's methods, its parameters filled in."""
    root = Path(inspect.getfile(resources)).parent
    found = set()
    for file in root.rglob("*.py"):
        found |= set(re.findall(r'"(/v1/[^"?]*)', file.read_text(encoding="utf-8")))
    return {re.sub(r"\{[^}]*\}", "x", path) for path in found}


def test_every_path_of_the_sdk_is_emulated_or_said_not_to_be():
    emulated = {"/v1/messages", "/v1/messages/count_tokens", "/v1/models", "/v1/models/x"}
    paths = sdk_paths()
    assert emulated <= paths
    for path in paths - emulated:
        status, body = ask({}, path=path, method="GET")
        assert (status, body["error"]["message"]) == (501, f"not emulated: GET {path}")


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/nonsense", "/v2/messages", "/v1/messages/x/y"])
def test_a_path_that_nobody_knows_is_not_found(path):
    assert told(ask({}, path=path)) == refusal(404, "not_found_error", "Not found")


def test_a_method_that_a_path_does_not_have_is_not_allowed():
    assert ask({}, method="GET")[0] == 405
    assert ask({}, path="/v1/models", method="POST")[0] == 405


# --- the SDK's types


def typed_dicts() -> list[Any]:
    modules = (anthropic.types, beta_types)
    return [
        declared
        for module in modules
        for name in dir(module)
        if typing_extensions.is_typeddict(declared := getattr(module, name))
    ]


def test_every_parameter_type_of_the_sdk_can_be_checked():
    assert len(typed_dicts()) > 400
    for declared in typed_dicts():
        fields_of(declared)


@settings(deadline=None)
@given(junk)
def test_no_value_makes_a_check_fall_over(value):
    for declared in typed_dicts()[::25]:
        fault = check_for(declared)(value, "x")
        assert fault is None or fault.path.startswith("x")


def test_betas_that_open_a_field_are_betas_of_the_sdk_and_the_field_is_one_of_its_types():
    beta_fields = fields_of(beta_types.message_create_params.MessageCreateParamsBase)
    plain_fields = fields_of(anthropic.types.message_create_params.MessageCreateParamsBase)
    for name, openers in supplement()["opened_by"].items():
        assert name in beta_fields.keys() - plain_fields.keys()
        assert known("betas").issuperset(openers)
    gated = beta_fields.keys() - plain_fields.keys() - {"betas"}
    assert gated == supplement()["opened_by"].keys()
