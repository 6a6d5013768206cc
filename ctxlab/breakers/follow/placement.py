"""Where in a request a changing value stands, and whether that breaks what is cached.

Models: the order tools, system, messages; markers that are seen; the newest user turn, which no cache holds.
Does not model: floors, lifetimes, lookback. With no marker in sight, caching is taken to be meant elsewhere.

Order and marker rules: prompt caching page of the API documentation (2026), see ``cache_rules.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ctxlab.breakers.follow import branches, history, wording
from ctxlab.breakers.follow.reading import BETWEEN, RECALLED, Reading, Seen, Turn
from ctxlab.breakers.follow.values import (
    HISTORY_RULES,
    Choice,
    DictValue,
    ListValue,
    Marks,
    Text,
    Trace,
    Value,
    all_marks,
    merge,
    options,
    with_marks,
)
from ctxlab.breakers.follow.volatile import SHARED

if TYPE_CHECKING:
    from ctxlab.breakers.follow.requests import Request

_CHANGES = frozenset({"turn", "switch", "edit"})
_OF_EACH_REQUEST = frozenset({"clock", "random-value", "turn", "edit"})
_ALWAYS = frozenset(
    {
        "set-order",
        "object-identity",
        "per-run-value",
        "key-order",
        "listing-order",
        "tool-order",
        "per-user-value",
    }
)


@dataclass(slots=True)
class Block:
    """One block of a request: its slot and traces, whether it is marked or of the newest turn."""

    slot: str
    marks: Marks
    marked: bool = False
    newest: bool = False
    line: int = 0
    ttl: str = ""
    many: bool = False
    frozen: bool = False
    fault: str = ""
    inline: bool = False
    copied: bool = False
    marked_at: tuple[int, int] = (0, 0)


def judge(reading: Reading, request: Request) -> None:
    """Note every breaker of a request, for each of the forms it can take."""
    for system in _forms(request.system) if request.system is not None else [None]:
        for tools in _forms(request.tools)[:3] if request.tools is not None else [None]:
            for messages in options(request.messages)[:4] if request.messages is not None else [None]:
                _judge(reading, request, tools, system, messages)
    history.judge(reading, request)
    for messages in options(request.messages) if request.messages is not None else []:
        for message in messages.items if isinstance(messages, ListValue) else []:
            if isinstance(message, DictValue):
                # a list that is sent again holds what was sent before
                message.frozen = True


def _forms(value: Value) -> list[Value]:
    """The forms a slot can take, each with the traces of what chooses between them."""
    found: list[Value] = []
    for option in options(value):
        if isinstance(option, ListValue) and isinstance(value, Choice) and value.marks:
            form = ListValue(option.items, merge(option.marks, value.marks), born=option.born)
            form.many, form.marked, form.marked_at = option.many, option.marked, option.marked_at
            found.append(form)
        elif isinstance(value, Choice) and type(option) in (Value, Text):
            found.append(with_marks(option, value.marks))
        else:
            found.append(option)
    return found


def _judge(
    reading: Reading, request: Request, tools: Value | None, system: Value | None, messages: Value | None
) -> None:
    blocks = [
        *(_listed("tools", tools) if tools is not None else ()),
        *(_listed("system", system) if system is not None else ()),
        *(_messages(messages) if messages is not None else ()),
    ]
    last = max((at for at, block in enumerate(blocks) if block.marked), default=-1)
    inside = isinstance(messages, ListValue) and messages.marked
    if request.automatic or inside:
        last = len(blocks) - 1
    for at, block in enumerate(blocks):
        for trace in () if block.frozen else block.marks:
            rule = _rule(reading, block, trace, messages)
            if rule is None:
                continue
            if block.newest and not (
                at < last and block.inline and any(one.marked for one in blocks[at + 1 :])
            ):
                if not _marked_for_nothing(block, messages, automatic=request.automatic, last=last, at=at):
                    continue
                _note(reading, request, "marker-on-volatile", trace, block, messages)
                continue
            elif last >= 0 and at > last:
                continue
            _note(reading, request, rule, trace, block, messages)
            if block.marked and trace.rule in _OF_EACH_REQUEST:
                _note(reading, request, "marker-on-volatile", trace, block, messages)
    _count(reading, request, blocks)


def _listed(slot: str, value: Value) -> list[Block]:
    """The blocks of ``tools`` or ``system``."""
    if isinstance(value, Text) and value.const is None and not value.marks and slot == "tools":
        return []
    if not isinstance(value, ListValue):
        return [_block(slot, value)]
    found = [_block(slot, item) for item in value.items] or [Block(slot, ())]
    for block in found:
        block.many = value.many
    own = {trace.key for trace in value.marks if trace.rule == "set-order"} if slot == "tools" else set()
    for block in found if own else ():
        block.marks = tuple(trace for trace in block.marks if trace.key not in own)
    first = tuple(
        replace(trace, rule="tool-order") if trace.key in own else trace
        for trace in value.marks
        if trace.note != "end"
    )
    behind = tuple(trace for trace in value.marks if trace.note == "end")
    found[0].marks = merge(found[0].marks, first)
    found[-1].marks = merge(found[-1].marks, behind)
    if value.marked and not any(block.marked for block in found):
        found[-1].marked, found[-1].marked_at = True, value.marked_at
    return found


def _block(slot: str, value: Value) -> Block:
    made = Block(slot, all_marks(value))
    for option in options(value):
        if isinstance(option, DictValue):
            marker = option.entries.get("cache_control")
            made.line = made.line or option.line
            made.inline = made.inline or option.inline
            if marker is not None and not (
                isinstance(marker, Text) and marker.const is None and not marker.marks
            ):
                made.marked, made.marked_at = True, option.marked_at
                made.ttl = _ttl(marker)
                made.copied = type(marker) is Value and marker.name.endswith("cache_control")
                made.fault = _fault(option)
    return made


def _fault(block: DictValue) -> str:
    """Why the API refuses a marker on this block, empty where it takes it."""
    kind, text = (block.entries.get(key) for key in ("type", "text"))
    if isinstance(kind, Text) and kind.const in ("thinking", "redacted_thinking"):
        return "a thinking block carries no marker"
    if isinstance(text, Text) and text.const == "" and not text.marks:
        return "an empty text carries no marker"
    return ""


def _ttl(marker: Value) -> str:
    if not isinstance(marker, DictValue) or marker.rest:
        return ""
    ttl = marker.entries.get("ttl")
    if ttl is None:
        return "5m"
    return ttl.const if isinstance(ttl, Text) and isinstance(ttl.const, str) else ""


def _messages(value: Value) -> list[Block]:
    """The blocks of ``messages``; those of the last run of user messages are the newest turn's."""
    if not isinstance(value, ListValue):
        return []
    newest = len(value.items)
    while (
        newest > 0 and not value.many and _is_users(value.items[newest - 1], last=newest == len(value.items))
    ):
        newest -= 1
    # a prefilled answer stands behind the newest user message
    if newest == len(value.items) and newest > 0 and _role(value.items[-1]) == "assistant" and not value.many:
        newest -= 1
        while newest > 0 and _is_users(value.items[newest - 1], last=False):
            newest -= 1
    found: list[Block] = []
    leading = True
    for at, message in enumerate(value.items):
        leading = leading and _role(message) in ("system", "developer")
        for block in _of_message(message):
            block.newest = at >= newest
            block.slot = "system" if leading else block.slot
            found.append(block)
    mixed = tuple(trace for trace in value.marks if trace.rule in ("shuffled", "random-value", "set-order"))
    if found and mixed and len(value.items) > 1 and not found[0].newest:
        found[0].marks = merge(found[0].marks, mixed)
    return found


def _role(value: Value) -> str:
    for option in options(value):
        role = option.entries.get("role") if isinstance(option, DictValue) else None
        if isinstance(role, Text) and isinstance(role.const, str):
            return role.const
    return ""


def _is_users(value: Value, *, last: bool) -> bool:
    if value.name == "*":
        return False
    role = _role(value)
    return role not in ("assistant", "system", "developer") or (last and role in ("system", "developer"))


def _of_message(message: Value) -> list[Block]:
    found: list[Block] = []
    for option in options(message):
        if not isinstance(option, DictValue):
            found.append(Block("messages", all_marks(option)))
            continue
        content = option.entries.get("content")
        rest = merge(*(all_marks(one) for one in option.rest))
        if isinstance(content, ListValue):
            blocks = _listed("messages", content)
        else:
            blocks = [Block("messages", merge(all_marks(content) if content is not None else (), rest))]
        beside = [
            one for key, one in option.entries.items() if key not in ("role", "content", "cache_control")
        ]
        blocks[0].marks = merge(blocks[0].marks, *map(all_marks, beside))
        for block in blocks:
            block.inline = option.inline and not option.stored
            block.frozen = option.frozen
        if "cache_control" in option.entries:
            blocks[-1].marked, blocks[-1].marked_at = True, option.marked_at
            blocks[-1].fault = "a message carries no marker, its blocks do"
        found += blocks
    if len(options(message)) == 1 and not found:
        found.append(Block("messages", ()))
    return found


def _marked_for_nothing(block: Block, messages: Value | None, *, automatic: bool, last: int, at: int) -> bool:
    """Whether a marker is on a newest block that will be written anew next time instead of being kept."""
    if not isinstance(messages, ListValue) or not block.inline:
        return False
    marked = block.marked or (automatic and at <= last)
    return marked and not messages.kept and messages.inline


def _rule(reading: Reading, block: Block, trace: Trace, messages: Value | None) -> str | None:
    """The rule under which a trace in this block is told, or None when it is none here."""
    if trace.elements_of and trace.elements_of in reading.loops():
        return None
    if trace.rule in HISTORY_RULES:
        return None
    if trace.rule in _CHANGES:
        if block.slot == "messages":
            return "history-changed" if block.inline and not block.newest else None
        if block.slot == "tools":
            # tools that other methods add are those of a set-up
            return "tools-changed" if trace.form != BETWEEN else None
        return "system-changed"
    if trace.rule == "per-user-value":
        return None if block.slot == "messages" else trace.rule
    if trace.rule == "shuffled":
        return "tool-order" if block.slot == "tools" else "random-value"
    if trace.rule in ("listing-order", "arrival-order"):
        return "tool-order" if block.slot == "tools" else "array-order"
    return trace.rule


def _note(
    reading: Reading, request: Request, rule: str, trace: Trace, block: Block, messages: Value | None
) -> None:
    trace = reading.told(trace)
    certain = trace.certain and not request.weak
    script = False
    if trace.rule in _CHANGES:
        if not _changes(reading, trace, messages):
            return
        if trace.form == RECALLED:
            certain = not request.weak and isinstance(messages, ListValue) and bool(messages.items)
    elif trace.form == SHARED or (trace.rule != "per-user-value" and trace.grain != "moment"):
        certain = certain and trace.form == SHARED and block.slot == "tools"
    elif trace.rule not in _ALWAYS:
        fresh, script = _fresh(reading, trace, messages)
        certain = certain and fresh
    line = getattr(request.node, "lineno", 0)
    at = trace.at if trace.at[0] else (trace.line, trace.column)
    if rule == "marker-on-volatile":
        node = request.node
        at = block.marked_at if block.marked_at[0] else (line, getattr(node, "col_offset", 0) + 1)
    reading.seen.append(
        Seen(
            rule,
            certain,
            *at,
            trace.text,
            wording.reaches(trace, rule, block.slot, line),
            script,
            line,
        )
    )


def _changes(reading: Reading, trace: Trace, messages: Value | None) -> bool:
    """Whether something that moves from turn to turn moves inside one session here."""
    if trace.rule == "edit" and trace.form == BETWEEN:
        goes_on = isinstance(messages, ListValue) and messages.kept and bool(messages.items)
        return goes_on and any(turn.entry for turn in reading.turns)
    if trace.rule == "edit":
        return reading.again(trace)
    return any(
        persists(reading, messages, turn)
        for turn in reading.turns
        if trace.loops and turn.id == trace.loops[-1]
    )


def persists(reading: Reading, messages: Value | None, turn: Turn) -> bool:
    """Whether the history goes on from one turn of a loop to the next."""
    if isinstance(messages, ListValue):
        if messages.kept:
            return True
        grows = messages.history or bool(messages.items) or messages.open
        return grows and messages.born < turn.first and not turn.entry
    if messages is None or not reading.is_history_name(messages.name.rsplit(".", 1)[-1]):
        return False
    # what a loop hands out has a history of its own
    return not any(t.rule == "turn" and t.certain and t.loops[-1:] == (turn.id,) for t in messages.marks)


def _fresh(reading: Reading, trace: Trace, messages: Value | None) -> tuple[bool, bool]:
    """Whether a trace is made anew for each request, and whether that holds only for a script run once."""
    if trace.per == "kept":
        return False, False
    hoisted = any(loop not in trace.loops for loop in reading.loops())
    if trace.per == "script":
        return reading.entry is None and not hoisted, True
    if not hoisted:
        return True, False
    kept = isinstance(messages, ListValue) and messages.kept
    return kept and bool(trace.loops), False


def _count(reading: Reading, request: Request, blocks: list[Block]) -> None:
    """Markers that the API refuses as they are written."""
    marked = [block for block in blocks if block.marked]
    line = getattr(request.node, "lineno", 0)
    column = getattr(request.node, "col_offset", 0) + 1
    many = any(block.many and block.inline and block.slot != "messages" for block in marked)
    total = len(marked) + (1 if request.automatic and not (blocks and blocks[-1].marked) else 0)
    if total > 4 or (many and len(marked) > 0):
        message = wording.too_many(total, many=many and total <= 4)
        written = [block.marked_at[0] for block in marked if not block.copied]
        sure = branches.together(list(reading.outline.functions), written) + total - len(marked)
        certain = sure > 4 and not request.weak
        reading.seen.append(Seen("marker-fault", certain, line, column, "cache_control", message))
    for block in marked:
        if block.fault and (block.fault[:9] != "a message" or request.strict):
            reading.seen.append(
                Seen("marker-fault", not request.weak, line, column, "cache_control", block.fault)
            )
    lives = [block.ttl for block in marked]
    if "5m" in lives and "1h" in lives[lives.index("5m") :]:
        message = wording.SHORT_BEFORE_LONG
        reading.seen.append(Seen("marker-fault", not request.weak, line, column, "ttl", message))
