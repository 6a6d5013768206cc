"""Requests as clients of other languages and makers really sent them, replayed against the emulator.

``fixtures/client_requests.json`` holds what the scripts in ``tests/interop`` made each client send to a
running emulator, byte for byte, but for four names that stand for longer or changing texts: HANDBOOK and
HANDBOOK-2 (prompts above the floor), MESSAGE (the id of the answer before), and *an echo of the handbook*.
Headers that belong to the connection are left out.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import pytest

from ctxlab import Usage
from ctxlab.emulator import Engine
from ctxlab.emulator.asgi import App
from ctxlab.emulator.server import Server
from tests.emulated import HEADERS, a_request, a_word_a_token, sent

ROOT = Path(__file__).parent.parent
FIXTURE = ROOT / "tests" / "fixtures" / "client_requests.json"
RECORDED: Mapping[str, Any] = json.loads(FIXTURE.read_text(encoding="utf-8"))
CLIENTS: Mapping[str, Any] = RECORDED["clients"]
HANDBOOKS = {"HANDBOOK-2": "[4000] Another handbook.", "HANDBOOK": "[3000] The handbook."}

WRITES_THEN_READS = [
    "write, then read",
    "streamed",
    "messages.stream",
    "CachePoint",
    "injected marker",
    "anthropic.messages",
    "structured output",
]


@dataclass(frozen=True)
class Answered:
    """An answer, put together where it was a stream."""

    status: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    usage: Usage | None

    @property
    def blocks(self) -> list[str]:
        return [block["type"] for block in self.body["content"]]


def replay(client: str, feature: str) -> list[Answered]:
    """What a fresh emulator answers to the requests of a feature, one after the other."""
    engine = Engine(counter=a_word_a_token)
    shared = CLIENTS[client]["headers"]
    answers: list[Answered] = []
    for recorded in CLIENTS[client]["features"][feature]:
        method, _, target = recorded["request"].partition(" ")
        path, _, query = target.partition("?")
        headers = {**shared, **recorded.get("headers", {})}
        body = recorded.get("body", "")
        for name, text in HANDBOOKS.items():
            body = body.replace(name, text)
        if answers:
            body = body.replace("MESSAGE", answers[-1].body.get("id", ""))
        told = {name: value for name, value in headers.items() if value is not None}
        answers.append(answered(*engine.respond(method, path, query, told, body.encode())))
    return answers


def answered(status: int, headers: Mapping[str, str], content: Any) -> Answered:
    if headers["content-type"] == "application/json":
        body = json.loads(content)
        return Answered(
            status, headers, body, Usage.from_response(body["usage"]) if "usage" in body else None
        )
    events = [json.loads(chunk.split(b"data: ", 1)[1]) for chunk in content]
    opened = next(event["message"] for event in events if event["type"] == "message_start")
    blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    return Answered(status, headers, {**opened, "content": blocks}, Usage.from_stream(events))


def asked(*features: str) -> Any:
    """Every client with each of the features that it was asked for."""
    pairs = [(client, name) for client in CLIENTS for name in features if name in CLIENTS[client]["features"]]
    return pytest.mark.parametrize(("client", "feature"), pairs)


@asked(*WRITES_THEN_READS)
def test_what_a_client_marks_is_written_once_and_then_read(client, feature):
    first, second = replay(client, feature)
    assert first.usage.cache_creation.ephemeral_5m_input_tokens > 3000
    assert first.usage.cache_read_input_tokens == 0
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens
    assert second.usage.cache_creation_input_tokens == 0
    assert second.blocks == ["text"]


@asked("write for one hour")
def test_an_hour_is_written_as_an_hour(client, feature):
    (only,) = replay(client, feature)
    assert only.usage.cache_creation.ephemeral_1h_input_tokens > 3000
    assert only.usage.cache_creation.ephemeral_5m_input_tokens == 0


@asked("automatic marker, two turns")
def test_an_automatic_marker_moves_on_with_the_conversation(client, feature):
    first, second = replay(client, feature)
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens > 3000
    assert second.usage.cache_creation_input_tokens > 0


@asked("tool use")
def test_a_call_and_its_result_read_the_prefix_of_the_question(client, feature):
    first, second = replay(client, feature)
    assert (first.blocks, second.blocks) == (["tool_use"], ["text"])
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens > 3000


@asked("tool use, streamed", "structured output, streamed")
def test_a_call_is_streamed_as_a_call(client, feature):
    (only,) = replay(client, feature)
    assert only.blocks == ["tool_use"]


@asked("count_tokens")
def test_a_count_is_the_input_of_the_message(client, feature):
    counted, message = replay(client, feature)
    assert counted.body == {"input_tokens": message.usage.total_input_tokens}


@asked("beta tool runner")
def test_a_client_that_asks_for_a_thread_is_told_to_send_everything_and_does(client, feature):
    refused, first, second = replay(client, feature)
    assert refused.status == 400
    assert refused.body["error"]["details"] == {"error_code": "thread_unsupported_request"}
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens > 3000


@asked("cache diagnostics")
def test_a_client_is_told_which_part_of_its_prompt_changed(client, feature):
    first, second = replay(client, feature)
    assert first.body["diagnostics"] is None
    assert second.body["diagnostics"]["cache_miss_reason"]["type"] == "system_changed"


@asked("models")
def test_a_model_of_the_list_can_be_asked_for(client, feature):
    listed, one = replay(client, feature)
    assert one.body in listed.body["data"]


@asked(
    "401, wrong key",
    "400, five markers",
    "400, five markers, streamed",
    "400, an unknown field",
    "404, unknown model",
    "501, not emulated",
)
def test_a_refusal_is_json_with_a_request_id_even_where_a_stream_was_asked_for(client, feature):
    (only,) = replay(client, feature)
    assert only.status == int(feature[:3])
    assert only.body["type"] == "error"
    assert only.headers["content-type"] == "application/json"
    assert only.headers["request-id"] == only.body["request_id"]


def test_no_recorded_feature_is_without_a_promise():
    promised = {
        (pair[0], pair[1])
        for test in vars(sys.modules[__name__]).values()
        for mark in getattr(test, "pytestmark", [])
        if mark.args[0] == ("client", "feature")
        for pair in mark.args[1]
    }
    assert promised == {(client, name) for client in CLIENTS for name in CLIENTS[client]["features"]}


# --- what is written about them


def test_the_page_names_the_versions_that_were_recorded():
    page = (ROOT / "data" / "emulator-interop.md").read_text(encoding="utf-8")
    assert RECORDED["recorded"] in page
    for client in CLIENTS.values():
        assert ", ".join(f"{name} {version}" for name, version in client["versions"].items()) in page


def test_the_example_of_the_readme_writes_reads_and_comes_too_late(capsys):
    _, _, section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## The emulator\n")
    exec(section.partition("```python\n")[2].partition("```")[0], {})
    written, read, late = capsys.readouterr().out.splitlines()
    assert "written (5m)" in written
    assert int(read.split()[0]) > 512
    assert "ended 1 s ago" in late


# --- what these clients showed about the server

#: As ``curl -H … -H …`` sends them; only the first is unknown.
TWO_BETAS = (("anthropic-beta", "no-such-beta"), ("anthropic-beta", "compact-2026-01-12"))


def test_an_answer_does_not_wait_for_a_late_acknowledgement():
    with (
        Server(Engine(counter=a_word_a_token)) as server,
        socket.create_connection(server.server_address) as client,
    ):
        taken, address = server.get_request()
        with taken:
            client.sendall(b"GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n")
            server.finish_request(taken, address)
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_betas_in_two_header_lines_are_both_seen_by_the_server():
    with Server(Engine(counter=a_word_a_token)) as server:
        client = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
        client.putrequest("GET", "/v1/models")
        for name, value in (*HEADERS.items(), *TWO_BETAS, ("connection", "close")):
            client.putheader(name, value)
        client.endheaders()
        server.finish_request(*server.get_request())
        answer = client.getresponse()
        assert (answer.status, b"`no-such-beta`" in answer.read()) == (400, True)
        client.close()


def test_betas_in_two_header_lines_are_both_seen_by_the_application():
    lines = [(name.encode(), value.encode()) for name, value in (*HEADERS.items(), *TWO_BETAS)]
    scope = {"type": "http", "method": "GET", "path": "/v1/models", "query_string": b"", "headers": lines}
    got: list[Any] = []

    async def receive() -> dict[str, Any]:
        if not got:
            got.append("asked")
            return {"type": "http.request", "body": b"", "more_body": False}
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        got.append(message)

    asyncio.run(App(Engine(counter=a_word_a_token))(scope, receive, send))
    assert (got[1]["status"], b"`no-such-beta`" in got[2]["body"]) == (400, True)


def test_a_client_that_breaks_off_between_two_requests_is_no_error(capsys):
    reset_on_close = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
    with Server(Engine(counter=a_word_a_token)) as server:
        client = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
        client.connect()
        serving = threading.Thread(target=server.process_request_thread, args=server.get_request())
        serving.start()
        client.request("POST", "/v1/messages", sent(a_request()), HEADERS)
        assert client.getresponse().read()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset_on_close)
        client.close()
        serving.join(20)
    assert not serving.is_alive()
    assert capsys.readouterr().err == ""


EMULATE = [sys.executable, "-m", "ctxlab", "emulate"]


def test_the_command_says_where_it_is_and_answers_there():
    with subprocess.Popen(
        [*EMULATE, "--port", "0"], cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as serving:
        try:
            assert serving.stdout is not None
            serving.stdout.readline()
            exported = dict(word.split("=", 1) for word in serving.stdout.readline().split()[1:])
            client = anthropic.Anthropic(
                base_url=exported["ANTHROPIC_BASE_URL"], api_key=exported["ANTHROPIC_API_KEY"], max_retries=0
            )
            with client:
                assert client.messages.create(**a_request()).content[0].text == "Hello"
        finally:
            serving.terminate()


@pytest.mark.parametrize("words", [["--port", "99999"], ["--host", "0.0.0.0"], ["--port", "{taken}"]])
def test_the_command_says_why_it_cannot_listen(words):
    with Server(Engine()) as server:
        words = [word.format(taken=server.server_address[1]) for word in words]
        told = subprocess.run(
            [*EMULATE, *words], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
        )
    assert (told.returncode, told.stdout) == (2, "")
    assert len(told.stderr.splitlines()) == 1


def test_what_goes_wrong_in_the_server_itself_is_printed(capsys):
    with Server(Engine(counter=a_word_a_token)) as server:
        try:
            raise ValueError("of its own")
        except ValueError:
            server.handle_error(None, ("127.0.0.1", 1))
    assert "of its own" in capsys.readouterr().err
