"""The emulator on a port of this machine, for curl and for clients in other languages.

Models: HTTP/1.1 with one thread a connection; answers with a length, streams in chunks; a client that is
gone before or after the first byte.
Does not model: TLS, compression of answers, pipelining.
Source: http.server of the standard library; RFC 9112, chunked transfer coding.
"""

from __future__ import annotations

import select
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from ctxlab.emulator.bodies import MAX_BODY_BYTES
from ctxlab.emulator.errors import ApiError
from ctxlab.emulator.headers import combined
from ctxlab.errors import InvalidArgumentError, Problem

if TYPE_CHECKING:
    from ctxlab.emulator.engine import Engine
from ctxlab.emulator.opened import Opened

LOOPBACK = "127.0.0.1"


class Server(ThreadingHTTPServer):
    """Serves an engine; ``port`` 0 takes a free one, ``url`` says where. Use it as a context manager.

    Only loopback addresses are taken unless ``open_to_network`` is set: everybody who reaches the port can
    send requests, and the key is no secret.
    """

    daemon_threads = True

    def __init__(self, engine: Engine, host: str = LOOPBACK, port: int = 0, *, open_to_network: bool = False):
        if not open_to_network and not _is_loopback(host):
            raise InvalidArgumentError(
                Problem(
                    "host",
                    "loopback",
                    f"is {host!r}, which other machines can reach",
                    f"use {LOOPBACK}, or open_to_network (--open-to-network)",
                )
            )
        self.engine = engine
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://[{host!s}]:{port}" if ":" in str(host) else f"http://{host!s}:{port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that breaks off between two requests is no error; everything else is printed."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "ctxlab-emulator"
    # headers and body are two writes: the second would wait for a client that acknowledges late (40 ms)
    disable_nagle_algorithm = True

    def _answer(self) -> None:
        try:
            body = self._body()
        except ValueError:
            self.close_connection = True
            self.send_error(HTTPStatus.BAD_REQUEST, "the length of the body cannot be told")
            return
        except ConnectionError:
            self.close_connection = True
            return
        path, _, query = self.path.partition("?")
        opened = self.server.engine.open(self.command, path, query, combined(self.headers.items()), body)
        try:
            if self._client_is_gone():
                raise ConnectionAbortedError
            self.send_response(opened.status)
            for name, value in opened.headers.items():
                self.send_header(name, value)
            if opened.streams:
                self._stream(opened)
            else:
                self._whole(opened)
        except ConnectionError:
            self.close_connection = True
        finally:
            opened.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _answer

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server refuses by itself, before there is a request, as the API words its errors."""
        status = HTTPStatus(code)
        kind = "api_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
        with self.server.engine.lock:
            request_id = self.server.engine.make_id("req_")
        body = ApiError(status, kind, message or status.phrase).body(request_id)
        self.close_connection = True
        self.request_version = self.protocol_version  # not yet read, and 0.9 would have no headers
        self.send_response(status)
        self.send_header("request-id", request_id)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _client_is_gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def _body(self) -> bytes:
        """The body; of one that is too long only so much that it is seen to be.

        Raises ValueError where its length cannot be told, ConnectionError where the client left before the
        end of it.
        """
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        length = int(self.headers.get("content-length") or 0)
        if length < 0:
            raise ValueError
        if length <= MAX_BODY_BYTES:
            return self._exactly(length)
        left = length
        while left > 0:
            left -= len(self._exactly(min(left, 1 << 20)))
        return bytes(MAX_BODY_BYTES + 1)

    def _chunks(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        while length := int(self._line().split(b";")[0], 16):
            if length < 0:
                raise ValueError
            part = self._exactly(length)
            self._line()
            size += length
            if size <= MAX_BODY_BYTES:
                parts.append(part)
        while self._line().strip():
            pass
        return b"".join(parts) if size <= MAX_BODY_BYTES else bytes(MAX_BODY_BYTES + 1)

    def _exactly(self, length: int) -> bytes:
        part = self.rfile.read(length)
        if len(part) < length:
            raise ConnectionResetError
        return part

    def _line(self) -> bytes:
        line = self.rfile.readline()
        if not line:
            raise ConnectionResetError
        return line

    def _whole(self, opened: Opened) -> None:
        body = opened.read()
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self, opened: Opened) -> None:
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for chunk in opened:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """The books say more than an access log."""


def serve(engine: Engine, host: str, port: int, *, open_to_network: bool) -> None:
    """Serve until Ctrl-C, saying where and with which key."""
    with Server(engine, host, port, open_to_network=open_to_network) as server:
        key = next(iter(engine.keys))
        print(f"The emulated API is at {server.url}; stop with Ctrl-C.", flush=True)
        print(f"export ANTHROPIC_BASE_URL={server.url} ANTHROPIC_API_KEY={key}", flush=True)
        if not _is_loopback(host):
            print("Open to the network: anybody who reaches this port can use it.", file=sys.stderr)
        server.serve_forever()
