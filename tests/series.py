"""The tiny series of the fixtures: a copy of its own to build in, and the surroundings it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
LESSONS = FIXTURES / "lessons"
TINY = "90-tiny"


def copy_series(folder: Path) -> Path:
    """The fixture's source and solutions in a folder where editions may be written."""
    return Path(shutil.copytree(FIXTURES / "series", folder / "series"))


def run(*words: str, folder: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """A Python of its own with the fixture's lessons in sight; output is text."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "CTXLAB_LESSONS": str(LESSONS), **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
