"""Build both editions of the lessons, or compare a fresh build with what is committed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ctxlab import places
from ctxlab.errors import CtxlabError
from ctxlab.notebooks import build
from ctxlab.notebooks.source import sources


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when all is well, 1 when something is stale or broken."""
    parser = argparse.ArgumentParser(prog="python -m ctxlab.notebooks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="execute the sources and write both editions")
    building.add_argument("lessons", nargs="*", metavar="NN", help="lesson numbers (default: all)")
    building.add_argument(
        "--check", action="store_true", help="write nothing, compare with what is committed"
    )
    building.add_argument("--root", type=Path, help="another folder with source/ and solutions/")
    asked = parser.parse_args(arguments)
    try:
        root = asked.root or places.notebooks_path()
        return _build(_chosen(root, asked.lessons), check=asked.check)
    except CtxlabError as error:
        print(error, file=sys.stderr)
        return 1


def _chosen(root: Path, numbers: Sequence[str]) -> list[Path]:
    return [path for path in sources(root) if not numbers or path.stem[:2] in numbers]


def _build(paths: Sequence[Path], *, check: bool) -> int:
    stale = 0
    for path in paths:
        for answered in (False, True):
            built = build.build(path, answered=answered)
            edition = "answered" if answered else "learner"
            if check:
                problem = build.stale(built)
                stale += problem is not None
                print(problem or f"{path.stem} ({edition}): as committed")
            else:
                build.write([built])
                print(f"{path.stem} ({edition}): written")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
