"""The house as import-linter sees it: every module has a floor, and imports only go down."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
    "contracts"
]


def lint(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    return subprocess.run(
        [*command, "--no-cache", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_every_module_has_a_floor_of_its_own():
    layers = next(contract["layers"] for contract in CONTRACTS if contract["type"] == "layers")
    modules = {path.stem for path in (ROOT / "ctxlab").glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in (ROOT / "ctxlab").glob("*/__init__.py")}
    assert sorted(layers) == sorted(modules | packages)


def test_imports_only_go_down_and_the_core_needs_the_standard_library_only():
    told = lint()
    assert told.returncode == 0, told.stdout


def test_an_import_that_goes_up_is_noticed(tmp_path):
    upside_down = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    upside_down = upside_down.replace('"errors",\n]', "]", 1).replace(
        "layers = [", 'layers = [\n  "errors",', 1
    )
    (tmp_path / "pyproject.toml").write_text(upside_down, encoding="utf-8")
    told = lint("--config", str(tmp_path / "pyproject.toml"))
    assert told.returncode != 0
    assert "ctxlab.errors" in told.stdout
