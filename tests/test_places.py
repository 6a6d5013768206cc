"""Promises of ctxlab.places: the same files in a clone and in an installed package."""

from __future__ import annotations

import pytest

from ctxlab import places
from ctxlab.errors import CtxlabError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a package in it and, beside the package, what a clone has."""
    (tmp_path / "ctxlab").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "data" / "README.md").touch()
    monkeypatch.setattr(places, "_PACKAGE", tmp_path / "ctxlab")
    monkeypatch.setattr(places, "_SHARE", tmp_path / "ctxlab" / "_share")
    return tmp_path


def installed(folder):
    share = folder / "ctxlab" / "_share"
    (share / "data").mkdir(parents=True)
    (share / "data" / "README.md").touch()
    return share


def test_in_a_clone_data_and_notebooks_lie_beside_the_package(folder):
    assert places.clone_root() == folder
    assert places.data_path("README.md") == folder / "data" / "README.md"
    assert places.notebooks_path() == folder / "notebooks"


def test_an_installed_package_has_its_own_and_takes_nothing_that_lies_beside_it(folder):
    share = installed(folder)
    assert places.clone_root() is None
    assert places.data_path("README.md") == share / "data" / "README.md"


@pytest.mark.parametrize("missing", ["pyproject.toml", "data"])
def test_a_folder_that_lacks_what_a_clone_has_is_none(folder, missing):
    (folder / missing).rename(folder / "elsewhere")
    assert places.clone_root() is None


@pytest.mark.parametrize("layout", ["clone", "installed"])
def test_a_file_that_is_not_there_is_named_with_what_mends_it(folder, layout):
    if layout == "installed":
        installed(folder)
    with pytest.raises(CtxlabError) as caught:
        places.data_path("recordings", "traces.jsonl.gz")
    (problem,) = caught.value.problems
    assert (problem.path, problem.rule) == ("data/recordings/traces.jsonl.gz", "shipped-file")
    assert "reinstall" in problem.fix


def test_the_readme_of_the_data_names_everything_that_lies_there():
    told = places.data_path("README.md").read_text(encoding="utf-8")
    there = {path.name for path in places.data_path().iterdir()} - {"README.md", "__pycache__"}
    assert {name for name in there if f"`{name}" not in told} == set()
