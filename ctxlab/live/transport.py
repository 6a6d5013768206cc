"""Two transports under the SDK's client: one writes down what passes, one answers from what was written.

Models: ``POST /v1/messages`` and ``/v1/messages/count_tokens``, plain and streamed, sync and async; an answer
is written when it was read to its end, so one that its caller left early is not. A replay answers a request
with the recordings of the same request (blocks, markers, parameters), in the order recorded, each once.
Does not model: other paths (they pass the recorder unseen); request headers: no key, cookie or header is ever
kept, but the names of betas; time, so a replay answers at once.
Source: httpx2 2.16, BaseTransport and SyncByteStream (the end of a stream is hooked on its iteration and on
``close``: a generator's ``finally`` may never run).

    store = Store("run.jsonl")
    http = httpx2.Client(transport=Recorder(httpx2.HTTPTransport(), store))
    client = anthropic.Anthropic(http_client=http)
    …
    offline = httpx2.Client(transport=Replay(Store("run.jsonl")))
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Generic, TypeVar

from ctxlab.clock import Clock, SystemClock
from ctxlab.errors import CtxlabError, MissingPackageError, Problem
from ctxlab.live import replaying
from ctxlab.live.rows import Counter, request_row, response_row
from ctxlab.live.scrub import scrubbed_json
from ctxlab.live.store import Store, Text
from ctxlab.live.streams import events_of, folded, scrubbed_stream

try:
    import httpx2
except ImportError:
    raise MissingPackageError(
        Problem("httpx2", "installed", "recording and replaying need it", 'pip install "ctxlab[api]"')
    ) from None

API_HOST = "api.anthropic.com"
# hosts that are the same for everybody; any other may name a company, and a row may be shown to anybody
_PUBLIC_HOST = re.compile(
    r"openrouter\.ai|emulator\.invalid|bedrock-runtime\.[a-z0-9-]+\.amazonaws\.com|([a-z0-9-]+-)?aiplatform\.googleapis\.com"
)
ANOTHER_HOST = "another"
_ENDPOINTS = {"/v1/messages": "messages", "/v1/messages/count_tokens": "count_tokens"}
_EVENT_STREAM = "text/event-stream"


_Inner = TypeVar("_Inner")


class _Records(Generic[_Inner]):
    """What both recorders are made of; they differ in how they wait."""

    def __init__(
        self,
        inner: _Inner,
        store: Store,
        *,
        sequence: str | None = None,
        clock: Clock | None = None,
        counter: Counter = None,
    ):
        self._inner = inner
        self._book = _Book(
            store, sequence or store.path.name.partition(".")[0], clock or SystemClock(), counter
        )

    @property
    def passed(self) -> tuple[Problem, ...]:
        return tuple(self._book.passed)


class Recorder(_Records[httpx2.BaseTransport], httpx2.BaseTransport):
    """Passes requests on to ``inner`` and writes what is whole to ``store``.

    ``sequence`` names the rows (default: the name of the file); rows of one sequence are one conversation, or
    what shares a cache. ``counter``, if it is an exact one, counts the single texts of a row
    (``content_tokens``). ``passed`` says of everything that was not written why.
    """

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = self._book.open(request, request.read())
        response = self._inner.handle_request(request)
        if exchange is None:
            return response
        assert isinstance(response.stream, httpx2.SyncByteStream)
        return _with_stream(request, response, _Listening(response.stream, exchange.answered(response)))

    def close(self) -> None:
        self._inner.close()


class AsyncRecorder(_Records[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport):
    """:class:`Recorder` for an ``httpx2.AsyncClient``."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = self._book.open(request, await request.aread())
        response = await self._inner.handle_async_request(request)
        if exchange is None:
            return response
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        return _with_stream(request, response, _AsyncListening(response.stream, exchange.answered(response)))

    async def aclose(self) -> None:
        await self._inner.aclose()


class Replay(httpx2.BaseTransport):
    """Answers from ``store`` alone; raises :class:`httpx2.ConnectError` for what was not recorded.

    Each recording is given once. Where text was kept the answer is the body that came; elsewhere figures,
    types and lengths are right and texts are fillers, so a conversation that sends them back is another one.
    """

    def __init__(self, store: Store):
        self._tape = replaying.Tape(store)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return _replayed(self._tape, request, request.read())


class AsyncReplay(httpx2.AsyncBaseTransport):
    """:class:`Replay` for an ``httpx2.AsyncClient``."""

    def __init__(self, store: Store):
        self._tape = replaying.Tape(store)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return _replayed(self._tape, request, await request.aread())


def _replayed(tape: replaying.Tape, request: httpx2.Request, body: bytes) -> httpx2.Response:
    endpoint = _ENDPOINTS.get(request.url.path) if request.method == "POST" else None
    try:
        answer = tape.answer(f"{request.method} {request.url.path}", endpoint, body)
    except replaying.NotRecordedError as error:
        raise httpx2.ConnectError(str(error), request=request) from error
    headers = {"content-type": answer.content_type}
    return httpx2.Response(answer.status, headers=headers, stream=_Body(answer.body), request=request)


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that is there: events one by one, anything else at once."""

    def __init__(self, text: str):
        self._parts = [part.encode() for part in events_of(text)]

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


# --- what both recorders do


@dataclass
class _Book:
    """Where exchanges of one recorder are written, and why some are not."""

    store: Store
    sequence: str
    clock: Clock
    counter: Counter
    passed: list[Problem] = field(default_factory=list)

    def open(self, request: httpx2.Request, body: bytes) -> _Exchange | None:
        """A request on its way; None if it is not one that is recorded."""
        place = f"{request.method} {request.url.path}"
        endpoint = _ENDPOINTS.get(request.url.path)
        if endpoint is None or request.method != "POST":
            self.passed.append(Problem(place, "recorded-path", "is none of the paths that are recorded"))
            return None
        started_s = self.clock.now_s()
        try:
            sent = scrubbed_json(json.loads(body))
            row = request_row(sent, endpoint, self.counter)
        except (CtxlabError, ValueError) as error:
            self.passed.append(Problem(place, "request", f"cannot be read: {error}"))
            return None
        betas = request.headers.get("anthropic-beta", "")
        row["betas"] = [beta.strip() for beta in betas.split(",") if beta.strip()]
        if request.url.host != API_HOST:
            row["host"] = request.url.host if _PUBLIC_HOST.fullmatch(request.url.host) else ANOTHER_HOST
        step = self.store.next_step(self.sequence)
        moment = datetime.fromtimestamp(started_s, UTC).isoformat()
        return _Exchange(self, step, sent, {"recorded_at": moment, "request": row})


@dataclass
class _Exchange:
    """One request whose answer is on its way. ``chunks`` is what has come of it."""

    book: _Book
    step: int
    sent: Mapping[str, Any]
    row: dict[str, Any]
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    done: bool = False
    lock: Lock = field(default_factory=Lock)

    def answered(self, response: httpx2.Response) -> _Exchange:
        self.status = response.status_code
        self.headers = {name: response.headers.get(name, "") for name in ("content-type", "content-encoding")}
        return self

    def end(self, *, whole: bool) -> None:
        """The answer was read to its end, or left. The first call counts."""
        with self.lock:
            if self.done:
                return
            self.done = True
        try:
            body = self._body()
            stream = self.headers["content-type"].startswith(_EVENT_STREAM)
            answer = folded(body) if stream else json.loads(body) if whole else None
            if not isinstance(answer, dict):
                raise ValueError("it was not read to its end")
            clean = scrubbed_json(answer)
            response = response_row(self.status, clean, streamed=stream)
            if stream:
                body = scrubbed_stream(body)
            elif clean != answer:
                body = json.dumps(clean, ensure_ascii=False)
        except (CtxlabError, httpx2.DecodingError, KeyError, TypeError, ValueError) as error:
            self.book.passed.append(
                Problem(f"{self.book.sequence}#{self.step}", "whole-answer", f"not kept: {error}")
            )
            return
        text = Text(self.sent, body, self.headers["content-type"])
        self.book.store.add(self.book.sequence, self.step, {**self.row, "response": response}, text)

    def _body(self) -> str:
        raw = b"".join(self.chunks)
        if self.headers["content-encoding"]:
            encoding = {"content-encoding": self.headers["content-encoding"]}
            raw = httpx2.Response(200, headers=encoding, content=raw).content
        return raw.decode("utf-8")


def _with_stream(
    request: httpx2.Request, response: httpx2.Response, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream
) -> httpx2.Response:
    return httpx2.Response(
        response.status_code,
        headers=response.headers,
        stream=stream,
        extensions=response.extensions,
        request=request,
    )


class _Listening(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, exchange: _Exchange):
        self._inner, self._exchange = inner, exchange

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            self._exchange.chunks.append(chunk)
            yield chunk
        self._exchange.end(whole=True)

    def close(self) -> None:
        self._inner.close()
        self._exchange.end(whole=False)


class _AsyncListening(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, exchange: _Exchange):
        self._inner, self._exchange = inner, exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._exchange.chunks.append(chunk)
            yield chunk
        self._exchange.end(whole=True)

    async def aclose(self) -> None:
        await self._inner.aclose()
        self._exchange.end(whole=False)
