"""A lookup in the prompt cache at growing length, beside hashing the request; and the store's own pace."""

from __future__ import annotations

from typing import Any

from benchmarks.timing import Row, best_ms
from ctxlab.cache import Layout, PromptCache
from ctxlab.clock import ManualClock
from ctxlab.prompt import Prompt, extend

MARK = {"type": "ephemeral"}


def conversation(turns: int) -> dict[str, Any]:
    """A tool loop: one call and one result a turn, the marker on the last result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Go through the files."}]
    for i in range(turns):
        call = {"type": "tool_use", "id": f"toolu_{i}", "name": "read", "input": {"path": f"part_{i}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": f"line {i} ok\n" * 40}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    messages[-1]["content"][-1]["cache_control"] = MARK
    return {"model": "claude-opus-5-5", "max_tokens": 64, "system": "Be exact. " * 300, "messages": messages}


def rows() -> list[Row]:
    found = []
    for turns in (10, 100, 400, 1000):
        prompt = Prompt.from_request(conversation(turns))
        sizes = [600 + 150 * i for i in range(len(prompt.blocks))]
        cache = PromptCache(ManualClock())
        layout = Layout.from_prompt(prompt, sizes)
        cache.commit(cache.lookup(layout))
        render_ms = best_ms(lambda turns=turns: Prompt.from_request(conversation(turns)))
        lay_out_ms = best_ms(lambda prompt=prompt, sizes=sizes: Layout.from_prompt(prompt, sizes), repeat=20)
        look_up_ms = best_ms(
            lambda cache=cache, layout=layout: cache.commit(cache.lookup(layout)), repeat=200
        )
        beside = f"{render_ms:.2f} ms rendering and hashing the request"
        found += [
            Row(f"lay out {turns:,} turns", lay_out_ms, "ms", beside, lay_out_ms / render_ms, ""),
            Row(f"look up and commit, {turns:,} turns", look_up_ms, "ms", beside, look_up_ms / render_ms, ""),
        ]

    prompt = Prompt.from_request(conversation(1000))
    sizes = [600 + 150 * i for i in range(len(prompt.blocks))]
    clock = ManualClock()
    cache = PromptCache(clock)
    turn = [{"role": "user", "content": "Go on."}]

    def next_turn() -> None:
        longer = extend(prompt, turn)
        cache.commit(cache.lookup(Layout.from_prompt(longer, [*sizes, sizes[-1] + 10])))
        clock.advance(1)

    next_ms = best_ms(next_turn, repeat=20)
    found.append(
        Row(
            "one more turn on 1,000: extend, lay out, look up",
            next_ms,
            "ms",
            f"{render_ms:.1f} ms rendering it all",
            next_ms / render_ms,
            "",
        )
    )
    return found
