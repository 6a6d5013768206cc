"""A client wrapped, so that what it sends can be held to one prefix afterwards.

Models: the SDK's clients, plain and asynchronous, by a middleware that reads each request once (not each
retry); any other object with ``messages.create`` (a fake, a double, an older client) by standing in front of
it. Streams, ``beta.messages``, copies (``with_options``) and parsed calls are seen too. A request is read
when it is sent: a list that is changed later does not change what was recorded.
Does not model: answers; token counts and batches (they are no turns of a conversation).
Source: anthropic SDK 2.14.0, _middleware.py (the chain runs inside the retry loop; a plain function is
refused by an asynchronous client with TypeError).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from threading import Lock
from typing import Any, TypeVar, cast

from ctxlab.errors import InvalidRequestError, Problem
from ctxlab.prompt import Prompt
from ctxlab.report.stability import Break, UnstablePrefixError, told, unstable

Client = TypeVar("Client")

_CALLS = frozenset({"create", "stream", "parse"})
_WAYS = frozenset(
    {"messages", "beta", "with_raw_response", "with_streaming_response", "with_options", "copy"}
)


class StablePrefix:
    """What wrapped clients have sent, and whether it kept one prefix.

    >>> watch = StablePrefix()
    >>> watch.record({"messages": [{"role": "user", "content": "Hi"}]})
    >>> len(watch), watch.check()
    (1, None)
    """

    def __init__(self) -> None:
        self.unread: list[Problem] = []
        self._sent: dict[str, list[Prompt]] = {}
        self._ignored: set[str] = set()
        self._lock = Lock()

    def __len__(self) -> int:
        return sum(map(len, self._sent.values()))

    def wrap(self, client: Client, name: str = "") -> Client:
        """A client that sends the same and is watched; use it in place of ``client``.

        Requests under different names are never compared: give a summariser that reads the conversation
        with a prompt of its own a name of its own.
        """
        if callable(getattr(type(client), "with_middleware", None)):
            return cast(Client, self._with_middleware(client, name))
        return cast(Client, _InFront(client, lambda body: self.record(body, name)))

    def record(self, request: Any, name: str = "") -> None:
        """Take down one request body that no wrapped client sends."""
        try:
            prompt = Prompt.from_request(request)
        except InvalidRequestError as error:
            self.unread.extend(error.problems)
            return
        with self._lock:
            self._sent.setdefault(name, []).append(prompt)

    def ignore(self, *codes: str) -> None:
        """Let these codes or rules break the prefix (``"CTX301"``, ``"model-switch"``)."""
        self._ignored.update(codes)

    def check(self, *, ignore: Iterable[str] = ()) -> None:
        """Raise :class:`UnstablePrefixError` with the strips of every break so far."""
        codes = [*self._ignored, *([ignore] if isinstance(ignore, str) else ignore)]
        breaks: list[Break] = []
        for prompts in self._sent.values():
            breaks += unstable(list(prompts), ignore=codes)
        if breaks:
            raise UnstablePrefixError(told(breaks), breaks)

    def _with_middleware(self, client: Any, name: str) -> Any:
        def take(request: Any) -> None:
            options = request.options
            body = {**(request.json or {}), **(getattr(options, "extra_json", None) or {})}
            if not request.retries_taken and _is_a_turn(str(request.url), body):
                self.record(body, name)

        def watched(request: Any, call_next: Callable[[Any], Any]) -> Any:
            take(request)
            return call_next(request)

        async def watched_async(request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
            take(request)
            return await call_next(request)

        try:
            return client.with_middleware(watched)
        except TypeError:  # an asynchronous client
            return client.with_middleware(watched_async)


def _is_a_turn(url: str, body: Mapping[str, Any]) -> bool:
    return "messages" in body and not url.split("?")[0].endswith("count_tokens")


class _InFront:
    """Stands in front of a client, or a part of one: calls that send are taken down, all else passes."""

    def __init__(self, behind: Any, take: Callable[[Any], None]):
        self._behind, self._take = behind, take

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._behind, name)
        if name in _CALLS and callable(value):
            return self._taking(value)
        if name in ("with_options", "copy"):
            return lambda *words, **options: _InFront(value(*words, **options), self._take)
        return _InFront(value, self._take) if name in _WAYS else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_behind", "_take"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._behind, name, value)

    def __enter__(self) -> _InFront:
        return _InFront(self._behind.__enter__(), self._take)

    def __exit__(self, *left: Any) -> Any:
        return self._behind.__exit__(*left)

    async def __aenter__(self) -> _InFront:
        return _InFront(await self._behind.__aenter__(), self._take)

    async def __aexit__(self, *left: Any) -> Any:
        return await self._behind.__aexit__(*left)

    def _taking(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*words: Any, **body: Any) -> Any:
            if "messages" in body:
                extra = body.get("extra_body")
                sent = {key: value for key, value in body.items() if key not in _TRANSPORT}
                self._take({**sent, **extra} if isinstance(extra, Mapping) else sent)
            return call(*words, **body)

        return called


_TRANSPORT = frozenset({"extra_headers", "extra_query", "extra_body", "timeout", "betas", "output_format"})
