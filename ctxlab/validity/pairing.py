"""Calls and results brought together again: every call answered at once, every result behind its call.

Models: which result belongs to which call when ids repeat or order is lost; results moved behind their call;
an error result for a call that has none; ids made legal and unique.
Does not model: whether a call that was cut off has had its effect. Nobody can know; the result says so.
Source: :mod:`ctxlab.validity.tools`; field reports of 2025-03 to 2026-09.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from ctxlab.validity.turns import Turn, Turns, result_as_text

INTERRUPTED = (
    "This call was interrupted and its result was never saved. Its outcome is unknown: it may have run in "
    "full, in part, or not at all. Check before you call it again."
)
CUT_OFF = "Its input was cut off, and {} is shown in its place. What had come of it: "
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NOT_IN_AN_ID = re.compile(r"[^a-zA-Z0-9_-]")
MayEdit = Callable[[Turns, Turn, str], bool]


@dataclass(eq=False)
class _Call:
    at: tuple[int, int]
    turn: Turn
    block: Mapping[str, Any]
    key: str
    id: str = ""
    result: _Result | None = None


@dataclass(eq=False)
class _Result:
    at: tuple[int, int]
    turn: Turn
    block: Mapping[str, Any]
    key: str
    call: _Call | None = None
    further: bool = False

    @property
    def is_placeholder(self) -> bool:
        content = self.block.get("content")
        return (
            bool(self.block.get("is_error")) and isinstance(content, str) and content.startswith(INTERRUPTED)
        )


def pair(turns: Turns, may_edit: MayEdit) -> None:
    """Mend calls and results all at once; stops after a message that had to be made plain text."""
    calls, results = _calls(turns), _results(turns)
    _match(calls, results)
    _name(calls)
    for call in calls:
        if call.id != call.key and not may_edit(turns, call.turn, "calls-unique"):
            return
    for result in results:
        if result.turn.role == "assistant" and not may_edit(turns, result.turn, "results-by-user"):
            return
    _rename(turns, calls)
    _place(turns, calls, results)


def _calls(turns: Turns) -> list[_Call]:
    return [
        _Call((i, j), turn, block, str(block.get("id")))
        for i, turn in enumerate(turns.turns)
        if turn.role == "assistant"
        for j, block in enumerate(turn.blocks)
        if block.get("type") == "tool_use"
    ]


def _results(turns: Turns) -> list[_Result]:
    return [
        _Result((i, j), turn, block, str(block.get("tool_use_id")))
        for i, turn in enumerate(turns.turns)
        for j, block in enumerate(turn.blocks)
        if block.get("type") == "tool_result"
    ]


def _match(calls: list[_Call], results: list[_Result]) -> None:
    """A result belongs to the nearest call of its id before it; failing that, to an open one behind it."""
    by_key: dict[str, list[_Call]] = {}
    for call in calls:
        by_key.setdefault(call.key, []).append(call)
    for result in results:
        before = [call for call in by_key.get(result.key, ()) if call.at < result.at]
        if not before:
            continue
        call = before[-1]
        if call.result is None or call.result.is_placeholder:
            if call.result is not None:
                call.result.further = True
            call.result, result.call = result, call
        else:
            result.call, result.further = call, True
    for result in results:
        if result.call is None:
            behind = [call for call in by_key.get(result.key, ()) if call.result is None]
            if behind:
                result.call, behind[0].result = behind[0], result


def _name(calls: list[_Call]) -> None:
    """Ids that are legal and each used once; the first call of an id keeps it."""
    taken = {call.key for call in calls if _ID.fullmatch(call.key)}
    used: set[str] = set()
    for call in calls:
        missing = call.block.get("id") is None
        stem = "toolu_repaired" if missing else _NOT_IN_AN_ID.sub("_", call.key) or "toolu_repaired"
        if _ID.fullmatch(call.key) and not missing and call.key not in used:
            call.id = call.key
        else:
            names = (stem if n == 1 else f"{stem}_{n}" for n in count(1))
            call.id = next(name for name in names if name not in used and name not in taken)
        used.add(call.id)


def _rename(turns: Turns, calls: list[_Call]) -> None:
    for call in calls:
        if call.block.get("id") != call.id:
            rule = "calls-unique" if _ID.fullmatch(call.key) else "call-id"
            turns.note(
                call.turn.path, rule, "a call that needed another id, its result too", call.key, call.id
            )
            call.turn.set_blocks(
                {**block, "id": call.id} if j == call.at[1] else block
                for j, block in enumerate(call.turn.blocks)
            )


def _place(turns: Turns, calls: list[_Call], results: list[_Result]) -> None:
    """Results behind their calls, ahead of everything else; what belongs to no call as text."""
    at = {result.at: result for result in results}
    answers: dict[Turn, list[_Call]] = {}
    for call in calls:
        answers.setdefault(call.turn, []).append(call)
    placed: list[Turn] = []
    due: list[_Call] = []
    for i, turn in enumerate(turns.turns):
        rest = [
            new for j, block in enumerate(turn.blocks) for new in _rest(turns, turn, block, at.get((i, j)))
        ]
        if due:
            if turn.role == "user":
                rest = [*_answers(turns, due, turn), *rest]
            else:
                placed.append(_added(turns, due))
            due = []
        if len(rest) != len(turn.blocks) or any(a is not b for a, b in zip(rest, turn.blocks, strict=True)):
            turn.set_blocks(rest)
        if turn.blocks or not turn.changed:
            placed.append(turn)
        due = answers.get(turn, [])
    if due:
        placed.append(_added(turns, due))
    turns.turns = placed


def _added(turns: Turns, due: list[_Call]) -> Turn:
    turn = Turn(f"behind {due[0].turn.path}", {"role": "user"}, "user", [], changed=True)
    turn.set_blocks(_answers(turns, due, turn))
    return turn


def _answers(turns: Turns, due: list[_Call], into: Turn) -> list[Mapping[str, Any]]:
    """The results of the calls before a turn: those it has in their order, moved ones, missing ones."""
    there = sorted((call for call in due if call.result is not None), key=_where)
    here = [call for call in there if call.result is not None and call.result.turn is into]
    moved = [call for call in there if call not in here]
    for call in moved:
        turns.note(call.turn.path, "calls-answered", "its result moved to the message behind it", call.id)
    if here and _is_late(into, here):
        ids = [call.id for call in here]
        turns.note(into.path, "calls-answered", "results put ahead of everything else", *ids)
    found = []
    for call in (*here, *moved):
        result = call.result.block if call.result is not None else {}
        same = result.get("tool_use_id") == call.id
        found.append(result if same else {**result, "tool_use_id": call.id})
    for call in due:
        if call.result is None:
            what = "interrupted: it gets an error result that says its outcome is unknown"
            turns.note(call.turn.path, "calls-answered", what, call.id)
            raw = next((raw for block, raw in turns.cut_inputs if block is call.block), None)
            says = INTERRUPTED if raw is None else f"{INTERRUPTED}\n{CUT_OFF}{raw}"
            found.append({"type": "tool_result", "tool_use_id": call.id, "content": says, "is_error": True})
    return found


def _where(call: _Call) -> tuple[int, int]:
    return call.result.at if call.result is not None else (0, 0)


def _is_late(turn: Turn, here: list[_Call]) -> bool:
    kinds = [block.get("type") == "tool_result" for block in turn.blocks]
    return not all(kinds[: len(here)])


def _rest(
    turns: Turns, turn: Turn, block: Mapping[str, Any], result: _Result | None
) -> list[Mapping[str, Any]]:
    """What stays of a block where it is: everything but a result that is placed elsewhere."""
    if result is None:
        return [block]
    if result.call is None:
        turns.note(turn.path, "results-asked-for", "a result without its call: kept as text", result.key)
        return result_as_text(block, "there is no such call to answer")
    if not result.further:
        return []
    kept = result.call.result
    if result.is_placeholder or (kept is not None and kept.block.get("content") == block.get("content")):
        what = "the same result once more, or the stand-in for it: taken out"
        turns.note(turn.path, "one-result-each", what, result.key)
        return []
    turns.note(turn.path, "one-result-each", "a further result of one call: kept as text", result.key)
    return result_as_text(block, "a further result of a call that has one")
