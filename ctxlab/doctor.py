"""What a learner runs first: one screen of what is there, what is missing, and the command that mends it.

Models: each thing the series needs (``problem`` when it is missing: the exit code is 1) and each thing that
only some of it needs (``warning``). Reads the environment; never prints the value of a key.
Does not model: mending; ``ctxlab lab`` does that. Works with the standard library alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from ctxlab import environment, lab, suite
from ctxlab.errors import CtxlabError
from ctxlab.places import clone_root, data_path

State = Literal["ok", "warning", "problem"]
_MARKS: dict[State, str] = {"ok": "ok", "warning": "note", "problem": "MISSING"}
# the client library reads these: a lesson's offline client overrides them, a learner's own call would not
CLIENT_VARIABLES = (
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_CUSTOM_HEADERS",
)


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the screen: what was looked at, how it is, and the command that mends it (may be empty)."""

    name: str
    state: State
    told: str
    mend: str = ""


def examine(*, start_kernel: bool = False) -> tuple[Item, ...]:
    """Everything the screen shows, in its order."""
    return tuple(item for look in _looks(start_kernel) for item in look())


def can_run(items: tuple[Item, ...]) -> bool:
    """Whether the series can run: nothing in ``items`` is a problem."""
    return all(item.state != "problem" for item in items)


def screen(items: tuple[Item, ...]) -> str:
    """The items as text, problems with their mending command under them."""
    lines = []
    for item in items:
        told = textwrap.wrap(f"{item.name}: {item.told}", 90, break_long_words=False, break_on_hyphens=False)
        lines.append(f"{_MARKS[item.state]:>8}  " + f"\n{'':10}  ".join(told))
        if item.mend:
            lines.append(f"{'':10}  -> {item.mend}")
    problems = sum(item.state == "problem" for item in items)
    if problems:
        lines.append(f"The series cannot run yet: {problems} thing{'s' if problems > 1 else ''} MISSING.")
    else:
        lines.append("The series can run." + f"  Next: {_again('lab')}")
    return "\n".join(lines)


def as_json(items: tuple[Item, ...]) -> str:
    """The same as one JSON object."""
    return json.dumps({"can_run": can_run(items), "items": [asdict(item) for item in items]}, indent=1)


def _looks(start_kernel: bool) -> Iterator[Callable[[], Iterator[Item]]]:
    yield _python
    yield _packages
    if start_kernel:
        yield _kernel
    yield _data
    yield _notebooks
    yield _record
    yield _browser
    yield _counter
    yield _key


def _again(*words: str) -> str:
    return environment.retry_command(*words) if clone_root() is not None else " ".join(["ctxlab", *words])


def _mend() -> str:
    return _again("lab") if clone_root() is not None else 'pip install "ctxlab[notebooks]"'


def _python() -> Iterator[Item]:
    place = "in a virtual environment" if sys.prefix != sys.base_prefix else "not in a virtual environment"
    told = f"{sys.version.split()[0]}, {place}: {sys.prefix}"
    yield Item("Python", "ok", told)


def _packages() -> Iterator[Item]:
    lacking = environment.lacking("notebooks")
    pins = environment.pins()
    missing, moved, fitting = [], [], []
    for requirement in environment.requirements("notebooks"):
        version = environment.installed_version(requirement.name)
        if requirement in lacking:
            missing.append(f"{requirement}" + (f" (found {version})" if version else ""))
        elif version in pins.get(requirement.name, ()):
            fitting.append(f"{requirement.name} {version}")
        else:
            moved.append(
                f"{requirement.name} {version} (pinned: {', '.join(pins.get(requirement.name, ('-',)))})"
            )
    if missing:
        yield Item("packages", "problem", ", ".join(missing), _mend())
    if fitting:
        yield Item("packages", "ok", ", ".join(fitting))
    if moved:
        yield Item("packages", "warning", "not the tested version: " + ", ".join(moved))


def _kernel() -> Iterator[Item]:
    try:
        started = importlib.import_module("jupyter_client.manager").start_new_kernel
        manager, client = started(kernel_name="python3", startup_timeout=60)
    except Exception as error:
        yield Item("kernel", "problem", f"python3 does not start ({type(error).__name__}: {error})", _mend())
        return
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    yield Item("kernel", "ok", "python3 starts")


def _data() -> Iterator[Item]:
    try:
        data_path("README.md")
        recordings = importlib.import_module("ctxlab.recordings")
        told = f"{len(recordings.exchanges())} exchanges, {len(recordings.sessions())} sessions"
    except (CtxlabError, OSError) as error:
        yield Item("recordings", "problem", str(error), _complete())
    else:
        yield Item("recordings", "ok", told)


def _notebooks() -> Iterator[Item]:
    try:
        shipped = [path.name for path in lab.lessons()]
    except CtxlabError as error:
        yield Item("notebooks", "problem", str(error), _complete())
        return
    folder = lab.learners_folder()
    copied = sum((folder / name).exists() for name in shipped)
    yield Item("notebooks", "ok", f"{len(shipped)} lessons, {copied} of them copied to {folder}")


def _complete() -> str:
    return (
        "git checkout -- data notebooks"
        if clone_root() is not None
        else "pip install --force-reinstall ctxlab"
    )


def _record() -> Iterator[Item]:
    folder = lab.learners_folder()
    nearest = next(place for place in (folder / ".ctxlab", folder, *folder.parents) if place.is_dir())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError:
        yield Item(
            "your record", "problem", f"{nearest} cannot be written to", "run from a folder of your own"
        )
    else:
        yield Item("your record", "ok", f"can be written below {folder}")


def _browser() -> Iterator[Item]:
    found = suite.find_chromium()
    if found:
        yield Item("Chromium", "ok", f"{found} (only the browser tests need it)")
    else:
        yield Item("Chromium", "warning", "none; only the browser tests need it", suite.how_to_get_chromium())


def _counter() -> Iterator[Item]:
    if importlib.util.find_spec("ctok") is not None:
        yield Item("token counter", "ok", f"ctok {environment.installed_version('ctok')}")
    elif sys.version_info < (3, 12):
        yield Item("token counter", "warning", "ctok needs Python 3.12; the characters rule is used instead")
    else:
        yield Item(
            "token counter", "warning", "no ctok; the characters rule is used instead", "pip install ctok"
        )


def _key() -> Iterator[Item]:
    is_set = bool(os.environ.get("ANTHROPIC_API_KEY"))
    yield Item(
        "API key", "ok", "set (only optional cells use it)" if is_set else "not set; nothing needs one"
    )
    changing = [name for name in CLIENT_VARIABLES if os.environ.get(name)]
    if changing:
        told = f"{', '.join(changing)} set: optional live cells would use it, the lessons themselves do not"
        yield Item("API client", "warning", told)
