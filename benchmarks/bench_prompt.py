"""Rendering and comparing 10 MB requests, beside what the bytes alone cost."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from benchmarks.timing import Row, best_ms
from ctxlab.prompt import Prompt, extend, first_difference


def agent_request(megabytes: float) -> dict[str, Any]:
    """A tool-using session of about ``megabytes`` of JSON: calls with text arguments, results, prose."""
    tools = [
        {
            "name": f"tool_{i}",
            "description": "Reads one thing and returns it. " * 12,
            "input_schema": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        }
        for i in range(12)
    ]
    messages: list[dict[str, Any]] = []
    turn_bytes = 5_150
    for i in range(int(megabytes * 1e6 / turn_bytes)):
        call = {"path": f"src/part_{i}.py", "text": f'print("Zürich {i}")\n' * 55}
        messages += [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": f"toolu_{i}", "name": "tool_1", "input": call}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": f"line {i} ok\n" * 300}
                ],
            },
        ]
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 1024,
        "tools": tools,
        "system": "Be exact. " * 900,
        "messages": messages,
    }


def chat_request(megabytes: float, block_bytes: int) -> dict[str, Any]:
    """A conversation of short texts: what a block costs by itself shows here."""
    text = "What is left to do? " * (block_bytes // 20)
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i in range(int(megabytes * 1e6 / block_bytes))]
    return {"model": "claude-opus-5-5", "max_tokens": 1024, "messages": messages}


def _encode_and_hash(request: dict[str, Any]) -> bytes:
    text = json.dumps(request, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode()).digest()


def rows() -> list[Row]:
    request, chat = agent_request(10), chat_request(10, 1_000)
    encode_ms = best_ms(lambda: _encode_and_hash(request))
    render_ms = best_ms(lambda: Prompt.from_request(request))
    chat_encode_ms = best_ms(lambda: _encode_and_hash(chat))
    chat_ms = best_ms(lambda: Prompt.from_request(chat))
    size_mb = len(json.dumps(request, ensure_ascii=False).encode()) / 1e6

    before = Prompt.from_request(request)
    body = json.dumps(request, ensure_ascii=False).encode()
    request["messages"][-1]["content"][0]["content"] += "one more"
    after = Prompt.from_request(request)
    other = bytearray(body)
    other[-20] ^= 1
    equal_ms = best_ms(lambda: body == bytes_other, repeat=20) if (bytes_other := bytes(other)) else 0.0
    difference_ms = best_ms(lambda: first_difference(before, after), repeat=20)

    turn = [{"role": "user", "content": "And the next one?"}]
    return [
        Row(
            f"render and digest {size_mb:.1f} MB",
            render_ms,
            "ms",
            f"{encode_ms:.1f} ms json.dumps + SHA-256 of the same bytes",
            render_ms / encode_ms,
            "at most 1.5",
        ),
        Row(
            f"render and digest 10 MB in {len(chat['messages']):,} texts of 1 kB",
            chat_ms,
            "ms",
            f"{chat_encode_ms:.1f} ms json.dumps + SHA-256 of the same bytes",
            chat_ms / chat_encode_ms,
            "",
        ),
        Row(
            "first difference of two 10 MB prompts, in the last block",
            difference_ms,
            "ms",
            f"{equal_ms:.2f} ms bytes == bytes",
            difference_ms / equal_ms,
            "",
        ),
        Row(
            "extend a 10 MB prompt by one turn",
            best_ms(lambda: extend(before, turn), repeat=20),
            "ms",
            f"{render_ms:.1f} ms rendering it again",
            None,
            "",
        ),
    ]
