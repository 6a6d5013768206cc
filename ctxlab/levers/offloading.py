"""Offload: a payload goes to an artifact when it arrives, and a pointer of some fifteen tokens stays.

Models: results of tools as content-addressed artifacts; the pointer; the tool that reads them back, by
ranges, whose definition costs tokens on every request.
Does not model: where artifacts are kept (any mapping will do: put them there before the request is sent).
Source: own construction. Only a payload that was never sent is offloaded for free; an old one is a rewrite
like any other, and adding the read tool to a running session rewrites everything. The ledger prices both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.levers.effect import Loss, Outcome
from ctxlab.levers.ledger import PrefixLedger
from ctxlab.levers.making import instance, ledger_of, outcome, unchanged, whole_number, with_content
from ctxlab.prompt import plain
from ctxlab.validity.rule import Messages, mapping

READ_TOOL: Mapping[str, Any] = {
    "name": "read_artifact",
    "description": "Read an artifact that a result points to, from character start up to end.",
    "input_schema": {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "start": {"type": "integer"},
            "end": {"type": "integer"},
        },
        "required": ["id"],
    },
}
_SHORT = 8
_POINTER = re.compile(r"\[artifact [0-9a-f]{8,64}, [\d,]+ characters\]")


def with_read_tool(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request with the read tool behind its other tools; do this before a session's first request.

    Raises :class:`InvalidArgumentError` where another tool has its name.
    """
    instance("request", request, Mapping)
    tools = request.get("tools") or ()
    instance("tools", tools, Sequence)
    return dict(request) if _has_read_tool(request) else {**request, "tools": [*tools, READ_TOOL]}


def pointer(name: str, text: str) -> str:
    """What stands in place of an artifact.

    >>> pointer("3f9a1c2b", "x" * 240_000)
    '[artifact 3f9a1c2b, 240,000 characters]'
    """
    return f"[artifact {name}, {len(text):,} characters]"


def offload(
    request: Mapping[str, Any],
    *,
    which: Literal["arriving", "all"] | Collection[str] = "arriving",
    at_least_tokens: int = 1_000,
    stored: Mapping[str, str] | None = None,
    ledger: PrefixLedger | None = None,
) -> Outcome:
    """Put results of tools into artifacts (``Outcome.artifacts``) and pointers in their place.

    ``which``: results in the last message, all, or those of the calls with these ids. Results below
    ``at_least_tokens``, those that hold more than text, and those of the read tool itself stay. ``stored``
    are artifacts that exist already: equal payloads share one. The read tool is added where it is missing.
    What the model does not read (before a compaction block) stays.

    Raises :class:`InvalidArgumentError` for an id that has no result and for another tool that has the name
    of the read tool, and :class:`ctxlab.errors.InvalidRequestError` for a request that is not valid.

    >>> call = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "long " * 5000}
    >>> body = with_read_tool({"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Go"},
    ...     {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]})
    >>> moved = offload(body)
    >>> moved.request["messages"][2]["content"][0]["content"]
    '[artifact d26d1585, 25,000 characters]'
    """
    whole_number("at_least_tokens", at_least_tokens)
    found = ledger_of(request, ledger)
    has_read_tool = _has_read_tool(request)
    calls = (block for message in found.messages_read for block in message.of_type("tool_use"))
    reads = {call.body.get("id") for call in calls if call.body.get("name") == READ_TOOL["name"]}
    wanted = _wanted(found.messages_read, which) - reads
    if stored is not None:
        instance("stored", stored, Mapping)
    artifacts: dict[str, str] = {}
    known = dict(stored or {})
    messages: list[Any] = []
    lost: list[Loss] = []
    for message, read in zip(request["messages"], found.messages_read, strict=True):
        blocks = [block.body for block in read.blocks]
        before = len(lost)
        for j, (path, _, kind, block) in enumerate(read.blocks):
            if kind != "tool_result" or block.get("tool_use_id") not in wanted or not found.reads(path):
                continue
            text = _payload(block)
            if text is None or _POINTER.fullmatch(text):
                continue
            tokens = found.tokens_of(path)
            if tokens < max(at_least_tokens, 1) or len(text) <= len(pointer("x" * _SHORT, text)):
                continue
            name = _name(text, known)
            known[name] = artifacts[name] = text
            blocks[j] = with_content(block, pointer(name, text))
            lost.append(Loss(path, "stored", f"artifact {name}, {tokens:,} tokens"))
        messages.append({**read.body, "content": blocks} if len(lost) > before else message)
    if not lost:
        return unchanged("offload", found)
    made = request if has_read_tool else with_read_tool(request)
    return outcome("offload", found, {**made, "messages": messages}, lost, artifacts=artifacts)


def read_artifact(
    call: Mapping[str, Any], artifacts: Mapping[str, str], *, most_chars: int = 16_000
) -> dict[str, Any]:
    """The ``tool_result`` block that answers a call of the read tool; bad input is an error the model sees.

    >>> read_artifact({"id": "t1", "input": {"id": "3f9a", "start": 2, "end": 5}}, {"3f9a": "abcdefgh"})
    {'type': 'tool_result', 'tool_use_id': 't1', 'content': 'cde'}
    """
    asked_for = plain(call)
    instance("call", asked_for, Mapping)
    result = {"type": "tool_result", "tool_use_id": asked_for.get("id")}
    given = asked_for.get("input")
    asked: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    text = artifacts.get(str(asked.get("id")))
    if text is None:
        near = ", ".join(sorted(artifacts)[:5]) or "none"
        return {
            **result,
            "content": f"There is no artifact {asked.get('id')!r}. Known: {near}",
            "is_error": True,
        }
    start, end = asked.get("start") or 0, asked.get("end")
    end = len(text) if end is None else end
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        says = (
            f"start and end are whole numbers, 0 <= start <= end; the artifact has {len(text):,} characters"
        )
        return {**result, "content": says, "is_error": True}
    part = text[start : min(end, start + most_chars)]
    behind = start + len(part)
    more = behind < min(end, len(text))
    tail = f"\n[{behind:,} of {len(text):,} characters; go on with start={behind}]" if more else ""
    return {**result, "content": part + tail or "[nothing there]"}


def _has_read_tool(request: Mapping[str, Any]) -> bool:
    """Whether the request defines the read tool. A tool of its name that takes something else is an error:
    the model would be told of ranges that nobody reads, and no second tool may have that name."""
    for place, given in enumerate(request.get("tools") or ()):
        tool = mapping(given)
        if tool.get("name") != READ_TOOL["name"]:
            continue
        if not _takes_ranges(mapping(tool.get("input_schema"))):
            says = f"is called {READ_TOOL['name']} and does not take id, start and end"
            raise InvalidArgumentError(Problem(f"tools[{place}]", "read-tool", says, "give it another name"))
        return True
    return False


def _takes_ranges(schema: Mapping[str, Any]) -> bool:
    asked, own = mapping(schema.get("properties")), READ_TOOL["input_schema"]["properties"]
    kinds = {name: mapping(asked.get(name)).get("type") for name in own}
    required = schema.get("required") or ()
    return kinds == {name: one["type"] for name, one in own.items()} and all(one == "id" for one in required)


def _wanted(messages: Messages, which: Any) -> set[Any]:
    if which not in ("all", "arriving") and (isinstance(which, str) or not isinstance(which, Collection)):
        raise InvalidArgumentError(Problem("which", "known", f"is {which!r}", "'arriving', 'all', or ids"))
    asked = messages[-1:] if which == "arriving" else messages
    every = {block.body.get("tool_use_id") for message in asked for block in message.of_type("tool_result")}
    if isinstance(which, str):
        return every
    unknown = [name for name in which if not isinstance(name, str) or name not in every]
    if unknown:
        raise InvalidArgumentError(
            Problem("which", "has-a-result", f"holds {unknown[0]!r}, no result's call")
        )
    return set(which)


def _payload(block: Mapping[str, Any]) -> str | None:
    """The text of a result that holds nothing but text."""
    content = block.get("content")
    if isinstance(content, str):
        return content
    parts = [plain(part) for part in content] if isinstance(content, (list, tuple)) else []
    texts = [part.get("text") for part in parts if part.get("type") == "text"]
    return "\n".join(map(str, texts)) if texts and len(texts) == len(parts) else None


def _name(text: str, known: Mapping[str, str]) -> str:
    """The shortest beginning of the digest that names nothing else."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    lengths = (n for n in range(_SHORT, len(digest) + 1) if known.get(digest[:n], text) == text)
    return digest[: next(lengths)]
