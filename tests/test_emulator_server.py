"""Promises of the two ways out of the process: the loopback server and the ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from ctxlab.clock import ManualClock
from ctxlab.emulator import KEY, Emulator
from ctxlab.emulator.bodies import MAX_BODY_BYTES
from ctxlab.emulator.server import Server
from ctxlab.errors import InvalidArgumentError
from tests.emulated import HEADERS, MARK, a_request, a_word_a_token, sent, text

RULES = text("[3000] The rules.", cache_control=MARK)
BODY = sent(a_request(system=[RULES]))
STREAM = sent(a_request(system=[RULES], stream=True))
LONG = "A long reply. " * 200


def an_emulator(**options: Any) -> Emulator:
    return Emulator(clock=ManualClock(), counter=a_word_a_token, **options)


@contextlib.contextmanager
def served(api: Emulator) -> Iterator[Server]:
    with Server(api.engine) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def fetched(server: Server, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any, bytes]:
    request = urllib.request.Request(server.url + path, data=body, headers={**HEADERS, **headers})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def until(settled: Any) -> None:
    """Wait for another thread to have seen that a client is gone."""
    for _ in range(1000):
        if settled():
            return
        time.sleep(0.01)
    raise AssertionError("the server never noticed")


# --- the server


def test_a_message_over_a_socket_is_the_message_in_process():
    api, other = an_emulator(replies=["Hello."]), an_emulator(replies=["Hello."])
    with served(api) as server:
        status, headers, body = fetched(server, "/v1/messages", BODY)
    expected = other.engine.respond("POST", "/v1/messages", "", HEADERS, BODY)
    assert (status, body) == (expected[0], expected[2])
    assert headers["request-id"] == expected[1]["request-id"]
    assert headers["content-type"] == "application/json"


def test_a_stream_over_a_socket_is_the_stream_in_process():
    api, other = an_emulator(replies=[LONG]), an_emulator(replies=[LONG])
    with served(api) as server:
        status, headers, body = fetched(server, "/v1/messages", STREAM)
    _, _, chunks = other.engine.respond("POST", "/v1/messages", "", HEADERS, STREAM)
    assert (status, body) == (200, b"".join(chunks))
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["transfer-encoding"] == "chunked"
    assert api.calls[0].state == "complete"


def test_the_real_client_is_served_over_a_socket():
    api = an_emulator(replies=["Hello.", "Hello again."])
    with served(api) as server, anthropic.Anthropic(api_key=KEY, base_url=server.url) as client:
        assert client.messages.create(**a_request(system=[RULES])).content[0].text == "Hello."
        with client.messages.stream(**a_request(system=[RULES])) as stream:
            assert stream.get_final_text() == "Hello again."
        with pytest.raises(anthropic.NotFoundError):
            client.messages.create(**a_request(model="claude-9"))
    assert api.calls[1].usage.cache_read_input_tokens > 3000


def test_query_models_and_errors_pass_through():
    with served(an_emulator()) as server:
        status, _, body = fetched(server, "/v1/models?limit=1")
        assert (status, len(json.loads(body)["data"])) == (200, 1)
        assert fetched(server, "/v1/messages?beta=true", BODY)[0] == 200
        status, headers, body = fetched(server, "/v1/nothing", b"{}")
        assert (status, json.loads(body)["request_id"]) == (404, headers["request-id"])
        assert fetched(server, "/v1/messages", b"{")[0] == 400
        assert fetched(server, "/v1/messages", BODY, **{"x-api-key": "wrong"})[0] == 401


def test_several_requests_go_over_one_connection():
    with served(an_emulator()) as server:
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
        for body in (BODY, STREAM, b"{", BODY):
            connection.request("POST", "/v1/messages", body, HEADERS)
            answer = connection.getresponse()
            assert answer.status == (400 if body == b"{" else 200)
            answer.read()
        connection.close()


def test_a_body_may_come_in_chunks():
    with served(an_emulator()) as server:
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
        connection.request("POST", "/v1/messages", iter([BODY[:9], BODY[9:]]), HEADERS, encode_chunked=True)
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_forty_megabytes_are_too_many(chunked):
    body = b" " * (40 * 2**20)
    with served(an_emulator()) as server:
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=60)
        data = iter([body[: 2**24], body[2**24 :]]) if chunked else body
        connection.request("POST", "/v1/messages", data, HEADERS, encode_chunked=chunked)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        connection.close()
    assert (answer.status, told["error"]["type"]) == (413, "request_too_large")


def raw(server: Server) -> socket.socket:
    return socket.create_connection(server.server_address[:2], timeout=20)


def head(length: int | str) -> bytes:
    lines = [
        "POST /v1/messages HTTP/1.1",
        "host: x",
        *(f"{name}: {value}" for name, value in HEADERS.items()),
    ]
    return "\r\n".join([*lines, f"content-length: {length}", "", ""]).encode()


def assert_is_an_error_of_the_api(answer: http.client.HTTPResponse, status: int, body: bytes) -> None:
    told = json.loads(body)
    assert (answer.status, told["type"], told["request_id"]) == (
        status,
        "error",
        answer.headers["request-id"],
    )
    assert answer.headers["content-type"] == "application/json"
    assert told["error"]["type"]
    assert told["error"]["message"]


@pytest.mark.parametrize("size", [b"many", b"-5", b""])
def test_a_chunk_whose_length_is_none_is_a_bad_request(size):
    with served(an_emulator()) as server, raw(server) as client:
        client.sendall(b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + size + b"\r\n")
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert_is_an_error_of_the_api(answer, 400, answer.read())


#: A line that http.server gives up on, to the byte: what it leaves unread would reset the connection.
TOO_LONG = 65_537


@pytest.mark.parametrize("length", ["many", "-1"])
def test_a_length_that_is_none_is_a_bad_request(length):
    with served(an_emulator()) as server, raw(server) as client:
        client.sendall(head(length))
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert_is_an_error_of_the_api(answer, 400, answer.read())


@pytest.mark.parametrize(
    ("sent_first", "status"),
    [
        (b"POST /v1/messages HTTP/9.0\r\n\r\n", 505),
        (b"one two three four\r\n\r\n", 400),
        (b"BREW /v1/messages HTTP/1.1\r\n\r\n", 501),
        (b"GET /".ljust(TOO_LONG, b"x"), 414),
        (b"GET / HTTP/1.1\r\n" + b"x: ".ljust(TOO_LONG, b"x"), 431),
    ],
)
def test_what_is_no_request_is_answered_as_the_api_answers(sent_first, status):
    with served(an_emulator()) as server, raw(server) as client:
        client.sendall(sent_first)
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert_is_an_error_of_the_api(answer, status, answer.read())


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/models", "/v1/nothing"])
@pytest.mark.parametrize("method", ["OPTIONS", "HEAD", "PUT"])
def test_a_method_that_the_api_does_not_have_is_its_own_error(method, path):
    with served(an_emulator()) as server:
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
        for _ in range(2):  # the second shows that the connection is still in step
            connection.request(method, path, headers=HEADERS)
            answer = connection.getresponse()
            body = answer.read()
            status = 404 if path == "/v1/nothing" else 405
            assert answer.headers["request-id"]
            if method == "HEAD":
                assert (answer.status, body) == (status, b"")
            else:
                assert_is_an_error_of_the_api(answer, status, body)
        connection.close()


def test_a_client_that_leaves_in_the_middle_of_its_request_never_asked():
    api = an_emulator()
    with served(api) as server:
        with raw(server) as client:
            client.sendall(head(len(BODY)) + BODY[:20])
        fetched(server, "/v1/messages", BODY)
    assert [made.state for made in api.calls] == ["complete"]


def test_a_client_that_leaves_before_the_first_byte_leaves_nothing():
    asked, gone = threading.Event(), threading.Event()

    def slow(request: dict[str, Any]) -> str:
        asked.set()
        gone.wait(20)
        return "Too late."

    api = an_emulator(replies=slow)
    with served(api) as server:
        with raw(server) as client:
            client.sendall(head(len(BODY)) + BODY)
            asked.wait(20)
        gone.set()
        until(lambda: api.calls[0].state != "open")
    assert (api.calls[0].state, api.calls[0].usage, len(api.engine.cache)) == ("abandoned", None, 0)


def test_a_client_that_leaves_in_the_middle_of_a_stream_pays_for_its_input():
    api = an_emulator(replies=["A very long reply. " * 200_000])
    body = sent(a_request(system=[RULES], stream=True, max_tokens=128_000))
    with served(api) as server:
        with raw(server) as client:
            client.sendall(head(len(body)) + body)
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        until(lambda: api.calls[0].state != "open")
    assert api.calls[0].state == "cut"
    assert api.calls[0].usage.cache_creation_input_tokens > 3000
    assert len(api.engine.cache) == 1


def test_many_threads_are_served_at_once_and_the_books_balance():
    api = an_emulator()
    with served(api) as server:
        told: list[int] = []

        def ask() -> None:
            usage = json.loads(fetched(server, "/v1/messages", BODY)[2])["usage"]
            told.append(usage["cache_creation_input_tokens"] + usage["cache_read_input_tokens"])

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    usage = api.calls.usage
    assert sum(told) == usage.cache_creation_input_tokens + usage.cache_read_input_tokens
    assert {made.state for made in api.calls} == {"complete"}
    assert len(api.engine.cache) == 1


def test_a_slow_answer_keeps_nobody_waiting():
    everybody = threading.Barrier(4, timeout=20)

    def slow(request: dict[str, Any]) -> str:
        everybody.wait()  # passes only if four answers are being made at once
        return "Together."

    api = an_emulator(replies=slow)
    with served(api) as server:
        threads = [threading.Thread(target=fetched, args=(server, "/v1/messages", BODY)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    # nobody's answer had begun when the last one asked
    assert [made.plan.written_5m_tokens > 3000 for made in api.calls] == [True] * 4
    assert {made.state for made in api.calls} == {"complete"}


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "example.org", ""])
def test_other_machines_are_kept_out_unless_it_is_said(host):
    with pytest.raises(InvalidArgumentError, match="which other machines can reach"):
        Server(an_emulator().engine, host)


def test_it_may_be_said():
    with Server(an_emulator().engine, "0.0.0.0", open_to_network=True) as server:
        assert server.url.startswith("http://0.0.0.0:")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_names_are_taken(host):
    with Server(an_emulator().engine, host) as server:
        assert server.url.startswith("http://127.0.0.1:")


# --- ASGI, driven by hand


class Client:
    """The other side of the application: what it sends, when it leaves, what it got."""

    def __init__(self, api: Emulator, body: bytes, *, parts: int = 1, leave_after: int | None = None):
        self.app = api.app()
        size = -(-len(body) // parts) or 1
        pieces = [body[i : i + size] for i in range(0, len(body), size)] or [b""]
        self.requests = [
            {"type": "http.request", "body": piece, "more_body": i < len(pieces) - 1}
            for i, piece in enumerate(pieces)
        ]
        self.leave_after = leave_after
        self.got: list[dict[str, Any]] = []
        self.left = asyncio.Event()
        if leave_after == 0:
            self.left.set()

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        if self.requests:
            return self.requests.pop(0)
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.got.append(message)
        bodies = sum(one["type"] == "http.response.body" for one in self.got)
        if self.leave_after is not None and bodies >= self.leave_after:
            self.left.set()
        await asyncio.sleep(0)

    async def ask(self, path: str = "/v1/messages", query: str = "", method: str = "POST") -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in HEADERS.items()],
        }
        await self.app(scope, self.receive, self.send)

    @property
    def status(self) -> int:
        status: int = self.got[0]["status"]
        return status

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.got[1:])


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("body", [BODY, STREAM], ids=["json", "stream"])
def test_the_application_answers_what_the_engine_answers(parts, body):
    async def ask() -> Client:
        client = Client(an_emulator(replies=["Hello."]), body, parts=parts)
        await client.ask()
        return client

    client = asyncio.run(ask())
    _, headers, content = an_emulator(replies=["Hello."]).engine.respond(
        "POST", "/v1/messages", "", HEADERS, body
    )
    assert client.status == 200
    assert client.body == (content if isinstance(content, bytes) else b"".join(content))
    told = {name.decode(): value.decode() for name, value in client.got[0]["headers"]}
    assert told == headers
    assert [message.get("more_body") for message in client.got][-1] is False


def test_the_application_routes_and_refuses():
    async def ask() -> list[int]:
        api, told = an_emulator(), []
        for path, query, method, body in (
            ("/v1/models", "limit=2", "GET", b""),
            ("/v1/models/claude-opus-5-5", "", "GET", b""),
            ("/v1/messages/count_tokens", "", "POST", BODY),
            ("/v1/files", "", "GET", b""),
            ("/v1/messages", "", "POST", b" " * (MAX_BODY_BYTES + 1)),
        ):
            client = Client(api, body, parts=2)
            await client.ask(path, query, method)
            told.append(client.status)
        return told

    assert asyncio.run(ask()) == [200, 200, 400, 501, 413]


LEAVING = {
    "in the middle of its request": (-1, [], 0),
    "before the first byte": (0, ["abandoned"], 0),
    "after the third event": (3, ["cut"], 1),
    "after all": (None, ["complete"], 1),
}


@pytest.mark.parametrize("when", LEAVING)
def test_a_client_of_the_application_may_leave(when):
    leave_after, states, entries = LEAVING[when]

    async def ask(api: Emulator) -> Client:
        client = Client(api, STREAM, leave_after=leave_after)
        if leave_after == -1:
            client.requests = [{"type": "http.request", "body": STREAM[:9], "more_body": True}]
            client.left.set()
        await client.ask()
        return client

    api = an_emulator(replies=[LONG])
    client = asyncio.run(ask(api))
    assert [made.state for made in api.calls] == states
    assert len(api.engine.cache) == entries
    assert len(client.got) == {-1: 0, 0: 0, 3: 4}.get(leave_after, len(client.got))


def test_requests_held_open_by_the_application_write_each_for_itself():
    async def ask(api: Emulator) -> None:
        await asyncio.gather(*(Client(api, STREAM, parts=1 + i % 5).ask() for i in range(50)))
        await asyncio.gather(*(Client(api, STREAM).ask() for _ in range(50)))

    api = an_emulator()
    asyncio.run(ask(api))
    assert [made.plan.written_5m_tokens > 0 for made in api.calls] == [True] * 50 + [False] * 50


def test_the_application_starts_and_stops():
    async def run() -> list[str]:
        said = iter(["lifespan.startup", "lifespan.shutdown"])
        told: list[str] = []

        async def receive() -> dict[str, Any]:
            return {"type": next(said)}

        async def send(message: dict[str, Any]) -> None:
            told.append(message["type"])

        await an_emulator().app()({"type": "lifespan"}, receive, send)
        return told

    assert asyncio.run(run()) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
