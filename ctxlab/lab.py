"""The learner's copies of the lessons, and JupyterLab opened on them.

Models: ``my-notebooks/`` (in the clone, else in the current folder): a copy of each lesson, made if absent,
never overwritten; ``reset`` moves a copy and its answers into ``my-notebooks/set-aside/`` and makes a new
one.
Does not model: what is in a notebook, and the learner's record beyond which lesson an answer belongs to.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ctxlab.errors import CtxlabError, InvalidArgumentError, Problem
from ctxlab.places import clone_root, notebooks_path

FOLDER = "my-notebooks"
SET_ASIDE = "set-aside"
RECORD = Path(".ctxlab") / "record.json"


@dataclass(frozen=True, slots=True)
class Copies:
    """What ``copy_lessons`` did; ``set_aside`` pairs each new copy with where the old one went."""

    folder: Path
    made: tuple[str, ...]
    kept: tuple[str, ...]
    set_aside: tuple[tuple[str, Path], ...]

    @property
    def first(self) -> str:
        """The lesson to open: the one just made anew, else the first of the series."""
        renewed = [name for name, _ in self.set_aside]
        return (renewed or sorted(self.made + self.kept))[0]


def learners_folder() -> Path:
    """Where this person's copies lie."""
    return (clone_root() or Path.cwd()) / FOLDER


def lessons() -> tuple[Path, ...]:
    """The learner edition of every lesson, in the order of the series."""
    found = sorted(path for path in notebooks_path().glob("*.ipynb") if re.match(r"\d\d-", path.name))
    if not found:
        raise CtxlabError(
            Problem(
                "notebooks", "shipped-file", "holds no lesson", "reinstall ctxlab, or get a complete clone"
            )
        )
    return tuple(found)


def lesson(number: str) -> Path:
    """The lesson of that number (``2``, ``02`` or the whole name); raises :class:`InvalidArgumentError`."""
    every = lessons()
    for path in every:
        if number in (path.name, path.stem) or (
            number.isdecimal() and path.name.startswith(f"{int(number):02d}-")
        ):
            return path
    numbers = ", ".join(path.name[:2] for path in every)
    raise InvalidArgumentError(
        Problem("lesson", "known-lesson", f"there is no {number!r}", f"one of: {numbers}")
    )


def copy_lessons(folder: Path, reset: Iterable[str] = ()) -> Copies:
    """Put a copy of every lesson that ``folder`` lacks into it; ``reset`` names lessons to begin anew."""
    chosen = [lesson(number) for number in reset]
    folder.mkdir(parents=True, exist_ok=True)
    moved: list[tuple[str, Path]] = []
    for path in chosen:
        if (folder / path.name).exists():
            moved.append((path.name, _set_aside(folder, path.name)))
    made: list[str] = []
    kept: list[str] = []
    for path in lessons():
        target = folder / path.name
        if target.exists():
            kept.append(path.name)
            continue
        # a copy cut off half-way would never be replaced: give it its name only when it is whole
        fresh = folder / (path.name + ".new")
        shutil.copyfile(path, fresh)
        fresh.replace(target)
        made.append(path.name)
    return Copies(folder, tuple(made), tuple(kept), tuple(moved))


def _set_aside(folder: Path, name: str) -> Path:
    """Move the copy, and the answers given in it, to numbered names of their own."""
    aside = folder / SET_ASIDE
    aside.mkdir(exist_ok=True)
    stem = name.removesuffix(".ipynb")
    turn = 1
    while (aside / f"{stem}.{turn}.ipynb").exists() or (aside / f"{stem}.{turn}.answers.json").exists():
        turn += 1
    moved = aside / f"{stem}.{turn}.ipynb"
    _set_answers_aside(folder / RECORD, name[:2], aside / f"{stem}.{turn}.answers.json")
    (folder / name).rename(moved)
    return moved


def _set_answers_aside(record: Path, number: str, target: Path) -> None:
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _no_record(record, f"cannot be read ({error})") from error
    found = [kept.get(name) for name in ("predictions", "exercises")] if isinstance(kept, dict) else []
    tables = [table for table in found if isinstance(table, dict)]
    if len(tables) != 2:
        raise _no_record(record, "is not a record of answers")
    shutil.copyfile(record, target)
    for table in tables:
        for name in [name for name in table if name.startswith(number + "-")]:
            del table[name]
    fresh = record.with_name(record.name + ".new")
    fresh.write_text(json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(record)


def _no_record(record: Path, message: str) -> CtxlabError:
    return CtxlabError(Problem(str(record), "record", message, "move it away, then run the same command"))


def trust(copies: Copies) -> None:
    """Sign the copies just made, as ``jupyter trust`` does: an unsigned one hides its stored pictures."""
    nbformat = importlib.import_module("nbformat")
    try:
        notary = importlib.import_module("nbformat.sign").NotebookNotary()
        for name in copies.made:
            notary.sign(nbformat.read(copies.folder / name, as_version=nbformat.NO_CONVERT))
    except OSError as error:
        place, told = error.filename or "home folder", error.strerror or error
        fix = "set HOME (or JUPYTER_DATA_DIR) to a folder of yours, then run the same command"
        raise CtxlabError(
            Problem(str(place), "jupyter-folder", f"Jupyter cannot keep its files here ({told})", fix)
        ) from error


def jupyter_command(
    copies: Copies, *, notebook7: bool = False, browser: bool = True, port: int | None = None
) -> list[str]:
    """The command that opens the copies; nothing it starts asks an outside host for news or extensions."""
    page = f"/notebooks/{copies.first}" if notebook7 else f"/lab/tree/{copies.first}"
    application = "JupyterNotebookApp" if notebook7 else "LabApp"
    command = [
        sys.executable,
        "-m",
        "notebook" if notebook7 else "jupyterlab",
        f"--ServerApp.root_dir={copies.folder}",
        f"--{application}.default_url={page}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
    ]
    if port is not None:
        command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # containers; the server listens on this machine only
    return command


def jupyter_environment() -> dict[str, str]:
    """The environment for Jupyter: our page settings before the person's own, and ctxlab importable."""
    environment = dict(os.environ)
    _put_first(environment, "JUPYTER_CONFIG_PATH", Path(__file__).resolve().parent / "jupyter_config")
    root = clone_root()
    if root is not None:
        _put_first(environment, "PYTHONPATH", root)
    return environment


def _put_first(environment: dict[str, str], name: str, path: Path) -> None:
    environment[name] = os.pathsep.join([str(path), *filter(None, [environment.get(name)])])
