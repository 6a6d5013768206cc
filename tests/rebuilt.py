"""Recorded requests as bodies again: same structure, roles, markers and lengths; made-up texts and ids.

The recordings hold no texts and no ids. What the rules on markers and messages look at is the structure, so
the n-th call of a message gets the id that the n-th result of the next message has.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from ctxlab.recordings import Exchange, RecordedBlock

# parameters as the format names them; those that do not belong to the body are left out
_NOT_IN_THE_BODY = {"endpoint", "betas", "blocks", "rendered_tokens", "estimate", "not_recorded"}


def request_of(row: Exchange) -> dict[str, Any]:
    body: dict[str, Any] = {k: v for k, v in row.parameters.items() if k not in _NOT_IN_THE_BODY}
    body["model"] = row.model_id
    tools = [_tool(block, i) for i, block in enumerate(row.blocks) if block.segment == "tools"]
    if tools:
        body["tools"] = tools
    system = [_block(block, "", "") for block in row.blocks if block.segment == "system"]
    if system:
        body["system"] = system
    spoken = [block for block in row.blocks if block.segment == "messages"]
    body["messages"] = []
    calls: list[str] = []
    for number, group in groupby(spoken, key=lambda block: block.message):
        blocks = list(group)
        content, results, made = [], iter(calls), []
        server = ""
        for j, block in enumerate(blocks):
            own = f"id_{number}_{j}"
            if block.type == "tool_use":
                made.append(own)
            elif block.type == "server_tool_use":
                server = own
            answers = next(results, "nothing") if block.type == "tool_result" else server
            content.append(_block(block, own, answers))
        calls = made
        body["messages"].append({"role": blocks[0].role, "content": content})
    return body


def _tool(block: RecordedBlock, i: int) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": block.name or f"tool_{i}", "input_schema": {"type": "object"}}
    if block.type != "custom":
        tool["type"] = block.type
    if block.defer_loading:
        tool["defer_loading"] = True
    return _marked(tool, block)


def _block(block: RecordedBlock, own: str, answers: str) -> dict[str, Any]:
    kind = block.type
    if kind == "text":
        body: dict[str, Any] = {"text": "x" * (block.chars or 0)}
    elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        body = {"id": own, "name": block.name or "web_search", "input": {}}
    elif kind == "thinking":
        body = {"thinking": "x" * (block.chars or 0), "signature": "s"}
    elif kind == "compaction":
        body = {"content": "x" * (block.chars or 0)}
    elif kind.endswith("tool_result"):
        body = {"tool_use_id": answers, "content": [_block(part, "", "") for part in block.parts]}
    else:
        body = {"source": {}} if kind in ("image", "document") else {}
    return _marked({"type": kind, **body}, block)


def _marked(body: dict[str, Any], block: RecordedBlock) -> dict[str, Any]:
    return body if block.cache_control is None else {**body, "cache_control": dict(block.cache_control)}
