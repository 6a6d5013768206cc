"""Names as they are written: dotted ones, through calls and subscripts.

Models: syntax only. Does not model: what a name is bound to.
"""

from __future__ import annotations

import ast


def chain(node: ast.AST) -> list[str]:
    """The names of ``a.b().c``, last first.

    >>> chain(ast.parse("client.beta().messages", mode="eval").body)
    ['messages', 'beta', 'client']
    """
    names = []
    while True:
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Name):
            return [*names, node.id]
        else:
            return names


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name: ``cache`` of ``functools.cache()``; empty for anything else."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def constant(node: ast.AST) -> object:
    """The value of a constant, None for anything else."""
    return node.value if isinstance(node, ast.Constant) else None
