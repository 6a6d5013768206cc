"""Which blocks a model does not read, of a prompt or of a recording.

Models: what stands before the last summary; summaries that failed; thinking of earlier turns on models that
keep only the last turn's; a prompt without them.
Does not model: context edits (:mod:`ctxlab.effective.applying`).
Source: compaction page 2026-08; invalidation table of the prompt-caching page 2026-09 (thinking).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from ctxlab.catalogue import Model
from ctxlab.prompt import Block, Prompt, chained

THINKING = frozenset({"thinking", "redacted_thinking"})


class Readable(Protocol):
    """What is looked at of a block: where it stands, whose it is, and whether it says something."""

    @property
    def segment(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def type(self) -> str: ...
    @property
    def message(self) -> int | None: ...
    @property
    def chars(self) -> int | None: ...


def unread(blocks: Sequence[Readable], model: Model, *, keeps_thinking: str | None = None) -> frozenset[int]:
    """Which blocks the model does not read, by number: before the last summary, failed summaries, and
    thinking of earlier turns where only the last turn's is kept.

    ``keeps_thinking`` is "all" or "last-turn" where an edit says so; else it is the model's own way.
    """
    kept_from = last_summary(blocks)
    gone = {i for i in range(kept_from) if blocks[i].segment == "messages"}
    gone |= {i for i, block in enumerate(blocks) if block.type == "compaction" and not block.chars}
    if (keeps_thinking or model.keeps_thinking) == "last-turn":
        last = max(
            (block.message or 0 for i, block in enumerate(blocks) if i >= kept_from and speaks(block)),
            default=-1,
        )
        gone |= {
            i for i, block in enumerate(blocks) if block.type in THINKING and (block.message or 0) < last
        }
    return frozenset(gone)


def without(prompt: Prompt, gone: Iterable[int]) -> Prompt:
    """The prompt without some of its blocks; a message that lost its first one still begins.

    Paths and numbers of messages stay those of the request as sent.
    """
    left_out = frozenset(gone)
    if not left_out:
        return prompt
    kept: list[Block] = []
    opens = False
    for i, block in enumerate(prompt.blocks):
        opens = block.starts_message or (opens and block.message is not None)
        if i in left_out:
            continue
        kept.append(replace(block, starts_message=True) if opens and not block.starts_message else block)
        opens = False
    return Prompt(tuple(kept), prompt.parameters, tuple(chained(kept)), prompt.message_count)


def speaks(block: Readable) -> bool:
    """A block with which a turn of the user's begins: anything but a tool result."""
    return block.segment == "messages" and block.role == "user" and block.type != "tool_result"


def last_summary(blocks: Sequence[Readable]) -> int:
    """The number of the last block that holds a summary, 0 where there is none."""
    return max((i for i, b in enumerate(blocks) if b.type == "compaction" and b.chars), default=0)
