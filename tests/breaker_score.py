"""How well scan_source agrees with labelled snippets: precision and recall of confirmed findings, per kind.

``python -m tests.breaker_score [FOLDER]`` prints the table and every disagreement. The rules of the labels
stand at the head of ``data/breakers/labels.toml``.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxlab.breakers import Finding, scan_source

CORPUS = Path(__file__).parent.parent / "data" / "breakers"
_CELL = re.compile(r": cell (\d+)$")


@dataclass
class Score:
    """Confirmed findings against labels: of each kind what was found, missed, and found in error."""

    found: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        found = self.found.total()
        return found / ((found + self.wrong.total()) or 1)

    @property
    def recall(self) -> float:
        found = self.found.total()
        return found / ((found + self.missed.total()) or 1)

    def rows(self) -> Iterator[tuple[str, int, int, int]]:
        """Code, found, missed, found in error."""
        for code in sorted({*self.found, *self.missed, *self.wrong}):
            yield code, self.found[code], self.missed[code], self.wrong[code]

    def __str__(self) -> str:
        lines = ["kind    found missed in error"]
        lines += [f"{code} {found:6} {missed:6} {wrong:8}" for code, found, missed, wrong in self.rows()]
        total = self.found.total(), self.missed.total(), self.wrong.total()
        lines.append("all    {:6} {:6} {:8}".format(*total))
        lines.append(f"precision {self.precision:.3f}, recall {self.recall:.3f} over confirmed findings")
        return "\n".join(lines)


def score(folder: Path = CORPUS) -> Score:
    """The detector's findings in every labelled file of a folder, against its ``labels.toml``."""
    result = Score()
    labels = tomllib.loads((folder / "labels.toml").read_text(encoding="utf-8"))
    for snippet in labels["snippet"]:
        path = folder / snippet["file"]
        _compare(result, path, snippet, [one for one in scan_source(path).findings if one.confirmed])
    return result


def _compare(result: Score, path: Path, snippet: dict[str, Any], findings: list[Finding]) -> None:
    statements = _statements(path)
    left = list(findings)
    for label in [one for one in snippet["expected"] if one["certainty"] == "confirmed"]:
        hits = [one for one in left if _agrees(one, label, statements)]
        exact = [one for one in hits if one.code == label["code"]] or hits
        if exact:
            result.found[label["code"]] += 1
            left = [one for one in left if one not in hits]
        else:
            result.missed[label["code"]] += 1
            result.disagreements.append(f"missed {path.name}:{label['line']} {label['code']}")
    tolerated = [one for one in snippet.get("allowed", []) if one["at_most"] == "confirmed"]
    for one in left:
        if any(_agrees(one, label, statements) for label in tolerated):
            continue
        result.wrong[one.code] += 1
        result.disagreements.append(f"in error {path.name}: {one}")


def _agrees(one: Finding, label: dict[str, Any], statements: dict[tuple[int, int], int]) -> bool:
    found = _CELL.search(one.path)
    cell = int(found[1]) if found else 0
    if cell != label.get("cell", 0) or one.code not in {label["code"], *label.get("also", [])}:
        return False
    lines = {label["line"], *label.get("or_lines", [])}
    said = one.line or 0
    meant = {statements.get((cell, line), -2) for line in lines}
    return said in lines or statements.get((cell, said), -1) in meant


def _statements(path: Path) -> dict[tuple[int, int], int]:
    """For each line of a file the first line of the innermost statement it is part of, by cell."""
    from tests.test_breakers_corpus import tree

    first: dict[tuple[int, int], int] = {}
    for cell, module in tree(path).items():
        for node in ast.walk(module):
            if isinstance(node, ast.stmt):
                body = getattr(node, "body", None)
                end = body[0].lineno - 1 if body and isinstance(body[0], ast.stmt) else node.end_lineno
                for line in range(node.lineno, max(node.lineno, end or node.lineno) + 1):
                    first[cell, line] = max(node.lineno, first.get((cell, line), 0))
    return first


if __name__ == "__main__":
    scored = score(Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS)
    print(scored)
    print(*scored.disagreements, sep="\n")
