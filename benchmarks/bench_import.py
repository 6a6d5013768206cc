"""``import ctxlab`` beside bare Python, and beside taking every public name."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import Row, best_ms

EVERY_NAME = "import ctxlab\nfor name in ctxlab._HOME: getattr(ctxlab, name)"


def rows() -> list[Row]:
    """What a fresh interpreter takes longer than a bare one, in milliseconds."""
    bare_ms = _start_ms("pass")
    import_ms = _start_ms("import ctxlab") - bare_ms
    names_ms = _start_ms(EVERY_NAME) - bare_ms
    return [
        Row("start bare Python", bare_ms, "ms", "", None, ""),
        Row("import ctxlab adds", import_ms, "ms", "100 ms over bare Python", import_ms / 100, "1"),
        Row("every public name adds", names_ms, "ms", "", None, ""),
    ]


def _start_ms(code: str) -> float:
    return best_ms(lambda: subprocess.run([sys.executable, "-c", code], check=True), repeat=9)
