"""An emulated API, and clients of it.

Models: the real clients of the SDK on in-process transports, one workspace each; the ASGI application.
Does not model: anything itself; :mod:`ctxlab.emulator.engine` does.
Source: anthropic SDK 2.14.0, _client.py (an explicit key and base URL win over the environment).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ctxlab.cache import CacheRules
from ctxlab.clock import Clock, SystemClock
from ctxlab.emulator.books import Books
from ctxlab.emulator.context import ContextRules
from ctxlab.emulator.diagnostics import BYTES_A_TOKEN, ORDER, RETENTION_S, Compared
from ctxlab.emulator.engine import KEY, WORKSPACE, Engine
from ctxlab.emulator.limits import RateLimits
from ctxlab.emulator.rendering import Counter

if TYPE_CHECKING:
    import anthropic

    from ctxlab.emulator.asgi import App

#: Where the clients of an emulator believe the API to be; nothing resolves this name.
BASE_URL = "http://emulator.invalid"


class Emulator:
    """An emulated API, and clients of it.

    ``replies``: ``"echo"``, an iterable of replies used up one a request, or a function of the request (a
    dict of its own); a reply is a text, a block (see :func:`call`, :func:`thinking`), a list of blocks, a
    :class:`Reply` or an :class:`ApiError` such as :func:`overloaded`. ``counter`` counts texts, as in
    ``tokens.count``. ``rules`` are the cache's switches, ``context_rules`` those of context management,
    ``limits`` turns rate limiting on. ``summaries`` is what compactions write: ``"outline"``, an iterable
    used up one a compaction, or a function of the request as it is read; a summary is a text, None (there was
    none) or a :class:`Summary`.
    ``retired_models`` serves models that the API does not serve any more. Of diagnostics,
    ``diagnostics_retention_s`` is how long a request can be compared with, ``diagnostics_order`` what is told
    when several things differ, ``diagnostics_bytes_a_token`` the measure of the estimate, and
    ``diagnostics_pending`` leaves every comparison running; it may be set later.

    >>> from ctxlab.clock import ManualClock
    >>> api = Emulator(replies=["Hello."], clock=ManualClock(), counter=lambda text, vocabulary: 1000)
    >>> rules = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    >>> ask = {"model": "claude-opus-5-5", "max_tokens": 2000, "system": rules}
    >>> api.client().messages.create(**ask, messages=[{"role": "user", "content": "Hi"}]).content[0].text
    'Hello.'
    >>> api.calls[0].usage.cache_creation_input_tokens, api.calls[0].reasons[0][:36]
    (1002, 'system[0] (5m): no entry in the 20 p')
    """

    def __init__(
        self,
        *,
        replies: Any = "echo",
        summaries: Any = "outline",
        clock: Clock | None = None,
        counter: Counter = None,
        rules: CacheRules | None = None,
        context_rules: ContextRules | None = None,
        limits: RateLimits | None = None,
        retired_models: bool = False,
        diagnostics_retention_s: float = RETENTION_S,
        diagnostics_order: Sequence[Compared] = ORDER,
        diagnostics_bytes_a_token: float = BYTES_A_TOKEN,
        diagnostics_pending: bool = False,
        seed: int = 0,
    ):
        self.engine = Engine(
            replies=replies,
            summaries=summaries,
            clock=clock or SystemClock(),
            counter=counter,
            rules=rules,
            context_rules=context_rules or ContextRules(),
            rate_limits=limits,
            retired_models=retired_models,
            diagnostics_retention_s=diagnostics_retention_s,
            diagnostics_order=diagnostics_order,
            diagnostics_bytes_a_token=diagnostics_bytes_a_token,
            diagnostics_pending=diagnostics_pending,
            seed=seed,
        )

    @property
    def calls(self) -> Books:
        """Every request and what became of it, in the order of arrival."""
        return self.engine.calls

    @property
    def clock(self) -> Clock:
        return self.engine.clock

    @property
    def diagnostics_pending(self) -> bool:
        return self.engine.diagnostics_pending

    @diagnostics_pending.setter
    def diagnostics_pending(self, pending: bool) -> None:
        self.engine.diagnostics_pending = pending

    def key(self, workspace: str = WORKSPACE) -> str:
        """The API key of a workspace; the first call makes the workspace."""
        with self.engine.lock:
            key = KEY if workspace == WORKSPACE else f"{KEY}-{workspace}"
            self.engine.keys[key] = workspace
            return key

    def client(self, workspace: str = WORKSPACE, **options: Any) -> anthropic.Anthropic:
        """The SDK's client, answered in process, whatever ANTHROPIC_* says in the environment.

        ``options`` are the client's own (``timeout``, ``max_retries``, …); without one it retries nothing.
        """
        import httpx2

        from ctxlab.emulator.sdk import Anthropic
        from ctxlab.emulator.transport import Transport

        key = self.key(workspace)
        http = httpx2.Client(transport=Transport(self.engine), trust_env=False)
        return Anthropic(**_options(key, options), http_client=http)

    def async_client(self, workspace: str = WORKSPACE, **options: Any) -> anthropic.AsyncAnthropic:
        """:meth:`client` for ``async`` code: requests that are sent together arrive in that order."""
        import httpx2

        from ctxlab.emulator.sdk import AsyncAnthropic
        from ctxlab.emulator.transport import AsyncTransport

        key = self.key(workspace)
        http = httpx2.AsyncClient(transport=AsyncTransport(self.engine), trust_env=False)
        return AsyncAnthropic(**_options(key, options), http_client=http)

    def app(self) -> App:
        """The emulator as an ASGI application."""
        from ctxlab.emulator.asgi import App

        return App(self.engine)


def _options(key: str, options: dict[str, Any]) -> dict[str, Any]:
    return {"api_key": key, "base_url": BASE_URL, "max_retries": 0, **options}
