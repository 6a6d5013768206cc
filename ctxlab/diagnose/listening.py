"""The figures of an answer, picked from its bytes as they pass.

Models: a plain body and a stream of events, compressed or not; the figures of ``message_start``, which tell
what was read and written, and the final ones; errors in either form.
Does not model: content. Of a stream only the events with figures are decoded, and nothing is held but an
unfinished line.
Source: anthropic SDK 2.14.0, types/raw_message_stream_event.py; httpx2 2.16, SyncByteStream.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from ctxlab.errors import InvalidUsageError
from ctxlab.usage import Usage

_EVENT_STREAM = "text/event-stream"
_TOLD = (b'"message_start"', b'"message_delta"', b'"message_stop"', b'"error"')


class Answer:
    """What is known of an answer so far."""

    def __init__(self, status: int, headers: Mapping[str, str]):
        self.status = status
        self.message_id: str | None = None
        self.diagnostics: Any = None
        self.applied_edits: Any = None
        self.error: str | None = None
        self.first_usage: Usage | None = None
        self.usage: Usage | None = None
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._streams = self._headers.get("content-type", "").startswith(_EVENT_STREAM)
        self._packed = self._headers.get("content-encoding", "identity") not in ("", "identity")
        self._kept = bytearray()
        self._events: list[Mapping[str, Any]] = []

    def whole(self, body: bytes) -> None:
        """The body, all at once and unpacked."""
        self._packed = False
        self.add(body)

    def add(self, chunk: bytes) -> None:
        """A piece of the body as it passes."""
        self._kept += chunk
        if self._streams and not self._packed:
            self._read_lines()

    def end(self) -> None:
        """Nothing more comes."""
        body, self._kept = bytes(self._kept), bytearray()
        if self._packed and body:
            encoding = {"content-encoding": self._headers["content-encoding"]}
            try:
                body = import_module("httpx2").Response(200, headers=encoding, content=body).content
            except Exception:
                body = b""  # left before its end
        if not self._streams:
            self._read_body(body)
            return
        self._kept += body + b"\n"
        self._read_lines()
        self._kept = bytearray()
        if self._events:
            self.usage = Usage.from_stream(self._events)

    def _read_body(self, body: bytes) -> None:
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if self.status >= 400 or not isinstance(answer, dict) or "usage" not in answer:
            self.error = _error_of(answer) or ("no message" if self.status < 400 else "refused")
            return
        self._take_message(answer)
        self.usage = self.first_usage

    def _read_lines(self) -> None:
        *lines, rest = bytes(self._kept).split(b"\n")
        self._kept = bytearray(rest)
        for line in lines:
            if line.startswith(b"data:") and any(word in line for word in _TOLD):
                self._read_event(line)
            elif self.status >= 400 and line.startswith(b"{"):
                self.error = _error_of(json.loads(line)) or "refused"

    def _read_event(self, line: bytes) -> None:
        try:
            event = json.loads(line.removeprefix(b"data:"))
        except ValueError:
            return
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "error":
            self.error = _error_of(event) or "the stream ended in an error"
        elif kind == "message_start" and isinstance(event.get("message"), dict):
            message = event["message"]
            self._take_message(message)
            self._events.append({"type": kind, "message": {"usage": message.get("usage")}})
        elif kind in ("message_delta", "message_stop") and self._events:
            self._events.append({"type": kind, "usage": event.get("usage")})
            self._take_edits(event)

    def _take_message(self, message: Mapping[str, Any]) -> None:
        self.message_id, self.diagnostics = message.get("id"), message.get("diagnostics")
        self._take_edits(message)
        try:
            self.first_usage = Usage.from_response({"usage": message.get("usage")})
        except InvalidUsageError as error:
            self.error = str(error)

    def _take_edits(self, told: Mapping[str, Any]) -> None:
        management = told.get("context_management")
        if isinstance(management, dict) and management.get("applied_edits") is not None:
            self.applied_edits = management["applied_edits"]


def _error_of(body: Any) -> str | None:
    told = body.get("error") if isinstance(body, dict) else None
    if not isinstance(told, dict):
        return None
    return f"{told.get('type')}: {told.get('message')}"


class Listener(Protocol):
    """Who wants to know of the pieces of a body and of its end."""

    def came(self, chunk: bytes) -> None: ...
    def ended(self) -> None: ...


def listen(response: Any, listener: Listener) -> None:
    """Have ``listener`` told of the body of a response that is still to be read."""
    plain, in_tasks = _streams()
    inner = response.stream
    response.stream = (in_tasks if hasattr(inner, "__aiter__") else plain)(inner, listener)


class _Listening:
    def __init__(self, inner: Any, listener: Listener):
        self._inner, self._listener = inner, listener

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            self._listener.came(chunk)
            yield chunk
        self._listener.ended()

    def close(self) -> None:
        self._inner.close()
        self._listener.ended()


class _AsyncListening:
    def __init__(self, inner: Any, listener: Listener):
        self._inner, self._listener = inner, listener

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._listener.came(chunk)
            yield chunk
        self._listener.ended()

    async def aclose(self) -> None:
        await self._inner.aclose()
        self._listener.ended()


@cache
def _streams() -> tuple[type, type]:
    """Both listeners as streams of httpx2, which is there when a client of the SDK is."""
    httpx2 = import_module("httpx2")
    return (
        type("Listening", (_Listening, httpx2.SyncByteStream), {}),
        type("AsyncListening", (_AsyncListening, httpx2.AsyncByteStream), {}),
    )
