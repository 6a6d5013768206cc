"""A request with other markers: everything else stays as it is, and what is not touched is not copied.

Models: taking every marker off, setting new ones by path, a plain string turned into the block it stands for.
Does not model: whether the new markers are legal or wise.
Source: shape of a request body, SDK types 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxlab.breakpoints.places import HOLD_BLOCKS
from ctxlab.cache import Ttl, asked_ttl
from ctxlab.prompt import plain
from ctxlab.prompt.objects import is_list, is_omitted


def with_markers(request: Mapping[str, Any], ttls: Mapping[str, Ttl]) -> dict[str, Any]:
    """The request with a marker on each block named in ``ttls`` and on no other.

    Blocks are named by their paths in the new request, where a string that is marked is a list of one.
    The given request (one that :class:`ctxlab.prompt.Prompt` can read) is not changed; the new one shares the
    blocks that did not need a change.

    >>> body = {"messages": [{"role": "user", "content": "Hi"}], "cache_control": {"type": "ephemeral"}}
    >>> with_markers(body, {"messages[0].content[0]": "1h"})["messages"][0]["content"]
    [{'type': 'text', 'text': 'Hi', 'cache_control': {'type': 'ephemeral', 'ttl': '1h'}}]
    """
    body = {name: value for name, value in _without_marker(request).items() if not is_omitted(value)}
    if is_list(body.get("tools")):
        body["tools"] = [_block(tool, f"tools[{i}]", ttls) for i, tool in enumerate(body["tools"])]
    if body.get("system") is not None:
        body["system"] = _content(body["system"], "system", ttls)
    body["messages"] = [
        _message(message, f"messages[{i}]", ttls) for i, message in enumerate(body.get("messages", ()))
    ]
    return body


def _message(message: Any, path: str, ttls: Mapping[str, Ttl]) -> Any:
    body = _without_marker(_mapping(message))
    said = body.get("content")  # a system message may set the effort and say nothing
    content = None if said is None else _content(said, f"{path}.content", ttls)
    if content is said:
        return message if body is message else body
    return {**body, "content": content}


def _content(content: Any, path: str, ttls: Mapping[str, Ttl]) -> Any:
    if isinstance(content, str):
        ttl = ttls.get(f"{path}[0]")
        if ttl is None:
            return content
        return [{"type": "text", "text": content, "cache_control": _marker(ttl)}]
    blocks = [_block(block, f"{path}[{i}]", ttls) for i, block in enumerate(content)]
    unchanged = all(new is old for new, old in zip(blocks, content, strict=True))
    return content if unchanged else blocks


def _block(block: Any, path: str, ttls: Mapping[str, Ttl]) -> Any:
    body = _mapping(block)
    ttl, given = ttls.get(path), body.get("cache_control")
    plain_inside = _inside_without_markers(body)
    if ttl is not None:
        keeps = isinstance(given, Mapping) and asked_ttl(given) == ttl and not set(given) - {"type", "ttl"}
        if keeps and plain_inside is body:
            return block
        return {**plain_inside, "cache_control": given if keeps else _marker(ttl)}
    stripped = _without_marker(plain_inside)
    return block if stripped is body else stripped


def _marker(ttl: Ttl) -> dict[str, str]:
    """5m is what a marker without a lifetime means, and what the oldest endpoints understand."""
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def _inside_without_markers(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The block without markers on what lies inside it; the same object if there were none."""
    fields = ["citations", "source"] + ["content"] * (body.get("type") in HOLD_BLOCKS)
    for field in fields:
        value = body.get(field)
        stripped = _stripped(value)
        if stripped is not value:
            body = {**body, field: stripped}
    return body


def _stripped(value: Any) -> Any:
    if is_list(value):
        items = [_stripped(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if isinstance(value, str) or value is None:
        return value
    body = _mapping(value)
    inside = _inside_without_markers(body)
    if is_list(inside.get("content")):  # the blocks of a document's source
        content = _stripped(inside["content"])
        if content is not inside["content"]:
            inside = {**inside, "content": content}
    stripped = _without_marker(inside)
    return value if stripped is body else stripped


def _without_marker(body: Mapping[str, Any]) -> Mapping[str, Any]:
    if body.get("cache_control") is None:
        return body
    return {name: value for name, value in body.items() if name != "cache_control"}


def _mapping(value: Any) -> Mapping[str, Any]:
    body: Mapping[str, Any] = value if isinstance(value, Mapping) else plain(value)
    return body
