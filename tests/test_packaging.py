"""The wheel carries the whole series: built without a network, installed elsewhere, it opens the lessons."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from ctxlab import environment, lab

ROOT = Path(__file__).parent.parent


def run(*words: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CTXLAB_RECORD")}
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=clean | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Source archive and wheel of a copy of what is committed, with the leftovers of a lesson beside it."""
    clone = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode("utf-8").split("\0"):
        if name and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, clone / name)
    for leftover in (".ctxlab/record.json", ".ipynb_checkpoints/00-checkpoint.ipynb"):
        (clone / "notebooks" / leftover).parent.mkdir()
        (clone / "notebooks" / leftover).write_text("{}", encoding="utf-8")
    target = tmp_path_factory.mktemp("dist")
    told = run(sys.executable, "-m", "hatchling", "build", "-d", target, cwd=clone)
    assert told.returncode == 0, told.stderr
    (wheel,), (source,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The Python of a fresh environment that holds the wheel, and lends everything else from this one."""
    home = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    python = environment.python_of(home)
    asked = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home)
    lent = Path(asked.stdout.strip()) / "lent.pth"
    lent.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    if importlib.util.find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip", "--python", python, "install"]
    else:
        installer = [shutil.which("uv") or "uv", "pip", "install", "--python", python]
    told = run(*installer, "--no-deps", "--no-index", built[0], cwd=home)
    assert told.returncode == 0, told.stderr
    return python


def test_the_wheel_holds_package_data_and_notebooks_and_no_leftovers(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    share = "ctxlab/_share/"
    assert {f"{share}notebooks/{path.name}" for path in lab.lessons()} <= names
    assert {f"{share}data/recordings/traces.jsonl.gz", f"{share}constraints.txt"} <= names
    assert {"ctxlab/catalogue.toml", "ctxlab/jupyter_config/labconfig/page_config.json"} <= names
    assert not [name for name in names if ".ctxlab/" in name or ".ipynb_checkpoints" in name]
    assert not [name for name in names if name.startswith(("tests/", "data/", "notebooks/"))]


def test_the_source_archive_builds_the_same_wheel(built, tmp_path):
    shutil.unpack_archive(built[1], tmp_path)
    (unpacked,) = tmp_path.iterdir()
    told = run(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again", cwd=unpacked
    )
    assert told.returncode == 0, told.stderr
    (again,) = (tmp_path / "again").iterdir()
    assert again.read_bytes() == built[0].read_bytes()


def test_the_installed_package_can_run_the_series(installed, tmp_path):
    told = run(installed, "-m", "ctxlab", "doctor", cwd=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "The series can run." in told.stdout
    assert str(ROOT) not in told.stdout


def test_the_installed_command_copies_the_lessons_into_the_current_folder(installed, tmp_path):
    command = installed.with_name("ctxlab.exe" if os.name == "nt" else "ctxlab")
    told = run(command, "lab", "--copy-only", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    copies = {path.name: path.read_bytes() for path in (tmp_path / "my-notebooks").glob("*.ipynb")}
    assert copies == {path.name: path.read_bytes() for path in lab.lessons()}


def test_the_installed_package_says_that_its_tests_need_a_clone(installed, tmp_path):
    told = run(installed, "-m", "ctxlab", "test", cwd=tmp_path)
    assert told.returncode == 1
    assert "needs a clone" in told.stdout
    assert "The series can run." in told.stdout
    assert list(tmp_path.iterdir()) == []
