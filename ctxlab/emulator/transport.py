"""The emulator as an httpx2 transport, in process: no socket, no thread, no time.

Models: the synchronous and the asynchronous transport under the SDK's client. An answer in one piece has
begun when the response is there; of a stream the books are hooked on its first byte, its end and its close.
Before an asynchronous answer begins other tasks get their turn, so that requests sent together are looked
up together, as at the API.
Does not model: connections, time-outs, compression.
Source: httpx2 2.16, BaseTransport and SyncByteStream; a generator's ``finally`` may never run, ``close``
does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING

import httpx2

from ctxlab.emulator.engine import VERSIONS

if TYPE_CHECKING:
    from ctxlab.emulator.engine import Engine, Opened


class Transport(httpx2.BaseTransport):
    """Answers requests of an ``httpx2.Client`` from an engine.

    With ``key`` it belongs to a client of the emulator: headers that only the environment added
    (ANTHROPIC_CUSTOM_HEADERS) are taken off, and the key stays the client's own.
    """

    def __init__(self, engine: Engine, key: str | None = None):
        self._engine = engine
        self._key = key

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        opened = _open(self._engine, self._key, request, request.read())
        if opened.streams:
            return httpx2.Response(
                opened.status, headers=opened.headers, stream=_Stream(opened), request=request
            )
        return httpx2.Response(opened.status, headers=opened.headers, content=opened.read(), request=request)


class AsyncTransport(httpx2.AsyncBaseTransport):
    """:class:`Transport` for an ``httpx2.AsyncClient``."""

    def __init__(self, engine: Engine, key: str | None = None):
        self._engine = engine
        self._key = key

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        opened = _open(self._engine, self._key, request, await request.aread())
        try:
            await asyncio.sleep(0)
        except BaseException:
            opened.close()
            raise
        if opened.streams:
            stream = _AsyncStream(opened)
            return httpx2.Response(opened.status, headers=opened.headers, stream=stream, request=request)
        return httpx2.Response(opened.status, headers=opened.headers, content=opened.read(), request=request)


def _open(engine: Engine, key: str | None, request: httpx2.Request, body: bytes) -> Opened:
    path, _, query = request.url.raw_path.decode("ascii").partition("?")
    headers: Mapping[str, str] = request.headers
    from_environment = os.environ.get("ANTHROPIC_CUSTOM_HEADERS")
    if key is not None and from_environment is not None:
        headers = dict(headers)
        for line in from_environment.split("\n"):
            name, _, value = line.partition(":")
            if headers.get(name.strip().lower()) == value.strip():
                del headers[name.strip().lower()]
        headers.setdefault("anthropic-version", VERSIONS[-1])  # which the SDK sends of itself
        if "authorization" not in headers:
            headers["x-api-key"] = key
    return engine.open(request.method, path, query, headers, body)


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
