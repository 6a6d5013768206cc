"""Every place of a request where a marker stands or could stand, in the order the prefix is read.

Models: tool entries, system blocks, message blocks, blocks inside a tool result, a search result or a
document, and the places that look like blocks and are not (message objects, citations, sources); which of
them have a ``cache_control`` field; the ways the API spells a path.
Does not model: whether the rest of the request is valid; what cannot be read is passed over.
Source: parameter types of the Python SDK 2.14.0 (2026-11-24); paths as in reported errors, 2025-08 to
2026-08.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ctxlab.cache import can_carry_marker
from ctxlab.prompt import Segment, plain
from ctxlab.prompt.objects import is_list

#: Block types whose ``content`` is a list of blocks.
HOLD_BLOCKS = frozenset({"tool_result", "mcp_tool_result", "search_result"})


class _OfType(NamedTuple):
    """Any block of a type, whatever is in it."""

    type: str
    chars: None = None


@dataclass(frozen=True, slots=True)
class Place:
    """One place. ``path`` leads there in JSON (``messages[0].content[2]``, as in a :class:`Prompt`).

    ``wire`` is the same path as the API's own checks write it (``messages.0.content.2``), ``typed`` as it is
    written where a field is refused (``messages.0.content.2.text``). ``level`` is ``"block"`` for the blocks
    the prefix consists of, ``"inner"`` for what lies inside one, ``"message"`` for a message object.
    ``has_field`` says whether this type has a ``cache_control`` at all.
    """

    segment: Segment
    path: str
    wire: str
    typed: str
    type: str
    body: Mapping[str, Any]
    level: Literal["message", "block", "inner"]
    has_field: bool

    @property
    def marker(self) -> Any:
        """What ``cache_control`` holds, None where there is none (null counts as none)."""
        return self.body.get("cache_control")

    @property
    def deferred(self) -> bool:
        """Whether this is a tool that is loaded on demand, and so outside the prefix."""
        return self.segment == "tools" and self.body.get("defer_loading") is True

    @property
    def can_carry(self) -> bool:
        """Whether a marker may stand here. Blanks alone count as empty: such a text is refused anyway."""
        blank = self.type == "text" and not str(self.body.get("text") or "").strip()
        return self.level != "message" and self.has_field and not self.deferred and not blank


def places(request: Mapping[str, Any]) -> Iterator[Place]:
    """All places of a request body: tools, then system, then messages; the inside of a block before it.

    A plain string is the one text block it stands for.

    >>> question = [{"type": "text", "text": "Hi"}]
    >>> body = {"system": "Be brief.", "messages": [{"role": "user", "content": question}]}
    >>> [(place.path, place.level) for place in places(body)]
    [('system', 'block'), ('messages[0]', 'message'), ('messages[0].content[0]', 'block')]
    """
    for i, tool in enumerate(_listed(request.get("tools"))):
        body = _mapping(tool)
        if body:
            kind = str(body.get("type") or "custom")
            yield Place("tools", f"tools[{i}]", f"tools.{i}", f"tools.{i}.{kind}", kind, body, "block", True)
    yield from _content("system", request.get("system"), "system", "system")
    for i, message in enumerate(_listed(request.get("messages"))):
        body = _mapping(message)
        if body is not None:
            path, wire = f"messages[{i}]", f"messages.{i}"
            yield Place("messages", path, wire, wire, "message", body, "message", has_field=False)
            yield from _content("messages", body.get("content"), f"{path}.content", f"{wire}.content")


def _content(segment: Segment, content: Any, path: str, wire: str) -> Iterator[Place]:
    if isinstance(content, str):
        body = {"type": "text", "text": content}
        yield Place(segment, path, wire, wire, "text", body, "block", has_field=True)
    else:
        yield from _blocks(segment, content, path, wire, "block")


def _blocks(
    segment: Segment, content: Any, path: str, wire: str, level: Literal["block", "inner"]
) -> Iterator[Place]:
    for i, item in enumerate(_listed(content)):
        body = _mapping(item)
        if body is None:
            continue
        kind = str(body.get("type"))
        here, there = f"{path}[{i}]", f"{wire}.{i}"
        # the API names the type where a list may hold several; system holds texts only
        typed = there if segment == "system" and level == "block" else f"{there}.{kind}"
        inside = [("citations", body.get("citations")), ("source", body.get("source"))]
        if kind in HOLD_BLOCKS:
            yield from _blocks(segment, body.get("content"), f"{here}.content", f"{typed}.content", "inner")
        for field, value in inside:
            yield from _parts(segment, value, f"{here}.{field}", f"{typed}.{field}")
        yield Place(segment, here, there, typed, kind, body, level, has_field=can_carry_marker(_OfType(kind)))


def _parts(segment: Segment, value: Any, path: str, wire: str) -> Iterator[Place]:
    """Citations and sources have no field for a marker; a source may hold a document's own blocks."""
    for i, item in enumerate(value if is_list(value) else (value,)):
        body = _mapping(item)
        if body is None:
            continue
        here, there = (path, wire) if item is value else (f"{path}[{i}]", f"{wire}.{i}")
        yield from _blocks(segment, body.get("content"), f"{here}.content", f"{there}.content", "inner")
        yield Place(segment, here, there, there, str(body.get("type")), body, "inner", has_field=False)


def _listed(value: Any) -> Sequence[Any]:
    return value if is_list(value) else ()


def _mapping(value: Any) -> Mapping[str, Any] | None:
    """A dict as it is, an SDK object as the JSON it sends, None for anything else."""
    if not isinstance(value, (Mapping, str, list, tuple)):
        value = plain(value)
    return value if isinstance(value, Mapping) else None
