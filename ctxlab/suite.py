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
_ON_ALL_CORES = ["-n", "auto", "--maxprocesses", "8", "--dist", "loadfile"]
_NBVAL = ["--nbval", "--nbval-current-env"]
_NO_TEST_CHOSEN = 5  # pytest.ExitCode.NO_TESTS_COLLECTED
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


def parts(root: Path, extra: Sequence[str] = (), *, browser: bool = False) -> list[list[str]]:
    """What pytest is called with, one call after the other; paths in ``extra`` take the place of all of them.

    The tests proper share the cores, each file in one process. The notebooks of both editions run in a single
    one, where more would gain nothing, and the browser tests in one that no other test has to live in.
    """
    if any(not word.startswith("-") and (root / word.split("::")[0]).exists() for word in extra):
        return [[*_NBVAL, *extra]]
    calls = [[*_ON_ALL_CORES, *extra, "tests"], [*_NBVAL, *extra, "notebooks"]]
    return [*calls, [*extra, BROWSER_TESTS]] if browser else calls


def run(root: Path, extra: Sequence[str] = (), *, browser: bool = False) -> int:
    """Run pytest in the clone with the running interpreter; returns the first exit code that is not success.

    A part in which ``extra`` chooses no test is no failure as long as another part ran some.
    """
    began_s = time.monotonic()
    codes = [
        subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=root, check=False).returncode
        for arguments in parts(root, extra, browser=browser)
    ]
    failed = [code for code in codes if code not in (0, _NO_TEST_CHOSEN)]
    code = failed[0] if failed else min(codes)
    verdict = "passed" if code == 0 else f"NOT passed (pytest's exit code {code})"
    scope = "tests and notebooks, with a browser" if browser else "tests and notebooks"
    words = f" (pytest {' '.join(extra)})" if extra else ""
    print(f"ctxlab test: {verdict}: {scope}{words}, {time.monotonic() - began_s:.0f} s", flush=True)
    return code
