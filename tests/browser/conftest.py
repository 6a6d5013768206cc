"""A Chromium, and a Jupyter server on this machine alone, with all its state in temporary folders.

The tests here are collected only when this folder is named (``pytest tests/browser``, ``ctxlab test
--browser``). Once asked for, nothing is skipped: what is missing fails, and says how to get it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ctxlab import lab, suite
from ctxlab.places import notebooks_path
from tests.browser import scratch
from tests.browser.driver import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).resolve().parent
_CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_SETTINGS = {
    # every cell in the page at once: what is not there cannot be looked at
    "@jupyterlab/notebook-extension/tracker": '{"windowingMode": "none"}',
    "@jupyterlab/apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
}


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    named = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright leaves an event loop running in the main thread until the session ends,
    and no test with a loop of its own can run beside it."""
    items.sort(key=lambda item: HERE in item.path.parents)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go; ``CTXLAB_PICTURES`` names a folder that outlives the run."""
    kept = os.environ.get("CTXLAB_PICTURES")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        pytest.fail(f'{error.name} is not installed: pip install -c constraints.txt -e ".[browser]"')
    found = suite.find_chromium()
    if found is None:
        pytest.fail(f"no Chromium on this machine: {suite.how_to_get_chromium()}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(found), args=_CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    try:
        import axe_playwright_python
    except ImportError as error:
        pytest.fail(f'{error.name} is not installed: pip install -c constraints.txt -e ".[browser]"')
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """The server without a kernel of the test before."""
    yield running
    running.stop_kernels()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that ``ctxlab lab`` starts, on copies of both editions and on the scratch notebook."""
    folder = tmp_path_factory.mktemp("jupyter")
    copies = lab.copy_lessons(folder / "root")
    shutil.copytree(notebooks_path("answered"), copies.folder / "answered")
    scratch.write(copies.folder)
    for name, words in _SETTINGS.items():
        path = folder / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words, encoding="utf-8")
    environment = {k: v for k, v in lab.jupyter_environment().items() if not k.startswith("ANTHROPIC_")}
    environment |= {
        name: str(folder / part)
        for name, part in (
            ("JUPYTER_CONFIG_DIR", "config"),
            ("JUPYTER_DATA_DIR", "data"),
            ("JUPYTER_RUNTIME_DIR", "runtime"),
            ("IPYTHONDIR", "ipython"),
            ("JUPYTERLAB_SETTINGS_DIR", "settings"),
            ("JUPYTERLAB_WORKSPACES_DIR", "workspaces"),
            ("CTXLAB_RECORD", "record.json"),
        )
    }
    port, token = _free_port(), secrets.token_hex(16)
    command = lab.jupyter_command(copies, browser=False, port=port)
    command += ["--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={token}"]
    log = folder / "server.log"
    with log.open("w", encoding="utf-8") as written:
        process = subprocess.Popen(command, env=environment, stdout=written, stderr=subprocess.STDOUT)
        try:
            server = Server(f"http://127.0.0.1:{port}", token, copies.folder)
            _wait(process, server, log)
            yield server
        finally:
            process.terminate()
            process.wait(timeout=30)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], server: Server, log: Path) -> None:
    for _ in range(300):
        if process.poll() is not None:
            break
        try:
            server.ask("GET", "api/status")
            return
        except OSError:  # an answer of 4xx or 5xx is one too
            time.sleep(0.2)
    pytest.fail(f"Jupyter did not come up:\n{log.read_text(encoding='utf-8')[-4000:]}")
