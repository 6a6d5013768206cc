"""What breaks between two 10 MB requests, beside reading them: parsing the JSON and digesting every block."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.bench_prompt import agent_request
from benchmarks.timing import Row, best_ms
from ctxlab.breakers import compare
from ctxlab.prompt import Prompt


def rows() -> list[Row]:
    earlier = json.dumps(agent_request(10), ensure_ascii=False).encode()
    found = []
    for name, later in _later(earlier).items():
        read_ms = best_ms(lambda later=later: (_read(earlier), _read(later)), repeat=3)  # type: ignore[misc]
        pair = [_read(earlier), _read(later)]
        compare_ms = best_ms(lambda pair=pair: compare(pair, price=False))  # type: ignore[misc]
        price_ms = best_ms(lambda pair=pair: compare(pair))  # type: ignore[misc]
        total_ms = read_ms + compare_ms
        beside = f"{total_ms:.0f} ms with parsing and digesting both"
        found += [
            Row(
                f"compare two 10 MB requests, {name}", compare_ms, "ms", beside, compare_ms / total_ms, "0.05"
            ),
            Row("  the same with tokens and dollars", price_ms, "ms", beside, price_ms / total_ms, ""),
        ]
    return found


def _later(earlier: bytes) -> dict[str, bytes]:
    """The same request one turn on, with a change where it is found late, early, or everywhere behind."""
    bodies: dict[str, Any] = {}
    for name in ("the last block changed", "tools reordered", "two blocks dropped at the start"):
        bodies[name] = json.loads(earlier)
        bodies[name]["messages"].append({"role": "assistant", "content": "Done."})
    bodies["the last block changed"]["messages"][-2]["content"][0]["content"] += "one more"
    bodies["tools reordered"]["tools"].reverse()
    del bodies["two blocks dropped at the start"]["messages"][2:4]
    return {name: json.dumps(body, ensure_ascii=False).encode() for name, body in bodies.items()}


def _read(data: bytes) -> Prompt:
    return Prompt.from_json(data)
