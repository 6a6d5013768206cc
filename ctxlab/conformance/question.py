"""One marked row: what the rules say before it answers, and what has to be taken from its answer.

Models: the layout with every size that is known; the lookup; where the answer shows something that nobody
could know (an entry from before, a size, a floor), what that is and whether it can be; the comparison.
Does not model: how the answer is split as an input. Once what was taken is on the books, the same lookup has
to give every figure of the answer.
Source: ``ctxlab/cache_rules.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from ctxlab.cache import LOOKBACK_POSITIONS, Layout, Plan, PromptCache, Touch, Ttl
from ctxlab.cache.recorded import read_back
from ctxlab.catalogue import models
from ctxlab.conformance.rows import kept, sums_prompts
from ctxlab.conformance.sizes import era, outline
from ctxlab.conformance.source import Course, Sized, Source, Taught, Writer, prefixes
from ctxlab.conformance.verdict import Outcome, Verdict
from ctxlab.errors import InvalidRequestError
from ctxlab.recordings import Exchange
from ctxlab.usage import Usage

_NEVER_TOKENS = 10**12  # a floor that no prompt reaches
_SIZE = "size of a prefix"


class _Wrong(Exception):
    """A figure is not what the rules say. ``args``: the rule, and what was seen."""


class Question:
    """A marked row of a source, in the course of its sequence. :meth:`answer` may be asked once."""

    def __init__(self, source: Source, course: Course, row: Exchange, usage: Usage) -> None:
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

    # --- what is known beforehand

    def _lay_out(self) -> None:
        """The layout with every size that is known, whoever told it; all of them have to agree."""
        row = self._row
        try:
            layout = self._source.lay_out(row, None if sums_prompts(row) else row.total_input_tokens)
        except InvalidRequestError as refused:
            problem = refused.problems[0]
            raise _Wrong(problem.rule, f"was answered, though {problem.path} {problem.message}") from None
        self._prefixes = prefixes(layout)
        self._told = [position.cumulative_tokens for position in layout.positions]
        sizes = [self._agreed(place, layout.place(place)) for place in range(len(self._prefixes))]
        known = [size for size in sizes if size is not None]
        if known != sorted(known) or (known and known[-1] > self._usage.total_input_tokens):
            raise _Wrong("size-holds", "sizes known from other rows do not grow along this prompt")
        self._layout = _sized(layout, dict(enumerate(sizes)))
        seen = kept(row)
        numbers = dict(
            zip((block.path for block in read_back([row.blocks[i] for i in seen])), seen, strict=True)
        )
        self._numbers = [numbers[position.path] for position in layout.positions]

    def _agreed(self, place: int, where: str) -> int | None:
        """The size of a prefix by everybody who knows it: another row's split, an earlier total, its own."""
        name = self._name(place)
        taught = self._source.sizes.get(name)
        witnesses = {
            f"the split of {taught.row}" if taught else "": taught.tokens if taught else None,
            "an earlier total": self._course.sizes.get(name),
            "its own total": self._told[place],
        }
        known = {by: size for by, size in witnesses.items() if size is not None}
        if len(set(known.values())) > 1:
            told = ", ".join(f"{size:,} by {by}" for by, size in known.items())
            raise _Wrong("size-holds", f"{where} has {told}")
        return next(iter(known.values()), None)

    def _name(self, place: int) -> Sized:
        return Sized(self._prefixes[place], era(self._row))

    def _ask(self) -> Plan:
        return self._cache.lookup(self._layout, explain=True)

    # --- what has to be taken from the answer

    def _resolved(self) -> Plan:
        self._settle_the_floor()
        plan = self._ask()
        written = (plan.written_5m_tokens, plan.written_1h_tokens)
        unknown = sum((plan.read_tokens is None, None in written, plan.fresh_tokens is None))
        self._find_the_entry(plan)
        if self._noise or not {"warm start", "not shared"}.isdisjoint(self._taken):
            unknown = max(unknown, 2)  # how the cached part is split
        floor_taken = not {"floor of the model", "below the floor"}.isdisjoint(self._taken)
        self._known_figures = 0 if floor_taken else 3 - unknown
        self._learn_the_ends()
        plan = self._ask()
        if None in (plan.read_tokens, plan.written_1h_tokens, plan.written_5m_tokens, plan.fresh_tokens):
            raise _Wrong("size-holds", "no sizes of its prefixes give this split")
        return plan

    def _settle_the_floor(self) -> None:
        """Take the answer's word for the floor where nobody else says whether the prefix reaches it."""
        plan = self._ask()
        end, tokens = plan.billing[2], self._read + self._written
        if (tokens > 0) == (end > 0) or plan.hit is not None:
            return
        if self._layout.model.min_cacheable_tokens is None and (not tokens or tokens >= _smallest_floor()):
            self._taken["floor of the model"] = f"caches {tokens:,} tokens" if tokens else "caches nothing"
        elif not tokens and all(one.size_tokens is None for one in plan.markers if one.fits):
            self._taken["below the floor"] = f"{self._layout.place(end - 1)} is below {plan.floor_tokens:,}"
        else:
            return
        model = replace(self._layout.model, min_cacheable_tokens=0 if tokens else _NEVER_TOKENS)
        self._layout = replace(self._layout, model=model)

    def _find_the_entry(self, plan: Plan) -> None:
        """See to it that what was read can be read: an entry the plan did not know of, or has lost."""
        if plan.hit is None:
            if self._read:
                self._go_deeper(plan)
            return
        low, high = self._bounds(plan.hit)
        if self._read > high:
            self._go_deeper(plan)
        elif self._read < low:
            self._stay_shallower(plan, plan.hit)
        elif plan.read_tokens is None:
            self._learn(plan.hit, self._read)

    def _go_deeper(self, plan: Plan) -> None:
        """An entry that was not known to be alive: from before the recording, or one that had ended."""
        beyond = [place for place in self._looked_at(plan) if plan.hit is None or place > plan.hit]
        if self._course.complete:  # an earlier run of the same requests marked the same places
            beyond = [place for place in beyond if self._is_likely(place)]
        place = self._place_of(self._read, beyond) if self._read >= plan.floor_tokens else None
        if place is None:
            raise _Wrong("read-without-entry", f"read {self._read:,}, where no entry can end")
        prefix, where = self._prefixes[place], self._layout.place(place)
        if self._course.deepest.isdisjoint(self._prefixes):
            self._taken["warm start"] = f"reads an older entry at {where}"
        elif prefix in self._source.written_by:
            self._noise["read after its end"] = f"{where}, written by {self._source.written_by[prefix].row}"
        else:
            raise _Wrong("read-without-entry", f"read {self._read:,}, which nobody wrote")
        if self._size(place) is None:
            self._learn(place, self._read)
        self._source.written_by.setdefault(prefix, self._writer(f"a request before {self._row.id}"))
        self._put_an_entry(plan, place)

    def _stay_shallower(self, plan: Plan, hit: int) -> None:
        """The deepest entry was alive and was not read; a shorter one was, or none."""
        before = [place for place in self._looked_at(plan) if place < hit and self._is_likely(place)]
        place = self._place_of(self._read, before) if self._read else None
        prefix = self._prefixes[hit]
        writer = self._source.written_by[prefix]
        told = f"{self._layout.place(hit)}, written by {writer.row}"
        if (self._read and place is None) or writer.scope != self._writer("").scope:
            raise _Wrong("entry-not-read", f"read {self._read:,}, though an entry was alive at {told}")
        if prefix in self._course.used:
            self._noise["identical prefix not read"] = told
        else:
            self._taken["not shared"] = told
        self._cache = PromptCache(self._source.clock, self._source.cache.rules)
        if place is not None:
            if self._size(place) is None:
                self._learn(place, self._read)
            self._put_an_entry(plan, place)

    def _put_an_entry(self, plan: Plan, place: int) -> None:
        """An entry at ``place``, of the lifetime that the next marker asks for."""
        ttl: Ttl = next((one.ttl for one in self._layout.markers if one.position >= place), "5m")
        self._cache.commit(replace(plan, writes=(Touch(place, ttl),), refreshes=()))

    def _learn_the_ends(self) -> None:
        """Where the writes of both lifetimes end, if nobody knew."""
        for _ in self._layout.markers:
            plan = self._ask()
            a, b, c = plan.billing
            if c and self._size(c - 1) is None:
                self._learn(c - 1, self._read + self._written)
                if self._read + self._written < plan.floor_tokens:
                    raise _Wrong("floor", f"caches {self._read + self._written:,} tokens")
            elif a < b < c and self._size(b - 1) is None:
                self._learn_the_hours_end(b - 1, plan.floor_tokens)
            else:
                return

    def _learn_the_hours_end(self, place: int, floor_tokens: int) -> None:
        written = self._usage.cache_creation
        low, high = self._bounds(place)
        if written.unknown_ttl_input_tokens:  # nothing tells the lifetimes apart, and nothing is compared
            size = high
        elif written.ephemeral_1h_input_tokens:
            return self._learn(place, self._read + written.ephemeral_1h_input_tokens)
        else:
            self._taken["below the floor"] = f"{self._layout.place(place)} is below {floor_tokens:,}"
            size = max(low, min(high, floor_tokens - 1))
        self._passing.add(place)
        self._layout = _sized(self._layout, {place: size})

    # --- where an entry can end

    def _place_of(self, tokens: int, places: Sequence[int]) -> int | None:
        """Where an entry of this size ends, of ``places``: by its known size, else where it can be."""
        sure = [place for place in places if self._size(place) == tokens]
        if sure:
            return max(sure)
        line = outline(self._row).at(self._numbers)
        known = {i: size for i in range(len(self._prefixes)) if (size := self._size(i)) is not None}
        possible = [
            place
            for place in places
            if self._size(place) is None and self._can_be(place, tokens) and line.allows(place, tokens, known)
        ]
        if not possible:
            return None
        likely = [place for place in possible if self._is_likely(place)]
        best = min(likely or possible, key=lambda place: (abs(line.tokens[place] - tokens), -place))
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
        return marked or served or self._prefixes[place] in self._source.written_by

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
        told = f"{where} has {tokens:,}"
        self._taken[_SIZE] = f"{self._taken[_SIZE]}; {told}" if _SIZE in self._taken else told

    # --- what stays

    def _writer(self, row: str) -> Writer:
        return Writer(row, self._layout.scopes["messages"])

    def _leave_entries(self, plan: Plan) -> None:
        self._source.cache.commit(plan)
        for touch in plan.writes:
            self._source.written_by[self._prefixes[touch.position]] = self._writer(self._row.id)
        self._course.complete = True
        self._course.used.update(self._prefixes[touch.position] for touch in plan.writes + plan.refreshes)

    def _remember(self, plan: Plan) -> None:
        """What every later row is held to."""
        for place, size in enumerate(self._told):
            if size is not None:
                self._course.sizes.setdefault(self._name(place), size)
        if not self._read + self._written:
            return
        a, b, c = plan.billing
        if self._written:
            self._course.deepest.add(self._prefixes[c - 1])
        for end in {a, b, c} - {0}:
            size = self._size(end - 1)
            if size is not None and end - 1 not in self._passing:
                self._source.sizes.setdefault(self._name(end - 1), Taught(size, self._row.id))


def rules_behind(plan: Plan) -> tuple[str, ...]:
    """Ids of the rules that the figures of a plan rest on: with another rule they would be others.

    The plan has to be one that explains itself: an entry that no marker reaches tells of the lookback.
    """
    layout, (a, b, c) = plan.layout, plan.billing
    found = ["entries-at-markers"]
    found.append("floor" if layout.model.min_cacheable_tokens is not None else "unknown-floor")
    if layout.automatic is not None:
        found.append("automatic")
    if plan.hit is not None:
        found += ["exact-prefix", "visibility-delay"]
        if layout.positions[plan.hit].cache_control is None:
            found.append("markers-may-move")
    if _at_the_end_of_lookback(plan):
        found.append("lookback")
    if len({0, a, b, c}) > 2:
        found.append("billing-positions")
    return tuple(found)


def _at_the_end_of_lookback(plan: Plan) -> bool:
    """Whether a marker that looked one position further, or one less far, would have found something else."""
    if any(nearby.kind == "out-of-reach" for nearby in plan.further):
        return True
    units = [position.lookback_unit for position in plan.layout.positions]
    reach = LOOKBACK_POSITIONS - 1
    return any(
        report.found is not None and units[report.marker.position] - units[report.found] == reach
        for report in plan.markers
    )


@cache
def _smallest_floor() -> int:
    return min(model.min_cacheable_tokens for model in models() if model.min_cacheable_tokens is not None)


def _sized(layout: Layout, sizes: Mapping[int, int | None]) -> Layout:
    positions = list(layout.positions)
    for place, tokens in sizes.items():
        positions[place] = positions[place]._replace(cumulative_tokens=tokens)
    return replace(layout, positions=tuple(positions))


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
