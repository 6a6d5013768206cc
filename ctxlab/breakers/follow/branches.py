"""Which lines of a module never run together, because they stand in different branches.

Models: ``if`` and ``match`` inside functions.
Does not model: early returns, conditions that exclude each other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence


def arms(functions: Iterable[ast.AST], line: int) -> dict[ast.AST, int]:
    """The branches a line stands in: for each ``if`` or ``match`` around it, which of its arms.

    >>> tree = ast.parse("def f(x):\\n if x:\\n  a()\\n else:\\n  b()")
    >>> list(arms(tree.body, 3).values()), list(arms(tree.body, 5).values())
    ([0], [1])
    """
    found: dict[ast.AST, int] = {}
    for function in functions:
        if not _holds(function, line):
            continue
        for node in ast.walk(function):
            if isinstance(node, (ast.If, ast.Match)) and node not in found and _holds(node, line):
                for at, body in enumerate(_bodies(node)):
                    if body and body[0].lineno <= line <= (body[-1].end_lineno or 0):
                        found[node] = at
    return found


def together(functions: Sequence[ast.AST], lines: Sequence[int]) -> int:
    """How many of these lines run in one go: one that excludes another before it is not counted."""
    known = {line: arms(functions, line) for line in set(lines)}
    kept: list[int] = []
    for line in lines:
        if not any(_exclude(known[line], known[other]) for other in set(kept)):
            kept.append(line)
    return len(kept)


def _exclude(one: dict[ast.AST, int], other: dict[ast.AST, int]) -> bool:
    return any(node in one and one[node] != arm for node, arm in other.items())


def _holds(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", 0) <= line <= (getattr(node, "end_lineno", 0) or 0)


def _bodies(node: ast.If | ast.Match) -> list[list[ast.stmt]]:
    return [node.body, node.orelse] if isinstance(node, ast.If) else [case.body for case in node.cases]
