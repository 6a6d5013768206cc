"""Calls followed as they start and are answered: what each found, left, and went on from.

Models: a cache of the rules beside the real one, looked up when a request starts and told when its answer
begins; sizes as usage reveals them; who touched which entry; the predecessor of each request. Digests are
kept, and with ``keep_text`` the texts.
Does not model: verdicts (:mod:`ctxlab.diagnose.judging`). One thread at a time.
Source: :mod:`ctxlab.cache`.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import replace

from ctxlab.cache import LIFETIME_S, CacheRules, PromptCache, Touch
from ctxlab.diagnose.comparing import Comparison, predecessor
from ctxlab.diagnose.record import Held, Record
from ctxlab.diagnose.touches import Touches
from ctxlab.usage import Usage

_DAY_S = 86_400.0


class _Now:
    """The clock of the calls: wherever the last event put it."""

    def __init__(self) -> None:
        self.at_s = 0.0

    def now_s(self) -> float:
        return self.at_s


class Tracker:
    """The books of one client, or of one list of exchanges.

    ``remember`` bounds the requests (one per conversation, as a rule) that later ones are compared with, and
    with them all that is kept; None remembers everything. Without ``keep_text`` only the last request's text
    is held.
    """

    def __init__(
        self, rules: CacheRules | None = None, *, keep_text: bool = True, remember: int | None = None
    ):
        self.rules = rules or CacheRules()
        self.touches = Touches(self.rules, None if remember is None else remember * 64)
        self.sizes: OrderedDict[tuple[str, str], int] = OrderedDict()
        self.last: Record | None = None
        self.opening_tokens: dict[str | None, int] = {}
        self.left_by_model: dict[tuple[str | None, str | None], int] = {}
        self.lives_s: dict[str | None, int | None] = {}
        self.previous: dict[str | None, Record] = {}
        self.applied: dict[int, tuple[str, ...]] = {}
        self.all_with_requests = True
        self.workspaces: set[str | None] = set()
        self._clock = _Now()
        forgets_s = math.inf if remember is None else _DAY_S
        self._cache = PromptCache(self._clock, self.rules, remember_s=forgets_s)
        self._keep_text, self._remember = keep_text, remember
        self._known: OrderedDict[int, Record] = OrderedDict()
        self._refused: Record | None = None
        self._started = 0

    def start(self, record: Record, at_s: float) -> None:
        """A request starts. ``at_s`` orders events where its own time is not known."""
        self._clock.at_s = max(at_s, self._clock.at_s)
        self._started += 1
        record.number = self._started
        self.workspaces.add(record.workspace)
        sketch = record.sketch
        if sketch is None:
            self.all_with_requests = False
            return
        record.compared = self._as_before(record) or predecessor(record, self._known.values())
        if not self._keep_text:
            self._let_go_of_text(record)
        record.plan = self._cache.lookup(sketch.layout)
        positions = sketch.layout.positions
        record.end = (len(positions), positions[-1].digest) if positions else None
        for touch in record.plan.writes:
            self._touch(record, touch, sure=touch.position == record.plan.billing[2] - 1)
        self._known[record.number] = record

    def _let_go_of_text(self, record: Record) -> None:
        if self.last is not None and self.last.sketch is not None:
            self.last.sketch = self.last.sketch.without_text()
        self.last = record
        if record.compared is not None:
            record.compared = replace(record.compared, difference=None)

    def _touch(self, record: Record, touch: Touch, *, sure: bool) -> None:
        assert record.sketch is not None
        layout = record.sketch.layout
        position = layout.positions[touch.position]
        scope = layout.scopes[position.tier]
        held = Held(record.index, record.number, scope, touch.ttl, record.started_s, sure=sure)
        held.end, held.responded_s = record.end, record.responded_s
        record.touched.append((position.digest, held))
        self.touches.add(position.digest, held)

    def failed(self, record: Record) -> None:
        """No answer came, so nothing stays."""
        self._take_back(record)
        self._known.pop(record.number, None)
        self._refused = record

    def _as_before(self, record: Record) -> Comparison | None:
        """What a refused attempt of the same request was compared with, whose text may be gone by now."""
        refused, sketch = self._refused, record.sketch
        self._refused = None
        if refused is None or refused.sketch is None or sketch is None or refused.end is None:
            return None
        same = len(sketch) == refused.end[0] and sketch.layout.positions[-1].digest == refused.end[1]
        return refused.compared if same and sketch.layout.scopes == refused.sketch.layout.scopes else None

    @property
    def remembered(self) -> tuple[Record, ...]:
        """The calls that later ones are compared with."""
        return tuple(self._known.values())

    def _take_back(self, record: Record) -> None:
        for digest, held in record.touched:
            self.touches.remove(digest, held)
        record.touched.clear()

    def answered(self, record: Record, usage: Usage, at_s: float) -> None:
        """The answer begins, and says what was read and written."""
        self._clock.at_s = max(at_s, self._clock.at_s)
        record.usage = usage
        usage = of_the_prompt(usage)
        cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens
        is_sum = sums_prompts(usage) and cached > 0
        record.left_tokens = None if is_sum else cached
        if record.sketch is None or record.plan is None:
            return
        if is_sum:
            self._leave_unsized(record)
            return
        layout, plan = record.sketch.layout, record.plan
        learned = self._cache.learn(plan, usage)
        for position, tokens in learned.sizes.items():
            self._learn(record, position, tokens)
        self._take_back(record)
        if not record.left_tokens:
            record.plan = learned.plan
            return
        end = plan.billing[2] - 1 if plan.billing[2] else None
        found = self.place_of(record, usage.cache_read_input_tokens)
        behind = -1 if found is None else found
        touched = {*learned.plan.writes, *learned.plan.refreshes}
        touched |= {Touch(one.position, one.ttl) for one in layout.markers if one.position > behind}
        if found is not None:
            touched.add(Touch(found, next((m.ttl for m in layout.markers if m.position >= found), "5m")))
        written = tuple(one for one in sorted(touched) if one.position > behind)
        record.plan = replace(learned.plan, writes=written)
        self._cache.commit(record.plan)
        for touch in sorted(touched):
            known = self.size_of(record, touch.position)
            sure = touch.position in (end, found) or (known is not None and known >= plan.floor_tokens)
            self._touch(record, touch, sure=sure)
        for _, held in record.touched:
            held.answered, held.responded_s = True, record.responded_s
        record.deepest = max(-1 if end is None else end, behind)
        record.deepest = None if record.deepest < 0 else record.deepest

    def _leave_unsized(self, record: Record) -> None:
        """Entries of an answer whose counters add up several prompts: they are there, their sizes unknown."""
        if record.plan is not None:
            self._cache.commit(record.plan)
        for _, held in record.touched:
            held.answered, held.responded_s = True, record.responded_s

    def close(self, record: Record) -> None:
        """The call is judged. A request that the next one holds whole need not be remembered beside it."""
        before = record.compared
        record.compared = None
        if record.applied:
            self.applied[record.index] = record.applied
        if before is not None and before.cause is None and before.earlier.usage is not None:
            self._known.pop(before.earlier.number, None)
        if record.number in self._known:
            self._known.move_to_end(record.number)
        while self._remember is not None and len(self._known) > self._remember:
            self._known.popitem(last=False)

    def remember_figures(self, record: Record) -> None:
        """What later calls without requests are held against."""
        if record.usage is None:
            return
        usage = of_the_prompt(record.usage)
        name = record.conversation
        self.opening_tokens.setdefault(name, usage.total_input_tokens)
        if record.left_tokens is not None:
            self.left_by_model[name, record.model_id] = record.left_tokens
        self.lives_s[name] = _lives_s(usage, self.lives_s.get(name))
        self.previous[name] = record

    # --- sizes

    def _learn(self, record: Record, position: int, tokens: int) -> None:
        assert record.sketch is not None
        layout = record.sketch.layout
        self.sizes[layout.positions[position].digest, layout.model.id] = tokens
        if self._remember is not None and len(self.sizes) > self._remember * 64:
            self.sizes.popitem(last=False)

    def size_of(self, record: Record, position: int) -> int | None:
        """Tokens up to a position, where some usage revealed them."""
        assert record.sketch is not None
        layout = record.sketch.layout
        return self.sizes.get((layout.positions[position].digest, layout.model.id))

    def place_of(self, record: Record, read_tokens: int) -> int | None:
        """Where what was read ends; None where nothing was, or nobody knows."""
        if not read_tokens or record.sketch is None:
            return None
        places = range(len(record.sketch) - 1, -1, -1)
        return next((place for place in places if self.size_of(record, place) == read_tokens), None)


def of_the_prompt(usage: Usage) -> Usage:
    """The counters of the prompt as it was sent: those of the summary's pass where the server wrote one."""
    first = next((one for one in usage.iterations if one.type == "compaction"), None)
    if first is None:
        return usage
    return Usage(
        input_tokens=first.input_tokens,
        cache_read_input_tokens=first.cache_read_input_tokens,
        cache_creation=first.cache_creation,
        output_tokens=first.output_tokens,
    )


def sums_prompts(usage: Usage) -> bool:
    """Whether the counters add up several prompts, as those of a server-tool loop do."""
    steps = [one for one in usage.iterations if one.type == "message"]
    return len(steps) > 1 or "context-is-a-sum" in usage.flags or usage.requests > 1


def _lives_s(usage: Usage, before_s: int | None) -> int | None:
    """The lifetime of the deepest entry an answer left: the short one where it wrote both (long first)."""
    written = usage.cache_creation
    if written.unknown_ttl_input_tokens:
        return None
    if written.ephemeral_5m_input_tokens:
        return LIFETIME_S["5m"]
    return LIFETIME_S["1h"] if written.ephemeral_1h_input_tokens else before_s
