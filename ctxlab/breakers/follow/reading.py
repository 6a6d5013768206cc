"""One reading of a module: what is known so far, and where in the module one is.

Models: names and frames, loops and turns (a loop that sends is read twice, so that what one turn leaves for
the next is seen), a budget of steps.
Does not model: exceptions, concurrency, code of other modules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ctxlab.breakers.follow.names import last_name
from ctxlab.breakers.follow.outline import Outline, Scope
from ctxlab.breakers.follow.values import (
    ClassValue,
    Frame,
    FunctionNode,
    Instance,
    ListValue,
    Marks,
    Trace,
    Value,
    kept_list,
    merge,
)
from ctxlab.breakers.follow.volatile import Origin, belongs_to_user, is_module_name

HISTORY_NAME = re.compile(
    r"^_?(messages|msgs|history|conversation|chat_history|message_history|conversation_history|transcript|"
    r"histories|conversations|chat_histories|message_histories|past_messages|previous_messages|prior_messages|chat_log)$"
)
"""What a list of earlier messages is called."""

MAX_STEPS = 200_000
MAX_DEPTH = 9


@dataclass(frozen=True, slots=True)
class Seen:
    """One breaker as it was met: where it begins, which slot of which request it reaches."""

    rule: str
    certain: bool
    line: int
    column: int
    text: str
    message: str
    script: bool = False
    sink: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """A loop or function that is read again: its id, its scope, and when either reading began.

    ``entry`` says that it is a function, which each turn of a session calls.
    """

    id: int
    scope: Scope | None
    first: int
    second: int = 0
    entry: bool = False


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a condition reads: names, attributes (``.x``), both as nodes, whether it draws or asks."""

    names: frozenset[str]
    attributes: frozenset[str]
    nodes: tuple[ast.expr, ...]
    draws: bool
    calls: tuple[ast.Call, ...]


def _mentions(test: ast.expr) -> Mentions:
    nodes = [one for one in ast.walk(test) if isinstance(one, (ast.Name, ast.Attribute))]
    bases = {id(one.value) for one in nodes if isinstance(one, ast.Attribute)}
    names = frozenset(one.id for one in nodes if isinstance(one, ast.Name))
    attributes = frozenset("." + one.attr for one in nodes if isinstance(one, ast.Attribute))
    calls = tuple(one for one in ast.walk(test) if isinstance(one, ast.Call))
    draws = any(map(_draws, calls))
    return Mentions(names, attributes, tuple(one for one in nodes if id(one) not in bases), draws, calls)


class OutOfStepsError(Exception):
    """The module is too tangled to be followed to its end."""


class Reading:
    """The state of one reading; the functions that read statements and expressions take it first."""

    def __init__(self, outline: Outline, text: str):
        # the readers need this module; taken here they are looked up once, not at every expression
        from ctxlab.breakers.follow.expressions import evaluate

        self.evaluate: Callable[[ast.expr], Value] = partial(evaluate, self)
        self.outline = outline
        self.lines = text.split("\n")
        self.globals = Frame()
        self.frame = self.globals
        self.modules: dict[str, str] = {}
        self.per = "script"
        self.turns: list[Turn] = []
        self.arms: list[tuple[ast.AST, int]] = []
        self.handlers = 0
        self.stamp = 1
        self.steps = 0
        self.calls: list[FunctionNode] = []
        self.seen: list[Seen] = []
        self.sent: list[SentOnce] = []
        self.entry: ast.AST | None = None
        self.edits = 0
        self.history_edits = 0
        self.unmarks = "cache_control" in text and _takes_markers_off(text)
        self.seeded = "seed(" in text
        self.ids: dict[ast.AST, int] = {}
        self.instances: dict[str, Instance] = {}
        self.lists: dict[str, ListValue] = {}
        self.tests: list[ast.expr] = []
        self.spent: list[frozenset[str]] = []
        self.muted = False
        self.method = ""
        self.aged = 0
        self.unmarking: dict[ast.AST, bool] = {}
        self.plain: list[tuple[ast.AST, Frame]] = []
        self.growing: list[list[ListValue]] = []
        self.quiet_reads: dict[ast.AST, int] = {}
        self.idle_reads: dict[tuple[ast.AST, bool], int] = {}
        self.own_marks: dict[ast.AST, Marks] = {}
        self._told: set[tuple[str, int, int, bool]] = set()
        self._told_from = 0
        self.continued: list[list[tuple[dict[str, Value], ast.expr | None]]] = []
        self.segments: dict[ast.AST, str] = {}
        self.mentioned: dict[ast.expr, Mentions] = {}
        self.once: dict[ast.If, tuple[bool, frozenset[str]]] = {}
        self.back: dict[ast.expr, bool] = {}
        self.writes = 0
        self.settled = False
        self.results: dict[object, Value] = {}
        self.users: list[Marks] = []
        self.reached: set[int] = set()
        self.read_functions: set[ast.AST] = set()

    def attribute(self, base: Value, name: str, node: ast.AST) -> Value:
        """What an attribute of a value holds."""
        from ctxlab.breakers.follow.expressions import attribute

        return attribute(self, base, name, node)

    def execute(self, body: list[ast.stmt]) -> bool:
        """Read statements in order; True when they end the block they stand in."""
        from ctxlab.breakers.follow.statements import execute

        return execute(self, body)

    def is_history_name(self, name: str) -> bool:
        """Whether a name says that it holds earlier messages."""
        return HISTORY_NAME.match(name) is not None

    def check_steps(self) -> None:
        """Stop when the budget of steps is spent; asked at every call and block of statements."""
        if self.steps > MAX_STEPS:
            raise OutOfStepsError

    def id_of(self, node: ast.AST) -> int:
        """A small number for a loop, the same in every reading of the module."""
        return self.ids.setdefault(node, len(self.ids) + 1)

    def loops(self) -> tuple[int, ...]:
        """The loops one is in, outer first."""
        return tuple(turn.id for turn in self.turns)

    def again(self, trace: Trace) -> bool:
        """Whether the trace was left by an earlier turn of a loop one is in."""
        return any(turn.second and turn.first <= trace.stamp < turn.second for turn in self.turns)

    def segment(self, node: ast.AST, limit: int = 60) -> str:
        """The source of an expression on one line, shortened."""
        known = self.segments.get(node)
        if known is None:
            text = ast.unparse(node) if isinstance(node, ast.expr) else ""
            known = self.segments[node] = " ".join(text.split())
        return known if len(known) <= limit else known[: limit - 1] + "…"

    def mentions(self, test: ast.expr) -> Mentions:
        """The names a condition reads."""
        known = self.mentioned.get(test)
        if known is None:
            known = self.mentioned[test] = _mentions(test)
        return known

    def test_marks(self, test: ast.expr) -> Marks:
        """Traces of the names and attributes a condition reads."""
        return merge(*(self.evaluate(node).marks for node in self.mentions(test).nodes))

    def asks_age(self, test: ast.expr) -> bool:
        """Whether a condition compares with the length of the history: each turn another message passes."""
        lengths = [one for one in self.mentions(test).calls if last_name(one.func) == "len"]
        marks = merge(self.test_marks(test), *(self.evaluate(one).marks for one in lengths))
        return any(trace.rule == "turn" and trace.form == "length" for trace in marks)

    def takes_markers_off(self) -> bool:
        """Whether the function one is in, or one it calls, is about markers and removes them."""
        if not self.unmarks or not self.calls:
            return False
        node = self.calls[-1]
        known = self.unmarking.get(node)
        if known is None:
            scope = self.outline.functions.get(node)
            called = scope.calls if scope is not None else set()
            near = [one for one in self.outline.functions if getattr(one, "name", "") in called]
            known = any("cache_control" in ast.unparse(one) for one in (node, *near))
            self.unmarking[node] = known
        return known

    def refers_back(self, target: ast.expr, source: ast.expr) -> bool:
        """Whether a value is made from what its own target held before."""
        known = self.back.get(source)
        if known is None:
            kind = type(target)
            name = target.id if isinstance(target, ast.Name) else ast.unparse(target)
            known = self.back[source] = any(
                type(one) is kind and (one.id if isinstance(one, ast.Name) else ast.unparse(one)) == name
                for one in ast.walk(source)
            )
        return known

    def trace(self, origin: Origin, node: ast.AST, text: str = "") -> Trace:
        """A new trace that begins at ``node``."""
        return Trace(
            origin.rule,
            getattr(node, "lineno", 0),
            getattr(node, "col_offset", 0) + 1,
            text,
            origin.certain,
            origin.grain,
            origin.form,
            self.per,
            self.loops(),
            self.stamp,
            note=origin.note,
            node=node,
        )

    def told(self, trace: Trace) -> Trace:
        """The trace with the text of its expression, which is written out only for what is told."""
        if trace.text or trace.node is None:
            return trace
        return replace(trace, text=self.segment(trace.node))

    def told_so_far(self) -> int:
        """How many different findings there are until here."""
        new = self.seen[self._told_from :]
        self._told_from = len(self.seen)
        self._told.update((one.rule, one.line, one.column, one.certain) for one in new)
        return len(self._told)

    def edit(
        self, rule: str, node: ast.AST, *, certain: bool = True, note: str = "", text: str = ""
    ) -> Marks:
        """A trace of something changed in place, stamped with now."""
        self.edits += 1
        self.history_edits += rule != "edit"
        form = BETWEEN if self.method else ""
        made = self.trace(Origin(rule, certain=certain, note=note, form=form), node, text)
        return (replace(made, loops=self.loops()),)

    def look_up(self, name: str, node: ast.AST | None = None) -> Value:
        """What a name holds here."""
        frame: Frame | None = self.frame
        while frame is not None:
            if name in frame.names and name not in frame.shared:
                return frame.names[name]
            frame = frame.parent
        if name in self.globals.names:
            return self.globals.names[name]
        if name in self.outline.classes:
            return ClassValue(self.outline.classes[name])
        return Value((), self.modules.get(name, name))

    def bind(self, name: str, value: Value) -> None:
        """Give a name a value."""
        if name in self.frame.shared:
            self.globals.names[name] = value
        else:
            self.frame.names[name] = value

    def parameter(self, name: str, annotation: ast.expr | None = None) -> Value:
        """What a parameter holds when nothing is known of the caller."""
        if HISTORY_NAME.match(name):
            return kept_list()
        typed = self.typed(name, annotation)
        if typed is not None:
            return typed
        value = Value((), f"given_{name}" if is_module_name(name) else name)
        origin = belongs_to_user(name)
        if origin is not None and not _names_one(annotation):
            given = replace(
                self.trace(origin, annotation or self.entry or ast.Pass(), name), form=origin.form or GIVEN
            )
            value.marks = (given,)
        if ASKED.match(name):
            node = self.entry or ast.Pass()
            value.marks = (*value.marks, self.trace(Origin("turn"), node, name))
        return value

    def typed(self, name: str, annotation: ast.expr | None) -> Value | None:
        """What a parameter's type says it holds: an object of a class of the module, or a set of texts."""
        if isinstance(annotation, ast.Subscript) and last_name(annotation.value) in _LISTS:
            item = self.typed(f"{name}[]", annotation.slice)
            return _some_of(item) if item is not None and not isinstance(item, ListValue) else None
        kind = type_name(annotation)
        known = self.outline.classes.get(kind)
        if known is not None and not _NO_OBJECT.intersection(known.bases):
            from ctxlab.breakers.follow.objects import instance_of

            made = instance_of(self, known)
            made.name = name
            return made
        if kind in _SETS and isinstance(annotation, ast.Subscript) and last_name(annotation.slice) != "int":
            held = ListValue([Value((), f"{name}[]")], is_set=True)
            held.many = held.open = True
            return held
        return None

    def varies(self, test: ast.expr) -> bool:
        """Whether a condition can come out differently in another turn of a loop one is in."""
        stored: set[str] = set()
        for turn in self.turns:
            if turn.scope is not None:
                stores = turn.scope.stores
                stored |= {one for one in stores if one.startswith(".")} if turn.entry else stores
        found = self.mentions(test)
        if any(turn.entry for turn in self.turns) and not self.outline.modes.isdisjoint(found.attributes):
            return True
        if found.draws or not stored.isdisjoint(found.names) or not stored.isdisjoint(found.attributes):
            return True
        held = (self.frame.names.get(name) for name in found.names)
        return any(trace.rule in MOVING for value in held if value is not None for trace in value.marks)


_SETS = frozenset({"set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"})
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "Collection"})
_NO_OBJECT = frozenset({"TypedDict", "Enum", "StrEnum", "IntEnum", "Flag", "Protocol", "ABC"})


def _some_of(item: Value) -> ListValue:
    """A list of which is known what each of its items is."""
    made = ListValue([item])
    made.many = made.open = True
    return made


def type_name(annotation: ast.expr | None) -> str:
    """The class a type names, through ``Optional``, ``Annotated``, ``X | None`` and quotes; else empty."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value if annotation.value.isidentifier() else ""
    if isinstance(annotation, ast.BinOp):
        return type_name(annotation.left) or type_name(annotation.right)
    if isinstance(annotation, ast.Subscript):
        outer = last_name(annotation.value)
        if outer in ("Optional", "Annotated"):
            inner = annotation.slice
            return type_name(inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner)
        return outer if outer in _SETS else ""
    return last_name(annotation) if isinstance(annotation, (ast.Name, ast.Attribute)) else ""


GIVEN = "given"
"""The form of a parameter named like a user's value: it is told where it is written into a text."""

RECALLED = "recalled"
"""The form of what a function of another module finds for the text of this turn."""

BETWEEN = "between turns"
"""The form of an edit that another method makes, between two turns of a session."""

LOOKED_UP = "looked up"
"""The form of what is found for a user inside a class that keeps it: told where the class is asked."""

HELD = "held"
"""The form of what an iterator that outlives the call hands out: only a history that is kept shows it."""

MOVING = frozenset({"turn", "random-value"})
"""Traces of what is another one each turn."""

ASKED = re.compile(
    r"^(user_|human_|new_|latest_)?(message|msg|query|question|input|input_text|utterance|request_text|text|"
    r"user_text|user_content|prompt_text|turn_text)$"
)


@dataclass(frozen=True, slots=True)
class SentOnce:
    """One request as it was seen to be sent: for what only several of them show together."""

    node: ast.AST
    turns: tuple[Turn, ...]
    model: str
    messages: Value
    arms: tuple[tuple[ast.AST, int], ...]
    handlers: int


def _takes_markers_off(text: str) -> bool:
    return (
        re.search(
            r"""pop\(\s*["']cache_control["']|del\s+[^\n]*\[\s*["']cache_control["']\s*\]|"""
            r"""!=\s*["']cache_control["']|["']cache_control["']\s*\]\s*=\s*None|"""
            r"""(?:strip|remove|clear|drop|reset)_\w*(?:cache|marker|breakpoint)|"""
            r"""not\s+in\s+[({\[]\s*["']cache_control""",
            text,
        )
        is not None
    )


def _names_one(annotation: ast.expr | None) -> bool:
    """Whether a parameter's type says that it holds no text of its own (a flag, a callable)."""
    return isinstance(annotation, ast.Name) and annotation.id in {"bool", "Callable"}


def _draws(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in {"random", "randint", "choice", "input", "randrange", "uniform"}
