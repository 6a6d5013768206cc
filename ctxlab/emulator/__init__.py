"""An offline emulator of the Messages API's books behind the real ``anthropic`` client.

Models: what the API says and charges: cache reads and writes to the token, counts, errors, models,
diagnostics, context edits and compactions; for ``client.messages``, ``client.beta.messages`` and the tool
runner, plain and streamed, sync and async.
Does not model: a language model. What is said, and what a summary says, is an echo, a script or a function of
the request. What the SDK knows and the emulator does not do is answered with *not emulated*.
Source: each module names its own.

    api = Emulator(replies=["Hello."], clock=ManualClock())
    message = api.client().messages.create(model="claude-opus-5-5", max_tokens=99, messages=[…])
    api.calls[-1].usage, api.calls[-1].reasons
"""

from importlib.util import find_spec

from ctxlab.emulator.books import Books, Call, Compacted
from ctxlab.emulator.clients import BASE_URL, Emulator
from ctxlab.emulator.context import ContextRules
from ctxlab.emulator.engine import KEY, Engine
from ctxlab.emulator.errors import ApiError, overloaded
from ctxlab.emulator.limits import RateLimits
from ctxlab.emulator.replies import Reply, call, thinking
from ctxlab.emulator.summaries import Summary, compaction_unavailable
from ctxlab.errors import MissingPackageError, Problem

if find_spec("anthropic") is None:
    raise MissingPackageError(
        Problem("anthropic", "installed", "the emulator needs the SDK", 'pip install "ctxlab[api]"')
    )

__all__ = [
    "BASE_URL",
    "KEY",
    "ApiError",
    "Books",
    "Call",
    "Compacted",
    "ContextRules",
    "Emulator",
    "Engine",
    "MissingPackageError",
    "RateLimits",
    "Reply",
    "Summary",
    "call",
    "compaction_unavailable",
    "overloaded",
    "thinking",
]
