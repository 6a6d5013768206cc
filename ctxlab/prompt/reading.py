"""A request body as blocks: tools, system and messages, each in its order.

Models: which fields make a block, its text, its marker, what is inside a result; types nobody knows, whole.
Does not model: whether the API would accept them.
Source: fields of blocks and tools, SDK parameter types 2026-11; what counts in digests, see
:mod:`ctxlab.prompt`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxlab.errors import Problem
from ctxlab.prompt.blocks import Block, Part, Segment
from ctxlab.prompt.canonical import NESTED, sent_json, settled_value, sorted_json, unencodable
from ctxlab.prompt.checked import Checked
from ctxlab.prompt.objects import UnreadableObjectError, fix_for_a_list, is_list, kind_of

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
# block types whose envelope has no order-bearing field of its own
_PLAIN = frozenset(
    {"text", "image", "document", "thinking", "redacted_thinking", "tool_result", "compaction"}
    | {"search_result", "container_upload"}
)
_ONLY_TEXT = frozenset({"type", "text"})
_TEXTS = frozenset({str})


class Reader(Checked):
    """Turns untyped JSON into blocks."""

    def tools(self, tools: Any) -> Iterator[Block]:
        """The tools as blocks, in the order sent."""
        for i, tool in enumerate(self.listed(() if tools is None else tools, "tools")):
            path = f"tools[{i}]"
            known = self.found
            body = self.mapping(tool, path)
            if not body:
                if self.found == known:
                    self.problem(path, "required", "is empty", "a tool has a name and an input_schema")
                continue
            kind = body.get("type") or "custom"
            if not isinstance(kind, str):
                self.problem(f"{path}.type", "string", f"is {kind_of(kind)}, not a string")
                kind = "custom"
            kind = str.__str__(kind)
            if kind == "custom" and not isinstance(body.get("name"), str):
                self.problem(f"{path}.name", "required", "a custom tool needs a name", "give it a string")
            yield self.block(body, "tools", path, kind, None, None, False, "input_schema")

    def messages(self, messages: Sequence[Any], first: int) -> Iterator[Block]:
        """The blocks of messages, numbered from ``first``."""
        for number, message in enumerate(messages, first):
            path = f"messages[{number}]"
            known = self.found
            body = self.mapping(message, path)
            if not body:
                if self.found == known:
                    self.problem(path, "required", "is empty", "a message has a role and content")
                continue
            fix = "give it a string; roles this version does not know are read as they are"
            role = self.string(body, "role", path, "role", "a role", fix) or "user"
            if body.get("content") is None:
                if role == "system" and body.get("output_config"):
                    continue  # it sets the effort from here on and says nothing
                told = "is null" if "content" in body else "is missing"
                self.problem(f"{path}.content", "required", told, "pass a string or a list of blocks")
                continue
            yield from self.content(body["content"], f"{path}.content", "messages", role, number)

    def content(
        self, content: Any, path: str, segment: Segment, role: str | None, message: int | None
    ) -> Iterator[Block]:
        """The blocks of a message or of the system prompt: a string, or a list of blocks."""
        if content is None:
            return
        in_message = message is not None
        if isinstance(content, str):
            yield self.bare_text(content, path, path, segment, role, message, in_message)
            return
        if not is_list(content):
            told = f"is {kind_of(content)}, neither a string nor a list of blocks"
            fix = fix_for_a_list(value=content, else_say="pass a string or a list of blocks")
            self.problem(path, "content", told, fix)
            return
        for i, item in enumerate(content):
            place = f"{path}[{i}]"
            known = self.found
            body = self.mapping(item, place)
            if self.found > known:
                continue
            kind = self.string(body, "type", place, "required", "a block type", "name the type of the block")
            if not kind:
                continue
            starts = in_message and i == 0
            if kind == "text":
                text = body.get("text")
                if not isinstance(text, str):
                    told = f"is {kind_of(text)}, not a string" if "text" in body else "is missing"
                    self.problem(f"{place}.text", "string", told, "a text block has a text")
                    continue
                if body.keys() == _ONLY_TEXT:
                    yield self.bare_text(text, place, f"{place}.text", segment, role, message, starts)
                    continue
            yield self.block(body, segment, place, kind, role, message, starts)

    def bare_text(
        self,
        text: str,
        path: str,
        text_path: str,
        segment: Segment,
        role: str | None,
        message: int | None,
        starts_message: bool,
    ) -> Block:
        """A text with nothing around it: what nearly every block is, and so read by the shortest way."""
        data = ('{"text":' + self.encoded(text, text_path, sent_json) + ',"type":"text"}').encode("utf-8")
        digest = hashlib.sha256(data).digest()
        return Block(
            segment,
            path,
            role,
            "text",
            None,
            len(text),
            message,
            starts_message,
            None,
            (),
            data,
            digest,
            digest,
        )

    def block(
        self,
        body: Mapping[str, Any],
        segment: Segment,
        path: str,
        kind: str,
        role: str | None,
        message: int | None,
        starts_message: bool,
        order_bearing: str = "input",
    ) -> Block:
        """One block with both of its texts, its marker and its parts."""
        marker, parts = self.marker(body, path), self.parts(body, kind, path)
        seen_in_order = kind in _CALLS or segment == "tools"
        is_known = seen_in_order or kind in _PLAIN or kind.endswith("_tool_result")
        says_no_error = kind == "tool_result" and body.get("is_error") is False
        if says_no_error:
            body = {key: value for key, value in body.items() if key != "is_error"}
        if not _TEXTS.issuperset([type(value) for key, value in body.items() if key != order_bearing]):
            body = self.settled(body, path, nulls=is_known)
        if seen_in_order and order_bearing in body:
            sent = self.encoded(body[order_bearing], f"{path}.{order_bearing}", sent_json)
            # only this field keeps its order; the envelope around it is sorted like any other
            fields = (
                f"{sorted_json(key)}:"
                + (sent if key == order_bearing else self.encoded(body[key], f"{path}.{key}", sorted_json))
                for key in sorted(key for key in body if self.is_key(key, path))
            )
            text, is_canonical = "{" + ",".join(fields) + "}", False
        else:
            is_canonical = seen_in_order or kind in _PLAIN
            sent, text = "", self.encoded(body, path, sorted_json if is_canonical else sent_json)
        name = body.get("name")
        name = str.__str__(name) if isinstance(name, str) else None
        if segment == "tools":
            chars = len(text)
        elif kind in _CALLS:
            chars = len(name or "") + len(sent)
        else:
            chars = sum(part.chars for part in parts) if parts else _chars(body, kind)
        data = text.encode("utf-8")
        digest = hashlib.sha256(data).digest()
        return Block(
            segment,
            path,
            role,
            kind,
            name,
            chars,
            message,
            starts_message,
            marker,
            parts,
            data,
            digest,
            digest if is_canonical and not says_no_error else None,
            says_no_error,
        )

    def settled(self, body: Mapping[str, Any], path: str, *, nulls: bool) -> Mapping[str, Any]:
        """A block without its markers and, with ``nulls``, without null fields."""
        try:
            settled: Mapping[str, Any] = settled_value(body, nulls=nulls)
            return settled
        except RecursionError:
            self.add(next(unencodable(body, path), Problem(path, "nesting", NESTED)))
        except UnreadableObjectError as error:
            self.problem(path, "object", str(error), "pass the dict it stands for")
        return {}

    def marker(self, body: Mapping[str, Any], path: str) -> Mapping[str, str] | None:
        """A block's ``cache_control`` as text, or None."""
        marker = body.get("cache_control")
        if marker is None:
            return None
        known = self.found
        marker = self.mapping(marker, f"{path}.cache_control", 'pass {"type": "ephemeral"}')
        if self.found > known:
            return None
        return {str(key): str(value) for key, value in marker.items() if value is not None}

    def parts(self, body: Mapping[str, Any], kind: str, path: str) -> tuple[Part, ...]:
        """What stands inside a tool result."""
        inner = body.get("content")
        if kind != "tool_result" or inner is None or isinstance(inner, str):
            return ()
        if not is_list(inner):
            told = f"is {kind_of(inner)}, neither a string nor a list of blocks"
            fix = "write what the tool returned as a string: json.dumps(value)"
            self.problem(f"{path}.content", "content", told, fix)
            return ()
        return tuple(self.part(item, f"{path}.content[{i}]") for i, item in enumerate(inner))

    def part(self, item: Any, path: str) -> Part:
        """One block inside a tool result."""
        known = self.found
        body = self.mapping(item, path)
        kind = ""
        if self.found == known:
            kind = self.string(body, "type", path, "required", "a block type", "name the type of the block")
        if kind == "text" and not isinstance(body.get("text", ""), str):
            told = f"is {kind_of(body['text'])}, not a string"
            self.problem(f"{path}.text", "string", told, "a text block has a text")
        return Part(path, kind, len(_text_of([body])), self.marker(body, path))


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return "".join(
            item["text"]
            for item in content
            if isinstance(item, Mapping) and isinstance(item.get("text"), str)
        )
    return ""


def _chars(body: Mapping[str, Any], kind: str) -> int:
    for field in ("text", "thinking"):
        if isinstance(body.get(field), str):
            return len(body[field])
    return len(_text_of(body.get("content"))) if kind in ("tool_result", "compaction") else 0
