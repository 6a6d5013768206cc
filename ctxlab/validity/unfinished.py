"""Blocks that a stream left unfinished: calls whose input never came in full, results that hold nothing.

Models: an input that is text, null or missing, and what programs that read streams keep beside it
(``partial_json`` and its other names, ``index``); a result whose content is null or no text and no list; a
text that is null; thinking whose signature is empty.
Does not model: an input that is an object and not what the tool asks for.
Source: streaming page 2026-08 (``input_json_delta``); SDK types of tool_use and tool_result 2026-11; field
reports of 2025-03 to 2026-09. The report and its wording are our own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ctxlab.errors import Problem
from ctxlab.prompt import plain
from ctxlab.validity.turns import LEFTOVERS, Turn, Turns, as_text, raw_input, text_block

MayEdit = Callable[[Turns, Turn, str], bool]

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


class _Read(NamedTuple):
    """What is known of the input of a call: the object, or the text that was to become one."""

    input: dict[str, Any] | None
    raw: str


def finish(turns: Turns, may_edit: MayEdit) -> None:
    """Give every call an object for its input and every result a content that can be sent."""
    for turn in list(turns.turns):
        for block in tuple(turn.blocks):
            if (
                block.get("type") in _CALLS
                and turn.role == "assistant"
                and not _call(turns, turn, block, may_edit)
            ):
                break
        new = [
            _result(turns, turn, block) if block.get("type") == "tool_result" else _unsaid(block)
            for block in turn.blocks
        ]
        if any(one is not block for one, block in zip(new, turn.blocks, strict=True)):
            turn.set_blocks(new)


def left_unfinished(turns: Turns) -> list[Problem]:
    """What is wrong with the fields of calls and texts and cannot be mended."""
    return [
        Problem(f"messages[{i}].content[{j}].{name}", "field", f"is no {kind}", fix)
        for i, turn in enumerate(turns.turns)
        for j, block in enumerate(turn.blocks)
        for name, kind, fix in _faults(block)
    ]


def _faults(block: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    kind = block.get("type")
    found = []
    if kind in _CALLS and not isinstance(block.get("name"), str):
        found.append(("name", "text", "name the tool, or make the call a text"))
    if kind in _CALLS and not isinstance(block.get("input"), Mapping):
        found.append(("input", "object", "give the call an object, {} where there is nothing"))
    if kind == "text" and not isinstance(block.get("text"), str):
        found.append(("text", "text", "say something, or drop the block"))
    return found


def _call(turns: Turns, turn: Turn, block: Mapping[str, Any], may_edit: MayEdit) -> bool:
    """Mend one call; False where the whole answer became plain text."""
    left = [name for name in block if name in LEFTOVERS]
    if isinstance(block.get("input"), Mapping) and not left:
        return True
    read, name = _read(block), str(block.get("id"))
    rest = {key: value for key, value in block.items() if key not in (*LEFTOVERS, "index")}
    if read.input is not None:
        _put(turn, block, {**rest, "input": read.input})
        what = "its input was saved as it was streamed: now the object it is"
        if not read.raw:
            what = "its input was not saved: now {}"
        turns.note(turn.path, "call-input", what, name)
        return True
    if not may_edit(turns, turn, "call-input"):
        return False
    told = f"what had come of it: {read.raw}"
    if block.get("type") != "tool_use":
        at = _index(turn, block)
        turn.set_blocks([*turn.blocks[:at], *as_text(block), *turn.blocks[at + 1 :]])
        turns.note(turn.path, "call-input", f"its input was cut off: kept as text; {told}", name)
        return True
    turns.note(turn.path, "call-input", f"its input was cut off: now {{}}; {told}", name)
    mended = {**rest, "input": {}}
    _put(turn, block, mended)
    answer = _answer_of(turns, turn, name)
    if answer is None:
        turns.cut_inputs.append((mended, read.raw))
    else:
        words = f"[Input of tool call {name}, as far as it had come: {read.raw}]"
        answer.set_blocks([*answer.blocks, text_block(words)])
    return True


def _read(block: Mapping[str, Any]) -> _Read:
    raw = raw_input(block)
    given = block.get("input") if isinstance(block.get("input"), Mapping) else {}
    try:
        value = json.loads(raw or "{}", parse_constant=_refused)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and (not given or not raw or given == value):
        return _Read(dict(given or value), raw)
    read_so_far = f", read as {_told(given)}" if given else ""
    return _Read(None, raw + read_so_far)


def _refused(constant: str) -> None:
    raise ValueError(constant)


def _index(turn: Turn, block: Mapping[str, Any]) -> int:
    return next(i for i, one in enumerate(turn.blocks) if one is block)


def _put(turn: Turn, block: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    turn.set_blocks(new if one is block else one for one in turn.blocks)


def _answer_of(turns: Turns, turn: Turn, name: str) -> Turn | None:
    """The message right behind a call that holds its result."""
    at = turns.turns.index(turn) + 1
    behind = turns.turns[at] if at < len(turns.turns) else None
    if behind is None or behind.role != "user":
        return None
    answers = [block.get("tool_use_id") for block in behind.of_type("tool_result")]
    return behind if name in answers else None


def _result(turns: Turns, turn: Turn, block: Mapping[str, Any]) -> Mapping[str, Any]:
    """A result whose content can be sent: nothing for null, and as text what is neither text nor block."""
    content = block.get("content", "")
    name = str(block.get("tool_use_id"))
    if content is None:
        turns.note(turn.path, "result-content", "its content was null: sent as an empty result", name)
        return {key: value for key, value in block.items() if key != "content"}
    if isinstance(content, (list, tuple)):
        if all(_is_block(part) for part in content):
            return block
        turns.note(
            turn.path, "result-content", "parts of it were no blocks: null taken out, others text", name
        )
        parts = [part if _is_block(part) else text_block(_told(part)) for part in content if part is not None]
        return {**block, "content": [part for part in parts if part.get("text") != ""]}
    if not isinstance(content, str):
        turns.note(turn.path, "result-content", "its content was no text and no list: now text", name)
        return {**block, "content": _told(content)}
    return block


def _is_block(part: Any) -> bool:
    body = part if isinstance(part, Mapping) else plain(part)
    return isinstance(body, Mapping) and isinstance(body.get("type"), str)


def _told(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False, default=str)


def _unsaid(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """A text that never began as an empty one, thinking with an empty signature as one without: both are
    mended, and reported, by their rules."""
    if block.get("type") == "text" and block.get("text") is None:
        return {**block, "text": ""}
    if block.get("type") == "thinking" and "signature" in block and not block["signature"]:
        return {key: value for key, value in block.items() if key != "signature"}
    return block
