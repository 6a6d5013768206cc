"""Recording, replaying and sending: what passes is written without a word too many, and comes back."""

from __future__ import annotations

import asyncio
import gzip
import importlib
import json
import os
import re
import sys
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab import cli, tokens
from ctxlab.clock import ManualClock
from ctxlab.conformance import replay
from ctxlab.emulator import BASE_URL, Emulator, call, thinking
from ctxlab.emulator.transport import AsyncTransport, Transport
from ctxlab.errors import InvalidArgumentError, MissingPackageError, RecordingError
from ctxlab.live import AsyncRecorder, AsyncReplay, Recorder, Replay, Store, running
from ctxlab.live.rows import digest, request_row
from ctxlab.live.scrub import scrubbed, scrubbed_json
from ctxlab.live.streams import events_of, folded, scrubbed_stream
from ctxlab.prompt import Prompt
from ctxlab.recordings import read_exchanges
from ctxlab.recordings.__main__ import main as recordings_command
from ctxlab.scenarios import scenarios
from ctxlab.usage import Usage
from tests.emulated import a_request, a_word_a_token, assistant, text, user
from tests.strategies import requests

STARTED_S = 1_790_000_000.0
KEY = "sk-ant-" + "test01-" + "k" * 30
MARK = {"type": "ephemeral"}
TOOL = {"name": "look_up", "description": "Reads a page.", "input_schema": {"type": "object"}}
SECRET_WORDS = "The heron stands in the shallows"
ASK = a_request(
    model="claude-haiku-5-5",
    system=[text(f"[700] {SECRET_WORDS}.", cache_control=MARK)],
    messages=[user(text("Who stands there?"))],
)
REPLY = [thinking("A bird."), text("A heron, as you said."), call("look_up", page=4)]
OTHER = user(text("And now?"))


class World:
    """An emulated API, recorders and replays on one file, and clients of all of them."""

    def __init__(self, path, *, twin: str, **options: Any) -> None:
        self.clock = ManualClock(STARTED_S)
        self.api = Emulator(clock=self.clock, counter=a_word_a_token, **options)
        self.api.engine.keys[KEY] = "default"
        self.path, self.twin = path, twin
        self.recorders: list[Recorder | AsyncRecorder] = []

    def record(self, *, keep_text: bool = False, **options: Any) -> Client:
        store = Store(self.path, keep_text=keep_text)
        options = {"clock": self.clock, **options}
        recorder: Any
        if self.twin == "sync":
            recorder = Recorder(Transport(self.api.engine), store, **options)
        else:
            recorder = AsyncRecorder(AsyncTransport(self.api.engine), store, **options)
        self.recorders.append(recorder)
        return Client(self.twin, recorder)

    def plain(self) -> Client:
        engine = self.api.engine
        return Client(self.twin, Transport(engine) if self.twin == "sync" else AsyncTransport(engine))

    def replay(self) -> Client:
        store = Store(self.path)
        return Client(self.twin, Replay(store) if self.twin == "sync" else AsyncReplay(store))

    @property
    def written(self) -> str:
        """Everything on disk."""
        files = sorted(self.path.parent.glob("*.jsonl"))
        return "".join(path.read_text(encoding="utf-8") for path in files)


class Client:
    """The SDK's client of either kind, used in one way: status and body of an answer."""

    def __init__(self, twin: str, transport: Any) -> None:
        self._twin = twin
        more = {"api_key": KEY, "base_url": BASE_URL, "max_retries": 0}
        self._loop = asyncio.new_event_loop() if twin == "async" else None
        if twin == "sync":
            self.sdk: Any = anthropic.Anthropic(**more, http_client=httpx2.Client(transport=transport))
        else:
            http = httpx2.AsyncClient(transport=transport)
            self.sdk = anthropic.AsyncAnthropic(**more, http_client=http)

    def do(self, result: Any) -> Any:
        return result if self._loop is None else self._loop.run_until_complete(result)

    def post(self, body: dict[str, Any], path: str = "/v1/messages", **headers: str) -> tuple[int, bytes]:
        options = {"headers": {name.replace("_", "-"): value for name, value in headers.items()}}
        try:
            answer = self.do(self.sdk.post(path, cast_to=httpx2.Response, body=body, options=options))
        except anthropic.APIStatusError as error:
            answer = error.response
        return answer.status_code, answer.content

    def leave_early(self, body: dict[str, Any], events: int) -> None:
        """Read so many events of a stream and go."""
        if self._loop is None:
            with self.sdk.messages.create(**body, stream=True) as stream:
                for _, _ in zip(range(events), stream, strict=False):
                    pass
            return

        async def run() -> None:
            async with await self.sdk.messages.create(**body, stream=True) as stream:
                for _ in range(events):
                    await stream.__anext__()

        self.do(run())


@pytest.fixture(params=["sync", "async"])
def world(request, tmp_path):
    return World(tmp_path / "run.jsonl", twin=request.param, replies=lambda _: REPLY)


def rows_of(world: World) -> list[dict[str, Any]]:
    return [json.loads(line) for line in world.path.read_text(encoding="utf-8").splitlines()]


ALL_KINDS = [
    ("/v1/messages", ASK),
    ("/v1/messages", {**ASK, "stream": True}),
    ("/v1/messages/count_tokens", {"model": ASK["model"], "messages": ASK["messages"]}),
    ("/v1/messages", {**ASK, "model": "claude-of-the-future"}),
    ("/v1/messages", {**ASK, "messages": []}),
    ("/v1/messages", {**ASK, "stop_sequences": ["heron"]}),
]


# --- recording


def test_a_recorder_changes_nothing_of_what_passes(world, tmp_path):
    unrecorded = World(tmp_path / "none.jsonl", twin=world.twin, replies=lambda _: REPLY).plain()
    recorded = world.record()
    for path, body in ALL_KINDS:
        assert recorded.post(body, path) == unrecorded.post(body, path)
    assert world.recorders[0].passed == ()


@pytest.mark.parametrize("keep_text", [True, False])
def test_what_was_recorded_passes_the_check_of_recordings_without_a_note(world, capsys, keep_text):
    client = world.record(keep_text=keep_text)
    for path, body in ALL_KINDS:
        client.post(body, path)
    assert recordings_command(["check", str(world.path)]) == 0
    assert "no problems, no notes" in capsys.readouterr().out
    assert len(read_exchanges(world.path)) == len(ALL_KINDS)


def test_a_row_says_what_was_sent_and_answered(world):
    client = world.record()
    world.clock.advance(1.5)
    client.post(ASK, anthropic_beta="context-management-2025-06-27, output-300k-2026-03-24")
    client.post({**ASK, "stream": True})
    plain, streamed = read_exchanges(world.path)
    prompt = Prompt.from_request(ASK)
    assert [block.sha256 for block in plain.blocks] == [block.content_sha256 for block in prompt.blocks]
    assert [block.chars for block in plain.blocks] == [block.chars for block in prompt.blocks]
    assert plain.blocks[0].cache_control == MARK
    assert plain.betas == ("context-management-2025-06-27", "output-300k-2026-03-24")
    assert plain.recorded_at is not None
    assert plain.recorded_at.timestamp() == STARTED_S + 1.5
    assert plain.parameters["max_tokens"] == ASK["max_tokens"]
    assert (plain.requested_model, plain.response_model) == ("claude-haiku-5-5", "claude-haiku-5-5")
    assert plain.content_types == ("thinking", "text", "tool_use")
    assert plain.content_chars == (len("A bird."), len("A heron, as you said."), len('look_up{"page":4}'))
    assert plain.usage is not None
    assert streamed.usage is not None
    assert plain.usage.cache_creation_input_tokens == streamed.usage.cache_read_input_tokens > 0
    assert (plain.streamed, streamed.streamed) == (False, True)
    assert streamed.stop_reason == plain.stop_reason == "tool_use"
    assert streamed.content_chars == plain.content_chars
    assert [row.id for row in (plain, streamed)] == ["run#0", "run#1"]


def test_the_usage_of_a_stream_is_its_start_overlaid_with_its_last_delta(world):
    client = world.record()
    client.post({**ASK, "stream": True})
    (row,) = rows_of(world)
    told = world.api.calls[-1].usage
    assert told is not None
    assert Usage.from_response(row["response"]["usage"]).output_tokens == told.output_tokens > 1
    assert row["response"]["usage"]["cache_creation"]["ephemeral_5m_input_tokens"] > 0


@pytest.mark.parametrize("events", [0, 1, 5])
def test_a_stream_left_early_is_not_written_and_leaves_a_gap(world, events):
    client = world.record(keep_text=True)
    client.leave_early(ASK, events)
    client.post(ASK)
    assert [row["step"] for row in rows_of(world)] == [1]
    (problem,) = world.recorders[0].passed
    assert (problem.path, problem.rule) == ("run#0", "whole-answer")
    assert "run#0" not in world.written


def test_a_stream_that_ended_in_an_error_is_not_written(tmp_path):
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}
    ended = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in (begun, ended)).encode()
    events = {"content-type": "text/event-stream"}
    store = Store(tmp_path / "run.jsonl")
    recorder = Recorder(
        httpx2.MockTransport(lambda _: httpx2.Response(200, headers=events, content=body)), store
    )
    with httpx2.Client(transport=recorder) as client:
        assert client.post("https://api.anthropic.com/v1/messages", json=ASK).content == body
    assert store.recorded == ()
    assert [problem.rule for problem in recorder.passed] == ["whole-answer"]


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(502, text="<html>Bad gateway</html>"),
        httpx2.Response(200, content=b"\xff\xfe"),
        httpx2.Response(200, json=["not", "a", "message"]),
        httpx2.Response(200, json={"content": [], "usage": {"input_tokens": -3, "output_tokens": 1}}),
        httpx2.Response(200, json={"content": [{"no": "type"}], "usage": None}),
        httpx2.Response(200, headers={"content-encoding": "gzip"}, content=b""),
        httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=b"data: {nonsense\n\n"),
    ],
)
def test_an_answer_that_cannot_be_read_passes_and_is_not_written(tmp_path, answer):
    store = Store(tmp_path / "run.jsonl")
    recorder = Recorder(httpx2.MockTransport(lambda _: answer), store)
    with httpx2.Client(transport=recorder) as client:
        passed = client.post("https://api.anthropic.com/v1/messages", json=ASK)
    assert passed.status_code == answer.status_code
    assert store.recorded == ()
    assert [problem.rule for problem in recorder.passed] == ["whole-answer"]


def test_a_packed_answer_is_written_unpacked(tmp_path):
    told = {"input_tokens": 12}
    packed = httpx2.Response(
        200,
        headers={"content-encoding": "gzip", "content-type": "application/json"},
        stream=httpx2.ByteStream(gzip.compress(json.dumps(told).encode())),
    )
    store = Store(tmp_path / "run.jsonl", keep_text=True)
    recorder = Recorder(httpx2.MockTransport(lambda _: packed), store)
    with httpx2.Client(transport=recorder) as client:
        passed = client.post("https://api.anthropic.com/v1/messages/count_tokens", json=ASK)
    assert passed.json() == told
    (one,) = store.recorded
    assert one.text is not None
    assert json.loads(one.text.response) == told
    assert one.row["response"]["usage"] == told
    assert "host" not in one.row["request"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/models", b""),
        ("POST", "/v1/messages/batches", b"{}"),
        ("POST", "/v1/messages", b"{broken"),
        ("POST", "/v1/messages", b'{"messages": "not a list"}'),
        ("POST", "/v1/messages", b"[]"),
    ],
)
def test_what_is_no_request_of_ours_passes_and_is_not_written(tmp_path, method, path, body):
    store = Store(tmp_path / "run.jsonl")
    recorder = Recorder(httpx2.MockTransport(lambda _: httpx2.Response(400, json={})), store)
    with httpx2.Client(transport=recorder) as client:
        assert client.request(method, f"https://api.anthropic.com{path}", content=body).status_code == 400
    assert store.recorded == ()
    assert len(recorder.passed) == 1
    assert not store.path.exists()


def test_requests_to_another_host_say_so(world):
    world.record().post(ASK)
    assert rows_of(world)[0]["request"]["host"] == "emulator.invalid"


@pytest.mark.parametrize(
    ("host", "kept"),
    [
        ("bedrock-runtime.eu-west-1.amazonaws.com", "bedrock-runtime.eu-west-1.amazonaws.com"),
        ("europe-west1-aiplatform.googleapis.com", "europe-west1-aiplatform.googleapis.com"),
        ("llm.example-company.com", "another"),
        ("example-company.services.ai.azure.com", "another"),
        ("openrouter.ai.example-company.com", "another"),
        ("10.1.2.3", "another"),
    ],
)
def test_a_host_is_named_only_if_it_is_the_same_for_everybody(tmp_path, host, kept):
    store = Store(tmp_path / "run.jsonl")
    answer = httpx2.Response(200, json={"input_tokens": 9})
    with httpx2.Client(transport=Recorder(httpx2.MockTransport(lambda _: answer), store)) as client:
        client.post(f"https://{host}/v1/messages/count_tokens", json=ASK).json()
    text = store.path.read_text(encoding="utf-8")
    assert json.loads(text)["request"]["host"] == kept
    assert ("example-company" in text) is False


def test_two_recorders_on_one_store_keep_their_sequences_apart(tmp_path):
    api = Emulator(clock=ManualClock(STARTED_S))
    store = Store(tmp_path / "run.jsonl")
    for name in ("one", "two", "one"):
        transport = Transport(api.engine)
        with httpx2.Client(transport=Recorder(transport, store, sequence=name)) as client:
            headers = {"anthropic-version": "2026-10-21", "x-api-key": api.key()}
            client.post("https://api.anthropic.com/v1/messages", json=ASK, headers=headers)
    assert [one.id for one in store.recorded] == ["one#0", "two#0", "one#1"]


# --- what must not be written


def test_no_key_cookie_or_header_is_written(world):
    client = world.record(keep_text=True)
    client.post(ASK, cookie="session=abcdef", authorization=f"Bearer {KEY}", x_made_up="a header")
    for secret in (KEY, "abcdef", "a header", "cookie", "authorization", "x-api-key"):
        assert secret not in world.written


def test_no_word_of_what_was_said_is_written_unless_texts_are_kept(world):
    told = a_request(
        model="claude-haiku-5-5",
        system=f"{SECRET_WORDS}.",
        tools=[{**TOOL, "description": f"{SECRET_WORDS} daily."}],
        metadata={"user_id": "ann"},
        stop_sequences=[f"{SECRET_WORDS}!"],
        messages=[
            user(text(SECRET_WORDS)),
            assistant({"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"q": SECRET_WORDS}}),
            user({"type": "tool_result", "tool_use_id": "toolu_1", "content": [text(SECRET_WORDS)]}),
        ],
        output_config={
            "format": {
                "type": "json_schema",
                "schema": {"type": "object", "description": SECRET_WORDS, "additionalProperties": False},
            }
        },
    )
    client = world.record()
    client.post(told)
    client.post({**ASK, "stream": True})
    assert len(rows_of(world)) == 2
    assert "heron" not in world.written
    assert "bird" not in world.written
    assert "ann" not in json.dumps([row["request"] for row in rows_of(world)])
    assert not Store(world.path).text_path.exists()


PRIVATE = [
    "ann.lee@example.org",
    "sk-ant-" + "api03-" + "x1" * 20,
    "ghp_" + "a" * 36,
    "AKIA" + "ABCDEFGH12345678",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMiJ9.c2lnbmF0dXJl",
    "org_01ABCDEFGHIJ",
    "organization: 0d9c6f2e-1111-2222-3333-444455556666",
    "Bearer abcdefghijklmnop",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", PRIVATE)
def test_private_things_are_crossed_out_at_their_length(secret):
    told = f"It says {secret} there."
    clean = scrubbed(told)
    assert len(clean) == len(told)
    assert clean.startswith("It says ")
    assert clean.endswith(" there.")
    assert secret.split()[-1] not in clean


@pytest.mark.parametrize(
    "path", ["/home/{}/notes", "/Users/{}/notes", "C:" + r"\Users\{}\notes", "C:" + r"\\Users\\{}"]
)
def test_of_a_home_path_whose_it_is_is_crossed_out(path):
    assert scrubbed(path.format("ann")) == path.format("xxx")


@pytest.mark.parametrize(
    "harmless",
    [
        "a @ b",
        "3 organizations",
        "/homework/x",
        "sk-ant",
        "claude-haiku-5-5",
        "toolu_01ABCDEFGHIJKLMN",
        "user@host",
    ],
)
def test_what_is_not_private_stays(harmless):
    assert scrubbed(harmless) == harmless


@given(st.text() | st.lists(st.sampled_from([*PRIVATE, " ", "\n", "ann", '"'])).map("".join))
def test_scrubbing_keeps_every_length_and_is_done_once(told):
    clean = scrubbed(told)
    assert len(clean) == len(told)
    assert scrubbed(clean) == clean


def test_the_token_of_a_remote_server_is_crossed_out_whatever_it_looks_like():
    server = {"mcp_servers": [{"url": "https://example.org", "authorization_token": "open sesame"}]}
    assert scrubbed_json(server)["mcp_servers"][0]["authorization_token"] == "x" * len("open sesame")


def test_private_things_are_gone_from_kept_texts_too(world):
    secret = "mail ann.lee@example.org"
    world.api = Emulator(replies=lambda _: f"I will {secret} today.", clock=world.clock)
    world.api.engine.keys[KEY] = "default"
    client = world.record(keep_text=True)
    asked = {**ASK, "messages": [user(text(f"Please {secret}."))]}
    plain, streamed = client.post(asked), client.post({**asked, "stream": True})
    assert b"ann.lee" in plain[1]
    assert "ann.lee" in json.dumps(folded(streamed[1].decode()))
    assert "ann" not in world.written
    again = world.replay()
    assert json.loads(again.post(asked)[1])["content"][0]["text"] == f"I will mail {'x' * 19} today."
    assert len(again.post({**asked, "stream": True})[1]) == len(streamed[1])


@given(
    st.lists(st.sampled_from([*PRIVATE[:3], "hello ", "ü", '"', "\\", "\n"])).map("".join),
    st.lists(st.integers(1, 9)),
)
def test_a_secret_is_crossed_out_of_a_stream_however_it_is_cut(told, cuts):
    pieces, rest = [], told
    for length in cuts:
        pieces, rest = [*pieces, rest[:length]], rest[length:]
    events = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        for piece in [*pieces, rest]
    ]
    body = "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events)
    clean = scrubbed_stream(body)
    texts = [json.loads(one.partition("data:")[2])["delta"]["text"] for one in events_of(clean)]
    assert "".join(texts) == scrubbed(told)
    assert clean == body or scrubbed(told) != told


# --- replaying


def test_what_was_kept_comes_back_byte_for_byte(world):
    client = world.record(keep_text=True)
    told = [client.post(body, path) for path, body in ALL_KINDS]
    again = world.replay()
    assert [again.post(body, path) for path, body in ALL_KINDS] == told


def test_without_texts_figures_come_back_and_words_are_fillers_of_their_length(world):
    client = world.record()
    told = [client.post(body, path) for path, body in ALL_KINDS]
    again = world.replay()
    for (path, body), (status, answer) in zip(ALL_KINDS, told, strict=True):
        new_status, new_answer = again.post(body, path)
        assert new_status == status
        streams = body.get("stream", False)
        before, after = (folded(one.decode()) if streams else json.loads(one) for one in (answer, new_answer))
        assert before is not None
        assert after is not None
        for name in ("usage", "input_tokens", "stop_reason", "model", "error"):
            assert after.get(name) == before.get(name)
        for old, new in zip(before.get("content", []), after.get("content", []), strict=True):
            assert new["type"] == old["type"]
            for field in ("text", "thinking"):
                assert len(new.get(field, "")) == len(old.get(field, ""))
                assert "(this text was not kept) ".startswith(new.get(field, "")[:25])


def test_the_sdk_reads_a_replay_as_its_own_types(world):
    world.record().post(ASK)
    client = world.replay()
    message = client.do(client.sdk.messages.create(**ASK))
    assert isinstance(message, anthropic.types.Message)
    assert message.usage.cache_creation_input_tokens > 0


def test_the_same_request_gets_its_recordings_in_order_and_each_once(world):
    client = world.record()
    written, read = (json.loads(client.post(ASK)[1])["usage"] for _ in range(2))
    again = world.replay()
    assert [json.loads(again.post(ASK)[1])["usage"] for _ in range(2)] == [written, read]
    with pytest.raises(anthropic.APIConnectionError) as missing:
        again.post(ASK)
    assert "its recordings have all been given: run#0, run#1" in str(missing.value.__cause__)


def test_the_order_of_keys_and_the_header_of_a_beta_make_no_other_request(world):
    world.record().post(ASK)
    backwards = json.loads(json.dumps(dict(reversed(ASK.items()))))
    assert world.replay().post(backwards, anthropic_beta="output-300k-2026-03-24")[0] == 200


LONGER = [*ASK["messages"], assistant(text("A heron.")), OTHER]
DIFFERENCES = [
    ({"max_tokens": 7}, "max_tokens: 7 here, 100 there"),
    ({"tool_choice": {"type": "auto"}}, 'tool_choice: {"type": "auto"} here, nothing there'),
    ({"system": [text("[700] The heron", cache_control=MARK)]}, "system[0]"),
    ({"messages": [user(text("Who stands where?"))]}, "messages[0].content[0]"),
    ({"messages": LONGER}, "messages[1].content[0]"),
    ({"messages": ASK["messages"][:0]}, "follows"),
    ({"system": [text(ASK["system"][0]["text"])]}, "system[0]: another cache_control"),
]


@pytest.mark.parametrize("keep_text", [True, False])
@pytest.mark.parametrize(("change", "says"), DIFFERENCES)
def test_a_request_that_was_not_recorded_is_told_what_differs_from_the_nearest(
    world, keep_text, change, says
):
    client = world.record(keep_text=keep_text)
    client.post({**ASK, "model": "claude-sonnet-5-5", "messages": [OTHER]})
    client.post(ASK)
    with pytest.raises(anthropic.APIConnectionError) as missing:
        world.replay().post({**ASK, **change})
    error = missing.value.__cause__
    assert isinstance(error, httpx2.ConnectError)
    told = str(error).replace("messages[0].content[0]: 1 block removed", "what follows")
    assert "the nearest is run#1, and differs in" in told
    assert says in told


def test_where_texts_were_kept_the_difference_is_told_to_the_character(world):
    world.record(keep_text=True).post(ASK)
    with pytest.raises(anthropic.APIConnectionError) as missing:
        world.replay().post({**ASK, "messages": [user(text("Who stands where?"))]})
    assert "messages[0].content[0].text at character 11" in str(missing.value.__cause__)


def test_a_replay_knows_its_two_paths_only(world):
    world.record().post(ASK)
    client = world.replay()
    with pytest.raises(anthropic.APIConnectionError) as missing:
        client.do(client.sdk.models.retrieve("claude-haiku-5-5"))
    assert "only /v1/messages and /v1/messages/count_tokens are recorded" in str(missing.value.__cause__)


def test_an_empty_file_says_so(world):
    with pytest.raises(anthropic.APIConnectionError) as missing:
        world.replay().post(ASK)
    assert "the file holds none" in str(missing.value.__cause__)


def test_a_body_that_is_no_request_is_not_looked_up(tmp_path):
    with (
        httpx2.Client(transport=Replay(Store(tmp_path / "none.jsonl"))) as client,
        pytest.raises(httpx2.ConnectError, match="cannot be read as a request"),
    ):
        client.post("https://api.anthropic.com/v1/messages", content=b"{broken")


def test_the_recordings_that_ship_can_be_replayed_by_whoever_has_the_texts():
    from ctxlab.places import data_path

    store = Store(data_path("recordings", "exchanges.jsonl.gz"))
    known = [one for one in store.recorded if one.row["evidence"] == "recorded"]
    assert len(known) > 600
    assert len({digest(one.row["request"]) for one in known}) > 400


# --- rows


def seen(body: dict[str, Any]) -> Any:
    """What of a request has to be the same for two requests to be the same."""
    prompt = Prompt.from_request(body)
    blocks = [
        (block.segment, block.role, block.message, block.content_sha256, block.cache_control, block.path)
        for block in prompt.blocks
    ]
    return blocks, {name: value for name, value in prompt.parameters.items() if name != "metadata"}


@given(requests(), requests())
def test_two_requests_have_one_row_if_they_have_the_same_blocks_and_parameters(one, other):
    rows = [digest(request_row(body, "messages")) for body in (one, other)]
    assert (rows[0] == rows[1]) == (seen(one) == seen(other))


@given(requests())
def test_a_row_of_any_request_holds_no_text_longer_than_a_word(body):
    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [found for item in value.values() for found in texts(item)]
        return [found for item in value for found in texts(item)] if isinstance(value, list) else [value]

    assert all(len(one) <= 64 for one in texts(request_row(body, "messages")) if isinstance(one, str))


def test_markers_inside_a_tool_result_are_part_of_the_request():
    def asked(**more: Any) -> dict[str, Any]:
        part = text("Rope.", **more)
        return a_request(messages=[user({"type": "tool_result", "tool_use_id": "t", "content": [part]})])

    assert digest(request_row(asked(), "messages")) != digest(
        request_row(asked(cache_control=MARK), "messages")
    )


def test_a_system_message_that_only_sets_the_effort_has_no_blocks_in_its_row():
    effort = {"role": "system", "output_config": {"effort": "low"}}
    row = request_row(a_request(messages=[user(text("Rope.")), effort, user(text("Tar."))]), "messages")
    assert [block["message"] for block in row["blocks"]] == [0, 2]


def test_pictures_and_files_are_told_by_size_and_digest():
    case = next(case for case in scenarios() if case.name == "a-picture-is-appended")
    picture = request_row(case.steps[1].request, "messages")["blocks"][2]["image"]
    assert (picture["width"], picture["height"], picture["media_type"]) == (120, 90, "image/png")
    cited = next(case for case in scenarios() if case.name == "citations-switched-on")
    block = request_row(cited.steps[1].request, "messages")["blocks"][2]
    assert block["citations"] is True
    assert block["document"] == {"source": "text", "media_type": "text/plain", "chars": 30}


# --- files


def test_a_line_that_cannot_be_written_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    store = Store(tmp_path / "run.jsonl", keep_text=False)
    row = {"recorded_at": None, "request": request_row(ASK, "messages"), "response": {}}
    store.add("run", store.next_step("run"), row, None)
    before = store.path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        store.add("run", store.next_step("run"), row, None)
    assert store.path.read_bytes() == before
    assert len(store.recorded) == 1


def test_a_store_that_is_opened_again_goes_on_where_it_ended(world):
    world.record().post(ASK)
    world.record().post(ASK)
    assert [row["id"] for row in rows_of(world)] == ["run#0", "run#1"]
    assert len(read_exchanges(world.path)) == 2


def test_a_damaged_file_is_refused_by_line(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text('{"id": "run#0"', encoding="utf-8")
    with pytest.raises(RecordingError, match=r"run\.jsonl:1"):
        Store(path)


def test_a_packed_file_is_replayed_and_not_added_to(world, tmp_path):
    world.record().post(ASK)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(world.path.read_bytes()))
    store = Store(packed)
    assert len(store.recorded) == 1
    with pytest.raises(InvalidArgumentError, match="packed"):
        store.add("run", 1, {}, None)


def test_without_the_api_extra_the_transports_say_which_extra_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx2", None)
    monkeypatch.delitem(sys.modules, "ctxlab.live.transport")
    with pytest.raises(MissingPackageError, match=r"ctxlab\[api\]"):
        importlib.import_module("ctxlab.live.transport")


# --- a live run, with an emulator in place of the API


class Outside:
    """The world of a run: an emulator as the API, a clock that only waiting moves."""

    def __init__(self) -> None:
        self.clock = ManualClock(STARTED_S)
        self.api = Emulator(replies=lambda _: "Noted.", clock=self.clock)
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds)

    def options(self) -> dict[str, Any]:
        transport = AsyncTransport(self.api.engine)
        return {"transport": transport, "clock": self.clock, "sleep": self.sleep}


# two requests at once go out of step on the way to an emulator, by less than the API's first byte takes
SENT_ALONE = [case for case in scenarios("test") if not case.not_live and case.name != "sent-together"]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Every case that can be sent, sent and recorded."""
    store = Store(tmp_path_factory.mktemp("live") / "live.jsonl", source="data/scenarios", tags=["scenario"])
    runs = []
    for case in SENT_ALONE:
        world = Outside()
        runs.append(
            running.send(
                [case], store, run="test", key=world.api.key(), say=lambda _: None, **world.options()
            )
        )
    return store, runs


def test_every_case_that_can_be_sent_comes_out_as_it_claims(played):
    _, runs = played
    unlike = [problem for run in runs for problem in run.problems]
    assert [str(problem) for problem in unlike if "not emulated" not in str(problem)] == []


def test_recordings_of_a_run_pass_the_check_and_name_their_source(played, capsys):
    store, _ = played
    assert recordings_command(["check", str(store.path)]) == 0
    assert "no problems, no notes" in capsys.readouterr().out
    rows = read_exchanges(store.path)
    assert {row.source.path for row in rows} == {"data/scenarios"}
    assert {row.sequence for row in rows} == {f"test/{case.name}" for case in SENT_ALONE}


def test_recordings_of_a_run_are_replayed_by_conformance_without_a_figure_wrong(played):
    store, _ = played
    replayed = replay(read_exchanges(store.path))
    assert [verdict.row for verdict in replayed.of("wrong")] == []
    assert replayed.of("noise") == ()
    assert len(replayed.of("predicted")) > 40


def test_with_an_exact_counter_a_row_tells_every_total(tmp_path):
    """What the recorder counts is what the sum over a recorded row needs."""
    for case in SENT_ALONE:
        world = Outside()
        store = Store(tmp_path / f"{case.name}.jsonl")
        for step in case.steps:
            world.clock.advance(step.wait_s)
            recorder = Recorder(Transport(world.api.engine), store, counter="calibrated_characters")
            path = "/v1/messages" if step.endpoint == "messages" else "/v1/messages/count_tokens"
            with httpx2.Client(transport=recorder) as client:
                headers = {"anthropic-version": "2026-10-21", "x-api-key": world.api.key()}
                client.post(f"https://api.anthropic.com{path}", json=dict(step.request), headers=headers)
        for row in store.recorded:
            exchange = next(one for one in read_exchanges(store.path) if one.id == row.id)
            told = exchange.total_input_tokens
            counted = tokens.count_recorded(exchange) if told is not None else None
            if counted is not None and not counted.outside and "output_config" not in exchange.parameters:
                assert counted.total == told, exchange.id


def test_waits_are_waited_and_recorded(tmp_path):
    world = Outside()
    case = next(case for case in SENT_ALONE if case.name == "every-read-starts-the-life-anew")
    store = Store(tmp_path / "live.jsonl")
    running.send([case], store, run="r", key=world.api.key(), say=lambda _: None, **world.options())
    assert sum(world.slept) == case.waits_s
    moments = [datetime.fromisoformat(one.row["recorded_at"]).timestamp() for one in store.recorded]
    assert [later - first for first, later in pairwise(moments)] == [240, 240, 330]


def test_the_price_before_is_not_less_than_what_is_spent(played):
    _, runs = played
    told = running.estimate(SENT_ALONE)
    spent = sum((run.spent for run in runs[1:]), runs[0].spent)
    assert told.cases == len(SENT_ALONE)
    assert Decimal(0) < spent.total_usd <= told.usd < told.most_usd
    assert spent.input_usd > told.usd / 2


class Person:
    """Somebody who is asked, and what they were told."""

    def __init__(self, says: str) -> None:
        self.says, self.told = says, []

    def answer(self, question: str) -> str:
        self.told.append(question)
        return self.says

    def say(self, line: str) -> None:
        self.told.append(line)


def a_live_run(tmp_path, person: Person, **options: Any) -> tuple[Any, Outside]:
    world = Outside()
    world.api.engine.keys[KEY] = "default"
    more = {
        "only": ["written-then-read", "below-the-floor"],
        "environment": {running.KEY: KEY},
        "answer": person.answer,
        "say": person.say,
        **world.options(),
        "transport": AsyncTransport(world.api.engine),
        **options,
    }
    return running.live(tmp_path / "live.jsonl", **more), world


@pytest.mark.parametrize("yes", ["y", "yes", " Y\n"])
def test_a_run_tells_its_price_asks_and_sends(tmp_path, yes):
    person = Person(yes)
    done, world = a_live_run(tmp_path, person)
    assert done.problems == ()
    assert done.played == 2
    assert len(world.api.calls) == len(read_exchanges(done.path)) == 6
    estimate, question = person.told[:2]
    assert "about 0.00" in estimate
    assert "USD" in estimate
    assert question == "Send them? [y/N]"
    assert KEY not in "".join(person.told) + done.path.read_text(encoding="utf-8")


@pytest.mark.parametrize("no", ["", "n", "no", "\n", "yes please"])
def test_anything_but_yes_sends_nothing(tmp_path, no):
    code, world = a_live_run(tmp_path, Person(no))
    assert code == 0
    assert len(world.api.calls) == 0
    assert list(tmp_path.iterdir()) == []


def test_without_a_key_nothing_is_sent_and_the_code_says_so(tmp_path):
    person = Person("y")
    code, world = a_live_run(tmp_path, person, environment={})
    assert code == 2
    assert len(world.api.calls) == 0
    assert "ANTHROPIC_API_KEY is not set: nothing was sent." in person.told[0]


def test_where_nobody_can_be_asked_nothing_is_sent(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", open(os.devnull, encoding="utf-8"))  # noqa: PTH123, SIM115
    person = Person("y")
    code, world = a_live_run(tmp_path, person, answer=None)
    assert code == 2
    assert len(world.api.calls) == 0
    assert "--yes" in person.told[-1]


def test_with_yes_nobody_is_asked(tmp_path):
    person = Person("n")
    done, _ = a_live_run(tmp_path, person, yes=True)
    assert done.played == 2
    assert not any("?" in line for line in person.told)


@pytest.mark.parametrize(("name", "rule"), [("nobody", "known-case"), ("two-workspaces", "can-be-sent")])
def test_a_case_that_is_not_there_or_cannot_be_sent_is_named(tmp_path, name, rule):
    with pytest.raises(InvalidArgumentError) as wrong:
        a_live_run(tmp_path, Person("y"), only=[name])
    assert [(problem.path, problem.rule) for problem in wrong.value.problems] == [(name, rule)]


def test_a_file_that_exists_is_not_added_to(tmp_path):
    (tmp_path / "live.jsonl").touch()
    with pytest.raises(InvalidArgumentError, match="exists"):
        a_live_run(tmp_path, Person("y"))


def test_a_case_that_breaks_off_is_told_and_the_others_go_on(tmp_path):
    world = Outside()
    world.api.engine.keys[KEY] = "default"
    inner = AsyncTransport(world.api.engine)

    async def broken(request: httpx2.Request) -> httpx2.Response:
        if b"below-the-floor" in await request.aread():
            raise httpx2.ConnectError("the line is dead")
        return await inner.handle_async_request(request)

    async def no_wait(seconds: float) -> None:
        pass

    cases = [case for case in SENT_ALONE if case.name in ("written-then-read", "below-the-floor")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_RETRIES", 0)
        done = running.send(
            cases,
            Store(tmp_path / "live.jsonl"),
            run="r",
            key=KEY,
            say=lambda _: None,
            transport=httpx2.MockTransport(broken),
            clock=world.clock,
            sleep=no_wait,
        )
    assert [(problem.path, problem.rule) for problem in done.problems] == [("below-the-floor", "played")]
    assert len(read_exchanges(done.path)) == 3


def test_a_run_of_which_nothing_was_answered_has_failed(tmp_path, monkeypatch):
    def dead(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("the line is dead")

    monkeypatch.setattr(running, "_RETRIES", 0)
    code, _ = a_live_run(tmp_path, Person("y"), transport=httpx2.MockTransport(dead))
    assert code == 1


def test_the_command_replays_what_it_has_sent(tmp_path, monkeypatch, capsys):
    world = Outside()
    world.api.engine.keys[KEY] = "default"
    sending = running.send

    def to_the_emulator(cases, store, **options):
        return sending(
            cases, store, **{**options, **world.options(), "transport": AsyncTransport(world.api.engine)}
        )

    monkeypatch.setattr(running, "send", to_the_emulator)
    monkeypatch.setenv(running.KEY, KEY)
    to = str(tmp_path / "live.jsonl")
    words = ["conformance", "--live", "--yes", "--case", "written-then-read", "--to", to]
    assert cli.run(words) == 0
    told = capsys.readouterr()
    assert re.fullmatch(r"predicted (\d)/\1 exact, .*", told.out.splitlines()[-1])
    assert "about 0.00" in told.err
    assert KEY not in told.out + told.err


def test_the_command_without_a_key_says_so_and_replays_nothing(monkeypatch, capsys):
    monkeypatch.delenv(running.KEY, raising=False)
    assert cli.run(["conformance", "--live"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "is not set: nothing was sent" in told.err


@pytest.mark.parametrize("words", [["--yes"], ["--case", "written-then-read"], ["--to", "x.jsonl"]])
def test_words_about_a_live_run_need_one(words, capsys):
    assert cli.run(["conformance", *words]) == 2
    assert "--live" in capsys.readouterr().err
