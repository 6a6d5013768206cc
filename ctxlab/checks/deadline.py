"""A time limit for a learner's function, so that a loop that never ends becomes a sentence.

Models: an exception raised inside the running Python code once the limit is over, from a thread that waits.
Where threads cannot be started (a browser's Python) there is no limit; neither is there under a debugger.
Does not model: calls that wait outside Python (``time.sleep``, ``input``): they end first.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LIMIT_S = 10.0
_AGAIN_S = 1.0


class TooLongError(BaseException):
    """The function was still running when its time was up; no ``except Exception`` of its own stops this."""


def call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What ``function(*args, **kwargs)`` gives; raises :class:`TooLongError` after :data:`LIMIT_S` seconds.

    >>> call(max, (3, 4), {})
    4
    """
    if _debugged():
        return function(*args, **kwargs)
    watch = _Watch()
    try:
        watch.begin()  # in here: what it raises may arrive before the function has begun
        return function(*args, **kwargs)
    finally:
        try:
            watch.end()
        except TooLongError:  # it arrived between the function's last line and here
            watch.end()


class _Watch:
    """A thread that waits, then raises :class:`TooLongError` in the thread that made it."""

    def __init__(self) -> None:
        self._runner, self._over, self._lock = threading.get_ident(), threading.Event(), threading.Lock()
        self._sent = False

    def begin(self) -> None:
        """Start the clock; where no thread can be started there is none."""
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        wait_s = LIMIT_S
        while not self._over.wait(wait_s):
            with self._lock:
                if not self._over.is_set():
                    self._sent = True
                    self._raise(TooLongError)
            wait_s = _AGAIN_S  # a bare ``except`` may have swallowed it

    def end(self) -> None:
        """Nothing is raised any more, not even what was sent and has not arrived."""
        with self._lock:
            self._over.set()
            if self._sent:
                self._raise(None)

    def _raise(self, error: type[BaseException] | None) -> None:
        raised = None if error is None else ctypes.py_object(error)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._runner), raised)


def _debugged() -> bool:
    """Whether somebody steps through the code: time that a person takes is not the function's."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    return sys.gettrace() is not None or (
        monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None
    )
