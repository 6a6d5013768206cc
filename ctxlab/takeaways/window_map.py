"""The window map: what one request is made of.

Models: characters per segment, the longest blocks, what is sent twice, where the cache markers stand.
Does not model: tokens, or what a turn would cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxlab.figures import Table, table
from ctxlab.prompt import SEGMENTS, Block, Prompt
from ctxlab.takeaways.files import path_of, request_of, write
from ctxlab.takeaways.markdown import counted, page, section

_LONGEST = 5


def window_map(source: Mapping[str, Any] | str | Path, *, write_to: str | Path | None = None) -> Table:
    """What one request is made of: characters per segment, its longest blocks, and what it holds twice.

    ``source`` is a request body or the path of a JSON file with one. ``write_to`` also writes the page as
    Markdown. Raises :class:`InvalidRequestError` for a body that cannot be read and
    :class:`InvalidArgumentError` for a file that cannot be read or written.

    >>> window_map({"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]})
    part     | blocks | characters | share
    ---------|--------|------------|------
    tools    |      0 |          0 |   0 %
    system   |      1 |          9 |  82 %
    messages |      1 |          2 |  18 %
    """
    prompt = Prompt.from_request(request_of(source))
    name = "this request" if isinstance(source, Mapping) else path_of(source).name
    total = sum(block.chars for block in prompt.blocks) or 1
    rows = []
    for segment in SEGMENTS:
        blocks = [block for block in prompt.blocks if block.segment == segment]
        chars = sum(block.chars for block in blocks)
        rows.append((segment, len(blocks), chars, f"{100 * chars / total:.0f} %"))
    shown = table(rows, ("part", "blocks", "characters", "share"), caption=f"What {name} is made of")
    if write_to is not None:
        write(_markdown(prompt, shown), write_to)
    return shown


def _markdown(prompt: Prompt, shown: Table) -> str:
    longest = sorted(prompt.blocks, key=lambda block: -block.chars)[:_LONGEST]
    copies = Counter(block.content_sha256 for block in prompt.blocks)
    twice = [block for block in prompt.blocks if copies[block.content_sha256] > 1]
    marked = [block.path for block in prompt.blocks if block.cache_control]
    return page(
        "Window map",
        f"{counted(len(prompt), 'block')}, sent again on every turn. Counts and digests only; no text is in "
        "this file.",
        shown,
        section("Longest blocks", [_line(block) for block in longest]),
        section("Sent more than once in the same request", [_line(block) for block in twice] or ["nothing"]),
        section("Cache markers", marked or ["none"]),
        ask=(
            "Which of these blocks does the next process need, and where is it stored?",
            "Which of them changes on every turn, and what stands behind it?",
            "What is in here that nobody would want to be told again in three days?",
        ),
    )


def _line(block: Block) -> str:
    return f"`{block.path}` {block.type}, {block.chars:,} characters, sha256 {block.content_sha256[:12]}"
