"""Two requests one above the other, drawn in characters, with the first divergence pinned.

Models: both requests in render order; what they share, block for block, in class R (a cache entry may serve
it), the rest of the later one in class W; runs of one kind joined, so that a long request is one line; the
place where they part, and the words that meet there.
Does not model: whether an entry was there to be read (:mod:`ctxlab.diagnose`).
Source: token figures are estimates of :func:`ctxlab.tokens.count`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ctxlab.breakers.settings import model_of
from ctxlab.figures import Span, strip_text
from ctxlab.prompt import Block, Difference, Prompt, first_difference
from ctxlab.tokens import count

_FARTHEST = 60  # a pin farther right is told on a line of its own
_AROUND = 24  # characters shown on either side of the first one that differs
_LONE = 4  # blocks of a segment that are drawn one by one on either side of the pin


def drawn(
    earlier: Prompt,
    later: Prompt,
    difference: Difference | None = None,
    *,
    names: tuple[str, str] = ("earlier", "later"),
    model: str | None = None,
    counter: str | None = None,
) -> str:
    """Both strips, ``!`` where they part, and below it the place and the words on either side.

    ``difference`` defaults to the first one, ``model`` to the request's own; ``counter`` as in
    :func:`ctxlab.tokens.count`. Two prompts without one are drawn without a pin.

    >>> a = Prompt.from_request({"system": "It is 10:41.", "messages": [{"role": "user", "content": "Hi"}]})
    >>> b = Prompt.from_request({"system": "It is 10:42.", "messages": [{"role": "user", "content": "Hi"}]})
    >>> print(drawn(a, b, names=("first", "second")))  # doctest: +ELLIPSIS
    first  ![system ...
    second ![system W ...
           ^ system at character 10: changed (0 blocks shared)
             - 'It is 10:41.'
             + 'It is 10:42.'
    """
    difference = difference or first_difference(earlier, later)
    parted = difference is not None and not difference.appended
    wide = max(map(len, names))
    lines = []
    for name, prompt, side in ((names[0], earlier, "before"), (names[1], later, "after")):
        shared = len(prompt.blocks) if difference is None else _shared(prompt, difference, side)
        cls = "W" if side == "after" else None
        tokens = count(prompt, model_of(prompt, model), counter=counter).by_block
        lines.append(f"{name:<{wide}} {_strip(prompt, tokens, shared, parted, cls)}")
    if difference is None:
        return "\n".join([*lines, f"{'':<{wide}} no block differs"])
    column = lines[1].find("!", wide) if parted else wide + 1
    column = column if 0 <= column <= _FARTHEST else wide + 1
    lines.append(f"{'':<{column}}^ {difference}")
    if parted:
        lines += [f"{'':<{column}}  {line}" for line in _words(difference)]
    return "\n".join(lines)


def _shared(prompt: Prompt, difference: Difference, side: str) -> int:
    """How many blocks of this side stand before the divergence; some may be outside what is compared."""
    block = difference.before if side == "before" else difference.after
    if block is None:
        return len(prompt.blocks)
    return next((at for at, one in enumerate(prompt.blocks) if one.path == block.path), difference.index)


def _strip(prompt: Prompt, tokens: Sequence[int], shared: int, parted: bool, cls: str | None) -> str:
    if not prompt.blocks:
        return "(empty)" + "!" * parted
    spans: list[Span] = []
    markers: list[tuple[int, str]] = []
    pin: int | None = None
    for first, last in _runs(prompt.blocks, shared):
        if parted and first == shared:
            pin = len(spans)
        block = prompt.blocks[first]
        label = _named(block) if last - first == 1 else f"{block.segment} {last - first} blocks"
        own = "R" if last <= shared else cls
        spans.append(Span(label, own, sum(tokens[first:last]), block.segment))
        if (marker := prompt.blocks[last - 1].cache_control) is not None:
            markers.append((len(spans) - 1, marker.get("ttl", "5m")))
    ended = "!" if parted and pin is None else ""  # this side stops where the other goes on
    return strip_text(spans, markers=markers, first_difference=pin) + ended


def _runs(blocks: Sequence[Block], shared: int) -> Iterator[tuple[int, int]]:
    """Blocks drawn as one: neighbours of a segment that hold no marker and do not stand beside the pin."""
    first = 0
    for at in range(1, len(blocks) + 1):
        ends = (
            at == len(blocks)
            or blocks[at].segment != blocks[first].segment
            or blocks[at - 1].cache_control is not None
            or at in (shared, shared + 1)
            or len(blocks) <= 2 * _LONE
        )
        if ends:
            yield first, at
            first = at


def _words(difference: Difference) -> Iterator[str]:
    """What stands at the divergence on either side, cut to the words around it."""
    inside = _below(difference)
    for sign, block in (("-", difference.before), ("+", difference.after)):
        if block is None:
            yield f"{sign} (ends here)"
            continue
        if difference.kind not in ("changed", "key_order"):
            yield f"{sign} {_named(block)} {block.type}"
            continue
        value, at = _value(block, inside), difference.at_char or 0
        if not isinstance(value, str):
            value, at = json.dumps(value, ensure_ascii=False), 0
        start = max(at - _AROUND, 0)
        cut = value[start : at + _AROUND]
        yield f"{sign} {'…' if start else ''}{cut!r}{'…' if at + _AROUND < len(value) else ''}"


def _named(block: Block) -> str:
    if block.segment == "tools" and block.name:
        return f"{block.path} {block.name}"
    return block.path.removesuffix(".content")


def _below(difference: Difference) -> str:
    """The difference's path without that of the block it is in; empty where it is the whole block."""
    for block in (difference.after, difference.before):
        if block is not None and difference.path.startswith(block.path):
            return difference.path[len(block.path) :]
    return ""


def _value(block: Block, inside: str) -> Any:
    """The value at a path inside a block; a block that is only a text is that text."""
    value: Any = json.loads(block.wire_bytes)
    if set(value) == {"text", "type"}:
        return value["text"]
    for step in inside.replace("]", "").replace("[", ".").split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
    return value
