"""Promises to the real client: every call is answered in its own types, in process and by nobody else."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pydantic
import pytest
from anthropic.types import Message, MessageTokensCount, ModelInfo
from anthropic.types.beta import BetaMessage, BetaModelInfo

from ctxlab.catalogue import get_model, models
from ctxlab.clock import ManualClock
from ctxlab.cost import bill
from ctxlab.emulator import BASE_URL, KEY, Emulator, RateLimits, call, overloaded, thinking
from ctxlab.emulator.transport import AsyncTransport, Transport
from ctxlab.usage import Usage
from tests.emulated import HELLO, MARK, MODEL, a_request, a_word_a_token, text, user

pytestmark = pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")

ROOT = Path(__file__).parent.parent
REPLY = [thinking("Which city is it?"), text("I will look it up."), call("weather", city="Bern")]
WEATHER = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
ASKS = a_request(tools=[WEATHER], system=[text("[2000] Be brief.", cache_control=MARK)])


def an_emulator(**options: Any) -> Emulator:
    return Emulator(clock=ManualClock(), counter=a_word_a_token, **options)


def without_ids(message: pydantic.BaseModel) -> dict[str, Any]:
    told = message.model_dump(mode="json", exclude={"id"})
    return {**told, "content": [{**block, "id": None} for block in told["content"]]}


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    connect = socket.socket.connect

    def at_home(self: socket.socket, address: Any) -> None:
        # event loops wake themselves through a pair of sockets, which on Windows meets on the loopback
        assert address[0] in ("127.0.0.1", "::1"), f"the emulator went to {address}"
        connect(self, address)

    def refuse(host: str, *_: Any, **__: Any) -> None:
        raise AssertionError(f"the emulator asked where {host} is")

    monkeypatch.setattr(socket.socket, "connect", at_home)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


# --- messages


def test_an_answer_is_the_sdks_own_message():
    api = an_emulator(replies=[REPLY])
    message = api.client().messages.create(**ASKS)
    assert isinstance(message, Message)
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert message.content[2].input == {"city": "Bern"}
    assert (message.stop_reason, message.stop_sequence, message.model) == ("tool_use", None, MODEL)
    assert message.usage.cache_creation.ephemeral_5m_input_tokens > 2000
    assert api.calls[0].message_id == message.id
    assert api.calls[0].request_id == message._request_id


@pytest.mark.parametrize("kind", ["client", "async_client"])
@pytest.mark.parametrize("beta", [False, True])
def test_plain_and_streamed_sync_and_async_stable_and_beta_tell_one_story(kind, beta):
    plain = an_emulator(replies=[REPLY]).client().messages.create(**ASKS)

    def messages(client: Any) -> Any:
        return client.beta.messages if beta else client.messages

    def streamed() -> Any:
        api = an_emulator(replies=[REPLY])
        with messages(api.client()).stream(**ASKS) as stream:
            return stream.get_final_message(), api

    async def streamed_in_tasks() -> Any:
        api = an_emulator(replies=[REPLY])
        async with messages(api.async_client()).stream(**ASKS) as stream:
            return await stream.get_final_message(), api

    message, api = streamed() if kind == "client" else asyncio.run(streamed_in_tasks())
    assert isinstance(message, BetaMessage if beta else Message)
    told, expected = without_ids(message), without_ids(plain)
    for name in ("role", "model", "stop_reason", "stop_sequence"):
        assert told[name] == expected[name]
    for block, other in zip(told["content"], expected["content"], strict=True):
        assert other.items() <= block.items()
    assert Usage.from_response(message.usage) == Usage.from_response(plain.usage)
    assert api.calls[0].state == "complete"


def test_events_come_in_the_apis_order_and_figures_stand_where_the_api_puts_them():
    events = list(an_emulator(replies=[REPLY]).client().messages.create(**ASKS, stream=True))
    order = [event.type for event in events]
    assert order[0] == "message_start"
    assert order[-2:] == ["message_delta", "message_stop"]
    blocks = [event for event in events if event.type.startswith("content_block")]
    opened = None
    for event in blocks:
        if event.type == "content_block_start":
            assert opened is None
            opened = event.index
        assert event.index == opened
        if event.type == "content_block_stop":
            opened = None
    deltas = [event.delta.type for event in blocks if event.type == "content_block_delta"]
    assert [one for one, before in zip(deltas, [None, *deltas], strict=False) if one != before] == [
        "thinking_delta",
        "signature_delta",
        "text_delta",
        "input_json_delta",
    ]
    start, delta = events[0].message, events[-2]
    assert (start.content, start.stop_reason, start.usage.output_tokens) == ([], None, 1)
    assert start.usage.cache_creation_input_tokens == delta.usage.cache_creation_input_tokens > 2000
    assert delta.usage.output_tokens > 1
    assert delta.delta.stop_reason == "tool_use"


def test_a_ping_follows_the_start_of_a_stream():
    client = an_emulator(replies=["Hello."]).client()
    with client.messages.with_streaming_response.create(**a_request(), stream=True) as response:
        names = [line[7:] for line in response.iter_lines() if line.startswith("event: ")]
    assert names[:2] == ["message_start", "ping"]


def test_text_arrives_in_pieces_that_add_up():
    said = "A reply of some length, Zürich — 東京 included, with \n line breaks\u2028 and all.  "
    with an_emulator(replies=[said]).client().messages.stream(**a_request()) as stream:
        pieces = list(stream.text_stream)
    assert len(pieces) > 1
    assert "".join(pieces) == said


def test_a_count_is_what_a_request_is_billed_for():
    api = an_emulator()
    told = {name: value for name, value in ASKS.items() if name != "max_tokens"}
    counted = api.client().messages.count_tokens(**told)
    usage = Usage.from_response(api.client().messages.create(**ASKS).usage)
    assert isinstance(counted, MessageTokensCount)
    assert counted.input_tokens == usage.total_input_tokens
    assert api.client().beta.messages.count_tokens(
        model=MODEL, messages=[HELLO], betas=["token-counting-2024-11-01"]
    )


def test_a_raw_response_shows_status_headers_and_the_message():
    raw = an_emulator(replies=["Hello."]).client().messages.with_raw_response.create(**a_request())
    assert (raw.status_code, raw.headers["content-type"]) == (200, "application/json")
    assert raw.request_id == raw.headers["request-id"]
    assert raw.parse().content[0].text == "Hello."


def test_a_structured_answer_is_parsed():
    class City(pydantic.BaseModel):
        name: str

    client = an_emulator(replies=['{"name": "Bern"}']).client()
    assert client.messages.parse(**a_request(), output_format=City).parsed_output == City(name="Bern")


def test_the_tool_runner_runs():
    asked: list[str] = []

    @anthropic.beta_tool
    def weather(city: str) -> str:
        """The weather of a city.

        Args:
            city: Its name.
        """
        asked.append(city)
        return f"It is warm in {city}."

    api = an_emulator(replies=[call("weather", city="Bern"), "Warm."])
    runner = api.client().beta.messages.tool_runner(**a_request(tools=[weather]))
    assert runner.until_done().content[0].text == "Warm."
    assert asked == ["Bern"]
    # the runner first asks for a thread on the server; that is not emulated, and it goes on without one
    assert [call.state for call in api.calls] == ["refused", "complete", "complete"]
    assert "not emulated: message threads" in api.calls[0].error


def test_the_async_tool_runner_runs():
    @anthropic.beta_async_tool
    async def weather(city: str) -> str:
        """The weather of a city."""
        return f"It is warm in {city}."

    async def run() -> Any:
        api = an_emulator(replies=[call("weather", city="Bern"), "Warm."])
        runner = api.async_client().beta.messages.tool_runner(**a_request(tools=[weather]))
        return await runner.until_done()

    assert asyncio.run(run()).content[0].text == "Warm."


def test_an_answer_can_be_sent_back_as_it_came():
    api = an_emulator(replies=[REPLY, "It is warm."])
    client = api.client()
    first = client.messages.create(**ASKS)
    result = {"type": "tool_result", "tool_use_id": first.content[2].id, "content": "warm"}
    back = [HELLO, {"role": "assistant", "content": first.content}, user(result)]
    assert client.messages.create(**{**ASKS, "messages": back}).content[0].text == "It is warm."


def test_a_bill_can_be_made_from_the_books():
    api = an_emulator(replies=["Hello."])
    message = api.client().messages.create(**ASKS)
    (made,) = api.calls
    assert bill(made.usage, made.model).total_usd == bill(message.usage, message.model).total_usd > 0


# --- models


def test_models_are_listed_newest_first_and_page_by_page():
    client = an_emulator().client()
    listed = list(client.models.list(limit=3))
    assert all(isinstance(model, ModelInfo) for model in listed)
    assert [model.created_at for model in listed] == sorted((m.created_at for m in listed), reverse=True)
    served = [model for model in models() if model.lifecycle in ("active", "deprecated")]
    assert len(listed) == len(served)
    assert list(client.models.list()) == listed


def test_pages_go_both_ways():
    client = an_emulator().client()
    ids = [model.id for model in client.models.list()]
    page = client.models.list(before_id=ids[5], limit=2)
    assert ([model.id for model in page.data], page.has_more) == (ids[3:5], True)
    page = client.models.list(after_id=ids[-2])
    assert ([model.id for model in page.data], page.has_more) == (ids[-1:], False)


@pytest.mark.parametrize("model", models(), ids=lambda model: model.id)
def test_a_model_is_described_as_the_catalogue_has_it(model):
    raw = an_emulator().client().models.with_raw_response.retrieve(model.id)
    told = json.loads(raw.http_response.content)
    ModelInfo.model_validate(told, strict=False)
    info = raw.parse()
    assert (info.max_input_tokens, info.max_tokens) == (model.window_tokens, model.max_output_tokens)
    assert (info.lifecycle, info.line) == (model.lifecycle, model.line)
    assert get_model(info.id) == model
    edits = info.capabilities.context_management
    assert edits.clear_tool_uses_20250919.supported == ("clear_tool_uses_20250919" in model.capabilities)


def test_what_a_model_is_said_to_be_able_to_is_what_is_accepted():
    api = an_emulator()
    client = api.client()
    for info in client.models.list():
        for level in ("low", "medium", "high", "xhigh", "max"):
            offered = getattr(info.capabilities.effort, level)
            if offered is None:
                continue
            try:
                client.messages.create(**a_request(model=info.id, output_config={"effort": level}))
                taken = True
            except anthropic.BadRequestError:
                taken = False
            assert taken == offered.supported, (info.id, level)


def test_a_retired_model_is_listed_on_demand_and_answers_404():
    client = an_emulator().client()
    (model,) = client.models.list(lifecycle=["retired"], limit=1).data
    assert model.lifecycle == "retired"
    with pytest.raises(anthropic.NotFoundError, match=f"model: {model.id}"):
        client.messages.create(**a_request(model=model.id))
    old = Emulator(clock=ManualClock(), counter=a_word_a_token, retired_models=True).client()
    assert old.messages.create(**a_request(model=model.id)).role == "assistant"


ROUTES = {
    "plain": ({}, {}, False),
    "beta=true": ({"beta": "true"}, {}, True),
    "beta=false": ({"beta": "false"}, {}, False),
    "a beta header": ({}, {"anthropic-beta": "compact-2026-09-04"}, True),
}


@pytest.mark.parametrize("route", ROUTES)
def test_fallback_models_are_told_on_the_beta_route_only(route):
    query, headers, told = ROUTES[route]
    asked = an_emulator().client().models.with_raw_response
    one = asked.retrieve(MODEL, extra_query=query, extra_headers=headers).http_response.json()
    page = asked.list(limit=1, extra_query=query, extra_headers=headers).http_response.json()
    for info in (one, *page["data"]):
        assert ("allowed_fallback_models" in info) == told


SERVER_TOOLS = {
    "claude-2.1": False,
    "claude-3-haiku-20240307": False,
    "claude-3-opus-20240229": False,
    "claude-3-5-sonnet-20241022": False,
    "claude-3-5-haiku-20241022": True,
    "claude-3-7-sonnet-20250219": True,
    "claude-opus-4-20250514": True,
    "claude-haiku-4-5": True,
    MODEL: True,
}


@pytest.mark.parametrize("model", SERVER_TOOLS)
def test_a_model_has_the_server_tools_of_its_time(model):
    told = an_emulator().client().models.retrieve(model).capabilities.server_tools
    expected = SERVER_TOOLS[model]
    assert (told.supported, told.web_search.supported, told.code_execution.supported) == (expected,) * 3


def test_every_list_of_abilities_names_models_of_the_catalogue():
    path = ROOT / "ctxlab" / "emulator" / "abilities.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {model.id for model in models()}
    for name in data["everywhere"]["yes"]:
        assert set(data[name]["not"]) <= known
    for row in (*data["effort"], *data["thinking"]):
        assert set(row["models"]) <= known


def test_code_calls_other_tools_only_where_there_is_the_tool_that_runs_it():
    for info in an_emulator().client().models.list(lifecycle=["active", "deprecated", "retired"]):
        can = info.capabilities
        assert can.server_tools.code_execution.supported or not can.code_execution.supported


def test_the_beta_header_adds_what_it_adds():
    client = an_emulator().client()
    plain = client.beta.models.retrieve(MODEL)
    assert isinstance(plain, BetaModelInfo)
    raw = client.beta.models.with_raw_response.retrieve(MODEL, betas=["compact-2026-09-04"])
    told = json.loads(raw.http_response.content)["capabilities"]
    assert told["compaction"]["supported"] is ("compaction" in get_model(MODEL).capabilities)


# --- errors are the SDK's


def ask(client: anthropic.Anthropic, **fields: Any) -> Any:
    return client.messages.create(**a_request(**fields))


ERRORS = {
    anthropic.BadRequestError: lambda client: ask(client, messages=[user(text("[2000000] x"))]),
    anthropic.AuthenticationError: lambda client: ask(client.with_options(api_key="wrong")),
    anthropic.NotFoundError: lambda client: ask(client, model="claude-9"),
    anthropic.ContentTooLargeError: lambda client: ask(client, messages=[user(text("x" * 33 * 2**20))]),
    anthropic.RateLimitError: lambda client: [ask(client) for _ in range(4)],
    anthropic.OverloadedError: lambda client: [ask(client) for _ in range(2)],
    anthropic.HTTPNotImplementedError: lambda client: client.messages.batches.list(),
}


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_an_error_is_the_clients_own_exception(kind):
    said = ["Hello.", overloaded()] if kind is anthropic.OverloadedError else "echo"
    api = an_emulator(replies=said, limits=RateLimits(requests_per_minute=3))
    with pytest.raises(kind) as told:
        ERRORS[kind](api.client())
    assert told.value.request_id == told.value.body["request_id"] == api.calls[-1].request_id
    assert (api.calls[-1].state, api.calls[-1].status) == ("refused", told.value.status_code)


def test_an_error_is_not_retried_unless_it_is_asked_for():
    api = an_emulator(replies=[overloaded(), overloaded(), "Hello."])
    with pytest.raises(anthropic.OverloadedError):
        api.client().messages.create(**a_request())
    assert len(api.calls) == 1
    assert api.client(max_retries=1).messages.create(**a_request()).content[0].text == "Hello."


def test_what_is_not_emulated_is_not_retried_either():
    api = an_emulator()
    with pytest.raises(anthropic.HTTPNotImplementedError, match="not emulated"):
        api.client(max_retries=2).beta.files.list()
    assert len(api.calls) == 1


def broken(request: dict[str, Any]) -> str:
    raise ZeroDivisionError("a slip in the lesson")


def broken_script() -> Iterator[str]:
    yield broken({})


def ask_at_once(api: Emulator, **fields: Any) -> None:
    api.client(max_retries=2).messages.create(**fields)


def ask_in_a_task(api: Emulator, **fields: Any) -> None:
    async def ask() -> None:
        await api.async_client(max_retries=2).messages.create(**fields)

    asyncio.run(ask())


@pytest.mark.parametrize("kind", ["client", "async_client"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("who", ["the reply function broken", "the script"])
def test_a_reply_that_raises_is_an_error_that_says_whose_it_is(who, stream, kind):
    api = an_emulator(replies=broken_script() if who == "the script" else broken)
    asks = ask_in_a_task if kind == "async_client" else ask_at_once
    with pytest.raises(anthropic.InternalServerError) as told:
        asks(api, **{**ASKS, "stream": stream})
    (made,) = api.calls
    assert made.error == f"{who} raised ZeroDivisionError: a slip in the lesson"
    assert told.value.body["error"] == {"type": "api_error", "message": made.error}
    assert (made.state, made.status, made.usage) == ("refused", told.value.status_code, None)
    assert len(api.engine.cache) == 0


def test_what_goes_wrong_in_the_emulator_itself_is_not_made_an_answer(monkeypatch):
    def slip(*_: Any) -> Any:
        raise ZeroDivisionError("a slip of our own")

    api = an_emulator()
    monkeypatch.setattr(api.engine, "_finish", slip)
    with pytest.raises(anthropic.APIConnectionError) as told:
        api.client().messages.create(**a_request())
    assert isinstance(told.value.__cause__, ZeroDivisionError)


# --- the environment and the network


ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "from-the-environment",
    "ANTHROPIC_AUTH_TOKEN": "token-from-the-environment",
    "ANTHROPIC_BASE_URL": "https://elsewhere.invalid",
    "ANTHROPIC_CUSTOM_HEADERS": "x-api-key: other\nanthropic-version: 1999-01-01\nanthropic-beta: no-such",
    "HTTPS_PROXY": "http://proxy.invalid:1",
    "HTTP_PROXY": "http://proxy.invalid:1",
    "ALL_PROXY": "http://proxy.invalid:1",
}


@pytest.mark.parametrize("names", [[], *([name] for name in ENVIRONMENT), list(ENVIRONMENT)], ids=" ".join)
def test_the_environment_changes_nothing(monkeypatch, names):
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    for name in names:
        monkeypatch.setenv(name, ENVIRONMENT[name])
    api = an_emulator(replies=["Hello."] * 4)
    client = api.client("team")
    assert client.messages.create(**a_request()).content[0].text == "Hello."
    assert client.with_options(timeout=3).messages.create(**a_request()).content[0].text == "Hello."
    with client.messages.stream(**a_request()) as stream:
        assert stream.get_final_text() == "Hello."

    async def ask() -> Message:
        return await api.async_client("team").messages.create(**a_request())

    assert asyncio.run(ask()).content[0].text == "Hello."
    assert {call.workspace for call in api.calls} == {"team"}
    assert str(client.base_url).startswith(BASE_URL)


def test_the_clients_say_who_they_are_as_the_sdks_own_do():
    api = an_emulator()
    for made, own in (
        (api.client(), anthropic.Anthropic(api_key=KEY)),
        (api.async_client(), anthropic.AsyncAnthropic(api_key=KEY)),
    ):
        assert isinstance(made, type(own))
        assert made.user_agent == own.user_agent
        assert made.default_headers == own.default_headers


def test_headers_that_the_caller_sets_do_count():
    client = an_emulator().client()
    with pytest.raises(anthropic.BadRequestError, match="no-such"):
        client.messages.create(**a_request(), extra_headers={"anthropic-beta": "no-such"})
    with pytest.raises(anthropic.AuthenticationError):
        client.messages.create(**a_request(), extra_headers={"x-api-key": "wrong"})


def test_headers_that_the_caller_sets_count_also_where_the_environment_has_the_same(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "anthropic-beta: no-such")
    api = an_emulator()
    same = {"anthropic-beta": "no-such"}
    with pytest.raises(anthropic.BadRequestError, match="no-such"):
        api.client().messages.create(**a_request(), extra_headers=same)
    for client in (api.client(default_headers=same), api.client().with_options(default_headers=same)):
        with pytest.raises(anthropic.BadRequestError, match="no-such"):
            client.with_options(timeout=3).messages.create(**a_request())


def test_any_http_client_can_be_put_on_an_engine():
    api = an_emulator(replies=["Hello.", "Hello."])
    headers = {"x-api-key": api.key(), "anthropic-version": "2026-10-21"}
    with httpx2.Client(transport=Transport(api.engine)) as http:
        told = http.post(f"{BASE_URL}/v1/messages?beta=true", json=a_request(), headers=headers)
    assert told.json()["content"][0]["text"] == "Hello."

    async def ask() -> Any:
        async with httpx2.AsyncClient(transport=AsyncTransport(api.engine)) as http:
            return await http.post(f"{BASE_URL}/v1/messages", json=a_request(), headers=headers)

    assert asyncio.run(ask()).json()["content"][0]["text"] == "Hello."


# --- without the SDK


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_without_the_sdk_the_import_says_what_to_install():
    program = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "anthropic" else find(name, *rest)
import ctxlab.emulator
"""
    told = run_python(program)
    assert told.returncode == 1
    assert 'pip install "ctxlab[api]"' in told.stderr.splitlines()[-1]


def test_the_import_itself_loads_no_sdk():
    program = (
        "import sys, ctxlab.emulator; print(sorted({'anthropic', 'httpx2', 'pydantic'} & set(sys.modules)))"
    )
    assert run_python(program).stdout == "[]\n"
