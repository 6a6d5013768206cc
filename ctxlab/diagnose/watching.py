"""A client of the SDK whose calls are diagnosed as they are made.

Models: the SDK's own middleware, for synchronous and asynchronous clients; calls one by one, also retried
ones, plain and streamed; figures, dollars, a verdict and the first difference of each, as a line, a callback
or JSONL. Of requests digests are kept, and the text of the last one only.
Does not model: ``count_tokens``, batches and every other path; errors have no verdict.
Source: anthropic SDK 2.14.0, _middleware.py and _client.py (``with_middleware``); the chain runs once per
attempt and gets refusals as responses. httpx2 2.16 for streams: their end shows on iteration and on close.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import RLock
from typing import Any, TextIO, TypeVar

from ctxlab.cache import CacheRules
from ctxlab.clock import Clock, SystemClock
from ctxlab.cost import bill
from ctxlab.diagnose.judging import judge
from ctxlab.diagnose.listening import Answer, listen
from ctxlab.diagnose.reasons import read_edits, read_reason
from ctxlab.diagnose.record import Record
from ctxlab.diagnose.sketch import Sketch
from ctxlab.diagnose.tracking import Tracker
from ctxlab.diagnose.verdicts import Diagnosis
from ctxlab.diagnose.watched import Watched
from ctxlab.errors import CtxlabError, InvalidArgumentError, Problem
from ctxlab.usage import Usage

_Client = TypeVar("_Client")
_PATH = "/v1/messages"


def watch(
    client: _Client,
    *,
    on_call: Callable[[Watched], object] | None = None,
    live: bool | TextIO = False,
    jsonl: str | Path | TextIO | None = None,
    clock: Clock | None = None,
    remember: int = 64,
    rules: CacheRules | None = None,
) -> _Client:
    """A client like this one, whose calls are diagnosed; the one passed goes on unwatched.

    Each call of ``messages`` (plain, streamed, beta, raw, by the tool runner) gives one :class:`Watched`,
    once its answer is read or its stream closed: to ``on_call``, as a line to ``live`` (True: standard
    error), as a line of JSON to ``jsonl`` (a path that is appended to, or a stream). Whatever fails there is
    told once on standard error and never reaches the caller.

    Calls of several conversations may be mixed: each is compared with one that it holds whole and
    continues, else with the one whose messages it shares most, else with the longest common prefix, of the
    last ``remember`` conversations. A client of one key is taken to be in one workspace. ``clock``
    gives the times, ``rules`` are the cache's switches.

    Raises :class:`InvalidArgumentError` for what is no client of the SDK.

    >>> from ctxlab.clock import ManualClock
    >>> from ctxlab.emulator import Emulator
    >>> api = Emulator(counter=lambda text, vocabulary: 1000, clock=ManualClock())
    >>> client = watch(api.client(), on_call=lambda call: print(call.diagnosis.verdict))
    >>> ask = {"model": "claude-opus-5-5", "max_tokens": 9, "cache_control": {"type": "ephemeral"}}
    >>> answer = client.messages.create(**ask, messages=[{"role": "user", "content": "Hello"}])
    cold start
    """
    if not hasattr(client, "with_middleware"):
        raise InvalidArgumentError(
            Problem(
                "client", "sdk-client", f"is of type {type(client).__name__}", "pass anthropic.Anthropic()"
            )
        )
    if isinstance(remember, bool) or not isinstance(remember, int) or remember < 1:
        raise InvalidArgumentError(Problem("remember", "count", f"is {remember!r}", "give 1 or more"))
    observer = Observer(on_call, sys.stderr if live is True else live or None, jsonl, clock, remember, rules)
    is_async = inspect.iscoroutinefunction(getattr(type(client), "post", None))
    middleware = _AsyncMiddleware(observer) if is_async else _Middleware(observer)
    watched: _Client = client.with_middleware(middleware)
    return watched


class _Middleware:
    def __init__(self, observer: Observer):
        self._observer = observer

    def __call__(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        call = self._observer.open(request)
        if call is None:
            return call_next(request)
        try:
            response = call_next(request)
        except BaseException as error:
            call.broke(error)
            raise
        call.responded(response)
        return response


class _AsyncMiddleware:
    def __init__(self, observer: Observer):
        self._observer = observer

    async def __call__(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        call = self._observer.open(request)
        if call is None:
            return await call_next(request)
        try:
            response = await call_next(request)
        except BaseException as error:
            call.broke(error)
            raise
        call.responded(response)
        return response


class Observer:
    """What one watched client knows, and where it tells it. Threads may share it."""

    def __init__(
        self,
        on_call: Callable[[Watched], object] | None,
        live: TextIO | None,
        jsonl: str | Path | TextIO | None,
        clock: Clock | None,
        remember: int,
        rules: CacheRules | None,
    ):
        self.clock = clock or SystemClock()
        self.lock = RLock()
        self.rules = rules or CacheRules()
        self.tracker = Tracker(self.rules, keep_text=False, remember=remember)
        self._sinks: list[tuple[str, Callable[[Watched], object]]] = []
        if live is not None:
            self._sinks.append(("live", lambda call: print(call.line, file=live, flush=True)))
        if jsonl is not None:
            self._sinks.append(("jsonl", lambda call: _append(jsonl, call)))
        if on_call is not None:
            self._sinks.append(("on_call", on_call))
        self._told: set[str] = set()
        self._numbers = 0

    def open(self, request: Any) -> Call | None:
        """A request on its way; None for one that is not watched."""
        try:
            path = str(request.url).partition("?")[0]
            if request.method.upper() != "POST" or not path.endswith(_PATH):
                return None
            body = request.json
            more = getattr(request.options, "extra_json", None)
            if isinstance(body, Mapping) and isinstance(more, Mapping):
                body = {**body, **more}
            with self.lock:
                self._numbers += 1
                number = self._numbers
            return Call(self, number, body)
        except Exception as error:
            self.slip("watch", error)
            return None

    def tell(self, call: Watched) -> None:
        """Hand a call to everybody who asked for it."""
        for name, sink in self._sinks:
            try:
                with self.lock:
                    answer = sink(call)
                if inspect.iscoroutine(answer):
                    answer.close()
                    raise TypeError("is a coroutine function, and nobody awaits it")
            except Exception as error:
                self.slip(name, error)

    def slip(self, name: str, error: Exception) -> None:
        """Say once that something of ours failed; the caller's request goes on."""
        if name not in self._told:
            self._told.add(name)
            told = f"ctxlab.diagnose.watch: {name} failed ({type(error).__name__}: {error}); told once"
            print(told, file=sys.stderr, flush=True)


def _append(jsonl: str | Path | TextIO, call: Watched) -> None:
    line = json.dumps(call.to_dict(), ensure_ascii=False) + "\n"
    if isinstance(jsonl, (str, Path)):
        with Path(jsonl).open("a", encoding="utf-8") as file:
            file.write(line)
    else:
        jsonl.write(line)


class Call:
    """One attempt of one request, from its start until it is told."""

    def __init__(self, observer: Observer, number: int, body: Any):
        self._observer = observer
        self._answer: Answer | None = None
        self._diagnosis: Diagnosis | None = None
        self._difference: str | None = None
        self._is_told = False
        self._responded_s: float | None = None
        now_s = observer.clock.now_s()
        self._record = record = Record(number, number, started_s=now_s)
        named = body.get("model") if isinstance(body, Mapping) else None
        record.model_id = named if isinstance(named, str) else None
        self._model = record.model_id
        try:
            record.sketch = Sketch.from_request(body, rules=observer.rules)
        except CtxlabError as error:
            record.unreadable = error.problems
        with observer.lock:
            observer.tracker.start(record, now_s)
            if record.compared is not None and record.compared.cause is not None:
                self._difference = record.compared.cause.says

    def broke(self, error: BaseException) -> None:
        """No response came."""
        self._guarded(lambda: self._fail(None, f"{type(error).__name__}: {error}"))

    def responded(self, response: Any) -> None:
        """Status and headers are there; the body may still be on its way."""
        self._guarded(lambda: self._responds(response))

    def _responds(self, response: Any) -> None:
        http = response.http_response
        self._responded_s = self._observer.clock.now_s()
        self._answer = answer = Answer(http.status_code, dict(http.headers))
        if http.is_closed:
            answer.whole(http.content)
            self.ended()
        else:
            listen(http, self)

    # --- what the listener tells

    def came(self, chunk: bytes) -> None:
        """A piece of the body came."""
        self._guarded(lambda: self._came(chunk))

    def _came(self, chunk: bytes) -> None:
        if self._answer is not None:
            self._answer.add(chunk)
            self._begins()

    def ended(self) -> None:
        """The body was read to its end, or left. The first call counts."""
        self._guarded(self._ends)

    def _ends(self) -> None:
        answer = self._answer
        if answer is None or self._is_told:
            return
        answer.end()
        self._begins()
        self._judge(answer)
        if answer.error is not None or self._diagnosis is None:
            self._fail(answer.status, answer.error or "closed before an answer came")
            return
        self._tell(answer.status, None, answer.usage)

    def _begins(self) -> None:
        """The first figures are there: from now on others can read what this call stored."""
        answer, observer, record = self._answer, self._observer, self._record
        if answer is None or answer.first_usage is None or record.usage is not None:
            return
        with observer.lock:
            record.responded_s = self._responded_s
            record.response_id = answer.message_id
            record.reason = read_reason(answer.diagnostics)
            observer.tracker.answered(record, answer.first_usage, observer.clock.now_s())

    def _judge(self, answer: Answer) -> None:
        observer, record = self._observer, self._record
        if record.usage is None:
            return
        with observer.lock:
            record.applied = read_edits(answer.applied_edits)
            record.usage = answer.usage or record.usage
            self._diagnosis = judge(observer.tracker, record)
            observer.tracker.close(record)
            observer.tracker.remember_figures(record)

    def _fail(self, status: int | None, error: str) -> None:
        with self._observer.lock:
            if self._record.usage is None and not self._is_told:
                self._observer.tracker.failed(self._record)
        self._tell(status, error, None)

    def _tell(self, status: int | None, error: str | None, usage: Usage | None) -> None:
        with self._observer.lock:
            if self._is_told:
                return
            self._is_told = True
        answer = self._answer
        self._observer.tell(
            Watched(
                number=self._record.index,
                started_s=self._record.started_s or 0.0,
                responded_s=self._responded_s,
                model=self._model,
                response_id=None if answer is None else answer.message_id,
                status=status,
                error=error,
                usage=usage,
                bill_usd=_usd(usage, self._model),
                diagnosis=None if error else self._diagnosis,
                first_difference=None if error else self._difference,
            )
        )

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._observer.slip("watch", error)


def _usd(usage: Usage | None, model: str | None) -> Any:
    if usage is None or model is None:
        return None
    try:
        return bill(usage, model).total_usd
    except CtxlabError:
        return None
