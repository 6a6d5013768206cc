"""Where a scan points: at the clock, the edit, the marker; and what it leaves alone beside it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from ctxlab.breakers import scan_text

_TEXT = (Path(__file__).parent / "breakers_places.txt").read_text(encoding="utf-8")
_NOTE = re.compile(r"  # (finds|may find) (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Module:
    """A module without its notes: what is asked for and what may be told, each as lines with codes."""

    name: str
    code: str
    asked: tuple[tuple[int, frozenset[str]], ...]
    allowed: tuple[tuple[int, frozenset[str]], ...]


def modules():
    for part in re.split(r"^#=== ", _TEXT, flags=re.MULTILINE)[1:]:
        name, code = part.split("\n", 1)
        notes = {"finds": [], "may find": []}
        for number, line in enumerate(code.splitlines(), 1):
            for kind, told in _NOTE.findall(line):
                notes[kind] += [(number, frozenset(one.split("/"))) for one in told.split(" and ")]
        asked, allowed = tuple(notes["finds"]), tuple(notes["may find"])
        yield Module(name, _NOTE.sub("", code), asked, allowed)


MODULES = list(modules())


def statement(tree, line):
    """The first line of the innermost statement a line is part of."""
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno
            if node.lineno <= line <= max(node.lineno, end):
                found = max(found, node.lineno)
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_of_a_module_the_lines_are_told_and_no_others(module):
    tree = ast.parse(module.code)
    left = [one for one in scan_text(module.code) if one.confirmed]
    for line, codes in module.asked:
        here = [
            one for one in left if one.code in codes and statement(tree, one.line) == statement(tree, line)
        ]
        assert here, f"line {line}: {sorted(codes)}\n" + "\n".join(map(str, left))
        left = [one for one in left if one not in here]
    allowed = {(statement(tree, line), code) for line, codes in module.allowed for code in codes}
    assert [one for one in left if (statement(tree, one.line), one.code) not in allowed] == []


def test_breakers_and_clean_twins_are_both_there():
    clean = [module for module in MODULES if not module.asked]
    assert len(MODULES) >= 120
    assert 3 * len(clean) >= len(MODULES)
    asked = {code for module in MODULES for _, codes in module.asked for code in codes}
    assert {"CTX101", "CTX102", "CTX103", "CTX104", "CTX105", "CTX201", "CTX202", "CTX203"} <= asked
    assert {"CTX301", "CTX302", "CTX303", "CTX401", "CTX402"} <= asked
