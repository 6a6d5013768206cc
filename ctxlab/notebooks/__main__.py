"""Build the lessons and what goes with them, or compare a fresh build with what is committed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ctxlab import places
from ctxlab.errors import CtxlabError, InvalidArgumentError, Problem
from ctxlab.notebooks import build, guide, handout, readme
from ctxlab.notebooks.build import Built
from ctxlab.notebooks.source import read, sources


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when all is well, 1 when something is stale or broken."""
    parser = argparse.ArgumentParser(prog="python -m ctxlab.notebooks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="execute the sources; write both editions and what follows")
    building.add_argument("lessons", nargs="*", metavar="NN", help="lesson numbers (default: all)")
    guiding = commands.add_parser("guide", help="write only the instructor guide and README's tables")
    for one in (building, guiding):
        one.add_argument("--check", action="store_true", help="write nothing, compare with what is committed")
        one.add_argument("--root", type=Path, help="another folder with source/ and solutions/")
    sheet = commands.add_parser("handout", help="write a two-page sheet to print, handout-NN.html")
    sheet.add_argument("lessons", nargs=1, metavar="NN", help="lesson number")
    sheet.add_argument("--root", type=Path, help="another folder with built lessons")
    asked = parser.parse_args(arguments)
    try:
        root = asked.root or places.notebooks_path()
        if asked.command == "handout":
            print(handout.write(asked.lessons[0], root, Path.cwd()).name)
            return 0
        built = [_guide(root), *_readme(root)]
        if asked.command == "build":
            built = [] if asked.lessons else built
            if not asked.check:
                build.write(built)  # the lessons quote the ledger, which is among these
            built = [*_editions(_chosen(root, asked.lessons)), *built]
        return _compare(built) if asked.check else _write(built)
    except CtxlabError as error:
        print(error, file=sys.stderr)
        return 1


def _chosen(root: Path, numbers: Sequence[str]) -> list[Path]:
    every = sources(root)
    unknown = sorted(set(numbers) - {path.stem[:2] for path in every})
    if unknown:
        known = ", ".join(path.stem[:2] for path in every)
        raise InvalidArgumentError(
            Problem("lessons", "known-lesson", f"there is no {', '.join(unknown)}", f"one of {known}")
        )
    return [path for path in every if not numbers or path.stem[:2] in numbers]


def _editions(paths: Sequence[Path]) -> list[Built]:
    """Both editions of each lesson; kernels run side by side, one per processor, at most four."""
    work = [(path, answered) for path in paths for answered in (False, True)]
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda one: build.build(one[0], answered=one[1]), work))


def _guide(root: Path) -> Built:
    return Built(root / guide.NAME, guide.render(read(path) for path in sources(root)))


def _readme(root: Path) -> list[Built]:
    """README and its picture; only for the clone's own series."""
    clone = places.clone_root()
    if clone is None or root.resolve() != (clone / "notebooks").resolve():
        return []
    return readme.built(clone, [read(path) for path in sources(root)])


def _write(built: Sequence[Built]) -> int:
    build.write(built)
    for one in built:
        print(f"{one.path.parent.name}/{one.path.name}: written")
    return 0


def _compare(built: Sequence[Built]) -> int:
    stale = 0
    for one in built:
        problem = build.stale(one)
        stale += problem is not None
        print(problem or f"{one.path.parent.name}/{one.path.name}: as committed")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
