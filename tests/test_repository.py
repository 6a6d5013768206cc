"""What is committed: readable anywhere; no machine, registry or key is named; one list of pins."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from ctxlab import cli

ROOT = Path(__file__).parent.parent
COMMITTED = sorted(
    ROOT / name
    for name in subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    .stdout.decode("utf-8")
    .split("\0")
    if name and (ROOT / name).is_file()
)
BINARY = {".png", ".jpg", ".gz"}
TEXTS = [path for path in COMMITTED if path.suffix not in BINARY]
README = (ROOT / "README.md").read_text(encoding="utf-8")

# put together here, so that this file is not the one that names them
REGISTRIES = "|".join(
    [
        "pypi" + r"\.org",
        "python" + r"hosted\.",
        "registry" + r"\.npmjs",
        r"\bnpmjs" + r"\.",
        r"conda\." + "anaconda",
    ]
)
# ann is nobody: tests of other searches use her
MACHINE_PATHS = r"/(?:root|home/(?!ann/)\w+|Users/\w+|work)" + r"/\w|[A-Z]:\\{1,2}Users\\"
KEYS = (
    r"sk-ant-[\w-]{24,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_\w{36}|\bxox[abp]-\w{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----\s+\w"
)


def content(path: Path) -> str:
    """The text of a committed file, unpacked if it is compressed; a picture reads as its bytes."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return data.decode("latin-1" if path.suffix in (".png", ".jpg") else "utf-8")


def places(pattern: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in COMMITTED
        if (found := re.search(pattern, content(path)))
    ]


def test_no_file_names_a_package_registry():
    assert places(REGISTRIES) == []


def test_no_file_names_a_place_on_somebodys_machine():
    assert places(MACHINE_PATHS) == []


def test_no_file_holds_a_key():
    assert places(KEYS) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (REGISTRIES, "https://files.python" + "hosted.org/packages"),
        (MACHINE_PATHS, 'File "/home/' + 'someone/project/x.py"'),
        (MACHINE_PATHS, "C:" + r"\Users\someone"),
        (KEYS, "sk-ant-" + "api03-" + "x" * 40),
    ],
)
def test_each_search_finds_what_it_is_for(pattern, text):
    assert re.search(pattern, text)


@pytest.mark.parametrize("text", ["/homework/", "https://example.org/work", "sk-ant-...", "~/.config"])
def test_no_search_finds_what_is_harmless(text):
    assert not re.search("|".join([REGISTRIES, MACHINE_PATHS, KEYS]), text)


def test_every_text_is_utf8_with_plain_line_ends():
    for path in TEXTS:
        data = path.read_bytes()
        data.decode("utf-8")
        assert b"\r" not in data, path
        assert not data or data.endswith(b"\n"), path


def test_every_notebook_asks_for_the_python3_kernel_and_names_no_machine():
    notebooks = [path for path in COMMITTED if path.suffix == ".ipynb"]
    assert notebooks
    for path in notebooks:
        metadata = json.loads(content(path))["metadata"]
        assert metadata["kernelspec"]["name"] == "python3", path
        assert set(metadata["language_info"]) == {"name"}, path


def test_uv_lock_is_not_committed_because_it_records_addresses():
    assert not (ROOT / "uv.lock").exists() or ROOT / "uv.lock" not in COMMITTED
    assert "uv.lock" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_pins_are_one_version_each_and_no_address():
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[a-z0-9.-]+==[\w.]+( ; [\w.'<>=! ()]+)?", line), line


def test_the_conda_environment_is_python_pip_and_the_same_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *conda, pip = environment["dependencies"]
    assert environment["name"] == "ctxlab"
    assert conda == ["python=3.11", "pip"]
    assert pip == {"pip": ["-c constraints.txt", "-e .[notebooks]"]}


def test_no_binder_folder_hides_the_environment():
    assert not (ROOT / "binder").exists()
    assert not (ROOT / ".binder").exists()


@pytest.mark.parametrize("command", ["python3 -m ctxlab lab", "python3 -m ctxlab test", "py -m ctxlab lab"])
def test_the_readme_shows_the_commands_that_do_everything(command):
    assert command in README


def test_the_readme_names_every_command():
    (commands,) = (action.choices for action in cli.parser()._actions if isinstance(action.choices, dict))
    missing = [name for name in commands if f"ctxlab {name}" not in README]
    assert missing == []


def test_ci_runs_the_readmes_test_command():
    assert "python3 -m ctxlab test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_an_outside_address_is_refused_and_this_machine_is_not():
    import socket

    with socket.socket() as listening, socket.socket() as calling, socket.socket() as straying:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        calling.connect(listening.getsockname())
        with pytest.raises(OSError, match="this machine only"):
            straying.connect(("192.0.2.1", 9))
