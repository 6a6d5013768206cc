"""What a person does in JupyterLab 4 or Notebook 7, as calls: open, run all, drag, press, tap, look.

Models: the menus and marks of both front ends, what the page asked of which host, what it complained of, and
axe's verdict on our outputs (not on Jupyter's own shell). Does not model: editing.
"""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FRONT_ENDS = ("lab", "notebook")
LOCAL = {"127.0.0.1", "localhost"}
WAIT_MS = 60_000
THUMB_PX = 16
INDICATOR = '.jp-Notebook-ExecutionIndicator[data-status="idle"]'
RUNNING = (
    "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].some(p => p.innerText.includes('*'))"
)
# set before the run starts, so that a run of a tenth of a second is not missed
WATCH = f"""() => {{
  window.ran = false;
  new MutationObserver(() => {{ window.ran ||= {RUNNING}; }})
    .observe(document.body, {{childList: true, subtree: true, characterData: true}});
}}"""
# the indicator says idle before there is a kernel, so idle counts only once it has lasted
LASTING = f"""() => {{
  const idle = document.querySelector('{INDICATOR}') !== null;
  window.idleSince = idle ? (window.idleSince ?? Date.now()) : null;
  return idle && Date.now() - window.idleSince > 1000;
}}"""


@dataclass(frozen=True)
class Server:
    """A Jupyter server; ``folder`` holds the notebooks it serves."""

    base: str
    token: str
    folder: Path

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One call of the server's own API."""
        data = None if body is None else json.dumps(body).encode("utf-8")
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.base}/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def has_kernel(self, name: str) -> bool:
        """Whether the notebook's kernel is idle and a page is connected to it."""
        kernels = [one["kernel"] for one in self.ask("GET", "api/sessions") if one["path"] == name]
        return any(kernel["connections"] and kernel["execution_state"] == "idle" for kernel in kernels)

    def stop_kernels(self) -> None:
        for kernel in self.ask("GET", "api/kernels"):
            self.ask("DELETE", f"api/kernels/{kernel['id']}")


@dataclass
class Notebook:
    """One notebook open in one front end."""

    page: Page
    outside: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(WAIT_MS)
        self.page.on("request", lambda request: self._note_host(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda m: m.type == "error" and self.complaints.append(m.text))

    def _note_host(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"data", "blob"} and parts.hostname not in LOCAL:
            self.outside.append(url)

    def dark(self, server: Server, *, off: bool = False) -> None:
        """Choose the dark theme for whatever is opened from now on."""
        raw = "{}" if off else '{"theme": "JupyterLab Dark"}'
        server.ask("PUT", "lab/api/settings/@jupyterlab/apputils-extension:themes", {"raw": raw})

    def open(self, server: Server, front_end: str, name: str) -> None:
        path = f"lab/tree/{name}?reset&" if front_end == "lab" else f"notebooks/{name}?"
        self.page.goto(f"{server.base}/{path}token={server.token}")
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        for _ in range(WAIT_MS // 200):
            if server.has_kernel(name):
                break
            self.page.wait_for_timeout(200)
        self.page.wait_for_function(LASTING)

    def run_all(self) -> None:
        """Run → Run All Cells from the menu, and wait for the last cell.

        What the front end complained of before (Notebook 7 does, while it starts) is not ours and forgotten.
        """
        self.complaints.clear()
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.evaluate(WATCH)
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_function("window.ran")
        self.page.wait_for_function(f"!({RUNNING})")
        self.page.wait_for_selector(INDICATOR, state="attached")

    def formulas(self) -> list[str]:
        """Text between two dollar signs that MathJax took for a formula; the lessons have none."""
        return self.page.locator("mjx-container").all_inner_texts()

    def errors(self) -> list[str]:
        """Tracebacks and stderr among the outputs."""
        kinds = "[data-mime-type$='.error'], [data-mime-type$='.stderr']"
        return self.page.locator(kinds).all_inner_texts()

    def controls(self) -> list[Control]:
        return [Control(self.page, place) for place in self.page.locator(".ctxlab-range input").all()]

    def walk(self, key: str) -> str:
        """Press a key on the prefix strip (the first press enters it) and read what it says."""
        focused = self.page.locator(".ctxlab-strip-frame button:focus")
        if focused.count():
            focused.press(key)
        else:
            self.page.locator(".ctxlab-strip-frame button").first.focus()
        return self.page.locator(".ctxlab-strip-words").inner_text()

    def violations(self, axe: str) -> list[str]:
        """axe's findings inside outputs, one line each."""
        self.page.evaluate(axe)
        found = self.page.evaluate("axe.run({include: [['.jp-OutputArea-output']]})")
        return [
            f"{rule['id']} ({rule['impact']}): {node['html'][:160]}"
            for rule in found["violations"]
            for node in rule["nodes"]
        ]

    def photograph(self, path: Path) -> None:
        """The whole notebook in one picture."""
        height = self.page.evaluate(
            "[...document.querySelectorAll('.jp-Notebook .jp-Cell')]"
            ".reduce((sum, cell) => sum + cell.getBoundingClientRect().height + 10, 200)"
        )
        before = self.page.viewport_size
        self.page.set_viewport_size({"width": 1280, "height": min(int(height), 16_000)})
        self.page.locator(".jp-Notebook .jp-Cell").first.scroll_into_view_if_needed()
        self.page.screenshot(path=path)
        if before:
            self.page.set_viewport_size(before)


@dataclass
class Control:
    """One range control and the picture it moves."""

    page: Page
    place: Locator

    @property
    def value(self) -> float:
        return float(self.place.input_value())

    def picture(self) -> str:
        box = self.place.locator("xpath=ancestor::*[contains(@class, 'widget-vbox')][1]")
        return str(box.locator("svg").evaluate("svg => svg.outerHTML"))

    def picture_after(self, before: str) -> str:
        """The picture once it is another than ``before`` and at rest; fails when it stays the same."""
        last = before
        for _ in range(40):
            self.page.wait_for_timeout(300)
            now = self.picture()
            if now == last != before:
                return now
            last = now
        raise AssertionError(f"the picture did not move with the control (now at {self.value:g})")

    def drag(self, share: float) -> None:
        """Take the thumb with the mouse and pull it to ``share`` of the track."""
        left, y, width = self._track()
        low, high = (float(self.place.get_attribute(side) or 0) for side in ("min", "max"))
        self.page.mouse.move(left + width * (self.value - low) / (high - low), y)
        self.page.mouse.down()
        self.page.mouse.move(left + width * share, y, steps=12)
        self.page.mouse.up()

    def tap(self, share: float) -> None:
        """Touch the track at ``share`` of its length."""
        left, y, width = self._track()
        self.page.touchscreen.tap(left + width * share, y)

    def _track(self) -> tuple[float, float, float]:
        """Where the thumb's centre can be: left end, height, length."""
        self.place.scroll_into_view_if_needed()
        box = self.place.bounding_box()
        assert box is not None
        return box["x"] + THUMB_PX / 2, box["y"] + box["height"] / 2, box["width"] - THUMB_PX
