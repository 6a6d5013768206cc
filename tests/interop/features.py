"""What every client here is asked to do, and how its answers are judged; see the scripts beside this file.

A script gives one function per feature; a feature returns a line of figures, or raises. The standard library
is all that is needed here, so that the scripts run in an environment that has their client and no ctxlab.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from itertools import count
from urllib.parse import urlsplit

BASE_URL = os.environ.get("ANTHROPIC_BASE_URL", "http://127.0.0.1:8089")
KEY = "emulated-key"  # a real one stays where it is
MODEL = "claude-haiku-5-5"  # caches from 512 tokens on, and lets a request force a tool
FLOOR_TOKENS = 512
MARK = {"type": "ephemeral"}
FIVE = ["a", "b", "c", "d", "e"]  # one block more than may be marked

_numbers = count()


def rules() -> str:
    """A prompt above the floor. The emulator remembers for five minutes: no two of any run are alike."""
    name = f"Handbook {time.time_ns()}-{next(_numbers)}.\n"
    return name + "Answer from the handbook, and name the page. " * 120


def wrote_then_read(wrote: tuple[int, int], read: tuple[int, int]) -> str:
    """Judge (tokens written, tokens read) of two requests that share a marked prefix."""
    assert wrote[0] > FLOOR_TOKENS, wrote
    assert wrote[1] == 0, wrote
    assert read == (0, wrote[0]), read
    return f"wrote {wrote[0]}, then read {read[1]}"


def refused(ask: Callable[[], object], kind: type[Exception], says: str, status: int) -> str:
    """Judge a refusal by the exception's class, its words and its ``status_code``."""
    error = raised(ask, kind)
    found = getattr(error, "status_code", None)
    assert says in str(error), error
    assert found == status, found
    return f"{type(error).__name__}, status_code {found}"


def raised(ask: Callable[[], object], kind: type[Exception]) -> Exception:
    try:
        ask()
    except kind as error:
        return error
    raise AssertionError("was accepted")


def run(packages: list[str], features: Mapping[str, Callable[[], str]]) -> None:
    """Try each feature against the emulator and leave with 1 if one failed."""
    if urlsplit(BASE_URL).hostname != "127.0.0.1":
        raise SystemExit(f"{BASE_URL} is not an emulator on this machine")
    print(", ".join(f"{name} {version(name)}" for name in packages) + f", Python {platform.python_version()}")
    failed = False
    for name, feature in features.items():
        try:
            print(f"works  {name}: {feature()}")
        except Exception as error:
            failed = True
            print(f"FAILS  {name}: {type(error).__name__}: {error}")
    sys.exit(failed)
