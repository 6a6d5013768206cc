"""From paths to source texts: which files are read, how, and what is said about those that are not.

Models: folders (``*.py``, ``*.ipynb``), PEP 263 encodings, notebooks as one text with a line map.
Does not model: languages other than Python, remote files, archives, what ``.gitignore`` leaves out.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxlab.errors import Problem

MAX_BYTES = 5_000_000
"""A larger file is not source anybody wrote by hand; it is skipped and said so."""

_SKIPPED_FOLDERS = {"venv", "site-packages", "node_modules", "__pycache__", "__pypackages__"}
_MAGIC = re.compile(r"^\s*(?:%|!|\?)|^\s*[\w., \[\]]+=\s*(?:!|%(?!\s*\())|^\s*[\w.]+\?{1,2}\s*$")


@dataclass(frozen=True, slots=True)
class Source:
    """One text to scan: ``path`` as findings name it, and for a notebook where each code cell begins.

    ``cells`` are pairs (first line of the cell in ``text``, number of the cell from 1), in order.
    """

    path: str
    text: str
    cells: tuple[tuple[int, int], ...] = ()

    def place(self, line: int) -> tuple[str, int]:
        """The path and line a person opens for a line of ``text``.

        >>> Source("nb.ipynb", "a\\nb\\nc", ((1, 1), (3, 4))).place(3)
        ('nb.ipynb: cell 4', 1)
        """
        if not self.cells:
            return self.path, line
        at = max(bisect_right(self.cells, (line, 1 << 60)) - 1, 0)
        first, number = self.cells[at]
        return f"{self.path}: cell {number}", line - first + 1


def sources(paths: Iterable[str | Path]) -> Iterator[Source | Problem]:
    """Every source below ``paths`` in a fixed order, each once; a Problem for what cannot be read."""
    seen: set[str] = set()
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for one in _walk(path):
                yield from _once(one, seen)
        elif path.exists():
            yield from _once(path, seen)
        else:
            yield Problem(path.as_posix(), "no-such-path", "does not exist", "check the spelling")


def _walk(folder: Path) -> Iterator[Path]:
    met: set[tuple[int, int]] = set()
    for here, folders, files in os.walk(folder, followlinks=True):
        state = Path(here).stat()
        identity = (state.st_dev, state.st_ino)
        if identity in met and state.st_ino:
            folders.clear()
            continue
        met.add(identity)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS
        )
        yield from (Path(here, name) for name in sorted(files) if name.endswith((".py", ".ipynb")))


def _once(path: Path, seen: set[str]) -> Iterator[Source | Problem]:
    name = path.as_posix()
    try:
        real = os.path.realpath(path)
        if real in seen:
            return
        seen.add(real)
        if not path.is_file():
            yield Problem(name, "unreadable", "is no regular file", "give a file or a folder")
        elif (size := path.stat().st_size) > MAX_BYTES:
            yield Problem(name, "too-large", f"has {size:,} bytes, more than {MAX_BYTES:,}", "split it")
        else:
            data = path.read_bytes()
            yield _notebook(name, data) if path.suffix == ".ipynb" else _module(name, data)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        yield Problem(name, "unreadable", f"cannot be read: {reason}", "check link and permissions")


def _module(name: str, data: bytes) -> Source | Problem:
    if b"\0" in data:
        return Problem(name, "binary", "holds NUL bytes, so it is no Python source", "save it as UTF-8 text")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        line = data.count(b"\n", 0, error.start) + 1 if isinstance(error, UnicodeDecodeError) else 1
        return Problem(
            f"{name}:{line}",
            "encoding",
            "cannot be decoded as its coding line (or UTF-8) says",
            "save it as UTF-8 or declare its encoding on the first line",
        )
    # an editor counts lines at these three ends only, and so does Python
    return Source(name, text.replace("\r\n", "\n").replace("\r", "\n"))


def _notebook(name: str, data: bytes) -> Source | Problem:
    try:
        book = json.loads(data.decode("utf-8-sig"))
        cells = _cells(book)
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        return Problem(f"{name}{line}", "notebook", "is not a notebook's JSON", "open and save it again")
    if cells is None:
        return Problem(name, "notebook", "has no list of cells", "convert it to notebook format 4")
    language = book.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    if not isinstance(language, str) or language.lower() not in {"python", "python3", "ipython"}:
        return Problem(name, "notebook", f"is written in {language}, not Python", "leave it out")
    lines: list[str] = []
    starts: list[tuple[int, int]] = []
    for number, text in cells:
        starts.append((len(lines) + 1, number))
        lines += _without_magics(text)
    return Source(name, "\n".join(lines) + "\n", tuple(starts))


def _cells(book: Any) -> list[tuple[int, str]] | None:
    """The code cells with their numbers; None for what is not shaped like a notebook."""
    if not isinstance(book, dict) or not isinstance(book.get("metadata", {}), dict):
        return None
    if not isinstance(book.get("metadata", {}).get("kernelspec", {}), dict):
        return None
    cells = book.get("cells")
    if not isinstance(cells, list):
        return None
    found = []
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            return None
        if cell.get("cell_type") == "code":
            text = cell.get("source")
            if not isinstance(text, str | list):
                return None
            text = "".join(map(str, text)) if isinstance(text, list) else str(text)
            found.append((number, text.replace("\r\n", "\n").replace("\0", "")))
    return found


def _without_magics(text: str) -> list[str]:
    """The lines of one cell with magics and shell lines emptied, so that the line numbers hold."""
    lines = text.split("\n")
    if _parses(text):
        return lines
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith("%%") and not re.match(r"%%(?:time|timeit|capture|prun|memit)\b", first):
        return [""] * len(lines)
    plain = []
    inside = False
    for line in lines:
        continued = inside
        dropped = inside or _MAGIC.match(line) is not None
        inside = dropped and line.rstrip().endswith("\\")
        indent = line[: len(line) - len(line.lstrip())]
        # an indented magic may be all a block holds
        plain.append((indent + "pass" if indent and not continued else "") if dropped else line)
    return plain


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
