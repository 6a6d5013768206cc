"""The API's side of the wire as one function: a request in, an answer out, all state in the engine.

Models: the order in which the API looks at a request (size, route, key, version, betas, JSON, fields, model,
rules, edits, markers, window, limits), the lookup in the cache when it starts, a summary and the answer after
it as two passes of one request, deterministic ids.
Does not model: time that passes while an answer is made (a reply function may advance the injected clock).
Source: the modules it calls.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from threading import RLock
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

from ctxlab.cache import CacheRules, Layout, Plan, PromptCache
from ctxlab.catalogue import Model, get_model, known
from ctxlab.clock import Clock, SystemClock
from ctxlab.effective import COMPACT
from ctxlab.emulator import checks, compaction, models, streaming
from ctxlab.emulator.bodies import MAX_BODY_BYTES, Body, Reader
from ctxlab.emulator.books import Books, Call, Compacted
from ctxlab.emulator.context import (
    EDITING_BETAS,
    ContextRules,
    Managed,
    Manager,
    applied_edits,
    check_edits,
)
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
from ctxlab.emulator.messages import Pass, check_window, message_of, room, usage_of
from ctxlab.emulator.opened import Desk, Ledger, Opened
from ctxlab.emulator.rendering import Counter, Rendered, Renderer, lay_out
from ctxlab.emulator.replies import Answer, Block, Limits, Reply, finish, replier
from ctxlab.emulator.schemas import Endpoint, check_body, supplement
from ctxlab.emulator.summaries import Summary, summarizer
from ctxlab.errors import InvalidRequestError
from ctxlab.tokens import rules_of

KEY = "emulated-key"
WORKSPACE = "default"
VERSIONS = ("2023-06-01", "2026-10-21")

_JSON = {"content-type": "application/json"}
_EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


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
    summaries: Any = "outline"
    clock: Clock = field(default_factory=SystemClock)
    counter: Counter = None
    rules: CacheRules | None = None
    context_rules: ContextRules = field(default_factory=ContextRules)
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
        self._renderer = Renderer(self.counter, self.context_rules.kept_thinking)
        self._manager = Manager(self._renderer, self.context_rules)
        self._replier, self._replier_may_change = replier(self.replies)
        self._summarizer, self._summarizer_may_change = summarizer(self.summaries)
        self._fingerprints = Fingerprints(
            self.clock, self.diagnostics_retention_s, self.diagnostics_order, self.diagnostics_bytes_a_token
        )
        self._meter = Meter(self.rate_limits, self.clock) if self.rate_limits else None
        self._desk = Desk(self.lock, self.clock, self.cache, self._fingerprints, self._meter)
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
        check_window(read.rendered, read.model)
        told: dict[str, Any] = {"input_tokens": read.rendered.total_tokens}
        if asked.betas & EDITING_BETAS:
            told["context_management"] = {"original_input_tokens": read.managed.original_tokens}
        return _in_full(told)

    def _messages(self, asked: _Asked) -> Opened:
        with self.lock:
            read = self._read(asked, "messages")
            limits = room(read.rendered, read.model, read.body.members, asked.betas)
            if self._meter is not None:
                self._meter.admit(read.model)
            plan = self.cache.lookup(read.layout if read.compacts is None else read.compacts.layout)
        if read.compacts is None:
            return self._say(asked, read, plan, limits, None)
        # a function may take its time, or ask this engine: others are not kept waiting
        summary = self._summarizer(_own(read.managed.request, self._summarizer_may_change))
        with self.lock:
            written = self._write(read, read.compacts, plan, summary)
            asked.call.compaction = written.record
            if written.ends is not None:
                passes = (Pass("compaction", plan, written.record.usage.output_tokens),)
                return self._answer(asked, read, written.ends, passes)
            read, behind = self._after(asked, read, plan, written)
            limits = room(read.rendered, read.model, read.body.members, asked.betas)
        return self._say(asked, read, behind, limits, written)

    def _say(
        self, asked: _Asked, read: _Read, plan: Plan, limits: Limits, written: _Written | None
    ) -> Opened:
        """The answer of a model to what it reads, a summary in front of it if one was written."""
        decoded = read.body.decoded()
        reply = self._replier(json.loads(asked.body) if self._replier_may_change else decoded)
        with self.lock:
            answer = self._finish(reply, read.model, limits)
            passes: tuple[Pass, ...] = (Pass("message", plan, answer.output_tokens),)
            if written is not None:
                answer = replace(answer, content=(written.block, *answer.content))
                passes = (Pass("compaction", written.plan, written.record.usage.output_tokens), *passes)
            return self._answer(asked, read, answer, passes)

    def _answer(self, asked: _Asked, read: _Read, answer: Answer, passes: tuple[Pass, ...]) -> Opened:
        call, members, model = asked.call, read.body.members, read.model
        call.applied = read.managed.applied
        self.calls.hold_plan(call, passes[-1].plan, read.rendered.prompt)
        made = None
        if members.get("diagnostics") is not None:
            workspace = call.workspace or WORKSPACE
            made = fingerprint(
                read.managed.sent, model.id, asked.betas, workspace, call.started_s, self.cache.rules
            )
            call.diagnostics = self._diagnose(members["diagnostics"], made)
        call.message_id = self.make_id("msg_")
        usage = usage_of(passes, told=_tells_passes(members))
        message = message_of(call, model, answer, usage, members)
        headers = {} if self._meter is None else self._meter.headers(model)
        beside = applied_edits(read.managed.applied, asked.betas)
        plans = tuple(one.plan for one in passes)
        ledger = Ledger(self._desk, call, model, plans, usage, answer.stop_reason, made)
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
        on_demand = endpoint == "messages" and body.members.get("compaction") is not None
        checks.check_request(body.members, model, generates=endpoint == "messages")
        checks.check_messages(body.messages or (), model)
        if on_demand:
            compaction.check_request(body, model)
        compaction.check_summaries(body, asked.betas)
        check_edits(body.members, model)
        workspace = call.workspace or WORKSPACE
        managed = self._manager.manage(body, model)
        rendered = managed.read
        call.counter, call.outside = rendered.counter, rendered.outside
        layout = checks.check_markers(body, lambda: lay_out(rendered, model, workspace, rules))
        checks.check_order(body, model, answered=not on_demand)
        checks.check_countable(rendered)
        compacts = None
        if on_demand or (endpoint == "messages" and managed.due is not None):
            over = self._manager.pass_over(rendered, model, on_demand=on_demand)
            if on_demand:
                check_window(over, model)
            pauses = on_demand or bool((managed.due or {}).get("pause_after_compaction"))
            compacts = _Compacts(lay_out(over, model, workspace, rules), on_demand, pauses)
        return _Read(body, model, managed, rendered, layout, compacts)

    def _write(self, read: _Read, how: _Compacts, plan: Plan, summary: Summary) -> _Written:
        """What a pass that was to write a summary leaves: its block, or none."""
        tokens, limit = summary.output_tokens, read.body.members["max_tokens"]
        if tokens is None:
            text = {"type": "text", "text": summary.content or ""}
            words = self._renderer.content_tokens(text, read.model) if summary.content else 0
            tokens = words + _around_a_reply(read.model.id)
        content, reason = summary.content, summary.stop_reason
        limited = how.on_demand or self.context_rules.threshold_room == "max_tokens"
        if limited and tokens > limit:
            content, reason, tokens = None, "max_tokens", limit
        entry = Pass("compaction", plan, tokens).entry()
        record = Compacted(replace(summary, content=content, stop_reason=reason), entry, how.on_demand, plan)
        block: Block = {"type": "compaction", "content": content}
        if how.on_demand and content is not None:
            block["signature"] = compaction.sign(content)
        ends = None
        if how.on_demand and content is None:
            ends = Answer((), reason, None, 0, 0)
        elif how.pauses:
            ends = Answer((block,), "compaction", None, 0, 0)
        return _Written(block, plan, record, ends)

    def _after(self, asked: _Asked, read: _Read, plan: Plan, written: _Written) -> tuple[_Read, Plan]:
        """What the model reads behind its summary, without one what it read before; and how it is read.

        The pass has begun to write by then, so that what it left can be read, by this request alone until
        its client has the first byte.
        """
        rendered = read.rendered
        if written.record.summary.content is not None:
            rendered = self._manager.after_a_summary(read.managed.request, written.block, read.model)
        layout = lay_out(rendered, read.model, asked.call.workspace or WORKSPACE, self.cache.rules)
        own = self.cache.fork()
        own.commit(plan)
        return read._replace(rendered=rendered, layout=layout), own.lookup(layout)

    def _finish(self, reply: Reply, model: Model, limits: Limits) -> Answer:
        def count(block: Block) -> int:
            # as the text it is, so that the block is known when it comes back in the next request
            shown = {"type": "text", "text": block["thinking"]} if block["type"] == "thinking" else block
            return self._renderer.content_tokens(shown, model)

        return finish(reply, limits, count, _around_a_reply(model.id), self.make_id)

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


class _Compacts(NamedTuple):
    """The pass that is to write a summary; whether the answer ends with it."""

    layout: Layout
    on_demand: bool
    pauses: bool


class _Read(NamedTuple):
    """A request that the API would take."""

    body: Body
    model: Model
    managed: Managed
    rendered: Rendered
    layout: Layout
    compacts: _Compacts | None


class _Written(NamedTuple):
    """A pass that was to write a summary: its block, how it was read, what the books hold; the answer, if
    that is all."""

    block: Block
    plan: Plan
    record: Compacted
    ends: Answer | None


def _tells_passes(members: Mapping[str, Any]) -> bool:
    """Whether the answer lists its passes (recorded: wherever a compaction edit is, due or not)."""
    edits = (members.get("context_management") or {}).get("edits") or ()
    return members.get("compaction") is not None or any(edit["type"] == COMPACT for edit in edits)


def _own(request: Mapping[str, Any], may_change: bool) -> dict[str, Any]:
    own: dict[str, Any] = json.loads(json.dumps(request)) if may_change else dict(request)
    return own


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


def _in_full(body: Mapping[str, Any]) -> Opened:
    return Opened(200, dict(_JSON), False, iter((_encode(body),)))


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _encode(body: Mapping[str, Any]) -> bytes:
    return _encoder.encode(body).encode()
