"""The interpreter that runs the series: this one if it has all it needs, else ``.venv`` in the clone.

Models: which packages an extra asks for and which of them are missing; making ``.venv``, filling it from
``constraints.txt`` with uv or pip, and knowing when that has to be done again. A stamp in ``.venv`` holds the
extra and a fingerprint of everything that decides what gets installed; it is written last, so an interrupted
set-up is seen as one. Two set-ups of one clone wait for each other.
Does not model: conda, other people's environments (they are used as they are or left alone), the packages
that an extra's packages ask for (their installer sees to those).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ctxlab import installing
from ctxlab.errors import Problem
from ctxlab.installing import Progress, SetupError
from ctxlab.places import clone_root

# each holds the one before it, so that a later command never takes away what an earlier one installed
LADDER = ("notebooks", "dev", "browser")
NEEDED = (3, 11)
STAMP = "ctxlab.json"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One package an extra asks for, with its bounds as release numbers (``minimum <= version < below``).

    >>> Requirement.parse("jupyterlab>=4.6,<5").admits("4.6.6")
    True
    >>> Requirement.parse("jupyterlab>=4.6,<5").admits("5.0.1")
    False
    """

    name: str
    extras: tuple[str, ...]
    minimum: str
    below: str

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """From ``name[extra]>=a,<b``, as in pyproject.toml or in a wheel's metadata."""
        found = re.fullmatch(r"\s*([\w.-]+)\s*(?:\[([\w,\s-]*)\])?\s*\(?([^;)]*)\)?\s*(?:;.*)?", text)
        if found is None:
            raise SetupError(Problem(text, "requirement", "cannot be read as a requirement"))
        name, extras, bounds = found.groups()
        sides = dict(re.findall(r"(>=|<)\s*([\w.]+)", bounds))
        return cls(name, tuple(re.findall(r"[\w-]+", extras or "")), sides.get(">=", "0"), sides.get("<", ""))

    def admits(self, version: str) -> bool:
        """Whether ``version`` lies inside the bounds."""
        return _release(self.minimum) <= _release(version) and (
            not self.below or _release(version) < _release(self.below)
        )

    def __str__(self) -> str:
        return f"{self.name}>={self.minimum}" + (f",<{self.below}" if self.below else "")


def _release(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in re.findall(r"\d+", version.partition("+")[0])]
    while numbers and numbers[-1] == 0:  # 1.0 is 1
        numbers.pop()
    return tuple(numbers)


def requirements(extra: str) -> tuple[Requirement, ...]:
    """What ``extra`` asks for, extras it names included; from pyproject.toml, or the wheel's own metadata."""
    root = clone_root()
    declared = _declared_in_clone(root) if root is not None else _declared_in_wheel()
    found: dict[str, Requirement] = {}
    waiting = [extra]
    while waiting:
        for text in declared[waiting.pop()]:
            requirement = Requirement.parse(text)
            if requirement.name == "ctxlab":
                waiting.extend(requirement.extras)
            else:
                found[requirement.name] = requirement
    return tuple(found[name] for name in sorted(found))


def _declared_in_clone(root: Path) -> dict[str, list[str]]:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return dict(project["optional-dependencies"])


def _declared_in_wheel() -> dict[str, list[str]]:
    declared: dict[str, list[str]] = {}
    for text in importlib.metadata.requires("ctxlab") or ():
        named = re.search(r"extra == ['\"]([\w-]+)['\"]", text)
        if named:
            declared.setdefault(named[1], []).append(text)
    return declared


def pins() -> dict[str, tuple[str, ...]]:
    """Package -> pinned versions (more than one where they differ by Python version)."""
    root = clone_root()
    share = root if root is not None else Path(__file__).resolve().parent / "_share"
    found: dict[str, tuple[str, ...]] = {}
    for line in (share / "constraints.txt").read_text(encoding="utf-8").splitlines():
        pin = re.match(r"([\w.-]+)==([\w.+!]+)", line)
        if pin:
            found[pin[1]] = (*found.get(pin[1], ()), pin[2])
    return found


def installed_version(name: str) -> str | None:
    """The version of ``name`` in the running interpreter, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def lacking(extra: str) -> tuple[Requirement, ...]:
    """The requirements of ``extra`` that the running interpreter does not meet."""
    return tuple(
        requirement
        for requirement in requirements(extra)
        if (version := installed_version(requirement.name)) is None or not requirement.admits(version)
    )


def retry_command(*words: str) -> str:
    """How this person starts the command line, for messages that say what to run.

    >>> retry_command("lab").endswith("-m ctxlab lab")
    True
    """
    return " ".join(["py" if os.name == "nt" else "python3", "-m", "ctxlab", *words])


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at ``.venv`` told: its Python version (None: it does not start) and whether it has pip."""

    python: tuple[int, int] | None
    pip: bool


def prepare(root: Path, extra: str, *, command: str, prefer_pip: bool = False) -> Path:
    """The interpreter to run ``extra`` with, set up if need be; raises :class:`SetupError`.

    ``command`` is what to run again after a failure. The running interpreter is used when it has everything,
    unless it is a ``.venv`` of ours whose stamp says that the pins have changed since.
    """
    if not lacking(extra) and not (_inside(root) and read_stamp(root / ".venv")):
        return Path(sys.executable)
    python = _made_ready(root, extra)
    if python is None:
        with _alone(root):
            python = _made_ready(root, extra)  # by the one that was waited for
            if python is None:
                _install(root, extra, command, prefer_pip)
                python = _python_here(root)
    return python


def _made_ready(root: Path, extra: str) -> Path | None:
    """The Python of ``.venv`` when its stamp says that it holds ``extra`` as it is pinned now."""
    home = root / ".venv"
    stamped, found = read_stamp(home), look(home)
    if found.python is None or found.python < NEEDED or _rung(stamped.get("extra")) < _rung(extra):
        return None
    if stamped.get("fingerprint") != fingerprint(root, found.python) or (_inside(root) and lacking(extra)):
        return None
    return _python_here(root)


def _inside(root: Path) -> bool:
    return Path(sys.prefix).resolve() == (root / ".venv").resolve()


def _python_here(root: Path) -> Path:
    return Path(sys.executable) if _inside(root) else python_of(root / ".venv")


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Wait until no other set-up of this clone runs, then hold the next one back; ends with the process."""
    with (root / "constraints.txt").open("rb") as file:
        progress = Progress.to_stderr()
        if not _held(file):
            progress.step("Another set-up of this clone is running: waiting for it to end")
            while not _held(file):
                time.sleep(0.5)
                progress.note("waiting")
        yield


def _held(file: BinaryIO) -> bool:
    """Take the lock on an open file without waiting; True where a file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 30)  # behind its end: a locked byte cannot be read by others
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True


def better_python(extra: str) -> Path | None:
    """The clone's ``.venv`` Python, when it has ``extra`` (by its stamp) and the running one does not."""
    root = clone_root()
    if root is None or not lacking(extra):
        return None
    home = root / ".venv"
    if _inside(root) or _rung(read_stamp(home).get("extra")) < _rung(extra):
        return None
    return python_of(home) if look(home).python is not None else None


def python_of(home: Path) -> Path:
    """Where a virtual environment keeps its Python."""
    return home / "Scripts" / "python.exe" if os.name == "nt" else home / "bin" / "python"


def look(home: Path) -> Found:
    """Start the Python of ``home`` and ask it two things."""
    asked = "import importlib.util as u, sys; print(*sys.version_info[:2], u.find_spec('pip') is not None)"
    try:
        answer = subprocess.run(
            [python_of(home), "-I", "-c", asked], capture_output=True, text=True, timeout=60, check=True
        ).stdout.split()
        return Found((int(answer[0]), int(answer[1])), answer[2] == "True")
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return Found(None, False)


def fingerprint(root: Path, python: tuple[int, int]) -> str:
    """A digest of all that decides what is installed: extras, pins, the clone's place, the Python."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = [
        json.dumps(
            {key: project.get(key) for key in ("version", "dependencies", "optional-dependencies", "scripts")}
        ),
        (root / "constraints.txt").read_text(encoding="utf-8"),
        str(root.resolve()),
        repr(python),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read_stamp(home: Path) -> dict[str, str]:
    """What the last finished set-up wrote; empty when there was none, or when it cannot be read."""
    try:
        stamp = json.loads((home / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _rung(extra: str | None) -> int:
    return LADDER.index(extra) if extra in LADDER else -1


def _install(root: Path, extra: str, command: str, prefer_pip: bool) -> None:
    home = root / ".venv"
    found = look(home)
    wanted = LADDER[max(_rung(extra), _rung(read_stamp(home).get("extra")))]
    uv = None if prefer_pip else shutil.which("uv")
    progress = Progress.to_stderr()
    usable = found.python is not None and found.python >= NEEDED
    if not usable:
        _clear_the_place(home, found, progress)
        _check_ensurepip(uv, command)
        progress.step(f"Making .venv with {'uv' if uv else 'venv'} (Python {sys.version.split()[0]})")
        make = (
            [uv, "venv", "--quiet", "--python", sys.executable, str(home)]
            if uv
            else [sys.executable, "-m", "venv", str(home)]
        )
        installing.run(make, root, progress, command)
        found = look(home)
        if found.python is None:
            raise SetupError(
                Problem(".venv", "virtual-environment", "was made, but its Python does not start")
            )
    (home / STAMP).unlink(missing_ok=True)
    python = str(python_of(home))
    if not uv and not found.pip:
        progress.step("Adding pip to .venv, which was made without it")
        installing.run([python, "-I", "-m", "ensurepip"], root, progress, command)
    progress.step(f"Installing ctxlab[{wanted}] as constraints.txt pins it, with {'uv' if uv else 'pip'}")
    what = ["-c", "constraints.txt", "-e", f".[{wanted}]"]
    if uv:
        installing.run(
            [uv, "pip", "install", "--compile-bytecode", "--python", python, *what], root, progress, command
        )
    else:
        pip = [python, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
        installing.run([*pip, *what], root, progress, command)
    _write_stamp(home, {"extra": wanted, "fingerprint": fingerprint(root, found.python or NEEDED)})
    progress.step("Ready")


def _write_stamp(home: Path, stamp: dict[str, str]) -> None:
    fresh = home / (STAMP + ".new")
    fresh.write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
    fresh.replace(home / STAMP)


def _clear_the_place(home: Path, found: Found, progress: Progress) -> None:
    """Remove a ``.venv`` that cannot be used; anything that is not a virtual environment is left alone."""
    if not os.path.lexists(home):
        return
    if home.is_symlink() or not home.is_dir() or not _looks_like_a_venv(home):
        raise SetupError(
            Problem(
                ".venv",
                "virtual-environment",
                "exists and is not a virtual environment",
                "move it away, then run the same command",
            )
        )
    version = (
        f"holds Python {found.python[0]}.{found.python[1]}" if found.python else "is broken or half made"
    )
    progress.step(f".venv {version}: making it anew")
    shutil.rmtree(home)


def _looks_like_a_venv(home: Path) -> bool:
    names = {entry.name for entry in home.iterdir()}
    return "pyvenv.cfg" in names or names <= {
        "bin",
        "lib",
        "lib64",
        "include",
        "share",
        "Scripts",
        "Lib",
        "Include",
        ".gitignore",
        "CACHEDIR.TAG",
        ".lock",
        STAMP,
    }


def _check_ensurepip(uv: str | None, command: str) -> None:
    """Debian and its children ship Python without the part that puts pip into a new environment."""
    if uv or importlib.util.find_spec("ensurepip") is not None:
        return
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    raise SetupError(
        Problem(
            "ensurepip",
            "python-complete",
            "is missing from this Python, so a virtual environment cannot be made",
            f"install {package} (Debian, Ubuntu: sudo apt install {package}), then run: {command}",
        )
    )
