"""What a name may hold while source is read: values with the traces of what changes in them.

Models: texts, lists, dicts, functions, classes and instances of one module, each with :class:`Trace` marks.
Does not model: numbers beyond constants, types, or anything of another module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxlab.breakers.follow.outline import ClassOutline

MAX_MARKS = 16
MAX_ITEMS = 64
"""Items of a list that are told apart; of a longer one the middle is one gap."""
ORDERS = frozenset({"set-order", "listing-order", "arrival-order", "shuffled"})
"""Traces of an order, which sorting takes away."""

MIXED = frozenset({"random-value", "per-user-value"})
"""Traces of which items a list holds."""

MOVES = frozenset({"turn", "switch", "edit"})
"""Traces of what moves from turn to turn: told where it is written, not where it comes from."""

HISTORY_RULES = frozenset({"window", "rebuilt", "changed", "removed", "injected", "marker"})
"""Traces of what was done to a list of messages."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One expression whose value changes, and how it came here.

    ``rule`` is a finding's rule or one of the inner ones (orders, ``turn``, ``edit``, ``switch``). ``grain``
    is how often it changes (``moment``, ``hour``, ``date``), ``form`` how it is written (``object``, ``iso``,
    ``number``). ``per`` says whether it is made per ``call``, by the ``script`` itself, or ``kept``.
    ``loops`` are the loops it is made in, ``stamp`` when in the reading, ``elements_of`` the loop that hands
    out elements in this order. ``at`` is where it was last written into something: the edit it is told at.
    """

    rule: str
    line: int
    column: int
    text: str
    certain: bool = True
    grain: str = "moment"
    form: str = ""
    per: str = "call"
    loops: tuple[int, ...] = ()
    stamp: int = 0
    elements_of: int = 0
    route: tuple[str, ...] = ()
    note: str = ""
    at: tuple[int, int] = (0, 0)
    node: ast.AST | None = field(default=None, compare=False, repr=False)

    def stepped(self, step: str) -> Trace:
        """The same trace, one step further on its way."""
        return replace(self, route=(*self.route, step))

    @property
    def key(self) -> tuple[str, int, int, int, str]:
        """What makes two traces the same one."""
        return (self.rule, self.line, self.column, self.stamp, self.grain)


Marks = tuple[Trace, ...]


class Value:
    """Anything; on its own, something nothing is known about.

    ``name`` is how the source calls it; ``owner`` the list it is an item of, and ``place`` which one
    (``newest``, ``earlier`` or not known).
    """

    __slots__ = ("marks", "name", "owner", "place")

    def __init__(self, marks: Marks = (), name: str = "", owner: ListValue | None = None, place: str = ""):
        self.marks = marks
        self.name = name
        self.owner = owner
        self.place = place


class Text(Value):
    """A text or another plain value; ``const`` where it is written out."""

    __slots__ = ("const",)

    def __init__(self, marks: Marks = (), const: object = None, name: str = ""):
        super().__init__(marks, name)
        self.const = const


class ListValue(Value):
    """A list, tuple, set or deque. ``open``: there may be earlier items that are not seen.

    ``kept``: it outlives one call. ``born`` is when it was made, ``inline`` whether it is written out where
    it is used, ``many`` whether each item stands for many, ``history`` whether it holds messages, ``marked``
    whether a marker was put somewhere into it, ``marked_at`` where.
    """

    __slots__ = (
        "born",
        "history",
        "inline",
        "is_set",
        "items",
        "kept",
        "many",
        "marked",
        "marked_at",
        "open",
    )

    def __init__(self, items: list[Value], marks: Marks = (), *, born: int = 0, is_set: bool = False):
        super().__init__(marks)
        self.items = items
        self.born = born
        self.is_set = is_set
        self.open = False
        self.kept = False
        self.marked = False
        self.marked_at = (0, 0)
        self.history = False
        self.inline = False
        self.many = False


class DictValue(Value):
    """A dict or keyword object. ``rest`` are values merged in whose keys are not seen.

    ``frozen``: it is a message of a history that goes on, so it will be sent again as it is.
    ``marked_at``: where its marker was set. ``fills``: what makes a value for a key that is not there.
    ``unsure``: its marker is set on some turns only.
    ``kind``: the class of another module it is an object of.
    """

    __slots__ = (
        "entries",
        "fills",
        "frozen",
        "inline",
        "kind",
        "line",
        "marked_at",
        "ordered",
        "rest",
        "stored",
        "unsure",
    )

    def __init__(self, entries: dict[str, Value], rest: list[Value] | None = None, marks: Marks = ()):
        super().__init__(marks)
        self.entries = entries
        self.rest = rest if rest is not None else []
        self.kind = ""
        self.inline = False
        self.stored = False
        self.ordered = False
        self.frozen = False
        self.fills: Value | None = None
        self.unsure = False
        self.line = 0
        self.marked_at = (0, 0)


@dataclass(slots=True, eq=False)
class Frame:
    """The names of one running function; ``parent`` is where it was defined."""

    parent: Frame | None = None
    names: dict[str, Value] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    returned: list[Value] = field(default_factory=list)
    params: frozenset[str] = frozenset()
    absent: set[str] = field(default_factory=set)
    nested: list[FunctionValue] = field(default_factory=list)
    switches: list[ast.expr] = field(default_factory=list)


def place_of(node: ast.AST) -> tuple[int, int]:
    """Line and column of a node, both from 1."""
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1)


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class FunctionValue(Value):
    """A function of the module, with the frame it was defined in and the instance it is bound to.

    ``given`` and ``named`` are arguments that ``functools.partial`` has put in.
    """

    __slots__ = ("closure", "cls", "given", "named", "node", "subject")

    def __init__(self, node: FunctionNode, closure: Frame | None, subject: Value | None = None):
        super().__init__()
        self.node = node
        self.closure = closure
        self.subject = subject
        self.cls: ClassOutline | None = None
        self.given: tuple[Value, ...] = ()
        self.named: dict[str, Value] = {}


class ClassValue(Value):
    """A class of the module."""

    __slots__ = ("outline",)

    def __init__(self, outline: ClassOutline):
        super().__init__(name=outline.name)
        self.outline = outline


class Instance(Value):
    """An object of a class of the module and what its attributes hold."""

    __slots__ = ("attributes", "outline")

    def __init__(self, outline: ClassOutline, attributes: dict[str, Value]):
        super().__init__(name="self")
        self.outline = outline
        self.attributes = attributes


class Choice(Value):
    """One of several values, depending on a branch."""

    __slots__ = ("options",)

    def __init__(self, options: list[Value], marks: Marks = ()):
        super().__init__(marks)
        self.options = options


OWN_TEXT = frozenset({"__str__", "__repr__", "__format__"})
"""Methods that write an object."""

OTHERS = "*"
"""Under which a dict holds what stands under keys that are not written out."""

UNKNOWN = Value()


def kept_list() -> ListValue:
    """A list that outlives the call and whose earlier items are not seen."""
    made = ListValue([])
    made.open = made.kept = made.history = True
    return made


def merge(*groups: Marks) -> Marks:
    """All marks, each once, bounded."""
    filled = [group for group in groups if group]
    if not filled:
        return ()
    if len(filled) == 1:
        return filled[0]
    found: dict[Any, Trace] = {}
    for group in filled:
        for trace in group:
            known = found.get(trace.key)
            if known is None or (trace.certain and not known.certain):
                found[trace.key] = trace
    if len(found) > MAX_MARKS:
        # a list that is filled line by line has an edit per line: those give way to what changes by itself
        return tuple(sorted(found.values(), key=lambda trace: trace.rule in MOVES))[:MAX_MARKS]
    return tuple(found.values())


def weaken(marks: Marks) -> Marks:
    """The same marks, no longer certain to arrive."""
    return tuple(replace(trace, certain=False) if trace.certain else trace for trace in marks)


def written_at(value: Value, node: ast.AST) -> Value:
    """The value with the traces of what moves told at ``node``, which writes it anew."""
    if not value.marks or type(value) not in (Value, Text, Choice):
        return value
    at = place_of(node)
    if all(trace.rule not in MOVES or trace.at == at for trace in value.marks):
        return value
    marks = tuple(replace(trace, at=at) if trace.rule in MOVES else trace for trace in value.marks)
    if isinstance(value, Choice):
        return Choice(value.options, marks)
    if isinstance(value, Text):
        return Text(marks, value.const, value.name)
    return Value(marks, value.name, value.owner, value.place)


def without(marks: Marks, rules: Iterable[str]) -> Marks:
    """The marks whose rule is not among ``rules``."""
    dropped = set(rules)
    return tuple(trace for trace in marks if trace.rule not in dropped) if marks else ()


def parts(value: Value, depth: int = 6) -> list[Value]:
    """The value and everything in it down to ``depth`` levels, outer first, each once even if shared."""
    found = [value]
    level = found
    seen = {id(value)}
    for _ in range(depth):
        inner: list[Value] = []
        for one in level:
            held: Iterable[Value]
            if isinstance(one, ListValue):
                held = one.items
            elif isinstance(one, DictValue):
                held = (*one.entries.values(), *one.rest)
            elif isinstance(one, Choice):
                held = one.options
            else:
                continue
            for part in held:
                if id(part) not in seen:
                    seen.add(id(part))
                    inner.append(part)
        if not inner:
            break
        found = found + inner
        level = inner
    return found


def folded(made: ListValue) -> None:
    """Keep both ends of a list that has grown long; what lies between is one gap with its traces."""
    if len(made.items) > MAX_ITEMS:
        end = MAX_ITEMS // 4
        between = made.items[end:-end]
        made.items[end:-end] = [Value(merge(*[all_marks(one) for one in between]), "*")]


def all_marks(value: Value) -> Marks:
    """The marks of the value and of everything in it."""
    if type(value) is Value or type(value) is Text:
        return value.marks
    return merge(*[part.marks for part in parts(value) if part.marks])


def is_quiet(value: Value) -> bool:
    """Whether nothing in a value changes or has an order of its own."""
    if type(value) is Value or type(value) is Text:
        return not value.marks
    return not any(
        part.marks
        or (type(part) is ListValue and part.is_set)
        or (type(part) is FunctionValue and part is not value)
        or (type(part) is Instance and (has_address(part) or not OWN_TEXT.isdisjoint(part.outline.methods)))
        for part in parts(value)
    )


def has_address(value: Instance) -> bool:
    """Whether an object is written with its address: its class has no text of its own."""
    outline = value.outline
    plain = not outline.bases or outline.bases == ("object",)
    return plain and not outline.keyword_built and OWN_TEXT.isdisjoint(outline.methods)


def options(value: Value) -> list[Value]:
    """The alternatives of a value, at most eight."""
    if not isinstance(value, Choice):
        return [value]
    found = [plain for option in value.options for plain in options(option)]
    return found[:8]


def with_marks(value: Value, marks: Marks) -> Value:
    """The value with more marks; containers keep their identity."""
    if not marks:
        return value
    if isinstance(value, Text):
        return Text(merge(value.marks, marks), value.const, value.name)
    if type(value) is Value:
        return Value(merge(value.marks, marks), value.name, value.owner, value.place)
    if isinstance(value, Choice):
        return Choice(value.options, merge(value.marks, marks))
    if isinstance(value, (ListValue, DictValue)):
        value.marks = merge(value.marks, marks)
    return value


def routed(value: Value, step: str) -> Value:
    """The value after it was given the name ``step``: its traces remember the way."""
    if not value.marks or type(value) not in (Value, Text):
        return value
    marks = tuple(
        trace if len(trace.route) >= 6 or (trace.route and trace.route[-1] == step) else trace.stepped(step)
        for trace in value.marks
    )
    if isinstance(value, Text):
        return Text(marks, value.const, value.name)
    return Value(marks, value.name, value.owner, value.place)


def join(one: Value, other: Value) -> Value:
    """A value that is one or the other."""
    if one is other:
        return one
    plain = (Value, Text)
    if type(one) in plain and type(other) in plain:
        marks = merge(one.marks, other.marks)
        left, right = getattr(one, "const", None), getattr(other, "const", None)
        if left is not None and right is not None and left != right:
            return Choice([one, other], marks)
        if type(one) is Text and type(other) is Text:
            return Text(marks, left if left == right else None)
        return Value(marks, one.name or other.name, one.owner or other.owner, one.place)
    found = options(one)
    found += [option for option in options(other) if all(option is not known for known in found)]
    return Choice(found[:8], merge(one.marks, other.marks))


def copy_of(value: Value, born: int, memo: dict[int, Value] | None = None) -> Value:
    """A copy of containers, deep, with their marks; anything else as it is."""
    memo = {} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)]
    made: Value
    if isinstance(value, ListValue):
        made = ListValue([], value.marks, born=born, is_set=value.is_set)
        memo[id(value)] = made
        made.items = [copy_of(item, born, memo) for item in value.items]
        made.open, made.history, made.marked = value.open, value.history, value.marked
        made.marked_at = value.marked_at
        return made
    if isinstance(value, DictValue):
        made = DictValue({}, None, value.marks)
        memo[id(value)] = made
        made.entries = {key: copy_of(entry, born, memo) for key, entry in value.entries.items()}
        made.rest = [copy_of(entry, born, memo) for entry in value.rest]
        made.line, made.marked_at, made.kind = value.line, value.marked_at, value.kind
        return made
    if isinstance(value, Choice):
        made = Choice([copy_of(option, born, memo) for option in value.options], value.marks)
        memo[id(value)] = made
        return made
    return value


def joined(before: Mapping[str, Value], after: Mapping[str, Value]) -> dict[str, Value]:
    """The names after a branch that may not have been taken."""
    names = dict(before)
    for name, value in after.items():
        known = names.get(name)
        if known is not value:
            names[name] = value if known is None else join(known, value)
    return names
