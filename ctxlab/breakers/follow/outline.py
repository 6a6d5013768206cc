"""What a module holds, in one pass: functions, classes, loops, and which of them lead to a request.

Models: calls by the last part of their name, inside one module.
Does not model: calls through tables of functions, inheritance from other modules, monkey patches.

A module in whose text nothing looks like a request is not looked at further.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from ctxlab.breakers.follow.values import FunctionNode

SENDING = frozenset({"create", "stream", "parse", "count_tokens", "batches"})
COMPLETION = re.compile(r"^a?(text_)?completions?$")
SYSTEM_NAME = re.compile(
    r"^_*(get|build|make|create|render|compose|generate|default|base|static|agent)?_*"
    r"(system|SYSTEM|System)_?(prompt|message|blocks|instructions?|text|PROMPT|MESSAGE|BLOCKS|INSTRUCTIONS?)$",
    re.IGNORECASE,
)
_LOOKS_LIKE_ONE = re.compile(
    r"messages\s*(?:\.\s*\w+\s*)*\.\s*(?:create|stream|parse|count_tokens|batches)\b|\bmessages\s*=|"
    r"""["'](?:messages|system)["']|completions?\s*(?:\.create\s*)?\(|system_?(?:prompt|message|blocks|instruction)"""
    r"|\bsystem\s*=|SystemMessage",
    re.IGNORECASE,
)
_KEYWORDS = frozenset({"messages", "system", "system_prompt", "system_message"})
_KEYS = frozenset({"messages", "system"})
_LEAVES = (ast.Constant, ast.Name, ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop, ast.alias)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(slots=True, eq=False)
class ClassOutline:
    """A class: its methods by name, its own statements, the last parts of its bases' and decorators' names."""

    name: str
    node: ast.ClassDef
    methods: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    decorators: frozenset[str] = frozenset()

    @property
    def keyword_built(self) -> bool:
        """Whether its fields are its constructor's keywords."""
        known = {"BaseModel", "NamedTuple", "TypedDict", "BaseSettings", "Struct"}
        return bool(self.decorators & {"dataclass", "define", "frozen", "attrs", "s"} or known & set(self.bases))


@dataclass(slots=True, eq=False)
class Scope:
    """A function or a loop: the names called in it, whether a request is written in it, names stored in it."""

    node: ast.AST
    calls: set[str] = field(default_factory=set)
    sends: bool = False
    stores: set[str] = field(default_factory=set)
    cls: ClassOutline | None = None
    outer: tuple[Scope, ...] = ()


@dataclass(slots=True)
class Outline:
    """A module: its scopes by node, its classes by name, and the names called anywhere in it."""

    functions: dict[ast.AST, Scope] = field(default_factory=dict)
    loops: dict[ast.AST, Scope] = field(default_factory=dict)
    classes: dict[str, ClassOutline] = field(default_factory=dict)
    module: Scope = field(default_factory=lambda: Scope(ast.Module([], [])))
    called: set[str] = field(default_factory=set)
    leading: set[str] = field(default_factory=set)

    def leads(self, node: ast.AST) -> bool:
        """Whether a function or loop sends a request, itself or through a function of the module."""
        scope = self.functions.get(node) or self.loops.get(node)
        return scope is not None and (scope.sends or not self.leading.isdisjoint(scope.calls))

    @property
    def sends(self) -> bool:
        """Whether anything in the module does."""
        return self.module.sends


def looks_like_one(text: str) -> bool:
    """Whether a request may be written in this text: a cheap look before the tree is walked.

    >>> looks_like_one("client.messages.create(model=m)"), looks_like_one("import os")
    (True, False)
    """
    return _LOOKS_LIKE_ONE.search(text) is not None


def outline(tree: ast.Module) -> Outline:
    """Walk the tree once."""
    found = Outline()
    stack: list[tuple[ast.AST, tuple[Scope, ...], ClassOutline | None]] = [
        (node, (found.module,), None) for node in reversed(tree.body)
    ]
    while stack:
        node, scopes, cls = stack.pop()
        if isinstance(node, _LEAVES):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                _store(node.id, scopes)
            continue
        inner, inner_cls = _enter(found, node, scopes, cls)
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                stack += [(one, inner, inner_cls) for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                stack.append((value, inner, inner_cls))
    _spread(found)
    return found


def _enter(
    found: Outline, node: ast.AST, scopes: tuple[Scope, ...], cls: ClassOutline | None
) -> tuple[tuple[Scope, ...], ClassOutline | None]:
    if isinstance(node, ast.Call):
        _call(found, node, scopes)
    elif isinstance(node, ast.Dict):
        if any(isinstance(key, ast.Constant) and key.value in _KEYS for key in node.keys):
            _sends(scopes)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        scope = Scope(node, cls=cls, outer=scopes)
        found.functions[node] = scope
        if SYSTEM_NAME.match(node.name):
            _sends((scope, found.module))
        if cls is not None:
            cls.methods[node.name] = node
        return (*scopes, scope), None
    elif isinstance(node, _LOOPS):
        scope = Scope(node, outer=scopes)
        found.loops[node] = scope
        return (*scopes, scope), None
    elif isinstance(node, ast.ClassDef):
        made = ClassOutline(
            node.name,
            node,
            bases=tuple(_last(base) for base in node.bases),
            decorators=frozenset(_last(one) for one in node.decorator_list),
        )
        found.classes.setdefault(node.name, made)
        return scopes, made
    elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        root: ast.AST = node
        while isinstance(root, (ast.Subscript, ast.Attribute)):
            if isinstance(root, ast.Attribute):
                _store("." + root.attr, scopes)
            root = root.value
        if isinstance(root, ast.Name):
            _store(root.id, scopes)
        if isinstance(node, ast.Subscript) and _constant(node.slice) in _KEYS:
            _sends(scopes)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and scopes == (found.module,):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(one, ast.Name) and SYSTEM_NAME.match(one.id) for one in targets):
            _sends(scopes)
    return scopes, cls if isinstance(node, (ast.If, ast.Try, ast.ClassDef)) else None


def _call(found: Outline, node: ast.Call, scopes: tuple[Scope, ...]) -> None:
    name = _last(node.func)
    if name:
        found.called.add(name)
        for scope in scopes:
            scope.calls.add(name)
    # a name handed over is called by whoever gets it
    for argument in node.args:
        handed = _last(argument) if isinstance(argument, (ast.Name, ast.Attribute)) else ""
        if handed:
            found.called.add(handed)
            for scope in scopes:
                scope.calls.add(handed)
    if isinstance(node.func, ast.Attribute):
        root: ast.AST = node.func.value
        named: str = ""
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            named = root.attr if isinstance(root, ast.Attribute) and not named else named
            root = root.value
        if isinstance(root, ast.Name) and name in _CHANGING:
            _store(root.id if not (root.id in {"self", "cls"} and named) else "." + named, scopes)
    keywords = {keyword.arg for keyword in node.keywords}
    if (
        (name in SENDING and "messages" in chain(node.func))
        or any(name_ in SENDING and "messages" in chain(one) for one in node.args if (name_ := _last(one)))
        or COMPLETION.match(name)
        or keywords & _KEYWORDS
        or name.endswith("SystemMessage")
    ):
        _sends(scopes)


_CHANGING = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "update", "popleft", "appendleft"})


def _sends(scopes: tuple[Scope, ...]) -> None:
    for scope in scopes:
        scope.sends = True


def _store(name: str, scopes: tuple[Scope, ...]) -> None:
    for scope in scopes:
        scope.stores.add(name)


def _spread(found: Outline) -> None:
    """Names of functions that lead to a request, until no more are found."""
    functions = [scope for scope in found.functions.values() if isinstance(scope.node, FunctionNode)]
    changed = True
    while changed:
        changed = False
        for scope in functions:
            name = getattr(scope.node, "name", "")
            name = scope.cls.name if name == "__init__" and scope.cls is not None else name
            if name not in found.leading and (scope.sends or not found.leading.isdisjoint(scope.calls)):
                found.leading.add(name)
                changed = True


def chain(node: ast.AST) -> list[str]:
    """The names of ``a.b().c``, last first."""
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


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return node.id if isinstance(node, ast.Name) else ""


def _constant(node: ast.AST) -> object:
    return node.value if isinstance(node, ast.Constant) else None
