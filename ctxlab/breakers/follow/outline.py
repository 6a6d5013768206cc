"""What a module holds, in one pass: functions, classes, loops, and which of them lead to a request.

Models: calls by the last part of their name, inside one module.
Does not model: calls through tables of functions, inheritance from other modules, monkey patches.

A module in whose text nothing looks like a request is not looked at further.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from ctxlab.breakers.follow.names import chain, constant, last_name
from ctxlab.breakers.follow.values import FunctionNode
from ctxlab.breakers.follow.volatile import is_telling

SENDING = frozenset({"create", "stream", "parse", "count_tokens", "batches"})
COMPLETION = re.compile(r"^a?(text_)?completions?$")
SYSTEM_NAME = re.compile(
    r"^_*(get|build|make|create|render|compose|generate|default|base|static|agent)?_*"
    r"(system|SYSTEM|System)_?(prompt|message|blocks|instructions?|text|PROMPT|MESSAGE|BLOCKS|INSTRUCTIONS?)$",
    re.IGNORECASE,
)
# one pattern per first word: each of them is searched for by its letters alone
_LOOKS_LIKE_ONE = (
    re.compile(
        r"messages(?:[\"']|\s*=[^=]|(?:\s*\.\s*\w+)*?\s*\.\s*(?:create|stream|parse|count_tokens|batches)\b)"
    ),
    re.compile(r"system(?:[\"']|\s*=[^=]|_?(?:prompt|message|blocks|instruction))"),
    re.compile(r"SYSTEM_?(?:PROMPT|MESSAGE|BLOCKS|INSTRUCTION)"),
    re.compile(r"System_?(?:Prompt|Message)"),
    re.compile(r"ompletions?\s*(?:\.create\s*)?\("),
)
_MODELS = re.compile(
    r"model|claude|anthropic|llm|prompt|completion|messages\.(?:create|stream)", re.IGNORECASE
)
_KEYWORDS = frozenset({"messages", "system", "system_prompt", "system_message"})
_KEYS = frozenset({"messages", "system"})
_BLOCK_KEYS = frozenset(
    {"messages", "system", "type", "role", "text", "name", "content", "cache_control", "model"}
)
_TYPES = frozenset({"annotation", "returns", "type_params", "ctx", "op", "ops", "type_comment"})
_PROPERTIES = frozenset({"property", "cached_property", "computed_field"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_ENTERED = frozenset(
    [
        ast.Call,
        ast.Set,
        ast.SetComp,
        ast.Slice,
        ast.BinOp,
        ast.Dict,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        *_LOOPS,
        ast.Global,
        ast.Nonlocal,
        ast.Yield,
        ast.YieldFrom,
        ast.ClassDef,
        ast.Attribute,
        ast.Subscript,
        ast.Assign,
        ast.AnnAssign,
    ]
)
"""What the outline takes something from; other nodes only lead to these."""

PATIENCE = 500
"""Steps every module is followed for in full, however often its functions call each other."""


@dataclass(slots=True, eq=False)
class ClassOutline:
    """A class: its methods by name, the last parts of its bases' and decorators' names."""

    name: str
    node: ast.ClassDef
    methods: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    decorators: frozenset[str] = frozenset()

    @property
    def keyword_built(self) -> bool:
        """Whether its fields are its constructor's keywords."""
        known = {"BaseModel", "NamedTuple", "TypedDict", "BaseSettings", "Struct"}
        return bool(
            self.decorators & {"dataclass", "define", "frozen", "attrs", "s"} or known & set(self.bases)
        )


@dataclass(slots=True, eq=False)
class Scope:
    """A function or a loop: the names called in it, whether a request is written in it, names stored in it.

    ``stores`` are names bound or changed in place (attributes with a dot), ``changes`` those changed,
    ``makes`` those that are given a container made here, ``reads`` names and attributes that are read.
    """

    node: ast.AST
    calls: set[str] = field(default_factory=set)
    sends: bool = False
    telling: bool = False
    shares: bool = False
    stores: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    makes: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    read_as_attribute: bool = False
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
    stirring: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    loud: set[str] = field(default_factory=set)
    modes: set[str] = field(default_factory=set)
    size: int = 0

    @property
    def patience(self) -> int:
        """The steps after which what told nothing is no longer read over and over; grows by module."""
        return PATIENCE + self.size

    def leads(self, node: ast.AST) -> bool:
        """Whether a function or loop sends a request, itself or through a function of the module."""
        scope = self.functions.get(node) or self.loops.get(node)
        return scope is not None and (scope.sends or not self.leading.isdisjoint(scope.calls))

    def repeats(self, node: ast.AST) -> bool:
        """Whether a function comes out the same when it is called again: it changes nothing but its own."""
        scope = self.functions.get(node)
        return scope is not None and not stirs(scope) and self.stirring.isdisjoint(scope.calls)

    def is_silent(self, node: ast.AST) -> bool:
        """Whether nothing comes out of a function but what goes in: then it need not be read."""
        scope = self.functions.get(node)
        return scope is not None and not _tells(self, scope) and self.told.isdisjoint(scope.calls)

    def make_loud(self, names: set[str]) -> None:
        """Names and attributes that turn out to hold what changes: who reads them has to be read."""
        if not names <= self.loud:
            self.loud |= names
            spread(self)

    @property
    def sends(self) -> bool:
        """Whether anything in the module does."""
        return self.module.sends


def looks_like_one(text: str) -> bool:
    """Whether a request may be written in this text: a cheap look before the tree is walked.

    >>> looks_like_one("client.messages.create(model=m)"), looks_like_one("import os")
    (True, False)
    """
    return any(pattern.search(text) for pattern in _LOOKS_LIKE_ONE) and _MODELS.search(text) is not None


def outline(tree: ast.Module) -> Outline:
    """Walk the tree once."""
    found = Outline()
    stack: list[tuple[ast.AST, tuple[Scope, ...], ClassOutline | None]] = [
        (node, (), None) for node in reversed(tree.body)
    ]
    while stack:
        node, scopes, cls = stack.pop()
        found.size += 1
        kind = type(node)
        if isinstance(node, ast.Name):
            _name(node, scopes)
            continue
        if kind in _ENTERED:
            inner, inner_cls = _enter(found, node, scopes, cls)
        else:
            inner, inner_cls = scopes, cls if kind is ast.If or kind is ast.Try else None
        for name in _fields(kind):
            value = getattr(node, name, None)
            if isinstance(value, list):
                stack += [(one, inner, inner_cls) for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                stack.append((value, inner, inner_cls))
    spread(found)
    return found


_WALKED: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: (), ast.alias: ()}


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that are walked: those that hold values, none of constants."""
    known = _WALKED.get(kind)
    if known is None:
        known = _WALKED[kind] = tuple(name for name in kind._fields if name not in _TYPES)
    return known


def _name(node: ast.Name, scopes: tuple[Scope, ...]) -> None:
    if not isinstance(node.ctx, ast.Load):
        for scope in scopes:
            scope.stores.add(node.id)
            scope.binds.add(node.id)
        return
    for scope in scopes:
        scope.reads.add(node.id)
    if is_telling(node.id):
        _tell(scopes)


def _enter(
    found: Outline, node: ast.AST, scopes: tuple[Scope, ...], cls: ClassOutline | None
) -> tuple[tuple[Scope, ...], ClassOutline | None]:
    if isinstance(node, ast.Call):
        _call(found, node, scopes)
    elif isinstance(node, (ast.Set, ast.SetComp)) or (
        node.lower is not None
        if isinstance(node, ast.Slice)
        else isinstance(node, ast.BinOp) and _of_sets(node)
    ):
        _tell(scopes)
    elif isinstance(node, ast.Dict):
        # a function in a table is called by whoever looks it up
        handed = {last_name(one) for one in node.values if isinstance(one, (ast.Name, ast.Attribute))}
        for scope in scopes:
            scope.calls |= handed
        if any(isinstance(key, ast.Constant) and key.value in _BLOCK_KEYS for key in node.keys):
            _tell(scopes)
        if any(isinstance(key, ast.Constant) and key.value in _KEYS for key in node.keys):
            _sends(found, scopes)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        scope = Scope(node, cls=cls, outer=scopes)
        scope.read_as_attribute = bool(_PROPERTIES & {last_name(one) for one in node.decorator_list})
        found.functions[node] = scope
        arguments = node.args
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            scope.binds.add(one.arg)
            if is_telling(one.arg):
                scope.telling = True
        if SYSTEM_NAME.match(node.name):
            _sends(found, (scope,))
        if cls is not None:
            cls.methods[node.name] = node
        return (*scopes, scope), None
    elif isinstance(node, _LOOPS):
        scope = Scope(node, outer=scopes)
        found.loops[node] = scope
        return (*scopes, scope), None
    elif isinstance(node, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom)):
        found.module.shares = True
        for scope in scopes:
            scope.shares = True
    elif isinstance(node, ast.ClassDef):
        made = ClassOutline(
            node.name,
            node,
            bases=tuple(last_name(base) for base in node.bases),
            decorators=frozenset(last_name(one) for one in node.decorator_list),
        )
        found.classes.setdefault(node.name, made)
        return scopes, made
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        for scope in scopes:
            scope.reads.add("." + node.attr)
        if is_telling(node.attr):
            _tell(scopes)
    elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        root: ast.AST = node
        while isinstance(root, (ast.Subscript, ast.Attribute)):
            if isinstance(root, ast.Attribute):
                _store("." + root.attr, scopes)
            root = root.value
        if isinstance(root, ast.Name):
            _store(root.id, scopes)
        if isinstance(node, ast.Subscript) and constant(node.slice) in _KEYS:
            _sends(found, scopes)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {one.id for one in targets if isinstance(one, ast.Name)}
        if names and _is_made(node.value):
            for scope in scopes:
                scope.makes |= names
        if scopes and scopes[0].cls is not None and _is_a_mode(scopes[0].node, node.value):
            found.modes |= {"." + one.attr for one in targets if isinstance(one, ast.Attribute)}
        if cls is not None and node.value is not None and not isinstance(node.value, ast.Constant):
            found.loud |= {"." + name for name in names}
        if not scopes and any(map(SYSTEM_NAME.match, names)):
            _sends(found, scopes)
    return scopes, cls if isinstance(node, (ast.If, ast.Try, ast.ClassDef)) else None


def _is_a_mode(function: ast.AST, value: ast.expr | None) -> bool:
    """Whether what a method gives an attribute is another state of a session: a word, or the other of two."""
    name = getattr(function, "name", "")
    if name.startswith(("__", "set", "reset", "load", "configure", "use_", "with_")):
        return False
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str) and bool(value.value)
    return isinstance(value, ast.IfExp) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))


def _of_sets(node: ast.BinOp) -> bool:
    """Whether an operator may be one of sets."""
    if isinstance(node.op, ast.Sub):
        return isinstance(node.left, ast.Call) and last_name(node.left) in ("keys", "items")
    return isinstance(node.op, (ast.BitAnd, ast.BitXor, ast.BitOr))


def _call(found: Outline, node: ast.Call, scopes: tuple[Scope, ...]) -> None:
    name = last_name(node.func)
    if name:
        found.called.add(name)
        for scope in scopes:
            scope.calls.add(name)
    # a name handed over is called by whoever gets it
    if any(isinstance(one, ast.Name) and one.id == "self" for one in node.args):
        _tell(scopes)
    for argument in node.args:
        handed = last_name(argument) if isinstance(argument, (ast.Name, ast.Attribute)) else ""
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
        or any(
            name_ in SENDING and "messages" in chain(one) for one in node.args if (name_ := last_name(one))
        )
        or COMPLETION.match(name)
        or keywords & _KEYWORDS
        or name.endswith("SystemMessage")
    ):
        _sends(found, scopes)


_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "update", "popleft", "appendleft"}
)


def _tell(scopes: tuple[Scope, ...]) -> None:
    for scope in scopes:
        scope.telling = True


def _is_made(node: ast.expr | None) -> bool:
    """Whether a value is a container made on the spot."""
    if isinstance(node, ast.Call):
        return last_name(node) in {
            "list",
            "dict",
            "set",
            "sorted",
            "deepcopy",
            "defaultdict",
            "OrderedDict",
            "split",
        }
    return isinstance(node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))


def _sends(found: Outline, scopes: tuple[Scope, ...]) -> None:
    found.module.sends = True
    for scope in scopes:
        scope.sends = True


def _store(name: str, scopes: tuple[Scope, ...]) -> None:
    for scope in scopes:
        scope.stores.add(name)
        scope.changes.add(name)


def spread(found: Outline) -> None:
    """Names of functions that lead to a request, until no more are found."""
    functions = [scope for scope in found.functions.values() if isinstance(scope.node, FunctionNode)]
    changed = True
    while changed:
        changed = False
        for scope in functions:
            name = getattr(scope.node, "name", "")
            # an object is written by whoever has it: what its text holds comes with its class
            name = scope.cls.name if name in _WITH_ITS_CLASS and scope.cls is not None else name
            if name not in found.leading and (scope.sends or not found.leading.isdisjoint(scope.calls)):
                found.leading.add(name)
                changed = True
            if name not in found.told and (_tells(found, scope) or not found.told.isdisjoint(scope.calls)):
                found.told.add(name)
                if scope.read_as_attribute:
                    found.loud.add("." + name)
                changed = True
            if name not in found.stirring and (stirs(scope) or not found.stirring.isdisjoint(scope.calls)):
                found.stirring.add(name)
                changed = True


_WITH_ITS_CLASS = frozenset({"__init__", "__str__", "__repr__", "__format__"})


def _tells(found: Outline, scope: Scope) -> bool:
    """Whether a function holds anything that could matter to a request."""
    return scope.telling or scope.sends or stirs(scope) or not found.loud.isdisjoint(scope.reads)


def stirs(scope: Scope) -> bool:
    """Whether a function changes what is not its own."""
    return scope.shares or not scope.changes <= scope.makes
