"""Recorded requests, gone through in order with the cache of this house: what it says, what the API said.

Models: one cache per source, on the clock of the recordings; what is known of sizes and entries before a
row answers; for each marked row one outcome: predicted, learned, excluded, noise or wrong.
Does not model: text. A row's own split between reads and writes is never an input. Where the rules need a
figure that nothing before the row tells, the row reveals it: that is *learned*, told apart from what was
predicted, and holds from then on in every row of the same source.
Source: ``data/recordings/README.md`` for the format, ``ctxlab/cache_rules.toml`` for the rules.

A row is predicted when nothing was taken from its answer. Every figure of a row that is learned or noise is
compared too, once what was taken from it is known; one that differs makes the row wrong.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal, NamedTuple

from ctxlab.cache import Layout, Plan, PromptCache, Scope, Touch, Ttl
from ctxlab.cache.recorded import read_back
from ctxlab.catalogue import get_model, models
from ctxlab.clock import ManualClock
from ctxlab.conformance.sizes import Outline, era, outline, told_sizes
from ctxlab.errors import CtxlabError, InvalidRequestError, UnknownModelError
from ctxlab.recordings import Exchange
from ctxlab.tokens import Rules
from ctxlab.usage import Usage

Outcome = Literal["predicted", "learned", "excluded", "noise", "wrong"]

#: Why a marked row cannot be replayed. There is no other reason.
EXCLUSIONS = {
    "request not recorded": "the answer shows cached tokens, the request is unknown",
    "error response": "the request was refused, so it neither read nor wrote",
    "no usage": "the answer has no complete usage",
    "server-tool loop": "tools ran on the server, so the answer sums several prompts",
    "compaction": "the server replaced the history by a summary, or the request holds one",
    "context edited": "the server removed part of the prompt before the model read it",
    "unknown model": "the catalogue does not have the model, so its rules are unknown",
    "digest missing": "a block has no digest, so prefixes cannot be told apart",
}
#: What a row can reveal.
LESSONS = {
    "warm start": "an entry was written before the recording began, or by a row that cannot be replayed",
    "not shared": "an entry of another sequence is not read: they overlap, or have workspaces of their own",
    "size of a prefix": "how many tokens a marked prefix has, where counts and totals do not tell",
    "below the floor": "a prefix whose size is unknown turns out too short to be cached",
    "floor of the model": "the catalogue has no minimum for the model",
}
#: What a provider may do to a request that is right. Both prefixes are known to be identical.
NOISE = {
    "identical prefix not read": "the entry was alive, and the request wrote the same prefix again",
    "read after its end": "the entry had ended; the lifetime is promised as a minimum",
}

_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
_UNTIMED_GAP_S = 7200.0  # longer than any entry lives: between sequences nothing is known to be alive
_NEVER_TOKENS = 10**12  # a floor that no prompt reaches


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one marked row.

    ``reason`` is a key of the table that belongs to the outcome; of a wrong row, the rule that failed.
    ``rules`` are those the figures rest on (ids of :func:`ctxlab.cache.rules`). ``predicted_figures`` counts
    those of the three figures (read, written, fresh) that were known before the row answered.
    """

    row: str
    outcome: Outcome
    reason: str = ""
    detail: str = ""
    expected: Usage | None = None
    recorded: Usage | None = None
    rules: tuple[str, ...] = ()
    predicted_figures: int = 0


@dataclass(frozen=True, slots=True)
class Replay:
    """Every marked row with its verdict, and how many rows were only looked at.

    ``unmarked`` rows cached nothing, as rows without a marker should; ``counted`` rows asked for a count;
    ``reported`` ones are figures that somebody printed, without their request.
    """

    verdicts: tuple[Verdict, ...]
    unmarked: int = 0
    counted: int = 0
    reported: int = 0

    def of(self, outcome: Outcome) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == outcome)

    @property
    def summary(self) -> str:
        """The last line of ``ctxlab conformance``. What is wrong was predicted, and is not exact."""
        exact, wrong = len(self.of("predicted")), len(self.of("wrong"))
        rest = ", ".join(f"{name} {len(self.of(name))}" for name in ("learned", "excluded", "noise"))
        return f"predicted {exact}/{exact + wrong} exact, {rest}"


def replay(rows: Iterable[Exchange]) -> Replay:
    """Go through ``rows`` (any order; sequences are put in order by their steps).

    >>> from ctxlab.recordings import sequences
    >>> replay(sequences()["openllmetry/test_anthropic_prompt_caching_legacy"]).summary
    'predicted 2/2 exact, learned 0, excluded 0, noise 0'
    """
    by_source: dict[str, list[Exchange]] = {}
    for row in rows:
        by_source.setdefault(str(row.source.repo or row.sequence), []).append(row)
    sources = {name: _Source(name) for name in by_source}
    verdicts = [verdict for name, own in by_source.items() for verdict in sources[name].replay(own)]
    return Replay(
        verdicts=tuple(verdicts),
        unmarked=sum(source.unmarked for source in sources.values()),
        counted=sum(source.counted for source in sources.values()),
        reported=sum(source.reported for source in sources.values()),
    )


class _Key(NamedTuple):
    """One prefix under one set of parameters, model and hidden constants."""

    digest: str
    scope: Scope
    era: Rules


class _Writer(NamedTuple):
    """Who wrote an entry, and under which parameters of the whole request."""

    row: str
    scope: Scope


@dataclass(slots=True)
class _Course:
    """What one sequence has shown so far.

    ``sizes`` are those that totals and counts tell, ``used`` the prefixes its rows have written or read,
    ``deepest`` the longest that each has written: what goes on from there cannot have been cached by an
    earlier run. ``complete``: the row before this one was replayed.
    """

    sizes: dict[_Key, int] = field(default_factory=dict)
    used: set[_Key] = field(default_factory=set)
    deepest: set[_Key] = field(default_factory=set)
    complete: bool = False
    step: int | None = None

    def lose_track(self) -> None:
        """A request that cannot be replayed may have written anything."""
        self.deepest.clear()
        self.complete = False


class _Wrong(Exception):
    """A figure is not what the rules say. ``args``: the rule, and what was seen."""


class _Source:
    """The rows of one source, one cache, and what is known of its prefixes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = ManualClock()
        self.cache = PromptCache(self.clock, remember_s=math.inf)
        self.sizes: dict[_Key, tuple[int, str]] = {}
        self.written_by: dict[_Key, _Writer] = {}
        self._answers: dict[object, Verdict | None] = {}
        self.unmarked = self.counted = self.reported = 0

    def replay(self, rows: Sequence[Exchange]) -> Iterator[Verdict]:
        courses: dict[str, _Course] = {}
        for at_s, row in _in_time(rows):
            self.clock.advance(max(at_s - self.clock.now_s(), 0.0))
            course = courses.setdefault(row.sequence, _Course())
            if course.step is not None and row.step > course.step + 1:
                course.lose_track()
            course.step = row.step
            verdict = self._once(row, course)
            if verdict is not None:
                yield replace(verdict, row=row.id)

    def _once(self, row: Exchange, course: _Course) -> Verdict | None:
        """The verdict on a row. Some sources store one answer in two sequences; it is judged once."""
        if row.recorded_at is None or row.usage is None or not _is_marked(row):
            return self._verdict(row, course)
        digests = tuple((block.sha256, block.role) for block in row.blocks)
        answer = (row.recorded_at, digests, repr(row.parameters), row.usage)
        if answer not in self._answers:
            self._answers[answer] = self._verdict(row, course)
        return self._answers[answer]

    def _verdict(self, row: Exchange, course: _Course) -> Verdict | None:
        usage = row.usage
        cached = usage is not None and _cached_tokens(usage) > 0
        if not row.request_known:
            self.reported += row.evidence == "reported"
            unseen = cached and row.evidence != "reported"
            return Verdict(row.id, "excluded", "request not recorded", recorded=usage) if unseen else None
        if row.endpoint == "count_tokens":
            self.counted += 1
            self._hear(row, course)
            return None
        reason = _why_excluded(row)
        if not _is_marked(row):
            self.unmarked += 1
            if cached and reason is None:
                told = "it has no marker"
                return Verdict(row.id, "wrong", "entries-at-markers", told, None, usage)
            if reason is None:
                self._hear(row, course)
            return None
        if reason is not None or usage is None:
            if reason not in ("error response", "unknown model"):
                course.lose_track()
                self._suspect(row)
            return Verdict(row.id, "excluded", reason or "no usage", recorded=usage)
        return _Question(self, course, row, usage).answer()

    def lay_out(self, row: Exchange, total_tokens: int | None) -> Layout:
        """The layout of a row with the sizes that its total and its counts tell."""
        kept = _kept(row)
        sizes = told_sizes(row, total_tokens)
        seen = replace(row, blocks=tuple(row.blocks[i] for i in kept))
        layout = Layout.from_recording(seen, [sizes[i] for i in kept], workspace=self.name)
        return replace(layout, total_tokens=row.total_input_tokens)

    def keys(self, row: Exchange, layout: Layout) -> list[_Key]:
        rules = era(row)
        return [_Key(one.digest, layout.scopes[one.tier], rules) for one in layout.positions]

    def _hear(self, row: Exchange, course: _Course) -> None:
        """Keep what the total of a row without cached tokens says about its prefixes."""
        with contextlib.suppress(CtxlabError):
            layout = self.lay_out(row, row.total_input_tokens)
            for key, position in zip(self.keys(row, layout), layout.positions, strict=True):
                if position.cumulative_tokens is not None:
                    course.sizes.setdefault(key, position.cumulative_tokens)

    def _suspect(self, row: Exchange) -> None:
        """Remember where a row that cannot be replayed may have written."""
        with contextlib.suppress(CtxlabError):
            layout = self.lay_out(row, None)
            keys = self.keys(row, layout)
            for marker in layout.markers:
                writer = _Writer(row.id, layout.scopes["messages"])
                self.written_by.setdefault(keys[marker.position], writer)


class _Question:
    """One marked row: what the rules say before it answers, and what has to be taken from its answer."""

    def __init__(self, source: _Source, course: _Course, row: Exchange, usage: Usage) -> None:
        self._source, self._course, self._row, self._usage = source, course, row, usage
        self._read, self._written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
        self._cache = source.cache
        self._taken: dict[str, str] = {}
        self._noise: dict[str, str] = {}
        self._known_figures = 3
        self._passing: set[int] = set()

    def answer(self) -> Verdict:
        try:
            self._lay_out()
            plan = self._resolved()
        except _Wrong as wrong:
            rule, told = wrong.args
            return self._verdict("wrong", rule, told)
        self._leave_entries(plan)
        if told := _differing(plan.usage(), self._usage):
            return self._verdict("wrong", "figures", told, plan)
        self._remember(plan)
        outcome: Outcome = "noise" if self._noise else "learned" if self._taken else "predicted"
        reasons = self._noise or self._taken or {"": ""}
        return self._verdict(outcome, next(iter(reasons)), "; ".join(reasons.values()), plan)

    def _verdict(self, outcome: Outcome, reason: str, told: str, plan: Plan | None = None) -> Verdict:
        expected = None if plan is None else plan.usage(output_tokens=self._usage.output_tokens)
        rules = () if plan is None else rules_behind(plan)
        known = self._known_figures
        return Verdict(self._row.id, outcome, reason, told, expected, self._usage, rules, known)

    def _lay_out(self) -> None:
        """The layout with every size that is known, whoever told it; all of them have to agree."""
        row, source = self._row, self._source
        try:
            layout = source.lay_out(row, None if _sums_prompts(row) else row.total_input_tokens)
        except InvalidRequestError as refused:
            problem = refused.problems[0]
            raise _Wrong(problem.rule, f"was answered, though {problem.path} {problem.message}") from None
        self._keys = source.keys(row, layout)
        kept = _kept(row)
        paths = [block.path for block in read_back([row.blocks[i] for i in kept])]
        by_path = dict(zip(paths, kept, strict=True))
        self._numbers = [by_path[position.path] for position in layout.positions]
        self._told = [position.cumulative_tokens for position in layout.positions]
        sizes = [self._agreed(i, layout.place(i)) for i in range(len(self._keys))]
        known = [size for size in sizes if size is not None]
        if known != sorted(known) or (known and known[-1] > (layout.total_tokens or 0)):
            raise _Wrong("size-holds", "sizes known from other rows do not grow along this prompt")
        self._layout = _sized(layout, dict(enumerate(sizes)))

    def _agreed(self, i: int, where: str) -> int | None:
        """The size of a prefix by everybody who knows it: another row's split, an earlier total, this one."""
        taught, teacher = self._source.sizes.get(self._keys[i], (None, ""))
        witnesses = [
            (taught, teacher),
            (self._course.sizes.get(self._keys[i]), "an earlier total"),
            (self._told[i], "its own total"),
        ]
        known = [(size, by) for size, by in witnesses if size is not None]
        for size, by in known[1:]:
            if size != known[0][0]:
                raise _Wrong("size-holds", f"{where} has {size:,} by {by}, {known[0][0]:,} by {known[0][1]}")
        return known[0][0] if known else None

    # --- what has to be taken from the answer

    def _resolved(self) -> Plan:
        self._settle_the_floor()
        plan = self._ask()
        figures = (plan.read_tokens, plan.written_5m_tokens, plan.written_1h_tokens, plan.fresh_tokens)
        read, written, fresh = (figures[0] is None, None in figures[1:3], figures[3] is None)
        self._find_the_entry(plan)
        if self._noise or not {"warm start", "not shared"}.isdisjoint(self._taken):
            read = written = True
        self._known_figures -= read + written + fresh
        plan = self._ask()
        a, b, c = plan.billing
        if c and self._size(c - 1) is None:
            self._learn(c - 1, self._read + self._written)
        if a < b < c and self._size(b - 1) is None:
            self._learn(b - 1, self._read + self._usage.cache_creation.ephemeral_1h_input_tokens)
        return self._ask()

    def _ask(self) -> Plan:
        return self._cache.lookup(self._layout)

    def _settle_the_floor(self) -> None:
        """Take the answer's word for the floor where nobody else says whether the prefix reaches it."""
        plan = self._ask()
        end, tokens = plan.billing[2], self._read + self._written
        if (tokens > 0) == (end > 0) or plan.hit is not None:
            return
        if self._layout.model.min_cacheable_tokens is None and (not tokens or tokens >= _smallest_floor()):
            lesson, told = "floor of the model", f"caches {tokens:,} tokens" if tokens else "caches nothing"
        elif not tokens and all(one.size_tokens is None for one in plan.markers if one.fits):
            lesson, told = "below the floor", f"{self._layout.place(end - 1)} is below {plan.floor_tokens:,}"
        else:
            return
        self._taken[lesson] = told
        self._known_figures = 0
        model = replace(self._layout.model, min_cacheable_tokens=0 if tokens else _NEVER_TOKENS)
        self._layout = replace(self._layout, model=model)

    def _find_the_entry(self, plan: Plan) -> None:
        """See to it that what was read can be read: an entry the plan did not know of, or has lost."""
        low, high = (0, 0) if plan.hit is None else self._bounds(plan.hit)
        if self._read > high:
            self._go_deeper(plan)
        elif self._read < low:
            self._stay_shallower(plan, plan.hit or 0)
        elif plan.hit is not None and plan.read_tokens is None:
            self._learn(plan.hit, self._read)

    def _go_deeper(self, plan: Plan) -> None:
        """An entry that was not known to be alive: from before the recording, or one that had ended."""
        beyond = [place for place in self._looked_at(plan) if plan.hit is None or place > plan.hit]
        if self._course.complete:  # an earlier run of the same requests marked the same places
            beyond = [place for place in beyond if self._is_likely(place)]
        place = self._place_of(self._read, beyond) if self._read >= plan.floor_tokens else None
        if place is None:
            raise _Wrong("read-without-entry", f"read {self._read:,}, where no entry can end")
        key, where = self._keys[place], self._layout.place(place)
        if self._course.deepest.isdisjoint(self._keys):
            self._taken["warm start"] = f"reads an older entry at {where}"
        elif key in self._source.written_by:
            self._noise["read after its end"] = f"{where}, written by {self._source.written_by[key].row}"
        else:
            raise _Wrong("read-without-entry", f"read {self._read:,}, which nobody wrote")
        if self._size(place) is None:
            self._learn(place, self._read)
        self._source.written_by.setdefault(key, self._writer(f"a request before {self._row.id}"))
        self._put_an_entry(self._cache, plan, place)

    def _stay_shallower(self, plan: Plan, hit: int) -> None:
        """The deepest entry was alive and was not read; a shorter one was, or none."""
        before = [place for place in self._looked_at(plan) if place < hit and self._is_likely(place)]
        place = self._place_of(self._read, before) if self._read else None
        where, writer = self._layout.place(hit), self._source.written_by[self._keys[hit]]
        told = f"{where}, written by {writer.row}"
        if (self._read and place is None) or writer.scope != self._writer("").scope:
            raise _Wrong("entry-not-read", f"read {self._read:,}, though an entry was alive at {told}")
        if self._keys[hit] in self._course.used:
            self._noise["identical prefix not read"] = told
        else:
            self._taken["not shared"] = told
        self._cache = PromptCache(self._source.clock, self._source.cache.rules)
        if place is not None:
            if self._size(place) is None:
                self._learn(place, self._read)
            self._put_an_entry(self._cache, plan, place)

    def _writer(self, row: str) -> _Writer:
        return _Writer(row, self._layout.scopes["messages"])

    def _put_an_entry(self, cache: PromptCache, plan: Plan, place: int) -> None:
        """An entry at ``place``, of the lifetime that the next marker asks for."""
        ttl: Ttl = next((one.ttl for one in self._layout.markers if one.position >= place), "5m")
        cache.commit(replace(plan, writes=(Touch(place, ttl),), refreshes=()))

    def _place_of(self, tokens: int, places: Sequence[int]) -> int | None:
        """Where an entry of this size ends, of ``places``: by its known size, else where it can be."""
        sure = [place for place in places if self._size(place) == tokens]
        if sure:
            return max(sure)
        line = self._outline()
        sizes = ((i, position.cumulative_tokens) for i, position in enumerate(self._layout.positions))
        known = {i: size for i, size in sizes if size is not None}
        open_ = [
            place
            for place in places
            if self._size(place) is None and self._can_be(place, tokens) and line.allows(place, tokens, known)
        ]
        if not open_:
            return None
        likely = [place for place in open_ if self._is_likely(place)]
        best = min(likely or open_, key=lambda place: (abs(line.tokens[place] - tokens), -place))
        if len(likely) != 1 and line.tokens[best] != tokens:
            self._passing.add(best)  # it can be another one: what it says of this place is good for now only
        return best

    def _looked_at(self, plan: Plan) -> set[int]:
        fitting = [report.marker.position for report in plan.markers if report.fits]
        return {place for marker in fitting for place in self._layout.looked_at(marker)}

    def _is_likely(self, place: int) -> bool:
        """Whether an entry is known to have been here, or something marks the place: this request, or the
        server, which adds markers behind results of its own tools."""
        marked = any(marker.position == place for marker in self._layout.markers)
        served = self._row.blocks[self._numbers[place]].type.endswith("_tool_result")
        return marked or served or self._keys[place] in self._source.written_by

    def _outline(self) -> Outline:
        return outline(self._row).at([self._numbers[place] for place in range(len(self._keys))])

    # --- sizes

    def _size(self, place: int) -> int | None:
        return self._layout.positions[place].cumulative_tokens

    def _bounds(self, place: int) -> tuple[int, int]:
        """The fewest and the most tokens that the prefix up to ``place`` can have."""
        size = self._size(place)
        if size is not None:
            return size, size
        sizes = [position.cumulative_tokens for position in self._layout.positions]
        before = [size for size in sizes[:place] if size is not None]
        behind = [size for size in sizes[place + 1 :] if size is not None]
        return max(before, default=0) + 1, min(behind, default=self._usage.total_input_tokens)

    def _can_be(self, place: int, tokens: int) -> bool:
        low, high = self._bounds(place)
        return low <= tokens <= high

    def _learn(self, place: int, tokens: int) -> None:
        where = self._layout.place(place)
        if not self._can_be(place, tokens):
            low, high = self._bounds(place)
            raise _Wrong("size-holds", f"{where} would have {tokens:,}, and can have {low:,} to {high:,}")
        self._layout = _sized(self._layout, {place: tokens})
        told = [self._taken["size of a prefix"]] if "size of a prefix" in self._taken else []
        self._taken["size of a prefix"] = "; ".join([*told, f"{where} has {tokens:,}"])

    def _leave_entries(self, plan: Plan) -> None:
        self._source.cache.commit(plan)
        for touch in plan.writes:
            self._source.written_by[self._keys[touch.position]] = self._writer(self._row.id)
        self._course.complete = True
        self._course.used.update(self._keys[touch.position] for touch in plan.writes + plan.refreshes)

    def _remember(self, plan: Plan) -> None:
        """What every later row is held to."""
        for key, size in zip(self._keys, self._told, strict=True):
            if size is not None:
                self._course.sizes.setdefault(key, size)
        a, b, c = plan.billing
        if not self._read + self._written:
            return
        if self._written:
            self._course.deepest.add(self._keys[c - 1])
        if self._usage.cache_creation.unknown_ttl_input_tokens:
            b = a  # nothing says where the hour ended
        for end in {a, b, c} - {0}:
            size = self._size(end - 1)
            if size is not None and end - 1 not in self._passing:
                self._source.sizes.setdefault(self._keys[end - 1], (size, self._row.id))


def rules_behind(plan: Plan) -> tuple[str, ...]:
    """Ids of the rules that the figures of a plan rest on."""
    layout, (a, b, c) = plan.layout, plan.billing
    found = ["entries-at-markers"]
    found.append("floor" if layout.model.min_cacheable_tokens is not None else "unknown-floor")
    if layout.automatic is not None:
        found.append("automatic")
    if plan.hit is not None:
        found += ["exact-prefix", "visibility-delay"]
        if layout.positions[plan.hit].cache_control is None:
            found.append("markers-may-move")
        if any(report.found not in (None, report.marker.position) for report in plan.markers):
            found.append("lookback")
    if len({0, a, b, c}) > 2:
        found.append("billing-positions")
    return tuple(found)


def _in_time(rows: Sequence[Exchange]) -> list[tuple[float, Exchange]]:
    """Rows in the order they were sent, with their time in seconds.

    Sequences without times come last, each longer after the one before than entries live; their rows follow
    each other at once.
    """
    sequences: dict[str, list[Exchange]] = {}
    for row in rows:
        sequences.setdefault(row.sequence, []).append(row)
    timed: list[tuple[float, Exchange]] = []
    untimed: list[list[Exchange]] = []
    for own in sequences.values():
        own.sort(key=lambda row: row.step)
        at_s = next((row.recorded_at.timestamp() for row in own if row.recorded_at is not None), None)
        if at_s is None:
            untimed.append(own)
            continue
        for row in own:
            if row.recorded_at is not None:
                at_s = max(at_s, row.recorded_at.timestamp())
            timed.append((at_s, row))
    timed.sort(key=lambda one: one[0])
    now_s = timed[-1][0] if timed else 0.0
    for own in untimed:
        now_s += _UNTIMED_GAP_S
        timed += [(now_s + i, row) for i, row in enumerate(own)]
        now_s += len(own)
    return timed


@cache
def _smallest_floor() -> int:
    return min(model.min_cacheable_tokens for model in models() if model.min_cacheable_tokens is not None)


def _why_excluded(row: Exchange) -> str | None:
    if row.error is not None or row.status not in (None, 200):
        return "error response"
    if row.usage is None:
        return "no usage"
    try:
        model = get_model(row.model_id or "")
    except UnknownModelError:
        return "unknown model"
    if any(block.sha256 is None for block in row.blocks):
        return "digest missing"
    summarised = any(one.type == "compaction" for one in row.usage.iterations)
    if summarised or any(block.type == "compaction" for block in row.blocks):
        return "compaction"
    if row.applied_edits:
        return "context edited"
    floor = model.min_cacheable_tokens
    # a sum below the floor says of each of its prompts that it is
    if _sums_prompts(row) and (floor is None or row.usage.total_input_tokens >= floor):
        return "server-tool loop"
    return None


def _sums_prompts(row: Exchange) -> bool:
    usage = row.usage
    if usage is None:
        return False
    ran = any(kind.endswith("_tool_result") or kind in _SERVER_CALLS for kind in row.content_types)
    return ran or "context-is-a-sum" in usage.flags or len(usage.iterations) > 1


def _is_marked(row: Exchange) -> bool:
    return row.parameters.get("cache_control") is not None or any(
        block.cache_control is not None for block in row.blocks
    )


def _kept(row: Exchange) -> list[int]:
    """Blocks that the model sees: some models drop thinking when a new turn of the user begins."""
    if get_model(row.model_id or "").keeps_thinking != "last-turn":
        return list(range(len(row.blocks)))
    asked = [
        block.message or 0
        for block in row.blocks
        if block.segment == "messages" and block.role == "user" and block.type != "tool_result"
    ]
    last = max(asked, default=-1)
    return [
        i
        for i, block in enumerate(row.blocks)
        if not (block.type in ("thinking", "redacted_thinking") and (block.message or 0) < last)
    ]


def _sized(layout: Layout, sizes: Mapping[int, int | None]) -> Layout:
    positions = list(layout.positions)
    for place, tokens in sizes.items():
        positions[place] = positions[place]._replace(cumulative_tokens=tokens)
    return replace(layout, positions=tuple(positions))


def _cached_tokens(usage: Usage) -> int:
    return usage.cache_read_input_tokens + usage.cache_creation_input_tokens


def _differing(expected: Usage, recorded: Usage) -> str:
    """The figures that differ, in words; empty when all agree. A lifetime nobody recorded is not compared."""
    pairs = {
        "read": (expected.cache_read_input_tokens, recorded.cache_read_input_tokens),
        "written": (expected.cache_creation_input_tokens, recorded.cache_creation_input_tokens),
        "fresh": (expected.input_tokens, recorded.input_tokens),
    }
    own, theirs = expected.cache_creation, recorded.cache_creation
    if not theirs.unknown_ttl_input_tokens:
        pairs["written for 5m"] = (own.ephemeral_5m_input_tokens, theirs.ephemeral_5m_input_tokens)
        pairs["written for 1h"] = (own.ephemeral_1h_input_tokens, theirs.ephemeral_1h_input_tokens)
    return ", ".join(
        f"{name} {wanted:,}, recorded {seen:,}" for name, (wanted, seen) in pairs.items() if wanted != seen
    )
