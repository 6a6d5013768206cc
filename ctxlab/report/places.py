"""Where a finding stands: its file, the place inside it, the words of its line, and a name that lasts.

Models: the three kinds of place (``agent.py`` with a line, ``nb.ipynb: cell 3`` with a line of that cell,
``b.json: tools[1]``); paths relative to a folder, with forward slashes; fingerprints of code, path and the
words at the place, never of a line number, so that a finding keeps its name when lines move.
Does not model: renamed files (a finding in one is new).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from ctxlab.breakers import Finding
from ctxlab.breakers.files import Source, sources

STANDARD_INPUT = "<stdin>"
_COMMENT = "ctxlab:"


def split_place(path: str) -> tuple[str, str]:
    """The file of a finding's path, and the place inside the file (empty for the file itself).

    >>> split_place("b.json: tools[1]"), split_place("agent.py")
    (('b.json', 'tools[1]'), ('agent.py', ''))
    """
    file, _, inside = path.partition(": ")
    return file, inside


def relative(path: str, folder: Path) -> str:
    """``path`` seen from ``folder``, with forward slashes; the absolute path where there is no way.

    >>> relative("src/../agent.py", Path())
    'agent.py'
    """
    if path == STANDARD_INPUT:
        return path
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive of a Windows machine
        return Path(path).absolute().as_posix()


@dataclass(slots=True)
class Sources:
    """The words of files in which something was found, read when they are asked for.

    ``texts`` are texts that lie in no file, by the name they go under (standard input).
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def text(self, path: str) -> str:
        """The text a finding's line counts in: the file, or its cell; empty where it cannot be read."""
        if path not in self._known:
            self._read(split_place(path)[0])
        return self._known.setdefault(path, "")

    def commented(self, file: str) -> list[str]:
        """The paths (the file, or its cells) that hold a comment for this tool."""
        if file not in self.texts:
            try:
                if _COMMENT.encode() not in Path(file).read_bytes():  # most files hold none
                    return []
            except OSError:
                return []
        return [path for path in self._read(file) if _COMMENT in self._known[path]]

    def line(self, one: Finding) -> str:
        """The words of the finding's line, with single spaces; empty where it has no line."""
        if one.line is None:
            return ""
        lines = self.text(one.path).splitlines()
        return " ".join(lines[one.line - 1].split()) if one.line <= len(lines) else ""

    def fingerprints(self, findings: Iterable[Finding], folder: Path) -> dict[Finding, str]:
        """A name for each finding: of its code, its path from ``folder``, and the words of its line.

        Where there is no line, the place inside the file (a JSON path) stands for the words. Findings that
        have all of that in common are counted, so that a third one is not taken for the first two.
        """
        names: dict[Finding, str] = {}
        seen: Counter[tuple[str, str, str]] = Counter()
        for one in findings:
            if one in names:
                continue
            file, inside = split_place(one.path)
            key = (one.code, relative(file, folder), self.line(one) or inside)
            seen[key] += 1
            names[one] = sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "replace")).hexdigest()[:32]
        return names

    def _read(self, file: str) -> list[str]:
        if file in self.texts:
            parts = {file: self.texts[file]}
        else:
            parts = {}
            for one in sources([file]):
                if isinstance(one, Source):
                    parts = _cells(one) if one.cells else {one.path: one.text}
        self._known.update(parts)
        return list(parts)


def _cells(book: Source) -> dict[str, str]:
    lines = book.text.split("\n")
    ends = [first - 1 for first, _ in book.cells[1:]] + [len(lines)]
    return {
        f"{book.path}: cell {number}": "\n".join(lines[first - 1 : end])
        for (first, number), end in zip(book.cells, ends, strict=True)
    }
