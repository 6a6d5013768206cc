"""In which order a module is read: its own statements, then every function that leads to a request.

Models: each function as a caller outside the module finds it, twice where it leaves something behind.
Does not model: callers outside the module.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ctxlab.breakers.follow import calls, history, objects, placement, requests
from ctxlab.breakers.follow.loops import age
from ctxlab.breakers.follow.names import last_name
from ctxlab.breakers.follow.outline import SYSTEM_NAME, ClassOutline, Scope, stirs
from ctxlab.breakers.follow.reading import Reading, Turn
from ctxlab.breakers.follow.requests import Request
from ctxlab.breakers.follow.values import FunctionValue, ListValue, Value, is_quiet

_PROMPT_DECORATORS = frozenset({"system_prompt", "instructions"})


def read(reading: Reading, tree: ast.Module) -> None:
    """Read a whole module; what it breaks is in ``reading.seen``."""
    reading.execute(tree.body)
    for value in list(reading.globals.names.values()):
        if isinstance(value, ListValue) and value.history:
            value.kept = value.open = True
            value.items = []
    reading.per = "call"
    reading.settled = True
    reading.outline.make_loud({name for name, value in reading.globals.names.items() if not is_quiet(value)})
    returned: list[tuple[str, int, Request]] = []
    for node, scope in _entries(reading):
        # what is private was read where it is called, with what it is called with
        if _is_private(node) and node in reading.read_functions:
            continue
        _enter(reading, node, scope, scope.cls, returned)
        for cls in _heirs(reading, scope.cls, node.name):
            _enter(reading, node, scope, cls, returned)
    _module_prompts(reading, tree)
    _judge_returned(reading, returned)
    history.compare(reading)


def _entries(reading: Reading) -> list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Scope]]:
    """Functions that lead to a request and are not defined in another one: public ones first, in order."""
    found = [
        (node, scope)
        for node, scope in reading.outline.functions.items()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and reading.outline.leads(node)
        and not any(isinstance(one.node, (ast.FunctionDef, ast.AsyncFunctionDef)) for one in scope.outer)
    ]
    return sorted(found, key=lambda pair: (_is_private(pair[0]), pair[0].lineno))


def _is_private(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return node.name.startswith("_") and not node.name.endswith("__")


def _heirs(reading: Reading, cls: ClassOutline | None, name: str) -> list[ClassOutline]:
    """Classes of the module that inherit a method and change something of what it is built on."""
    if cls is None:
        return []
    return [
        one
        for one in reading.outline.classes.values()
        if one is not cls and one.methods and objects.find_method(reading, one, name) is cls.methods.get(name)
    ]


def _enter(
    reading: Reading,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    scope: Scope,
    cls: ClassOutline | None,
    returned: list[tuple[str, int, Request]],
) -> None:
    function = FunctionValue(node, None)
    if cls is not None:
        function.cls = scope.cls
        names = {last_name(one) for one in node.decorator_list}
        if not names & {"staticmethod", "classmethod"}:
            function.subject = objects.instance_of(reading, cls)
    reading.entry = node
    reading.quiet_reads.clear()
    reading.stamp += 1
    turn = Turn(reading.id_of(node), scope, reading.stamp, entry=True)
    reading.turns = [turn]
    before = reading.edits
    value = calls.inline(reading, function, [], {}, node, unknown=True)
    if reading.edits > before and (function.subject is not None or stirs(scope)):
        _age_all(reading, function)
        reading.stamp += 1
        reading.turns = [replace(turn, second=reading.stamp)]
        calls.inline(reading, function, [], {}, node, unknown=True)
    reading.stamp += 1
    _judge_result(reading, node, value, returned)
    reading.turns = []


def _age_all(reading: Reading, function: FunctionValue) -> None:
    if function.subject is not None:
        reading.frame.names["self"] = function.subject
    age(reading)
    reading.frame.names.pop("self", None)


def _judge_result(
    reading: Reading,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    value: Value,
    returned: list[tuple[str, int, Request]],
) -> None:
    for line, request in requests.of_returned(reading, node, value):
        returned.append((node.name, line, request))
    decorated = {last_name(one) for one in node.decorator_list} & _PROMPT_DECORATORS
    if decorated or (SYSTEM_NAME.match(node.name) and node.name not in reading.outline.called):
        placement.judge(reading, requests.of_prompt(node, value))


def _module_prompts(reading: Reading, tree: ast.Module) -> None:
    """System prompts that a module only holds, for others to send."""
    reading.entry = tree
    for name, value in sorted(reading.globals.names.items()):
        if SYSTEM_NAME.match(name) and not isinstance(value, FunctionValue):
            node = next((one for one in tree.body if _binds(one, name)), tree.body[0])
            placement.judge(reading, requests.of_prompt(node, value))


def _binds(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(one, ast.Name) and one.id == name for one in targets)


def _judge_returned(reading: Reading, returned: list[tuple[str, int, Request]]) -> None:
    """Requests that are built and handed out: judged where nothing of the module sends them on."""
    outermost = {line for name, line, _ in returned if name not in reading.outline.called}
    for name, line, request in returned:
        if line in reading.reached:
            continue
        if line in outermost and name in reading.outline.called:
            continue
        reading.entry = request.node
        reading.turns = [Turn(reading.id_of(request.node), None, reading.stamp, entry=True)]
        placement.judge(reading, request)
        reading.turns = []
