"""``import ctxlab`` stays light: counted in modules here, in milliseconds by the benchmarks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = {
    "anthropic",
    "pydantic",
    "httpx2",
    "numpy",
    "orjson",
    "matplotlib",
    "PIL",
    "ipywidgets",
    "IPython",
    "psycopg",
    "onnxruntime",
}


def loaded_by(code: str) -> set[str]:
    """The top-level modules a fresh interpreter holds after ``code``, beyond those it starts with."""
    listing = "print(json.dumps(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))"
    program = f"import json, sys\nbefore = set(sys.modules)\n{code}\n{listing}"
    told = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return set(json.loads(told.stdout.splitlines()[-1]))


def test_importing_loads_the_package_and_nothing_else():
    assert loaded_by("import ctxlab") == {"ctxlab"}


def test_every_public_name_of_the_core_comes_without_anything_heavy():
    loaded = loaded_by("import ctxlab\nfor name in ctxlab._HOME: getattr(ctxlab, name)")
    assert not loaded & HEAVY
    assert loaded <= {"ctxlab", *sys.stdlib_module_names}


@pytest.mark.parametrize(
    "module",
    [
        "cli",
        "environment",
        "installing",
        "lab",
        "suite",
        "doctor",
        "checks",
        "figures",
        "report",
        "commands.lint",
    ],
)
def test_what_a_bare_clone_runs_needs_the_standard_library_only(module):
    assert loaded_by(f"import ctxlab.{module}") <= {"ctxlab", *sys.stdlib_module_names}


def test_a_heavy_import_would_be_seen():
    assert loaded_by("import numpy") & HEAVY == {"numpy"}
