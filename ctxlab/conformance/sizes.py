"""Sizes of prefixes that a recorded request tells without its split between reads and writes.

Models: where the total of a prompt and the counts of its blocks leave no doubt how many tokens a marker on
a block covers; and, where they do, how many there can be.
Does not model: a size that rests on an assumed constant, or on a block whose content is unknown: such a size
is left open (None), and the replay has to learn it.
Source: ``ctxlab/token_rules.toml`` says which constants are assumed; ``data/recordings/README.md`` says what
the counts in the rows are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ctxlab.catalogue import get_model
from ctxlab.errors import InvalidArgumentError
from ctxlab.recordings import Exchange, RecordedBlock
from ctxlab.tokens import Count, Rules, constants_of, count_recorded, recorded_on, rules_of

_ENDS_A_TEXT = frozenset({"text", "document", "image"})
#: Residuals of the counts that nobody has explained, and where a marker cuts if no recording shows it.
_SLACK = 10
_NEAR, _FAR = 30, 1000
_ANYTHING = 10**9
_BLOCK = re.compile(r"blocks\[(\d+)\]")


def told_sizes(row: Exchange, total_tokens: int | None) -> list[int | None]:
    """Tokens up to and including each block of ``row``, None where they cannot be told.

    ``total_tokens`` is the whole prompt. It gives the size of the prefix that ends at the last block. If the
    counts of the blocks add up to it as well, they give the size of every other one.
    """
    sizes: list[int | None] = [None] * len(row.blocks)
    if total_tokens is None or not row.blocks:
        return sizes
    count = _counted(row)
    if count is None:
        return sizes
    adds_up = not count.outside and count.total == total_tokens
    last = len(row.blocks) - 1
    for i in range(len(row.blocks)) if adds_up else [last]:
        behind = count.total - count.cumulative[i]
        if behind <= total_tokens and _is_settled(row, i):
            sizes[i] = total_tokens - behind
    return sizes


@dataclass(frozen=True, slots=True)
class Outline:
    """How sizes run along a prompt as far as its blocks can be counted: to tell where an entry can end.

    Up to block i there are ``tokens[i]``; up to ``less[i]`` fewer or ``more[i]`` more where content is
    unknown. ``loose[i]`` is how far a marker on the block may cut elsewhere than the constants say.
    """

    tokens: tuple[int, ...]
    less: tuple[int, ...]
    more: tuple[int, ...]
    loose: tuple[int, ...]

    def at(self, places: Sequence[int]) -> Outline:
        """The outline of some of the blocks, in another order if need be."""
        columns = (self.tokens, self.less, self.more, self.loose)
        return Outline(*(tuple(column[i] for i in places) for column in columns))

    def allows(self, place: int, size: int, known: Mapping[int, int]) -> bool:
        """Whether the prefix up to ``place`` can have ``size`` tokens, given sizes that are ``known``.

        Each stretch between two places has the tokens of its blocks, or nearly; a long way from the start
        counts drift further.
        """
        tokens, less, more = self.tokens[place], self.less[place], self.more[place]
        slack = _SLACK + tokens // 5 + self.loose[place]
        if not tokens - less - slack <= size <= tokens + more + slack:
            return False
        for anchor, its_size in known.items():
            first, last = sorted((place, anchor))
            tokens, less, more = (one[last] - one[first] for one in (self.tokens, self.less, self.more))
            slack = _SLACK + tokens // 20 + self.loose[place] + self.loose[anchor]
            if not tokens - less - slack <= abs(size - its_size) <= tokens + more + slack:
                return False
        return True


def outline(row: Exchange) -> Outline:
    """The outline of a row's blocks, whatever its total is."""
    count = _counted(row)
    if count is None:
        nothing = (0,) * len(row.blocks)
        return Outline(nothing, nothing, (_ANYTHING,) * len(row.blocks), nothing)
    less, more = [0] * len(row.blocks), [0] * len(row.blocks)
    for one in count.outside:
        found = _BLOCK.match(one.path)
        place = int(found[1]) if found else 0
        # what one model was seen to need says little of another: at least half as much, or twice
        less[place] += max(one.assumed_tokens - one.low_tokens, one.assumed_tokens // 2)
        more[place] += max(one.high_tokens - one.assumed_tokens, one.assumed_tokens)
    rearranged = _is_rearranged(row)
    loose = (
        0 if _is_settled(row, i) else _FAR if block.segment == "tools" or rearranged else _NEAR
        for i, block in enumerate(row.blocks)
    )
    return Outline(count.cumulative, tuple(accumulate(less)), tuple(accumulate(more)), tuple(loose))


def era(row: Exchange) -> Rules:
    """The constants in force when ``row`` was recorded: one prefix has another size under others."""
    model = get_model(row.model_id or "")
    return rules_of(model.vocabulary, model, recorded_on(row))


def _counted(row: Exchange) -> Count | None:
    """The count of a row; None where it holds something that cannot be, such as a picture without height."""
    try:
        return count_recorded(row)
    except InvalidArgumentError:
        return None


def _is_settled(row: Exchange, place: int) -> bool:
    """Whether every constant that says what stands behind a marker on this block is more than assumed."""
    model = get_model(row.model_id or "")
    constants = constants_of(model.vocabulary, model, recorded_on(row))
    names = list(_constants_behind(row, place))
    return bool(names) and all(name in constants and constants[name].evidence != "assumed" for name in names)


def _constants_behind(row: Exchange, place: int) -> Iterator[str]:
    """Names of the constants that decide where a marker on a block cuts; none where no rule says it."""
    block = row.blocks[place]
    if _thinks(row) or (block.segment != "messages" and _is_rearranged(row)):
        return
    if block.segment == "tools":
        yield "before_tools"
        return
    if block.segment == "system":
        yield "before_system"
        return
    if block.type in _ENDS_A_TEXT and block.role != "assistant":
        yield "at_text_end"
    elif block.type == "tool_result" and _ends_results(row.blocks, place):
        yield "at_results_end"
    else:
        return
    if _is_forced(row):
        yield "forced_at_end"


def _thinks(row: Exchange) -> bool:
    """Whether thinking costs something; the logs of one model then show several ends."""
    rules, kind = era(row), _kind(row, "thinking")
    return {"enabled": rules.thinking_enabled, "adaptive": rules.thinking_adaptive}.get(kind, 0) > 0


def _is_forced(row: Exchange) -> bool:
    return _kind(row, "tool_choice") in ("any", "tool")


def _kind(row: Exchange, parameter: str) -> str:
    value = row.parameters.get(parameter)
    return str(value.get("type")) if isinstance(value, Mapping) else ""


def _is_rearranged(row: Exchange) -> bool:
    """Whether something stands around tools and system whose place nobody has seen."""
    shaped = any(piece.piece == "output_schema" for piece in row.rendered_pieces)
    return shaped or _is_forced(row) or _thinks(row)


def _ends_results(blocks: Sequence[RecordedBlock], place: int) -> bool:
    """Whether the block is the last of a message that holds results and nothing else."""
    message = blocks[place].message
    own = [i for i, block in enumerate(blocks) if block.message == message and block.segment == "messages"]
    return own[-1] == place and all(blocks[i].type == "tool_result" for i in own)
