"""The emulator as an httpx2 transport, in process: no socket, no thread, no time.

Models: the synchronous and the asynchronous transport under the SDK's client. An answer in one piece has
begun when the response is there; of a stream the books are hooked on its first byte, its end and its close.
An asynchronous answer begins when no more requests arrive, so that those sent together are looked up
together, as at the API.
Does not model: connections, time-outs, compression.
Source: httpx2 2.16, BaseTransport and SyncByteStream; a generator's ``finally`` may never run, ``close``
does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import httpx2

from ctxlab.emulator.arrivals import until_no_more_arrive

if TYPE_CHECKING:
    from ctxlab.emulator.engine import Engine
from ctxlab.emulator.opened import Opened


class Transport(httpx2.BaseTransport):
    """Answers requests of an ``httpx2.Client`` from an engine."""

    def __init__(self, engine: Engine):
        self._engine = engine

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        opened = _open(self._engine, request, request.read())
        if opened.streams:
            return httpx2.Response(
                opened.status, headers=opened.headers, stream=_Stream(opened), request=request
            )
        return httpx2.Response(opened.status, headers=opened.headers, content=opened.read(), request=request)


class AsyncTransport(httpx2.AsyncBaseTransport):
    """:class:`Transport` for an ``httpx2.AsyncClient``."""

    def __init__(self, engine: Engine):
        self._engine = engine

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        opened = _open(self._engine, request, await request.aread())
        try:
            await until_no_more_arrive(self._engine.calls)
        except BaseException:
            opened.close()
            raise
        if opened.streams:
            stream = _AsyncStream(opened)
            return httpx2.Response(opened.status, headers=opened.headers, stream=stream, request=request)
        return httpx2.Response(opened.status, headers=opened.headers, content=opened.read(), request=request)


def _open(engine: Engine, request: httpx2.Request, body: bytes) -> Opened:
    path, _, query = request.url.raw_path.decode("ascii").partition("?")
    return engine.open(request.method, path, query, request.headers, body)


class _Stream(httpx2.SyncByteStream):
    def __init__(self, opened: Opened):
        self._opened = opened

    def __iter__(self) -> Iterator[bytes]:
        return self._opened

    def close(self) -> None:
        self._opened.close()


class _AsyncStream(httpx2.AsyncByteStream):
    def __init__(self, opened: Opened):
        self._opened = opened

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._opened:
            yield chunk

    async def aclose(self) -> None:
        self._opened.close()
