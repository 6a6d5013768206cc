"""Surroundings of every test run, notebooks included: this clone, this machine only, no key, no leftovers.

A notebook's kernel is a process of its own, so what it needs is handed down in the environment; without a
record that ends with its kernel, a notebook run by nbval would find the record of the run before and say so.
Property tests have no deadline (seconds are for benchmarks) and draw the same examples every time, so that a
red run is red for everybody; ``--hypothesis-profile explore`` draws new ones.
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
from hypothesis import settings

settings.register_profile("ctxlab", deadline=None, database=None, derandomize=True)
settings.register_profile("explore", deadline=None, database=None, derandomize=False)
settings.load_profile("ctxlab")

_ROOT = str(Path(__file__).resolve().parent)
_LISTED = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
_SCRATCH = tempfile.mkdtemp(prefix="ctxlab-test-")


class OutsideAddressError(OSError):
    """A test tried to reach another machine."""


def pytest_configure(config: pytest.Config) -> None:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        del os.environ[name]
    os.environ["CTXLAB_RECORD"] = ":memory:"
    os.environ["IPYTHONDIR"] = _SCRATCH  # a person's start-up files may print
    os.environ["PYTHONPATH"] = os.pathsep.join([_ROOT, *(place for place in _LISTED if place != _ROOT)])
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _on_this_machine(getattr(socket.socket, name)))


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_SCRATCH, ignore_errors=True)


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
