"""The cache against recorded traffic: what a row's blocks and total predict, beside how it was really split.

The split of a row is never handed to the prediction. It is compared with it, and then teaches the sizes of
the prefixes it marks, which later rows have to meet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

import pytest

from ctxlab.cache import LIFETIME_S, CacheRules, Layout, Position, PromptCache
from ctxlab.catalogue import get_model
from ctxlab.clock import ManualClock
from ctxlab.recordings import Exchange, Session, Turn, exchange, exchanges, sequences, sessions
from ctxlab.tokens import count_recorded

SHORT, LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
FIGURES = ("read", "written 1h", "written 5m", "fresh")


def is_marked(row: Exchange) -> bool:
    return "cache_control" in row.parameters or any(block.cache_control for block in row.blocks)


def excluded(row: Exchange) -> str | None:
    """Why a marked row says nothing about the cache."""
    if row.endpoint == "count_tokens" or row.usage is None:
        return "no usage of a message"
    if row.usage.iterations or {"server_tool_use", "mcp_tool_use"} & set(row.content_types):
        return "usage sums several prompts"
    return None


@dataclass
class Replayed:
    """One row: what was predicted (None: depends on an unknown size), what was recorded, what was odd."""

    row: Exchange
    predicted: tuple[int | None, ...]
    recorded: tuple[int, ...]
    problems: tuple[str, ...] = ()

    @property
    def wrong(self) -> list[str]:
        pairs = zip(FIGURES, self.predicted, self.recorded, strict=True)
        return [name for name, told, was in pairs if told is not None and told != was]


def in_order() -> dict[str, list[list[Exchange]]]:
    """Per repository its sequences: those with dates by date, the others behind them."""
    found: dict[str, list[list[Exchange]]] = defaultdict(list)
    for rows in sequences().values():
        if any(is_marked(row) and row.request_known for row in rows):
            found[str(rows[0].source.repo)].append(list(rows))
    for rows_of_one in found.values():
        rows_of_one.sort(key=lambda rows: (started(rows) is None, started(rows) or datetime.min))
    return found


def started(rows: Sequence[Exchange]) -> datetime | None:
    return next((row.recorded_at.replace(tzinfo=None) for row in rows if row.recorded_at), None)


@cache
def replayed() -> tuple[Replayed, ...]:
    """Every marked row with usage of one prompt, each once: one source stores the same answers in two files.

    Sequences without dates are taken to start cold.
    """
    found, seen = [], set()
    for rows_of_one in in_order().values():
        clock = ManualClock()
        prompt_cache = PromptCache(clock)
        now: datetime | None = None
        for rows in rows_of_one:
            undated = started(rows) is None
            clock.advance(86_400 if undated else 0)
            for row in rows:
                at = row.recorded_at and row.recorded_at.replace(tzinfo=None)
                if at is not None:
                    clock.advance(max(0.0, (at - now).total_seconds()) if now else 0)
                    now = at
                else:
                    clock.advance(2)
                if not row.request_known or not is_marked(row) or excluded(row):
                    continue
                once = (at, *(block.sha256 for block in row.blocks))
                if at is not None and once in seen:
                    continue
                seen.add(once)
                found.append(replay(prompt_cache, row))
    return tuple(found)


def replay(prompt_cache: PromptCache, row: Exchange) -> Replayed:
    assert row.usage is not None
    plan = prompt_cache.lookup(Layout.from_recording(row))
    learned = prompt_cache.learn(plan, row.usage)
    prompt_cache.commit(learned.plan)
    usage = row.usage
    return Replayed(
        row,
        (plan.read_tokens, plan.written_1h_tokens, plan.written_5m_tokens, plan.fresh_tokens),
        (
            usage.cache_read_input_tokens,
            usage.cache_creation.ephemeral_1h_input_tokens,
            usage.cache_creation_input_tokens - usage.cache_creation.ephemeral_1h_input_tokens,
            usage.input_tokens,
        ),
        tuple(problem.rule for problem in learned.problems),
    )


def lines(rows: Sequence[Replayed]) -> str:
    return "\n".join(
        f"{one.row.id}: predicted {one.predicted}, recorded {one.recorded} {one.problems}" for one in rows
    )


# --- every marked row


def test_nearly_all_marked_rows_are_replayed():
    marked = [row for row in exchanges() if is_marked(row) and row.request_known and row.usage]
    assert len(replayed()) >= 0.85 * len(marked), Counter(filter(None, map(excluded, marked)))


def test_every_prediction_is_met_but_for_warm_starts_provider_noise_and_one_drift():
    """Warm: the entry was written before the recording began, or by a row that is excluded. Noise: one agent
    did not find its own entry seconds later, or found another. Drift: the same prefix counts one token more
    eight months on."""
    odd = [one for one in replayed() if one.wrong or one.problems]
    rest = [one for one in odd if not (is_warm(one) or is_noise(one) or is_drift(one))]
    assert rest == [], lines(rest)
    assert len([one for one in replayed() if not one.wrong]) > 4 * len(odd)


def is_warm(one: Replayed) -> bool:
    return one.problems == ("read-without-entry",)


def is_noise(one: Replayed) -> bool:
    """Only where the entry that was not read is known to be of this very prefix: its size was learned."""
    return one.problems == ("entry-not-read",) and one.row.sequence.startswith("crush/")


def is_drift(one: Replayed) -> bool:
    return one.problems == ("size-holds",) and one.row.sequence.startswith("dd-trace-py/")


def test_a_reread_of_identical_blocks_within_the_lifetime_is_predicted_to_the_token():
    pairs = 0
    for before, after in neighbours():
        if same_blocks(before.row, after.row) and sum(before.recorded[:3]) and close(before.row, after.row):
            pairs += 1
            assert after.predicted == after.recorded, lines([before, after])
            assert after.recorded[0] == sum(before.recorded[:3])
    assert pairs >= 5


def neighbours() -> Iterator[tuple[Replayed, Replayed]]:
    for before, after in zip(replayed(), replayed()[1:], strict=False):
        if before.row.sequence == after.row.sequence:
            yield before, after


def same_blocks(a: Exchange, b: Exchange) -> bool:
    return [block.sha256 for block in a.blocks] == [block.sha256 for block in b.blocks]


def close(a: Exchange, b: Exchange) -> bool:
    return not (a.recorded_at and b.recorded_at) or (b.recorded_at - a.recorded_at).total_seconds() < 300


def test_each_step_of_a_growing_conversation_reads_what_the_step_before_read_and_wrote():
    """Wherever the recording does so; the prediction does so always, unless the step before was below the
    floor."""
    steps = [
        (before, after)
        for before, after in neighbours()
        if grows(before.row, after.row)
        and sum(before.recorded[:3])
        and not (is_noise(after) or is_warm(after))
    ]
    assert len(steps) >= 20
    for before, after in steps:
        assert after.predicted[0] == after.recorded[0] == sum(before.recorded[:3]), lines([before, after])


def grows(a: Exchange, b: Exchange) -> bool:
    """The second request begins with all blocks of the first, up to its last marker."""
    known = [block.sha256 for block in a.blocks]
    return len(b.blocks) > len(known) and [block.sha256 for block in b.blocks][: len(known)] == known


def test_another_system_prompt_keeps_the_tools_and_the_shared_size_is_one_everywhere():
    """E1: the first request of a session reads what another session wrote."""
    clock = ManualClock()
    prompt_cache = PromptCache(clock)
    loops = [rows for name, rows in sequences().items() if name.startswith("crush/")]
    sizes = Counter()
    for rows in loops:
        first = next(row for row in rows if is_marked(row))
        layout = Layout.from_recording(first)
        plan = prompt_cache.lookup(layout)
        learned = prompt_cache.learn(plan, first.usage)
        prompt_cache.commit(learned.plan)
        clock.advance(30)
        if plan.hit is not None and first.usage.cache_read_input_tokens:
            assert layout.positions[plan.hit].tier == "tools"
            assert layout.positions[plan.hit + 1].tier == "system"
            sizes[first.usage.cache_read_input_tokens] += 1
            assert plan.read_tokens in (None, first.usage.cache_read_input_tokens)
    assert len(sizes) == 1
    assert sizes.total() >= 9


# --- the floor, predicted from counts of single texts


@pytest.mark.parametrize(
    ("sequence", "cached"),
    [
        ("ellmer/2025-11-12__e90847a__anthropic-tool-image", False),
        ("ellmer/2025-11-13__e38e181__anthropic-tool-image", True),
    ],
)
def test_the_rows_on_either_side_of_the_floor_are_predicted_without_learning(sequence, cached):
    row = exchange(f"{sequence}#1")
    plan = PromptCache(ManualClock()).lookup(Layout.from_recording(row, count_recorded(row)))
    floor = get_model(row.model_id).min_cacheable_tokens
    assert plan.usage(output_tokens=row.usage.output_tokens).billed == row.usage.billed
    assert plan.markers[-1].size_tokens == floor - (not cached)
    assert (plan.written_5m_tokens > 0) == cached


def test_counts_of_single_texts_predict_the_first_write_to_the_token_wherever_nothing_is_outside_the_rules():
    """Rows of one agent are two tokens off in every count, see the residuals of the token rules."""
    predicted = 0
    for one in replayed():
        row = one.row
        if not sum(one.recorded[:3]) or row.sequence.startswith("crush/"):
            continue
        counted = count_recorded(row)
        if counted.outside or counted.total != row.usage.total_input_tokens:
            continue
        layout = Layout.from_recording(row, counted)
        last = layout.markers[-1].position
        assert layout.positions[last].cumulative_tokens == sum(one.recorded[:3]), row.id
        predicted += 1
    assert predicted >= 20


def test_no_row_is_cached_below_the_floor_or_left_out_above_it():
    for one in replayed():
        floor = get_model(one.row.model_id).min_cacheable_tokens
        cached = sum(one.recorded[:3])
        if floor and cached:
            assert cached >= floor, one.row.id
        if floor and one.predicted[0] is not None and not cached:
            assert one.row.usage.total_input_tokens < floor + 24, one.row.id


# --- two lifetimes in one request


def test_an_hour_and_five_minutes_in_one_request_are_split_at_the_hours_marker():
    row = exchange("dd-trace-py/completion_anthropic_cache_write_1h_ttl#0")
    clock = ManualClock()
    prompt_cache = PromptCache(clock)
    alone = exchange("dd-trace-py/anthropic_completion_cache_write_1h_ttl#0")
    learned = prompt_cache.learn(prompt_cache.lookup(Layout.from_recording(alone)), alone.usage)
    prompt_cache.commit(learned.plan)
    clock.advance((row.recorded_at - alone.recorded_at).total_seconds())
    plan = prompt_cache.lookup(Layout.from_recording(row))
    assert plan.read_tokens == 0  # more than an hour later
    assert plan.written_1h_tokens == row.usage.cache_creation.ephemeral_1h_input_tokens
    assert plan.written_5m_tokens is None
    with_counts = prompt_cache.lookup(Layout.from_recording(row, count_recorded(row)))
    assert with_counts.usage(output_tokens=row.usage.output_tokens).billed == row.usage.billed


# --- the lookback, as reported


def reported(name: str, step: int) -> dict[str, int]:
    return exchange(f"reported/{name}#{step}").figures


def chain(blocks: Sequence[tuple[str, int]], marked: int, sizes: dict[int, int]) -> Layout:
    """Blocks as (name, lookback unit); sizes by position."""
    positions = [
        Position(
            "/".join(name for name, _ in blocks[: i + 1]), unit, sizes.get(i), SHORT if i == marked else None
        )
        for i, (_, unit) in enumerate(blocks)
    ]
    return Layout(tuple(positions), {}, get_model("claude-sonnet-4-5"))


@pytest.mark.parametrize(("texts", "step"), [(1, 1), (25, 2)])
def test_texts_between_two_markers_read_or_miss_as_reported(texts, step):
    """The system prompt was marked first, then the question behind the texts."""
    written = reported("lookback-text-blocks", 0)["cache_creation_input_tokens"]
    later = reported("lookback-text-blocks", step)
    prompt_cache = PromptCache(ManualClock())
    prompt_cache.commit(prompt_cache.lookup(chain([("system", 0)], 0, {0: written})))
    blocks = ["system", "question", *(f"text {i}" for i in range(texts)), "next question"]
    end = later["cache_read_input_tokens"] + later["cache_creation_input_tokens"]
    plan = prompt_cache.lookup(
        chain(list(zip(blocks, range(99), strict=False)), len(blocks) - 1, {0: written, len(blocks) - 1: end})
    )
    assert plan.read_tokens == later["cache_read_input_tokens"]
    assert plan.written_5m_tokens == later["cache_creation_input_tokens"]


def test_fifteen_parallel_calls_and_their_results_read_as_reported():
    first, later = reported("lookback-parallel-tools", 0), reported("lookback-parallel-tools", 1)
    written = first["cache_creation_input_tokens"]
    for rules, read in ((CacheRules(), written), (CacheRules(tool_run_positions="each"), 0)):
        prompt_cache = PromptCache(ManualClock(), rules)
        blocks = [("tool", 0), ("system", 1)]
        prompt_cache.commit(prompt_cache.lookup(chain(blocks, 1, {1: written})))
        one = rules.tool_run_positions == "one"
        blocks += [("OK", 2)]
        blocks += [(f"call {i}", 3 if one else 3 + i) for i in range(15)]
        blocks += [(f"result {i}", 4 if one else 18 + i) for i in range(15)]
        end = written + later["cache_creation_input_tokens"]
        plan = prompt_cache.lookup(chain(blocks, len(blocks) - 1, {1: written, len(blocks) - 1: end}))
        assert plan.read_tokens == read
    assert later["cache_read_input_tokens"] == written  # what the first of the two rules says


# --- agent sessions: lifetimes and compaction


@dataclass
class Step:
    """A turn of a session: the position the cache would read up to, seconds since the turn before started."""

    turn: Turn
    before: Turn | None
    hit: int | None
    idle_s: float

    @property
    def kept(self) -> float:
        """The share of what the turn before had left in the cache that was recorded as read."""
        usage = self.before.usage
        return self.turn.usage.cache_read_input_tokens / (
            usage.cache_read_input_tokens + usage.cache_creation_input_tokens
        )


@cache
def walk(session: Session, rules: CacheRules) -> tuple[Step, ...]:
    """A session as a chain: system and tools, then one position a turn, the first and the last two marked.

    The log does not show system prompt, tools or markers, only what each turn added; this is the least a
    request can be. A compaction drops the turns so far.
    """
    mark = LONG if session.write_ttl == "1h" else SHORT
    clock = ManualClock()
    prompt_cache = PromptCache(clock, rules)
    steps: list[Step] = []
    first = 0
    for i, turn in enumerate(session.turns):
        before = session.turns[i - 1] if i else None
        idle_s = max(0.0, (turn.requested_at - before.requested_at).total_seconds()) if before else 0.0
        clock.advance(idle_s)
        if turn.after_compaction:
            first = i
        ends = ["system", *(f"from {first} to {k}" for k in range(first, i + 1))]
        positions = tuple(
            Position(end, k, None, mark if k in (0, len(ends) - 2, len(ends) - 1) else None)
            for k, end in enumerate(ends)
        )
        model, total = get_model(turn.model_id), turn.usage.total_input_tokens
        plan = prompt_cache.lookup(Layout(positions, {}, model, total_tokens=total))
        prompt_cache.commit(plan)
        steps.append(Step(turn, before, plan.hit, idle_s))
    return tuple(steps)


def timed(ttl: str) -> list[tuple[str, tuple[Step, ...]]]:
    return [
        (one.name, walk(one, CacheRules()))
        for one in sessions()
        if one.write_ttl == ttl and all(turn.requested_at for turn in one.turns)
    ]


@pytest.mark.parametrize(("ttl", "at_least"), [("5m", 60), ("1h", 5)])
def test_after_the_lifetime_the_cache_and_the_recorded_sessions_lose_the_history(ttl, at_least):
    """A minute past the lifetime and later. What was read all the same was kept warm by requests that the log
    does not show."""
    lost = kept = 0
    for name, steps in timed(ttl):
        for step in steps[1:]:
            if step.idle_s > LIFETIME_S[ttl] + 60 and not step.turn.after_compaction:
                assert step.hit is None, (name, step.turn.index)
                lost += step.kept < 0.9
                kept += step.kept >= 0.9
    assert lost >= at_least
    assert kept <= 0.05 * lost


@pytest.mark.parametrize("ttl", ["5m", "1h"])
def test_within_the_lifetime_the_history_is_read_in_nearly_every_recorded_step(ttl):
    read = steps_within = 0
    for _, steps in timed(ttl):
        for step in steps[1:]:
            same = step.turn.model_id == step.before.model_id and not step.turn.after_compaction
            if same and step.idle_s < LIFETIME_S[ttl]:
                assert step.hit is not None
                steps_within += 1
                read += step.kept >= 0.98
    assert steps_within > 1500
    assert read / steps_within > 0.98


def test_system_and_tools_outlive_a_compaction_because_deep_reads_refresh_them():
    """In five-minute sessions the entry of system and tools had last been written or read by itself long
    before; with the other rule it would have ended."""
    outlived = refuted = 0
    for session in sessions():
        if session.write_ttl != "5m":
            continue
        other = walk(session, CacheRules(deep_hit_refreshes="itself"))
        for step, alone in zip(walk(session, CacheRules()), other, strict=True):
            if step.turn.after_compaction and step.idle_s < LIFETIME_S["5m"]:
                assert step.hit == 0, (session.name, step.turn.index)
                read = step.turn.usage.cache_read_input_tokens
                assert 0 < read < step.turn.usage.total_input_tokens, (session.name, step.turn.index)
                outlived += 1
                refuted += alone.hit is None
    assert outlived >= 10
    assert refuted >= 10
