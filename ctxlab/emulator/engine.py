"""The API's side of the wire as one function: a request in, an answer out, all state in the engine.

Models: the order in which the API looks at a request (size, route, key, version, betas, JSON, fields, model,
rules, markers, window, limits), the lookup in the cache when it starts, the commit at the first byte of its
answer, nothing of it where the client was gone by then; deterministic ids; the usage fields where recordings
have them.
Does not model: time that passes while an answer is made (a reply function may advance the injected clock).
Source: the modules it calls, and recorded answers in data/ for the fields of ``usage``.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from hashlib import sha256
from threading import RLock
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

from ctxlab.cache import CacheRules, Layout, Plan, PromptCache
from ctxlab.catalogue import Model, get_model, known
from ctxlab.clock import Clock, SystemClock
from ctxlab.emulator import checks, models, streaming
from ctxlab.emulator.bodies import MAX_BODY_BYTES, Body, Reader
from ctxlab.emulator.books import Books, Call
from ctxlab.emulator.diagnostics import (
    BYTES_A_TOKEN,
    ORDER,
    RETENTION_S,
    Compared,
    Fingerprint,
    Fingerprints,
    fingerprint,
)
from ctxlab.emulator.errors import (
    ApiError,
    failed,
    invalid,
    not_emulated,
    not_found,
    too_large,
    unauthorized,
)
from ctxlab.emulator.limits import Meter, RateLimits
from ctxlab.emulator.rendering import Counter, Rendered, Renderer, lay_out
from ctxlab.emulator.replies import Answer, Block, Limits, Reply, finish, replier
from ctxlab.emulator.schemas import Endpoint, check_body, supplement
from ctxlab.errors import InvalidRequestError
from ctxlab.tokens import rules_of
from ctxlab.usage import Usage

KEY = "emulated-key"
WORKSPACE = "default"
VERSIONS = ("2023-06-01", "2026-10-21")

#: Models from here on take more ``max_tokens`` than the window has left, and stop at its end.
#: Source: context windows page, 2026-08.
_STOPS_AT_THE_WINDOW = date(2025, 9, 29)
_WINDOW_BETA = "model-context-window-exceeded-2025-08-26"
_EDITING_BETAS = frozenset({"context-management-2025-06-27", "compact-2026-01-12"})
_CUT = frozenset({"stream-cut"})
_JSON = {"content-type": "application/json"}
_EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


@dataclass
class Opened:
    """An answer that has been worked out and not yet sent: iterating it sends it, chunk by chunk.

    The first chunk commits what the request left in the cache; ``close`` before it leaves nothing, later it
    takes nothing back.
    """

    status: int
    headers: dict[str, str]
    streams: bool
    _chunks: Iterator[bytes]
    _ledger: _Ledger | None = None
    _next: bytes | None = None
    _begun: bool = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        begins = not self._begun
        if begins:
            self._begun = True
            self._next = next(self._chunks, None)
        chunk = self._next
        if chunk is None:
            raise StopIteration
        # one ahead: whoever has the last chunk has everything, and may leave without asking for more
        self._next = next(self._chunks, None)
        if self._ledger is not None:
            if begins:
                self._ledger.begin(is_all=self._next is None)
            if self._next is None:
                self._ledger.end()
        return chunk

    def read(self) -> bytes:
        """The whole body at once."""
        return b"".join(self)

    def close(self) -> None:
        """The client is gone, or has read everything."""
        if self._ledger is not None:
            self._ledger.leave(begun=self._begun)


@dataclass
class Engine:
    """All state of one emulated API: cache, fingerprints, limits, books.

    ``keys`` maps API keys to workspaces. ``seed`` changes every id. The other arguments are those of
    :class:`ctxlab.emulator.Emulator`.

    >>> engine = Engine(replies=["Hello."])
    >>> headers = {"x-api-key": KEY, "anthropic-version": "2026-10-21"}
    >>> hi = {"role": "user", "content": "Hi"}
    >>> body = json.dumps({"model": "claude-opus-5-5", "max_tokens": 9, "messages": [hi]}).encode()
    >>> status, _, answer = engine.respond("POST", "/v1/messages", "", headers, body)
    >>> status, json.loads(answer)["content"]
    (200, [{'type': 'text', 'text': 'Hello.'}])
    """

    replies: Any = "echo"
    clock: Clock = field(default_factory=SystemClock)
    counter: Counter = None
    rules: CacheRules | None = None
    rate_limits: RateLimits | None = None
    retired_models: bool = False
    diagnostics_retention_s: float = RETENTION_S
    diagnostics_order: Sequence[Compared] = ORDER
    diagnostics_bytes_a_token: float = BYTES_A_TOKEN
    diagnostics_pending: bool = False
    seed: int = 0
    keys: dict[str, str] = field(default_factory=lambda: {KEY: WORKSPACE})

    def __post_init__(self) -> None:
        self.cache = PromptCache(self.clock, self.rules)
        self.calls = Books()
        self.lock = RLock()
        self._reader = Reader()
        self._renderer = Renderer(self.counter)
        self._replier, self._replier_may_change = replier(self.replies)
        self._fingerprints = Fingerprints(
            self.clock, self.diagnostics_retention_s, self.diagnostics_order, self.diagnostics_bytes_a_token
        )
        self._meter = Meter(self.rate_limits, self.clock) if self.rate_limits else None
        self._made_ids: dict[str, int] = {}
        self._number = 0

    def respond(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes | Iterator[bytes]]:
        """Status, headers and body of the answer: bytes, or for a stream an iterator of chunks.

        ``query`` is without its question mark; names of ``headers`` may have any case. An answer of bytes
        has begun when this returns. An iterator begins with its first chunk and has a ``close``.
        """
        opened = self.open(method, path, query, headers, body)
        return opened.status, opened.headers, opened if opened.streams else opened.read()

    def open(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Opened:
        """:meth:`respond` for those who send the answer themselves and know when its first byte is out."""
        with self.lock:
            self._number += 1
            call = Call(self._number, self.make_id("req_"), method, path, self.clock.now_s())
            self.calls.add(call)
        told = {name.lower(): value for name, value in headers.items()}
        try:
            asked = parse_qs(query, keep_blank_values=True) if query else {}
            opened = self._route(call, asked, told, body)
            if opened._ledger is None:
                call.state, call.ended_s = "complete", self.clock.now_s()
        except ApiError as error:
            opened = self._refuse(call, error)
        except InvalidRequestError as error:  # own wording, for what only the prompt's own reader sees
            problem = error.problems[0]
            opened = self._refuse(call, invalid(f"{checks.dotted(problem.path)}: {problem.message}"))
        except BaseException as error:  # a slip of our own, or Ctrl-C: no answer, but not left open
            self._refuse(call, failed(repr(error)))
            raise
        opened.headers["request-id"] = call.request_id
        return opened

    def _refuse(self, call: Call, error: ApiError) -> Opened:
        call.state, call.status, call.error = "refused", error.status, error.message
        call.ended_s = self.clock.now_s()
        content = error.body(call.request_id)
        return Opened(error.status, {**_JSON, **error.headers}, False, iter((content,)))

    def make_id(self, prefix: str) -> str:
        """The next id of a kind: the same in every run with this seed."""
        number = self._made_ids[prefix] = self._made_ids.get(prefix, 0) + 1
        digest = sha256(f"{self.seed}/{prefix}/{number}".encode()).digest()
        return f"{prefix}01{b64encode(digest, b'xz')[:22].decode()}"

    def _route(
        self, call: Call, query: Mapping[str, Sequence[str]], headers: Mapping[str, str], body: bytes
    ) -> Opened:
        if len(body) > MAX_BODY_BYTES:
            raise too_large()
        words = [unquote(word) for word in call.path.strip("/").split("/")]
        handlers = {
            ("messages",): ("POST", self._messages),
            ("messages", "count_tokens"): ("POST", self._count_tokens),
            ("models",): ("GET", self._list_models),
        }
        method, handler = handlers.get(tuple(words[1:]), ("", None))
        if words[0] != "v1":
            raise not_found("Not found")
        if words[1:2] == ["models"] and len(words) == 3:
            method, handler = "GET", self._one_model
        if handler is None:
            if words[1:2] and {words[1], "/".join(words[1:3])} & set(supplement()["paths"]["names"]):
                raise not_emulated(f"{call.method} {call.path}")
            raise not_found("Not found")
        if call.method != method:
            raise ApiError(405, "invalid_request_error", "Method Not Allowed", headers={"allow": method})
        call.workspace = self._workspace(headers)
        version, betas = _version(headers), _betas(headers)
        return handler(_Asked(call, version, betas, query, body))

    def _workspace(self, headers: Mapping[str, str]) -> str:
        """The workspace of a key; of two keys ``x-api-key`` counts (reported, 2026-11)."""
        key = headers.get("x-api-key")
        if key is None:
            scheme, _, token = headers.get("authorization", "").partition(" ")
            key = token.strip() if scheme.lower() == "bearer" else None
        if not key:
            raise unauthorized("x-api-key header is required")
        if key not in self.keys:
            raise unauthorized("invalid x-api-key")
        asked = headers.get("anthropic-workspace-id")
        if asked is not None and asked != self.keys[key]:
            raise invalid("anthropic-workspace-id: this credential belongs to another workspace")
        if headers.get("anthropic-user-profile-id") is not None:
            raise not_emulated("user profiles")
        if headers.get("content-encoding", "identity") != "identity":
            raise not_emulated("request bodies with a content-encoding")
        return self.keys[key]

    # --- models

    def _list_models(self, asked: _Asked) -> Opened:
        return _in_full(models.listing(asked.query, asked.betas))

    def _one_model(self, asked: _Asked) -> Opened:
        name = unquote(asked.call.path.strip("/").split("/")[2])
        return _in_full(models.retrieve(name, asked.query, asked.betas))

    # --- messages

    def _count_tokens(self, asked: _Asked) -> Opened:
        with self.lock:
            read = self._read(asked, "count_tokens")
        _fits_the_window(read.rendered, read.model)
        return _in_full({"input_tokens": read.rendered.total_tokens})

    def _messages(self, asked: _Asked) -> Opened:
        with self.lock:
            read = self._read(asked, "messages")
            room = _room(read.rendered, read.model, read.body.members, asked.betas)
            if self._meter is not None:
                self._meter.admit(read.model)
            plan = self.cache.lookup(read.layout)
        # a function may take its time, or ask this engine: others are not kept waiting
        reply = self._replier(json.loads(asked.body) if self._replier_may_change else read.body.decoded())
        with self.lock:
            return self._answer(asked, read, plan, reply, room)

    def _answer(self, asked: _Asked, read: _Read, plan: Plan, reply: Reply, room: Limits) -> Opened:
        call, members, model = asked.call, read.body.members, read.model
        answer = self._finish(reply, model, room)
        self.calls.hold_plan(call, plan, read.rendered.prompt)
        made = None
        if members.get("diagnostics") is not None:
            workspace = call.workspace or WORKSPACE
            made = fingerprint(
                read.rendered.prompt, model.id, asked.betas, workspace, call.started_s, self.cache.rules
            )
            call.diagnostics = self._diagnose(members["diagnostics"], made)
        call.message_id = self.make_id("msg_")
        usage = plan.usage(output_tokens=answer.output_tokens)
        message = _message(call, model, answer, usage, members)
        headers = {} if self._meter is None else self._meter.headers(model)
        # recorded: the field is there whenever the header is, even where no edit was asked for
        beside: dict[str, Any] = (
            {"context_management": {"applied_edits": []}} if asked.betas & _EDITING_BETAS else {}
        )
        ledger = _Ledger(self, call, model, plan, usage, answer.stop_reason, made)
        if members.get("stream"):
            chunks = streaming.events(message, beside)
            return Opened(200, {**_EVENTS, **headers}, True, chunks, ledger)
        return Opened(200, {**_JSON, **headers}, False, iter((_encode({**message, **beside}),)), ledger)

    def _read(self, asked: _Asked, endpoint: Endpoint) -> _Read:
        """A body that is legal as far as it goes, its model, and what it is to the cache."""
        call, rules = asked.call, self.cache.rules
        call.request_sha256 = sha256(asked.body).hexdigest()
        body = self._reader.read(asked.body)
        check_body(body, endpoint, asked.version, asked.betas)
        model = models.find(body.members["model"], retired=self.retired_models)
        call.model = model.id
        checks.check_request(body.members, model, generates=endpoint == "messages")
        checks.check_messages(body.messages or (), model)
        rendered = self._renderer.render(body, model)
        call.counter, call.outside = rendered.counter, rendered.outside
        workspace = call.workspace or WORKSPACE
        layout = checks.check_markers(body, lambda: lay_out(rendered, model, workspace, rules))
        checks.check_order(body, model)
        checks.check_countable(rendered)
        return _Read(body, model, rendered, layout)

    def _finish(self, reply: Reply, model: Model, room: Limits) -> Answer:
        def count(block: Block) -> int:
            # as the text it is, so that the block is known when it comes back in the next request
            shown = {"type": "text", "text": block["thinking"]} if block["type"] == "thinking" else block
            return self._renderer.content_tokens(shown, model)

        return finish(reply, room, count, _around_a_reply(model.id), self.make_id)

    def _diagnose(self, asked: Mapping[str, Any], made: Fingerprint) -> dict[str, Any] | None:
        previous = asked.get("previous_message_id")
        if previous is None:
            return None
        if self.diagnostics_pending:
            return {"cache_miss_reason": None}
        found = self._fingerprints.compare(previous, made)
        return None if found is None else {"cache_miss_reason": found}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request whose key, version and betas are known."""

    call: Call
    version: str
    betas: frozenset[str]
    query: Mapping[str, Sequence[str]]
    body: bytes


class _Read(NamedTuple):
    """A request that the API would take."""

    body: Body
    model: Model
    rendered: Rendered
    layout: Layout


@dataclass
class _Ledger:
    """What is written down when an answer begins, ends, or is left."""

    engine: Engine
    call: Call
    model: Model
    plan: Plan
    usage: Usage
    stop_reason: str
    fingerprint: Fingerprint | None

    def begin(self, *, is_all: bool) -> None:
        engine, call = self.engine, self.call
        with engine.lock:
            engine.cache.commit(self.plan)
            call.began_s = engine.clock.now_s()
            if not is_all:  # until more is sent, message_start is all that is known of the output
                begun = streaming.output_begun(self.usage.output_tokens)
                call.usage = replace(self.usage, output_tokens=begun, flags=_CUT)
            if engine._meter is not None:
                engine._meter.spend(self.model, input_tokens=self.usage.itpm_tokens_for(self.model))
            if self.fingerprint is not None and call.message_id is not None:
                engine._fingerprints.keep(call.message_id, self.fingerprint)

    def end(self) -> None:
        call = self.call
        with self.engine.lock:
            if call.state == "open":
                call.usage = self.usage
                call.state, call.stop_reason = "complete", self.stop_reason
                call.ended_s = self.engine.clock.now_s()
                if self.engine._meter is not None:
                    self.engine._meter.spend(self.model, output_tokens=self.usage.output_tokens)

    def leave(self, *, begun: bool) -> None:
        call = self.call
        with self.engine.lock:
            if call.state != "open":
                return
            if not begun:
                self.engine.cache.abandon(self.plan)
            call.state = "cut" if begun else "abandoned"
            call.ended_s = self.engine.clock.now_s()


@cache
def _around_a_reply(model_id: str) -> int:
    model = get_model(model_id)
    return rules_of(model.vocabulary, model).reply


def _version(headers: Mapping[str, str]) -> str:
    version = headers.get("anthropic-version")
    if not version:
        raise invalid("anthropic-version: header is required")  # reported since 2024
    if version not in VERSIONS:  # own wording
        raise invalid(f"anthropic-version: {json.dumps(version)} is not one of {', '.join(VERSIONS)}")
    return version


def _betas(headers: Mapping[str, str]) -> frozenset[str]:
    given = [beta.strip() for beta in headers.get("anthropic-beta", "").split(",") if beta.strip()]
    unknown = [
        beta
        for beta in given
        if beta not in known("betas") and beta not in supplement()["more_betas"]["names"]
    ]
    if unknown:  # beta-headers page, 2026-11
        names = ", ".join(f"`{beta}`" for beta in unknown)
        raise invalid(
            f"Unexpected value(s) {names} for the `anthropic-beta` header. Please consult our documentation "
            "at platform.claude.com/docs or try again without the header."
        )
    return frozenset(given)


def _fits_the_window(rendered: Rendered, model: Model) -> None:
    window = model.window_tokens
    if window is not None and rendered.total_tokens > window:  # recorded
        raise invalid(f"prompt is too long: {rendered.total_tokens} tokens > {window} maximum")


def _room(rendered: Rendered, model: Model, members: Mapping[str, Any], betas: frozenset[str]) -> Limits:
    """What ends the answer; refuses a prompt that leaves no room for it."""
    _fits_the_window(rendered, model)
    asked, sequences = members["max_tokens"], members.get("stop_sequences") or ()
    if model.window_tokens is None:
        return Limits(asked, None, sequences)
    left = model.window_tokens - rendered.total_tokens
    newer = model.released is not None and model.released >= _STOPS_AT_THE_WINDOW
    if asked > left and not newer and _WINDOW_BETA not in betas:  # reported since 2025
        raise invalid(
            f"input length and `max_tokens` exceed context limit: {rendered.total_tokens} + {asked} > "
            f"{model.window_tokens}, decrease input length or `max_tokens` and try again"
        )
    return Limits(asked, left, sequences)


def _message(
    call: Call, model: Model, answer: Answer, usage: Usage, members: Mapping[str, Any]
) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": call.message_id,
        "type": "message",
        "role": "assistant",
        "model": models.api_id(model),
        "content": list(answer.content),
        "stop_reason": answer.stop_reason,
        "stop_sequence": answer.stop_sequence,
        "usage": _usage(model, answer, usage, members),
    }
    if members.get("diagnostics") is not None:
        message["diagnostics"] = call.diagnostics
    return message


def _usage(model: Model, answer: Answer, counts: Usage, members: Mapping[str, Any]) -> dict[str, Any]:
    """The usage object as recorded in 2026: models from 4.6 on name a region, from 4.8 on their thinking."""
    prices = model.price_history[-1] if model.price_history else None
    global_region = prices is not None and prices.us_geo_multiplier is not None
    told: dict[str, Any] = {
        "input_tokens": counts.input_tokens,
        "cache_creation_input_tokens": counts.cache_creation_input_tokens,
        "cache_read_input_tokens": counts.cache_read_input_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counts.cache_creation.ephemeral_5m_input_tokens,
            "ephemeral_1h_input_tokens": counts.cache_creation.ephemeral_1h_input_tokens,
        },
        "output_tokens": answer.output_tokens,
        "service_tier": "standard",
        "inference_geo": members.get("inference_geo") or ("global" if global_region else "not_available"),
    }
    if model.vocabulary == "v4.8" or answer.thinking_tokens:
        told["output_tokens_details"] = {"thinking_tokens": answer.thinking_tokens}
    if members.get("speed") is not None:
        told["speed"] = members["speed"]
    return told


def _in_full(body: Mapping[str, Any]) -> Opened:
    return Opened(200, dict(_JSON), False, iter((_encode(body),)))


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _encode(body: Mapping[str, Any]) -> bytes:
    return _encoder.encode(body).encode()
