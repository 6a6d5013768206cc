"""One step of setting up at a time: an installer run, its progress told in few words, its failure explained.

Models: uv's and pip's lines as one line that keeps changing; a missing network told from other failures.
Does not model: what is installed, and where (see :mod:`ctxlab.environment`).
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ctxlab.errors import CtxlabError, Problem


class SetupError(CtxlabError, RuntimeError):
    """The environment could not be made ready; the fix says what to run next."""


class Progress:
    """One line per step with the seconds since the start; between steps, one line that keeps changing.

    On a terminal the changing line is overwritten; elsewhere it is printed at most every ``quiet_s``.
    """

    def __init__(self, write: Callable[[str], object], terminal: bool, quiet_s: float = 10.0):
        self._write, self._terminal, self._quiet_s = write, terminal, quiet_s
        self._began_s = self._noted_s = time.monotonic()
        self._width = 0

    @classmethod
    def to_stderr(cls) -> Progress:
        """Where people look while a set-up runs."""

        def write(text: str) -> None:
            sys.stderr.write(text)
            sys.stderr.flush()

        return cls(write, sys.stderr.isatty())

    def step(self, text: str) -> None:
        """A line that stays: what begins now, and after how many seconds."""
        self._erase()
        self._write(f"{self._elapsed()}  {text}\n")
        self._noted_s = time.monotonic()

    def note(self, text: str) -> None:
        """What an installer says meanwhile; overwritten on a terminal, told now and then elsewhere."""
        line = f"{self._elapsed()}  ... {text}"
        if self._terminal:
            line = line[: shutil.get_terminal_size().columns - 1]
            self._write("\r" + line.ljust(self._width))
            self._width = len(line)
        elif time.monotonic() - self._noted_s >= self._quiet_s:
            self._noted_s = time.monotonic()
            self._write(line + "\n")

    def _elapsed(self) -> str:
        return f"{time.monotonic() - self._began_s:5.0f} s"

    def _erase(self) -> None:
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0


def run(argv: Sequence[str], root: Path, progress: Progress, command: str) -> None:
    """Run one installer step, telling its progress; raises :class:`SetupError` with its last words."""
    # an installer told to install elsewhere, or pointed at other packages, would not fill this environment
    misleading = {"PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "UV_SYSTEM_PYTHON"}
    environment = {name: value for name, value in os.environ.items() if name not in misleading}
    environment["PYTHONUNBUFFERED"] = "1"
    with subprocess.Popen(
        argv,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        last_words: list[str] = []
        telling = "starting"
        collected = 0
        for line in lines_with_pauses(process.stdout):
            if line is not None:
                last_words = [*last_words[-40:], line]
                collected += line.startswith("Collecting ")
                telling = tell(line, collected) or telling
            progress.note(telling)
        code = process.wait()
    if code:
        raise failure(argv, code, last_words, command)


def lines_with_pauses(stream: Iterable[str], pause_s: float = 1.0) -> Iterator[str | None]:
    """The stream's lines, and None whenever it has been silent for ``pause_s`` (pip is, while it unpacks)."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        with contextlib.suppress(ValueError):  # stopped by the person, and so closed by the main thread
            for line in stream:
                lines.put(line.rstrip())
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=pause_s)
        except queue.Empty:
            yield None
            continue
        if line is None:
            return
        yield line


def tell(line: str, collected: int) -> str:
    """An installer's line in a few words, or nothing when it adds nothing.

    >>> tell("Collecting jupyterlab<5,>=4.6 (from ctxlab==0.1.0)", 7)
    'finding jupyterlab (7)'
    >>> tell("Installing collected packages: a, b, c", 9)
    'unpacking 3 packages (the longest silence)'
    """
    if found := re.match(r"Collecting ([\w.-]+)", line):
        return f"finding {found[1]} ({collected})"
    if found := re.match(
        r"\s*(?:Downloading|Using cached) (\S+?)(?:-[^-\s]+-[^-\s]+-[^-\s]+\.whl)? \((.*)\)", line
    ):
        return f"fetching {found[1].rpartition('/')[2]} ({found[2]})"
    if line.startswith("Installing collected packages: "):
        return f"unpacking {line.count(',') + 1} packages (the longest silence)"
    if re.match(
        r"(Resolved|Prepared|Installed|Downloading|Downloaded|Building|Bytecode compiled|WARNING: Retrying)",
        line.strip(),
    ):
        return line.strip()
    return ""


_OFFLINE = re.compile(
    r"name resolution|getaddrinfo|nodename nor servname|dns error|NewConnectionError|Failed to establish"
    r"|Network is unreachable|error sending request|Connection refused|ConnectTimeout|Max retries"
)


def failure(argv: Sequence[str], code: int, last_words: list[str], command: str) -> SetupError:
    """Why an installer gave up, and what to run next; without a network that is said first."""
    said = "\n".join(last_words[-15:])
    if _OFFLINE.search("\n".join(last_words)):
        problem = Problem(
            "set-up",
            "network",
            "the packages could not be fetched: no network, or the package index cannot be reached",
            f"connect (or set the proxy your network needs), then run: {command}",
        )
    else:
        problem = Problem(
            "set-up",
            "install",
            f"{Path(argv[0]).name} stopped with exit code {code}; its last words:\n{said}\n",
            f"mend that{_or_pip(argv, command)}, then run: {command}",
        )
    return SetupError(problem)


def _or_pip(argv: Sequence[str], command: str) -> str:
    return f" (or leave uv out: {command} --pip)" if Path(argv[0]).stem == "uv" else ""
