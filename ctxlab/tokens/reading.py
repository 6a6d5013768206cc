"""From blocks as they are sent, or as they were recorded, to blocks as the sum sees them.

Models: what of a block is counted (its text or rendering, its pictures), and what of it the rules do not
cover, with bounds. Three makers of the same thing: texts of a :class:`ctxlab.prompt.Prompt`, lengths of any
blocks, and the counts that recordings carry.
Does not model: the constants (:mod:`ctxlab.tokens.table`) or who counts (:mod:`ctxlab.tokens.counters`).

Source: ``data/recordings/README.md`` for the fields of recorded blocks. Bounds of what is not covered are
ours; for PDFs see :mod:`ctxlab.images`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxlab.images import Tier, patches, pdf_tokens, resized_size
from ctxlab.tokens.counters import Memory, Text, TextCounter
from ctxlab.tokens.pictures import size_of
from ctxlab.tokens.rendering import rendered_call, rendered_result, rendered_schema, rendered_tool
from ctxlab.tokens.structure import Content, Kind, Outside, Settings
from ctxlab.tokens.table import Rules, known_definition

_MOST_DEFINITION_TOKENS = 7_000  # the largest published one, a browser toolset, is about 6,600
_MOST_CITATION_TOKENS = 700  # a text document with citations on cost 597 beside its text, twice
_MOST_BUDGET_TOKENS = 200
_NOT_LATIN = re.compile(r"[^\x00-\u024f]+")
_SHARE_NOT_LATIN = 0.1  # dashes, quotation marks and a picture or two are in what was recorded


@dataclass(frozen=True, slots=True)
class Reader:
    """What a block is read for: a vocabulary, a tier of pictures, how long a request may be."""

    counter: TextCounter
    vocabulary: str
    tier: Tier
    pdf_pages: int
    memory: Memory

    def contents(self, blocks: Sequence[Any]) -> list[Content]:
        """One :class:`Content` a block; what was read before is remembered by the digest of the block."""
        results = Counter(block.message for block in blocks if block.type == "tool_result")
        several = any(number > 1 for number in results.values())
        names = _names_of_calls(blocks) if several else {}
        found: list[Content] = []
        live = False
        for block in blocks:
            beside: str | bool | None = None
            if block.segment == "system":
                beside = live
            elif block.type == "tool_result" and results[block.message] > 1:
                beside = names.get(_reference(block), "")
            content = self._content(block, beside)
            live = live or content.kind in ("tool", "api tool")
            found.append(content)
        return found

    def _content(self, block: Any, beside: str | bool | None) -> Content:
        digest = getattr(block, "wire_sha256", None)
        if digest is None:
            return self._counted(_recorded(block, self, beside))
        key = (self.counter.key, self.vocabulary, self.tier.name, block.segment == "tools", digest, beside)
        return self.memory.get(key, lambda: self._counted(_sent(block, self, beside)))

    def _counted(self, shown: _Shown) -> Content:
        tokens = sum(self.counter.tokens(text, self.vocabulary) for text in shown.texts)
        outside = (*shown.content.outside, *self._unmeasured(shown.texts))
        return replace(shown.content, tokens=shown.content.tokens + tokens, outside=outside)

    def _unmeasured(self, texts: Iterable[Text]) -> Iterator[Outside]:
        """Text in a script on which no ratio was fitted: at most a token a byte."""
        if self.counter.needs_text:
            return
        written = [text.text for text in texts if text.text]
        runs = [run for text in written if not text.isascii() for run in _NOT_LATIN.findall(text)]
        if sum(map(len, runs)) > _SHARE_NOT_LATIN * sum(map(len, written)):
            most = sum(len(run.encode("utf-8", "replace")) for run in runs)
            yield Outside("", "script that no recording holds", 0, 0, most)

    def picture(self, width: int, height: int) -> int:
        return patches(*resized_size(width, height, tier=self.tier.name))

    def unknown_picture(self, path: str) -> Outside:
        """A picture nobody told the size of is taken to be as large as they get."""
        most = self.tier.max_tokens
        return Outside(path, "image without a known size", most, 1, most)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A block before its texts are counted."""

    content: Content
    texts: tuple[Text, ...] = ()


def _shown(kind: Kind, *texts: Text, outside: Iterable[Outside] = (), **more: Any) -> _Shown:
    outside = tuple(outside)
    assumed = sum(one.assumed_tokens for one in outside)
    return _Shown(Content(kind, assumed, outside=outside, **more), texts)


# --- blocks as sent


def _sent(block: Any, reader: Reader, beside: str | bool | None) -> _Shown:
    body = json.loads(block.wire_bytes)
    if block.segment == "tools":
        return _sent_tool(block, body, reader)
    kind = block.type
    if kind == "text":
        text = body["text"]
        # beside tools the spaces behind a last newline cost nothing
        counted = text.rstrip(" ") if beside is True and text.rstrip(" ").endswith("\n") else text
        return _shown("text", _text(counted), ends_with_newline=text.endswith("\n"))
    if kind == "thinking":
        return _shown("thinking", _text(str(body.get("thinking") or "")))
    if kind == "tool_use":
        call = rendered_call(block.name or "", body.get("input"))
        return _shown("call", Text("call", block.chars, call))
    if kind == "tool_result":
        return _sent_result(block, body, reader, beside)
    if kind == "image":
        size = size_of(body.get("source"))
        if size is None:
            return _shown("image", outside=[reader.unknown_picture(".source")], images=1)
        return _shown("image", images=1, patches=reader.picture(*size))
    if kind == "compaction" and isinstance(body.get("content"), str):
        return _shown("compaction", _text(body["content"]))
    if kind == "document":
        return _sent_document(body, reader)
    return _uncovered(kind, len(block.wire_bytes))


def _sent_tool(block: Any, body: Mapping[str, Any], reader: Reader) -> _Shown:
    if block.type != "custom":
        return _definition(block.type, reader)
    if body.get("defer_loading"):
        return _shown("deferred tool")
    outside = []
    if body.get("input_examples"):
        most = len(json.dumps(body["input_examples"]))
        outside.append(Outside(".input_examples", "input examples", 0, 0, most))
    return _shown("tool", Text("tool", block.chars, rendered_tool(body)), outside=outside)


def _sent_result(block: Any, body: Mapping[str, Any], reader: Reader, beside: str | bool | None) -> _Shown:
    inner = body.get("content")
    parts = [{"type": "text", "text": inner}] if isinstance(inner, str) else _objects(inner)
    sizes: list[tuple[int, int]] = []
    outside: list[Outside] = []
    images = 0
    for number, part in enumerate(parts):
        path = f".content[{number}]"
        if part.get("type") == "image":
            images += 1
            size = size_of(part.get("source"))
            if size is None:
                outside.append(reader.unknown_picture(path))
            else:
                sizes.append(size)
        elif part.get("type") != "text":
            outside.append(_odd_part(path, len(json.dumps(part))))
    text = "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")
    name = beside if isinstance(beside, str) else None
    return _shown(
        "result",
        Text("result" if name is None else "named result", block.chars, rendered_result(text, name)),
        images=images,
        patches=sum(reader.picture(*size) for size in sizes),
        text_beside_images=any(part.get("type") == "text" for part in parts),
        outside=outside,
    )


def _sent_document(body: Mapping[str, Any], reader: Reader) -> _Shown:
    source = _object(body.get("source"))
    if source.get("type") == "text" and isinstance(source.get("data"), str):
        return _text_document(_text(source["data"]))
    return _pdf(None, reader)


def _names_of_calls(blocks: Sequence[Any]) -> dict[str | None, str]:
    return {_reference(block): block.name or "" for block in blocks if block.type == "tool_use"}


def _reference(block: Any) -> str | None:
    """The id that ties a result to its call."""
    data = getattr(block, "wire_bytes", None)
    if data is None:
        return None
    body = json.loads(data)
    found = body.get("tool_use_id") or body.get("id")
    return found if isinstance(found, str) else None


# --- blocks as recorded: lengths and types, no text


def _recorded(block: Any, reader: Reader, beside: str | bool | None) -> _Shown:
    chars, kind = block.chars or 0, block.type
    if block.segment == "tools":
        if kind != "custom":
            return _definition(kind, reader)
        if block.defer_loading:
            return _shown("deferred tool")
        return _shown("tool", Text("tool", chars, None))
    if kind == "text":
        return _shown("text", Text("text", chars, None), ends_with_newline=block.ends_with_newline)
    if kind in ("thinking", "redacted_thinking"):
        return _shown("thinking", Text("text", chars if kind == "thinking" else 0, None))
    if kind == "tool_use":
        return _shown("call", Text("call", chars, None))
    if kind == "tool_result":
        text = Text("result" if beside is None else "named result", chars, None)
        return _recorded_result(block, reader, text)
    if kind == "image":
        image = block.image
        if image is None or image.width is None:
            return _shown("image", outside=[reader.unknown_picture("")], images=1)
        return _shown("image", images=1, patches=reader.picture(image.width, image.height))
    if kind == "compaction" and chars:
        return _shown("compaction", Text("text", chars, None))
    if kind == "document":
        source = block.document or {}
        if source.get("source") == "text":
            return _text_document(Text("text", chars, None))
        return _pdf(source.get("pages"), reader)
    return _uncovered(kind, chars)


def _recorded_result(block: Any, reader: Reader, text: Text) -> _Shown:
    pictures = [part for part in block.parts if part.type == "image"]
    known = [part.image for part in pictures if part.image is not None and part.image.width is not None]
    outside = [reader.unknown_picture("")] * (len(pictures) - len(known))
    outside += [_odd_part("", part.chars or 0) for part in block.parts if part.type not in ("text", "image")]
    return _shown(
        "result",
        text,
        images=len(pictures),
        patches=sum(reader.picture(image.width, image.height) for image in known),
        text_beside_images=any(part.type == "text" for part in block.parts),
        outside=outside,
    )


# --- what both are alike in


def _text(text: str) -> Text:
    return Text("text", len(text), text)


def _definition(kind: str, reader: Reader) -> _Shown:
    reason = "server tool definition"
    known, told = known_definition(kind, reader.vocabulary)
    if known is None:
        return _shown("api tool", outside=[Outside("", reason, 0, 0, _MOST_DEFINITION_TOKENS)])
    outside = [Outside("", reason, known.tokens, known.tokens, known.tokens)]
    if not told:  # newer vocabularies need about a third more for the same text
        outside.append(Outside("", "definition counted for an older vocabulary", 0, 0, known.tokens))
    return _shown("api tool", outside=outside)


def _text_document(text: Text) -> _Shown:
    return _shown("other", text, outside=[Outside("", "document block", 0, 0, _MOST_CITATION_TOKENS)])


def _pdf(pages: int | None, reader: Reader) -> _Shown:
    """A PDF of so many pages, or of one to as many as a request may hold."""
    least = pdf_tokens(pages or 1, tier=reader.tier.name).low
    most = pdf_tokens(pages or reader.pdf_pages, tier=reader.tier.name).high
    return _shown("other", outside=[Outside("", "document block", least, least, most)])


def _odd_part(path: str, size: int) -> Outside:
    return Outside(path, "tool result part that is neither text nor image", 0, 0, size)


def _uncovered(kind: str, size: int) -> _Shown:
    """A block the rules say nothing about: at most a token a character of its JSON."""
    if kind == "redacted_thinking":
        return _shown("thinking")
    if kind == "compaction":  # a summary that failed, which is ignored
        return _shown("other")
    return _shown("other", outside=[Outside("", f"{kind} block", 0, 0, size)])


# --- parameters


def _object(value: Any) -> Mapping[str, Any]:
    """A JSON object, or an empty one: whether the API takes the request is not judged here."""
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def settings_of(parameters: Mapping[str, Any], count: Callable[[Text], int], rules: Rules) -> Settings:
    """The parameters that change the prompt, as sent or as recorded; ``count`` counts the texts in them."""
    choice = _object(parameters.get("tool_choice"))
    thinking = _object(parameters.get("thinking"))
    output = _object(parameters.get("output_config"))
    form = _form(parameters)
    named = choice.get("type") == "tool"
    return Settings(
        thinking=thinking.get("type"),
        choice=choice.get("type"),
        one_call_at_a_time=bool(choice.get("disable_parallel_tool_use")),
        forced_name_tokens=count(_name(str(choice.get("name") or ""))) if named else 0,
        schema_tokens=None if not form else count(_schema(form)),
        outside=tuple(_uncovered_parameters(parameters, output, rules)),
    )


def schema_chars(parameters: Mapping[str, Any]) -> int:
    """Characters of the output schema, as a rule of thumb counts them; 0 without one."""
    form = _form(parameters)
    return _schema(form).chars if form else 0


def _form(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    output = _object(parameters.get("output_config"))
    return _object(output.get("format") or parameters.get("output_format"))


def _name(name: str) -> Text:
    return Text("name", len(name), name)


def _schema(form: Mapping[str, Any]) -> Text:
    if "schema" not in form:  # a recording keeps its length
        return Text("schema", form.get("chars", 0), None)
    compact = json.dumps(form["schema"], ensure_ascii=False, separators=(",", ":"))
    return Text("schema", len(compact), rendered_schema(form["schema"]))


def _uncovered_parameters(
    parameters: Mapping[str, Any], output: Mapping[str, Any], rules: Rules
) -> Iterator[Outside]:
    if parameters.get("container"):
        yield Outside("container", "container", 0, 0, _MOST_DEFINITION_TOKENS)
    if parameters.get("mcp_servers"):
        yield Outside("mcp_servers", "MCP servers", 0, 0, _MOST_DEFINITION_TOKENS)
    if output.get("task_budget"):
        yield Outside("output_config.task_budget", "task_budget", 0, 0, _MOST_BUDGET_TOKENS)
    edits = _objects(_object(parameters.get("context_management")).get("edits"))
    if any(str(edit.get("type")).startswith("compact_") for edit in edits):
        most = rules.compaction_not_due
        yield Outside("context_management.edits", "compaction edit that may not be due", 0, 0, most)


# --- counts that a recording carries


def recorded_contents(
    blocks: Sequence[Any], pieces: Sequence[Any], reader: Reader, rules: Rules
) -> list[Content]:
    """One :class:`Content` a block from ``content_tokens``; calls and results from their message's pieces.

    A piece counts all calls or all results of a message as a whole; each of them gets what it counts alone,
    and an equal part of what is left over.
    """
    own = [block.content_tokens.get(reader.vocabulary, 0) for block in blocks]
    for piece in pieces:
        kind = {"calls": "tool_use", "results": "tool_result"}.get(piece.piece)
        members = [i for i, one in enumerate(blocks) if one.type == kind and one.message == piece.message]
        if not members:
            continue
        around = 0
        if kind == "tool_use":
            around = rules.calls + rules.each_call * len(members)
        elif len(members) > 1:
            around = rules.several_results + rules.each_result * len(members)
        left, over = divmod(piece.tokens - around - sum(own[i] for i in members), len(members))
        for place, i in enumerate(members):
            own[i] += left + (place < over)
    found = []
    for block, tokens in zip(blocks, own, strict=True):
        content = _recorded(block, reader, None).content
        counted = content.kind not in ("deferred tool", "image")
        found.append(replace(content, tokens=content.tokens + (tokens if counted else 0)))
    return found


def recorded_text(pieces: Sequence[Any]) -> Callable[[Text], int]:
    """Counts the texts among a recorded row's parameters by its pieces."""
    counts = {piece.piece: piece.tokens for piece in pieces}
    return lambda text: counts.get("output_schema" if text.kind == "schema" else "tool_choice_name", 0)
