"""One long session under six policies: what each costs turn by turn, where it rewrites, which facts it keeps.

Models: a session generated from a seed on the structure of a recorded one (types of blocks, their sizes, the
pauses), ten facts planted at listed turns; policies that trim, clear, compact or offload; each request priced
by the prompt cache. :mod:`ctxlab.checks.twins` runs the same policies with :mod:`ctxlab.levers`.
Does not model: what a model does without the facts that are gone; output, but for that of a summary.
Source: sizes and pauses of ``cli/session-375d5d79``; a turn's growth is shared out by characters. Scripted: a
line of the user's on every turn, the size of a summary and what it keeps, how often a payload is read again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from itertools import accumulate, pairwise, zip_longest
from typing import Literal, NamedTuple

from ctxlab import recordings
from ctxlab.catalogue import get_model
from ctxlab.checks.runs import MODEL, Asked, Piece, bill_usd, run_pieces
from ctxlab.cost import exact_decimal

SESSION = "cli/session-375d5d79"
STABLE_TOKENS = 16_606  # what the same agent still read after a recorded compaction of another session
LINE_TOKENS = 12
Kind = Literal["answer", "result", "line", "cleared", "pointer", "read", "summary"]


class Fact(NamedTuple):
    """A string that has to survive to the letter, and the block it stands in."""

    turn: int
    kind: Kind
    text: str


FACTS = (
    Fact(3, "result", "127.0.0.1:8081"),
    Fact(20, "line", "cfg/app.yaml"),
    Fact(42, "result", "DEPLOY_ENV"),
    Fact(75, "answer", "src/auth/login.py"),
    Fact(104, "result", "ConnectionResetError"),
    Fact(121, "line", "v2.4.1"),
    Fact(150, "result", "9f2c1ab"),
    Fact(176, "answer", "schema.sql"),
    Fact(199, "result", "10.0.3.17"),
    Fact(214, "result", "30,412"),
)
IN_THE_SUMMARY = frozenset(("127.0.0.1:8081", "cfg/app.yaml", "DEPLOY_ENV", "v2.4.1", "9f2c1ab"))


@dataclass(frozen=True, slots=True)
class Step:
    """What a turn adds, in tokens: the answer before it with its calls, their results, the user's line.

    ``frames`` are those tokens of each result that stay when its content goes.
    """

    answer: int
    results: tuple[int, ...]
    line: int
    pause_s: float = 1.0
    frames: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """Steps that were sent before the first turn, and the turns themselves."""

    early: tuple[Step, ...]
    turns: tuple[Step, ...]
    stable_tokens: int = STABLE_TOKENS
    tail_tokens: int = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """What the policies go by, in tokens. One in ``read_back`` offloaded payloads is read again, whole."""

    cap: int = 40_000
    spill: int = 20_000
    keep: int = 3
    clear_at_least: int = 10_000
    offload_from: int = 400
    read_back: int = 5
    cleared: int = 22
    pointer: int = 25
    read_tool: int = 110
    summary: int = 1_500
    instructions: int = 100
    first_line_less: int = 0


class Block(NamedTuple):
    """One block of the history: its bytes by name and size, the turn that brought it, what it is."""

    piece: Piece
    step: int
    kind: Kind
    frame: int = 0


@dataclass(slots=True)
class Window:
    """The history of the request to come. Blocks from ``arrived`` on were never sent."""

    limits: Limits
    blocks: list[Block] = field(default_factory=list)
    arrived: int = 0
    stored: list[int] = field(default_factory=list)
    to_read: int = 0
    summaries: int = 0

    @property
    def tokens(self) -> int:
        """What the history has."""
        return sum(block.piece.tokens for block in self.blocks)

    def add(self, step: Step, number: int) -> None:
        """A turn's blocks, and what was asked to be read again."""
        self.arrived = len(self.blocks)
        self._add("answer", step.answer, number)
        for size, frame in zip_longest(step.results, step.frames, fillvalue=0):
            self._add("result", size, number, frame)
        self._add("read", self.to_read, number)
        self._add("line", step.line, number)
        self.to_read = 0

    def _add(self, kind: Kind, tokens: int, step: int, frame: int = 0) -> None:
        if tokens:
            piece = Piece(f"{kind} {step}.{len(self.blocks)}", tokens)
            self.blocks.append(Block(piece, step, kind, frame))

    def put(self, at: int, kind: Kind, tokens: int) -> None:
        """Another content in the frame of a block."""
        old = self.blocks[at]
        piece = Piece(f"{kind} {old.piece.name}", tokens + old.frame)
        self.blocks[at] = Block(piece, old.step, kind, old.frame)


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a policy: dollars after each turn, turns that wrote warm tokens again, tokens in all.

    ``fates`` holds for each fact ``"window"``, ``"store"``, or the turn from which on it is gone.
    """

    policy: str
    usd: tuple[Decimal, ...]
    rewrites: tuple[int, ...]
    fates: tuple[str | int, ...]
    tokens: int

    @property
    def kept(self) -> int:
        """How many facts can still be had."""
        return sum(isinstance(fate, str) for fate in self.fates)


# --- the session


@cache
def growth() -> tuple[int, ...]:
    """Tokens by which each recorded request is longer than the one before; the compaction adds none.

    The first figure is what the first request holds behind the stable part.
    """
    sizes = [usage.total_input_tokens for usage in recordings.session(SESSION).usages]
    return (sizes[0] - STABLE_TOKENS, *(max(later - one, 0) for one, later in pairwise(sizes)))


@cache
def conversation(seed: int = 0) -> Conversation:
    """The recorded turns, in order. What was there before the first is drawn from them with this seed."""
    logged = recordings.session(SESSION).turns
    turns = [
        _step(grown, before.content_chars, now)
        for grown, (before, now) in zip(growth()[1:], pairwise(logged), strict=True)
    ]
    rng, early, left = random.Random(seed), [Step(0, (), LINE_TOKENS)], growth()[0] - 2 * LINE_TOKENS
    while left > LINE_TOKENS:
        one = rng.choice(turns)
        size = one.answer + sum(one.results) + one.line
        early.append(one if size <= left else Step(left - LINE_TOKENS, (), LINE_TOKENS))
        left -= size
    return Conversation(tuple(early), (Step(0, (), LINE_TOKENS), *turns))


def _step(grown: int, answered: Sequence[int], turn: recordings.Turn) -> Step:
    sizes = [block.chars or 0 for block in turn.blocks if block.type == "tool_result"]
    line = min(LINE_TOKENS, grown)
    whole = sum(sizes) + sum(answered) or 1
    results = tuple((grown - line) * size // whole for size in sizes)
    return Step(grown - line - sum(results), results, line, max(turn.gap_s or 0.0, 0.0) + 1.0)


# --- policies


def _cut(window: Window, target: int) -> None:
    """Whole turns go from the front: what is left begins with a line of the user's."""
    starts = [at for at, block in enumerate(window.blocks) if block.kind == "line"]
    sizes = [block.piece.tokens for block in reversed(window.blocks)]
    left = list(accumulate(sizes, initial=0))[::-1]
    cut = next((start for start in starts if left[start] <= target), starts[-1])
    del window.blocks[:cut]
    if cut and window.limits.first_line_less:
        window.put(0, "line", window.blocks[0].piece.tokens - window.limits.first_line_less)


def trim_each_turn(window: Window) -> bool:
    """Above the cap the oldest turns go, as many as it takes."""
    if window.tokens > window.limits.cap:
        _cut(window, window.limits.cap)
    return False


def trim_in_batches(window: Window) -> bool:
    """Above the cap the oldest turns go, down to far below it."""
    if window.tokens > window.limits.cap:
        _cut(window, window.limits.cap - window.limits.spill)
    return False


def clear_in_batches(window: Window) -> bool:
    """Above the cap results give way to a note, all but the newest, once that is worth it."""
    limits, blocks = window.limits, window.blocks
    if window.tokens > limits.cap:
        results = [at for at, block in enumerate(blocks) if block.kind in ("result", "cleared")]
        gains = {at: blocks[at].piece.tokens - blocks[at].frame - limits.cleared for at in results}
        stale = [at for at in results[: -limits.keep] if gains[at] > 0]
        if sum(gains[at] for at in stale) >= limits.clear_at_least:
            for at in stale:
                window.put(at, "cleared", limits.cleared)
    return False


def compact_at_the_cap(window: Window) -> bool:
    """Above the cap everything but the last turn gives way to a summary; True asks for the call."""
    if window.tokens <= window.limits.cap:
        return False
    last = max(at for at, block in enumerate(window.blocks) if block.kind == "line")
    window.summaries += 1
    summary = Piece(f"summary {window.summaries}", window.limits.summary)
    window.blocks[:last] = [Block(summary, -1, "summary")]
    return True


def offload_at_arrival(window: Window) -> bool:
    """A long result is stored before it is ever sent, and a pointer goes into the history."""
    limits = window.limits
    for at in range(window.arrived, len(window.blocks)):
        block = window.blocks[at]
        if block.kind == "result" and block.piece.tokens >= limits.offload_from:
            window.put(at, "pointer", limits.pointer)
            window.stored.append(block.step)
            if len(window.stored) % limits.read_back == 0:
                window.to_read = block.piece.tokens
    return False


POLICIES: dict[str, Callable[[Window], bool]] = {
    "nothing but caching": lambda window: False,
    "trim on every turn": trim_each_turn,
    "trim in batches": trim_in_batches,
    "clear in batches": clear_in_batches,
    "compact at the cap": compact_at_the_cap,
    "offload at arrival": offload_at_arrival,
}


# --- a run


class _Sent(NamedTuple):
    asked: Asked
    is_turn: bool


@cache
def play(
    policy: str, talk: Conversation | None = None, *, limits: Limits = Limits(), cached: bool = True
) -> Played:
    """A conversation under one of :data:`POLICIES`; by default the generated one of seed 0.

    Without ``cached`` every token of every request is paid in full.
    """
    found = talk or conversation()
    sent, fates = _sequence(policy, found, limits)
    return Played(policy, *_priced(sent, limits, cached), fates, sum(map(_tokens, sent[1:])))


def _sequence(policy: str, talk: Conversation, limits: Limits) -> tuple[list[_Sent], tuple[str | int, ...]]:
    window, act = Window(limits), POLICIES[policy]
    more = limits.read_tool if act is offload_at_arrival else 0
    stable = Piece("stable", talk.stable_tokens + more, "system")
    fates: dict[Fact, str | int] = {}
    for number, step in enumerate(talk.early):
        window.add(step, number - len(talk.early))
        if act is offload_at_arrival:
            act(window)
    sent = [_Sent(_asked(stable, window.blocks, 1.0, talk.tail_tokens), False)]
    for turn, step in enumerate(talk.turns):
        window.add(step, turn)
        before = list(window.blocks)
        if act(window):
            ask = Block(Piece("instructions", limits.instructions), -1, "line")
            asked = _asked(stable, [*before, ask], step.pause_s, talk.tail_tokens)
            sent.append(_Sent(asked, False))
        sent.append(_Sent(_asked(stable, window.blocks, step.pause_s, talk.tail_tokens), True))
        _note(fates, window, turn)
    return sent, tuple(fates.get(fact, "window") for fact in FACTS)


def _asked(stable: Piece, blocks: Sequence[Block], pause_s: float, tail_tokens: int) -> Asked:
    pieces = (stable, *(block.piece for block in blocks))
    end = len(pieces) - 1 - (pieces[-1].name == "instructions")
    return Asked(pieces, {0: "5m", end: "5m"}, pause_s=pause_s, tail_tokens=tail_tokens)


def _note(fates: dict[Fact, str | int], window: Window, turn: int) -> None:
    """Where each planted fact is after a turn."""
    there = {(block.step, block.kind) for block in window.blocks}
    for fact in FACTS:
        if fact.turn > turn or isinstance(fates.get(fact), int) or (fact.turn, fact.kind) in there:
            continue
        if fact.turn in window.stored and fact.kind == "result":
            fates[fact] = "store"
        elif not (window.summaries and fact.text in IN_THE_SUMMARY):
            fates[fact] = turn + 1


def _priced(
    sent: Sequence[_Sent], limits: Limits, cached: bool
) -> tuple[tuple[Decimal, ...], tuple[int, ...]]:
    """Dollars after each turn, and the turns that could not read what the turn before had left."""
    prices = get_model(MODEL).rates_at().cards[0]
    summary_usd = exact_decimal(limits.summary * prices.output_usd_per_mtok / 10**6)
    if cached:
        plans = run_pieces([one.asked for one in sent])
        bills = [bill_usd(plan) for plan in plans]
    else:
        bills = [exact_decimal(_tokens(one) * prices.input_usd_per_mtok / 10**6) for one in sent]
    after: list[Decimal] = []
    rewrites: list[int] = []
    paid, left = Decimal(0), 0
    for at, one in enumerate(sent):
        if at:
            paid += bills[at] + (0 if one.is_turn else summary_usd)
        if at and one.is_turn:
            after.append(paid)
            if cached and (plans[at].read_tokens or 0) < left:
                rewrites.append(len(after))
        if one.is_turn or not at:
            left = _tokens(one) - one.asked.tail_tokens
    return tuple(after), tuple(rewrites)


def _tokens(one: _Sent) -> int:
    return sum(piece.tokens for piece in one.asked.pieces) + one.asked.tail_tokens
