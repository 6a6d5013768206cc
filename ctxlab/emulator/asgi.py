"""The emulator as an ASGI application: for any ASGI server, and for tests without one.

Models: the ``http`` and ``lifespan`` scopes; a client that disconnects before the first byte (nothing
stays) and while an answer streams (it stops; entries and input stay).
Does not model: WebSockets, HTTP/2 push, event loops other than asyncio's.
Source: ASGI 3.0 specification, HTTP connection scope.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from ctxlab.emulator.arrivals import until_no_more_arrive
from ctxlab.emulator.bodies import MAX_BODY_BYTES
from ctxlab.emulator.headers import combined

if TYPE_CHECKING:
    from ctxlab.emulator.engine import Engine

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class App:
    """``App(engine)`` is what an ASGI server runs."""

    def __init__(self, engine: Engine):
        self._engine = engine

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            return
        path = scope.get("raw_path") or scope["path"].encode()
        headers = combined(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        )
        opened = self._engine.open(
            scope["method"], path.decode("latin-1"), scope["query_string"].decode("latin-1"), headers, body
        )
        told = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in opened.headers.items()]
        # the body is here, so that the next thing to be received is that the client is gone
        gone = asyncio.ensure_future(receive())
        try:
            await until_no_more_arrive(self._engine.calls)
            if gone.done():
                return
            await send({"type": "http.response.start", "status": opened.status, "headers": told})
            for chunk in opened:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                if gone.done():
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            opened.close()


async def _body(receive: Receive) -> bytes | None:
    """The body, cut where it is too long anyway; None when the client left before it was sent."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        size += len(message.get("body", b""))
        if size <= MAX_BODY_BYTES + 1:
            parts.append(message.get("body", b""))
        if not message.get("more_body"):
            body = b"".join(parts)
            return body if size <= MAX_BODY_BYTES else body.ljust(MAX_BODY_BYTES + 1)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
