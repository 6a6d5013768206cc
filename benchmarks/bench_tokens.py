"""Counting a conversation that grows: what a turn costs when all but its own blocks are remembered."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.timing import Row, best_ms
from ctxlab.images import image_tokens
from ctxlab.prompt import Prompt, extend
from ctxlab.tokens import count


def conversation(turns: int) -> dict[str, Any]:
    """An agent that reads one file a turn: a text, a call and a result each."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read them all."}]
    for turn in range(turns):
        call = {"type": "tool_use", "id": f"t{turn}", "name": "read", "input": {"path": f"src/{turn}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": f"line {turn} ok\n" * 40}
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": f"Step {turn}."}, call]},
            {"role": "user", "content": [result]},
        ]
    tools = [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object"}}]
    return {"system": "Be exact. " * 100, "tools": tools, "messages": messages}


def rows() -> list[Row]:
    found = []
    for turns in (10, 100, 400, 1000):
        body = conversation(turns)
        prompt = Prompt.from_request(body)
        count(prompt, "claude-opus-5-5", counter="calibrated_characters")
        new = {"role": "assistant", "content": "Done."}
        longer = extend(prompt, [new])
        dumps_ms = best_ms(lambda body=body: json.dumps(body))
        count_ms = best_ms(lambda p=longer: count(p, "claude-opus-5-5", counter="calibrated_characters"))
        beside = f"{dumps_ms:.2f} ms json.dumps of the request"
        name = f"count turn {turns:,} of a conversation ({len(longer):,} blocks)"
        found.append(Row(name, count_ms, "ms", beside, count_ms / dumps_ms, ""))
    sizes = [(640 + 3 * i, 480 + 2 * i) for i in range(600)]
    images_ms = best_ms(lambda: [image_tokens(*size, "claude-opus-5-5") for size in sizes])
    found.append(Row("tokens of 600 pictures", images_ms, "ms", "(binary search)", None, ""))
    return found
