"""Messages while they are being mended: the blocks of each, where it stood, and what was done to it.

Models: a list of messages that can be edited without touching the one it was made from; blocks as text.
Does not model: which edits are right (:mod:`ctxlab.validity.menders`).
Source: shapes of messages, SDK types 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ctxlab.prompt import plain

#: Blocks that may stand in a message of either role by themselves.
_SHOWN = frozenset({"image", "document", "search_result"})
#: Names under which programs that read streams keep the input of a call until it is whole.
LEFTOVERS = ("partial_json", "partialJson", "input_json", "inputJson", "__json_buf")


class Change(NamedTuple):
    """One thing that was done: where in the session as it was, for which rule, to which calls."""

    path: str
    rule: str
    what: str
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        ids = f" ({', '.join(self.ids)})" if self.ids else ""
        return f"{self.path}: {self.what}{ids} [{self.rule}]"


@dataclass(eq=False)
class Turn:
    """One message. ``path`` is where it stood, ``message`` what it was, ``blocks`` what it holds now."""

    path: str
    message: Mapping[str, Any]
    role: Any
    blocks: list[Mapping[str, Any]]
    changed: bool = False

    @classmethod
    def read(cls, message: Mapping[str, Any], path: str) -> Turn:
        """A message as it came; content that is missing is no content."""
        content = message.get("content")
        if isinstance(content, str):
            blocks: list[Mapping[str, Any]] = [text_block(content)] if content else []
        else:
            blocks = [block if isinstance(block, Mapping) else plain(block) for block in content or ()]
        return cls(path, message, message.get("role"), blocks, changed=content is None)

    def of_type(self, *types: str) -> list[Mapping[str, Any]]:
        return [block for block in self.blocks if block.get("type") in types]

    def set_blocks(self, blocks: Iterable[Mapping[str, Any]]) -> None:
        self.blocks, self.changed = list(blocks), True

    def body(self) -> Mapping[str, Any]:
        """The message: the given object itself where nothing changed."""
        if not self.changed:
            return self.message
        return {**self.message, "role": self.role, "content": list(self.blocks)}


@dataclass(eq=False)
class Turns:
    """A session on the bench: its turns, its system blocks, and the changes made so far."""

    given: Mapping[str, Any]
    turns: list[Turn] = field(init=False)
    system: Any = field(init=False)
    changes: list[Change] = field(default_factory=list)
    #: Calls whose input was cut off, with the text that had come of it; for their results to tell.
    cut_inputs: list[tuple[Mapping[str, Any], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.turns = [
            Turn.read(message, f"messages[{i}]") for i, message in enumerate(self.given["messages"])
        ]
        self.system = self.given.get("system")

    def note(self, path: str, rule: str, what: str, *ids: str) -> None:
        self.changes.append(Change(path, rule, what, ids))

    def at(self, problem_path: str) -> Turn | None:
        """The turn that a problem's path names; None for a place outside the messages."""
        number = problem_path.removeprefix("messages[").partition("]")[0]
        known = problem_path.startswith("messages[") and int(number) < len(self.turns)
        return self.turns[int(number)] if known else None

    def drop(self, turn: Turn) -> None:
        self.turns.remove(turn)

    def request(self) -> dict[str, Any]:
        body = {**self.given, "messages": [turn.body() for turn in self.turns]}
        if self.system is not self.given.get("system"):
            body["system"] = self.system
        return body


def text_block(text: str, like: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """A text block, with the marker of the block it stands for, or of the last part of it that has one."""
    marker = None if like is None else like.get("cache_control")
    inside = None if like is None else like.get("content")
    if marker is None and isinstance(inside, (list, tuple)):
        marked = [part["cache_control"] for part in map(plain, inside) if _has_marker(part)]
        marker = marked[-1] if marked else None
    return {"type": "text", "text": text} | ({} if marker is None else {"cache_control": marker})


def _has_marker(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("cache_control") is not None


def result_as_text(result: Mapping[str, Any], why: str) -> list[Mapping[str, Any]]:
    """A result as text that names its call, with the pictures and files it held behind it."""
    content = result.get("content")
    parts = [plain(part) for part in content] if isinstance(content, (list, tuple)) else []
    texts = [_part_text(part) for part in parts]
    if content is not None and not isinstance(content, (list, tuple)):
        texts = [_part_text(content)]
    error = ", an error" if result.get("is_error") else ""
    head = f"[Result of tool call {result.get('tool_use_id')}{error}: {why}]"
    words = "\n".join([head, *(text for text in texts if text)])
    shown = [part for part in parts if isinstance(part, Mapping) and part.get("type") in _SHOWN]
    bare = [{key: value for key, value in part.items() if key != "cache_control"} for part in shown]
    return [*bare, text_block(words, result)]


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") in _SHOWN:
        return ""
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    return _json(part)


def as_text(block: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A block of an answer as text; texts, pictures and summaries stay what they are."""
    kind = str(block.get("type"))
    if kind == "thinking":
        return [text_block(f"[Thinking]\n{block.get('thinking', '')}")]
    if kind == "redacted_thinking":
        return [text_block("[Thinking that only the server could read was here]")]
    if kind.endswith("tool_use"):
        words = f"[Tool call {block.get('id')}: {block.get('name')} {_input(block)}]"
        return [text_block(words, block)]
    if kind == "tool_result":
        return result_as_text(block, "shown as text")
    if kind.endswith("_tool_result"):
        words = f"[Result of {block.get('tool_use_id')} ({kind})]\n{_json(block.get('content'))}"
        return [text_block(words, block)]
    return [block]


def raw_input(block: Mapping[str, Any]) -> str:
    """The text of a call's input where it is no object, or not yet."""
    given = block.get("input")
    if isinstance(given, str) and given:
        return given
    kept = next((block[name] for name in LEFTOVERS if block.get(name)), "")
    kept = kept if isinstance(kept, str) else _json(kept)
    return kept or ("" if given is None or given == "" or isinstance(given, Mapping) else _json(given))


def _input(block: Mapping[str, Any]) -> str:
    return raw_input(block) or _json(block.get("input") or {})


def _json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False, default=str)
