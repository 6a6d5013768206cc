"""The tools' own view of the code: lint, format and types, as configured in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("words", ["ruff check", "ruff format --check --diff", "mypy"])
def test_the_code_passes(words):
    told = subprocess.run(
        [sys.executable, "-m", *words.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
