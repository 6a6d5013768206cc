"""Every test in one run: the tests proper, and each notebook of both editions against its stored outputs.

Models: which folders pytest is given, and where a Chromium may be found on three systems.
Does not model: the tests; setting up the environment (see :mod:`ctxlab.environment`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

BROWSER_TESTS = "tests/browser"
_ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_ELSEWHERE = {
    "darwin": (
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    ),
    "win32": (
        r"C:\Program Files\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
    ),
}


def find_chromium() -> Path | None:
    """A Chromium, Chrome or Edge to drive: ``CHROMIUM`` in the environment, the PATH, the usual places."""
    named = os.environ.get("CHROMIUM")
    candidates = [named] if named else [*map(shutil.which, _ON_PATH), *_ELSEWHERE.get(sys.platform, ())]
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            return Path(candidate)
    return None


def how_to_get_chromium() -> str:
    """What to run on this system to have a Chromium.

    >>> "hromium" in how_to_get_chromium()
    True
    """
    if sys.platform == "darwin":
        return "brew install --cask chromium   (or install Google Chrome)"
    if sys.platform == "win32":
        return "winget install Hibbiki.Chromium   (or install Google Chrome; Edge does too)"
    for tool, command in {
        "apt-get": "sudo apt-get update && sudo apt-get install -y chromium",
        "dnf": "sudo dnf install chromium",
        "pacman": "sudo pacman -S chromium",
        "apk": "sudo apk add chromium",
        "zypper": "sudo zypper install chromium",
    }.items():
        if shutil.which(tool):
            return command
    return "install Chromium with the system's package manager"


def pytest_arguments(root: Path, extra: Sequence[str] = (), *, browser: bool = False) -> list[str]:
    """What pytest is called with; paths in ``extra`` take the place of the usual folders."""
    folders = ["tests", "notebooks", *([BROWSER_TESTS] if browser else [])]
    own_paths = any(not word.startswith("-") and (root / word.split("::")[0]).exists() for word in extra)
    return ["--nbval", "--nbval-current-env", *extra, *([] if own_paths else folders)]


def run(root: Path, extra: Sequence[str] = (), *, browser: bool = False) -> int:
    """Run pytest in the clone with the running interpreter; returns its exit code."""
    began_s = time.monotonic()
    command = [sys.executable, "-m", "pytest", *pytest_arguments(root, extra, browser=browser)]
    code = subprocess.run(command, cwd=root, check=False).returncode
    verdict = "passed" if code == 0 else f"NOT passed (pytest's exit code {code})"
    scope = "tests and notebooks, with a browser" if browser else "tests and notebooks"
    words = f" (pytest {' '.join(extra)})" if extra else ""
    print(f"ctxlab test: {verdict}: {scope}{words}, {time.monotonic() - began_s:.0f} s", flush=True)
    return code
