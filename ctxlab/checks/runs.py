"""Small conversations run through the prompt cache one request after the other, and drawn as strips.

Models: requests as bodies (every word one token, the frames of the API around them) or as bare blocks with a
size; the pause before each; a strip of what came of one, with what its last marker looked at and its bill.
Does not model: the cache (:mod:`ctxlab.cache`), answers, errors of the API beyond those of its markers.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import wraps
from hashlib import sha256
from typing import Any

from ctxlab import cost, tokens
from ctxlab.cache import Layout, Plan, Position, PromptCache, Tier, Ttl
from ctxlab.catalogue import get_model
from ctxlab.checks.exercises import Case
from ctxlab.clock import ManualClock
from ctxlab.figures import Figure, Span, Table, prefix_strip
from ctxlab.prompt import Block, Prompt

MODEL = "claude-opus-5-5"
_TIERS: Mapping[str, Tier] = {"tools": "tools", "system": "system"}


def words(text: str, vocabulary: str) -> int:
    """A counter for lessons: one word is one token, so that everybody can make a text of a given size.

    >>> words("one two  three", "v4.8")
    3
    """
    return len(text.split())


Body = Mapping[str, Any]

LOOKUP: Body = {
    "name": "lookup",
    "description": "find " * 404,
    "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
}
"""The tool of the small agent: 600 tokens by :func:`words`, with the preamble that tools bring along."""


def text(word: str, count: int) -> dict[str, Any]:
    """A text block of ``count`` words.

    >>> text("so", 2)
    {'type': 'text', 'text': 'so so '}
    """
    return {"type": "text", "text": f"{word} " * count}


def marked(block: Body) -> dict[str, Any]:
    """The same block with a marker of five minutes."""
    return {**block, "cache_control": {"type": "ephemeral"}}


def user(*blocks: Body) -> dict[str, Any]:
    """A user message of these blocks."""
    return {"role": "user", "content": list(blocks)}


def agent(model: str = MODEL, rules: int = 1_389) -> dict[str, Any]:
    """What every request of the small agent begins with: its tool, and rules of so many words."""
    return {"model": model, "max_tokens": 200, "tools": [LOOKUP], "system": [text("rule", rules)]}


@dataclass(frozen=True, slots=True)
class Piece:
    """A block without text: its name tells it apart, ``tokens`` is its size.

    ``kind`` is ``"tools"``, ``"system"``, or for messages ``"text"``, ``"call"`` or ``"result"``: calls in a
    row count as one position to a lookback, and so do results.
    """

    name: str
    tokens: int
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of pieces: ``markers`` maps block numbers to lifetimes; sent ``pause_s`` after the last."""

    pieces: tuple[Piece, ...]
    markers: Mapping[int, Ttl] = field(default_factory=dict)
    pause_s: float = 30.0
    workspace: str = "default"
    model: str = MODEL
    tail_tokens: int = 2


def run_pieces(asked: Sequence[Asked]) -> list[Plan]:
    """What each request reads and writes; the first finds an empty cache.

    Raises :class:`InvalidRequestError` for markers the API refuses.

    >>> manual, question = Piece("manual", 2000, "system"), Piece("q", 20)
    >>> first, again = run_pieces([Asked((manual, question), {0: "5m"})] * 2)
    >>> first.written_5m_tokens, again.read_tokens, again.fresh_tokens
    (2000, 2000, 22)
    """
    clock = ManualClock()
    cache = PromptCache(clock)
    plans = []
    for one in asked:
        clock.advance(one.pause_s)
        plan = cache.lookup(_laid_out(one), explain=True)
        cache.commit(plan)
        plans.append(plan)
    return plans


def _laid_out(asked: Asked) -> Layout:
    digest, size, unit = sha256(), 0, -1
    before = ""
    positions = []
    for at, piece in enumerate(asked.pieces):
        digest.update(f"{piece.kind} {piece.name} {piece.tokens}\n".encode())
        size += piece.tokens
        unit += piece.kind not in ("call", "result") or piece.kind != before
        before = piece.kind
        ttl = asked.markers.get(at)
        control = None if ttl is None else {"type": "ephemeral", "ttl": ttl}
        positions.append(
            Position(digest.hexdigest(), unit, size, control, _TIERS.get(piece.kind, "messages"), piece.name)
        )
    model = get_model(asked.model)
    return Layout(tuple(positions), {}, model, asked.workspace, size + asked.tail_tokens)


def run_bodies(
    bodies: Sequence[Mapping[str, Any]], *, pause_s: float = 40.0, workspaces: Sequence[str] = ()
) -> list[Plan]:
    """The same for request bodies as the API takes them, counted by :func:`words`."""
    clock = ManualClock()
    cache = PromptCache(clock)
    plans = []
    for at, body in enumerate(bodies):
        if at:
            clock.advance(pause_s)
        prompt = Prompt.from_request(body)
        layout = Layout.from_prompt(
            prompt,
            tokens.count(prompt, body["model"], counter=words),
            workspace=workspaces[at] if workspaces else "default",
            rules=cache.rules,
        )
        plan = cache.lookup(layout, explain=True)
        cache.commit(plan)
        plans.append(plan)
    return plans


def bill_usd(plan: Plan) -> Decimal:
    """What the input of a request costs."""
    return cost.bill(plan.usage(), plan.layout.model).total_usd


class Pair:
    """Two pictures, one below the other."""

    def __init__(self, *figures: Figure):
        self._figures = figures

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._figures))

    def _repr_html_(self) -> str:
        return "".join(figure._repr_html_() for figure in self._figures)


class Explained:
    """Something to look at, and below it the sentences that belong to it and nowhere earlier."""

    def __init__(self, shown: Figure | Table, *paragraphs: str):
        self._shown, self._paragraphs = shown, paragraphs

    def __repr__(self) -> str:
        return "\n\n".join([repr(self._shown), *(textwrap.fill(one, 100) for one in self._paragraphs)])

    def _repr_html_(self) -> str:
        from ctxlab.figures.svg import safe

        told = "".join(
            f'<p class="mathjax_ignore tex2jax_ignore" style="max-width:1000px;margin:8px 0">{safe(one)}</p>'
            for one in self._paragraphs
        )
        return self._shown._repr_html_() + told


def drawable(draw: Callable[[Case, Any], object]) -> Callable[[Case, Any], object]:
    """Draws what a learner's function gave, whatever that is: None where there is no picture of it."""

    @wraps(draw)
    def drawn(case: Case, got: Any) -> object:
        try:
            return draw(case, got)
        except Exception:  # the verdict stands without a picture
            return None

    return drawn


def names(prompt: Prompt) -> list[str]:
    """A word for each block of a prompt, for a strip."""
    return [_name(block) for block in prompt.blocks]


def _name(block: Block) -> str:
    if block.segment != "messages":
        return block.segment
    if block.type == "text":
        return {"user": "user", "assistant": "answer"}.get(block.role or "", str(block.role))
    return {"tool_use": "call", "tool_result": "result"}.get(block.type, block.type)


def strip(
    plan: Plan,
    *,
    title: str,
    alt: str,
    evidence: str = "emulated",
    source: str = "",
    called: Sequence[str] | None = None,
    together: Sequence[str] = (),
    lookback: bool = False,
    markers: bool = True,
    bill: Decimal | str | None = None,
    first_difference: int | None = None,
) -> Figure:
    """A plan as a strip. ``called`` names its blocks; ``lookback`` adds what the last marker looked at;
    ``first_difference`` pins the first block that is not as it was.

    Blocks that are one position to a lookback are drawn as one, and neighbours named in ``together``. Without
    ``markers`` the picture says what was read and written and leaves open how.
    """
    layout, letters = plan.layout, plan.classes()
    given = called or [position.path for position in layout.positions]
    pins = [(marker.position, marker.ttl) for marker in layout.markers]
    held = _held(plan) if markers else []
    cuts = {at for at, _ in pins} | set(held)
    if first_difference is not None:
        cuts.add(first_difference - 1)
    spans: list[Span] = []
    place: list[int] = []  # for each position the span it is in
    before, members = 0, 0
    for at, position in enumerate(layout.positions):
        tokens = (position.cumulative_tokens or before) - before
        before += tokens
        name, alone = given[at], at == 0 or at - 1 in cuts or letters[at - 1] != letters[at]
        run = at > 0 and layout.positions[at - 1].lookback_unit == position.lookback_unit
        if not alone and (run or (name in together and name == given[at - 1])):
            members += 1
            label = name if name in together else f"{members} {name}s"
            spans[-1] = spans[-1]._replace(label=label, tokens=spans[-1].tokens + tokens)
        else:
            members = 1
            spans.append(Span(name, letters[at], tokens, position.tier))
        place.append(len(spans) - 1)
    tail = (layout.total_tokens or before) - before
    if tail:
        spans.append(Span("end", "F", tail, "messages"))
    return prefix_strip(
        spans,
        title=title,
        alt=alt,
        evidence=evidence,
        source=source,
        markers=[(place[at], ttl) for at, ttl in pins] if markers else (),
        looked_at=[place[at] for at in _looked_at(plan)] if lookback else (),
        entries=[place[at] for at in held],
        first_difference=None if first_difference is None else place[first_difference],
        bill=bill,
    )


def _looked_at(plan: Plan) -> Iterator[int]:
    """The newest block of each position that the last marker looked at, until it found an entry."""
    layout, unit = plan.layout, None
    if not layout.markers:
        return
    for place in layout.looked_at(layout.markers[-1].position):
        if layout.positions[place].lookback_unit != unit or place == plan.hit:
            unit = layout.positions[place].lookback_unit
            yield place
        if place == plan.hit:
            return


def _held(plan: Plan) -> list[int]:
    """Entries the cache held: the one that was found, and the deepest that no marker reached."""
    found = [] if plan.hit is None else [plan.hit]
    return found + [near.position for near in plan.further if near.kind == "out-of-reach"]
