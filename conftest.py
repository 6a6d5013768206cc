"""For every pytest run, notebooks included: this machine only, nothing of the person's own set-up, no key.

A notebook's kernel is a process of its own, so what it needs is handed down in the environment. The browser
tests run only when their folder is named.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent
BROWSER_TESTS = ROOT / "tests" / "browser"
_scratch = tempfile.mkdtemp(prefix="ctxlab-test-")


class OutsideAddressError(OSError):
    """A test tried to reach another machine."""


def pytest_configure(config: pytest.Config) -> None:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        del os.environ[name]
    os.environ["CTXLAB_RECORD"] = ":memory:"  # a learner's record ends with the kernel that made it
    os.environ["IPYTHONDIR"] = _scratch
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _on_this_machine(getattr(socket.socket, name)))


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_scratch, ignore_errors=True)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path != BROWSER_TESTS:
        return None
    named = (Path(config.invocation_params.dir, argument.split("::")[0]) for argument in config.args)
    return None if any(path.resolve().is_relative_to(BROWSER_TESTS) for path in named) else True


def _on_this_machine(connect: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            raise OutsideAddressError(f"tests contact this machine only, not {address[0]}")
        return connect(self, address)

    return guarded


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
