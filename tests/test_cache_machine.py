"""The cache and its naive twin agree on every history: appended, edited, forked, delayed, in parallel."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ctxlab.cache import CacheRules, Layout, Plan, PromptCache
from ctxlab.clock import ManualClock
from ctxlab.prompt import Prompt
from tests import strategies
from tests.naive_cache import NaiveCache, NaivePlan, blocks_of, sizes_of

MODELS = ["claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-4-5"]  # floors of 512, 1,024 and 4,096
TTLS = [{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}]
AFTER_THE_LAST_BLOCK = 3


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def start() -> dict[str, Any]:
    tools = [{"name": name, "input_schema": {"type": "object", "title": name}} for name in ("read", "list")]
    return {
        "model": MODELS[0],
        "max_tokens": 16,
        "tools": tools,
        "system": [text("Be exact. " * 3)],
        "messages": [{"role": "user", "content": [text("Go.")]}],
    }


def calls_and_results(first: int, number: int) -> list[dict[str, Any]]:
    ids = [f"toolu_{i}" for i in range(first, first + number)]
    return [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": one, "name": "read", "input": {"a": 1, "b": 2}} for one in ids
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": one, "content": "ok"} for one in ids],
        },
    ]


def marked(body: dict[str, Any], places: dict[int, dict[str, str]]) -> dict[str, Any]:
    """The request with markers on some of its blocks, by number in render order, and on no others."""
    body = copy.deepcopy(body)
    for i, block in enumerate(blocks_of(body)):
        block.body.pop("cache_control", None)
        if i in places:
            block.body["cache_control"] = places[i]
    return body


class History(RuleBasedStateMachine):
    """Conversations that grow, fork and change, marked anywhere, answered in any order or never."""

    @initialize(rules=strategies.cache_rules())
    def begin(self, rules: CacheRules) -> None:
        self.clock = ManualClock()
        self.cache = PromptCache(self.clock, rules, remember_s=10.0)
        self.naive = NaiveCache(rules)
        self.bodies = [start()]
        self.open: list[tuple[Plan, NaivePlan]] = []
        self.ends: dict[int, int] = {}
        self.answers_at_once = True
        self.calls = itertools.count()

    @rule(pause_s=strategies.pauses_s)
    def wait(self, pause_s: float) -> None:
        self.clock.advance(pause_s)

    @rule(which=st.integers(0), blocks=st.sampled_from([1, 2, 18, 19, 20, 25]), letter=st.sampled_from("ab"))
    def append_texts(self, which: int, blocks: int, letter: str) -> None:
        messages = self.body(which)["messages"]
        role = "assistant" if messages[-1]["role"] == "user" else "user"
        messages.append({"role": role, "content": [text(letter * (i % 3 + 1)) for i in range(blocks)]})

    @rule(which=st.integers(0), number=st.sampled_from([1, 3, 15]))
    def append_a_tool_turn(self, which: int, number: int) -> None:
        first = next(self.calls) * 100
        self.body(which)["messages"] += calls_and_results(first, number)

    @rule(which=st.integers(0), place=st.integers(0), letter=st.sampled_from("ab"))
    def edit(self, which: int, place: int, letter: str) -> None:
        blocks = [block for block in blocks_of(self.body(which)) if block.body.get("type") == "text"]
        blocks[place % len(blocks)].body["text"] = letter * 4

    @rule(which=st.integers(0))
    def turn_the_keys_of_a_call_and_of_a_schema(self, which: int) -> None:
        body = self.body(which)
        for block in blocks_of(body):
            for name in ("input", "input_schema"):
                if name in block.body:
                    block.body[name] = dict(reversed(block.body[name].items()))

    @rule(which=st.integers(0), cut=st.integers(1, 3))
    def fork(self, which: int, cut: int) -> None:
        if len(self.bodies) < 4:
            body = copy.deepcopy(self.body(which))
            body["messages"] = body["messages"][:-cut] or body["messages"][:1]
            self.bodies.append(body)

    @rule(
        which=st.integers(0),
        setting=st.sampled_from(
            [
                ("model", "claude-opus-5-5"),
                ("model", "claude-sonnet-4-5"),
                ("model", "claude-sonnet-4-5-20250929"),
                ("speed", "fast"),
                ("tool_choice", {"type": "any"}),
                ("tool_choice", {"type": "auto"}),
                ("thinking", {"type": "adaptive"}),
                ("thinking", {"type": "disabled"}),
                ("unheard_of", 1),
                ("max_tokens", 99),
                ("temperature", 0.5),
            ]
        ),
    )
    def change_a_parameter(self, which: int, setting: tuple[str, Any]) -> None:
        body = self.body(which)
        name, value = setting
        if body.get(name) == value and name not in ("model", "max_tokens"):
            del body[name]
        else:
            body[name] = value

    @rule(
        which=st.integers(0),
        places=st.lists(st.integers(0, 40), max_size=4, unique=True),
        long=st.integers(0, 4),
        workspace=st.sampled_from(["one", "two"]),
    )
    def send_marked_anywhere(self, which: int, places: list[int], long: int, workspace: str) -> None:
        blocks = len(blocks_of(self.body(which)))
        near = sorted({place % blocks for place in places})
        self.send(which, {place: TTLS[i < long] for i, place in enumerate(near)}, workspace)

    @rule(which=st.integers(0), again=st.booleans(), ttl=st.sampled_from(TTLS))
    def send_marked_at_the_end(self, which: int, again: bool, ttl: dict[str, str]) -> None:
        """The marker moves with the conversation; ``again`` also marks the place of the last time."""
        end = len(blocks_of(self.body(which))) - 1
        before = self.ends.get(which % len(self.bodies), end)
        self.send(which, {min(before, end): ttl, end: ttl} if again else {end: ttl})
        self.ends[which % len(self.bodies)] = end

    @rule(which=st.integers(0), back=st.integers(18, 21), ttl=st.sampled_from(TTLS))
    def send_marked_just_in_or_out_of_reach(self, which: int, back: int, ttl: dict[str, str]) -> None:
        """One request marks a place, the next the one that is ``back`` positions behind it."""
        end = len(blocks_of(self.body(which))) - 1
        for place in (max(0, end - back), end):
            self.send(which, {place: ttl})

    def send(self, which: int, places: dict[int, dict[str, str]], workspace: str = "one") -> None:
        body = marked(self.body(which), places)
        sizes = sizes_of(body)
        total = sizes[-1] + AFTER_THE_LAST_BLOCK
        layout = Layout.from_prompt(
            Prompt.from_request(body), sizes, total_tokens=total, workspace=workspace, rules=self.cache.rules
        )
        plan = self.cache.lookup(layout)
        naive = self.naive.lookup(body, workspace, self.clock.now_s(), total)
        assert plan.usage() == naive.usage, "\n".join(plan.reasons)
        assert plan.usage().total_input_tokens == total
        assert len(plan.reasons) == max(1, len(places))
        self.open.append((plan, naive))
        if self.answers_at_once:
            self.answer(-1)

    @rule(at_once=st.booleans())
    def change_pace(self, at_once: bool) -> None:
        self.answers_at_once = at_once

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0))
    def answer_one_that_is_open(self, which: int) -> None:
        self.answer(which % len(self.open))

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0))
    def lose_one_that_is_open(self, which: int) -> None:
        plan, _ = self.open.pop(which % len(self.open))
        self.cache.abandon(plan)

    @precondition(lambda self: hasattr(self, "cache"))
    @invariant()
    def no_more_is_held_than_was_ever_written(self) -> None:
        assert len(self.cache) <= len({(event.prefix, event.scope) for event in self.naive.events})

    def body(self, which: int) -> dict[str, Any]:
        return self.bodies[which % len(self.bodies)]

    def answer(self, which: int) -> None:
        plan, naive = self.open.pop(which)
        self.cache.commit(plan)
        self.naive.commit(naive, self.clock.now_s())


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


@settings(max_examples=150, deadline=None)
@given(rules=strategies.cache_rules(), data=st.data())
def test_a_conversation_that_grows_reads_what_the_naive_cache_reads(rules, data):
    """Texts and runs of tools are appended, markers stand near those of before, pauses end lifetimes."""
    clock = ManualClock()
    cache, naive = PromptCache(clock, rules, remember_s=5.0), NaiveCache(rules)
    body, marks = start(), [2]
    ttl = data.draw(st.sampled_from(TTLS))
    for turn in range(data.draw(st.integers(2, 5))):
        near = st.sampled_from([0, *marks]).flatmap(
            lambda mark: st.sampled_from([mark, mark + 1, mark + 18, mark + 19, mark + 20, 10**6])
        )
        end = len(blocks_of(body)) - 1
        marks = sorted({min(end, place) for place in data.draw(st.lists(near, min_size=1, max_size=4))})
        kinds = dict.fromkeys(marks, ttl)
        if data.draw(st.booleans()):
            kinds[marks[-1]] = TTLS[0]  # the last one may live shorter
        plan, other = both_look_up(cache, naive, clock, marked(body, kinds))
        clock.advance(data.draw(st.sampled_from([0.0, 2.0])))
        cache.commit(plan)
        naive.commit(other, clock.now_s())
        clock.advance(data.draw(strategies.pauses_s))
        if data.draw(st.booleans()):
            body["messages"] += calls_and_results(100 * turn, data.draw(st.integers(1, 12)))
        texts = [text("a") for _ in range(data.draw(st.integers(0, 21)))]
        if texts:
            body["messages"].append({"role": "assistant", "content": texts})


@settings(max_examples=200, deadline=None)
@given(rules=strategies.cache_rules(), data=st.data())
def test_a_few_blocks_sent_again_and_again_read_what_the_naive_cache_reads(rules, data):
    """Four blocks, any of them marked for either lifetime, the last ones changed at times, and pauses."""
    clock = ManualClock()
    cache, naive = PromptCache(clock, rules), NaiveCache(rules)
    for _ in range(data.draw(st.integers(3, 8))):
        changed = data.draw(st.sampled_from([4, 4, 4, 3, 2]))
        blocks = [text("b" * 90 if i < changed else "c" * 90) for i in range(4)]
        body = {"model": MODELS[0], "max_tokens": 1, "messages": [{"role": "user", "content": blocks}]}
        places = sorted(data.draw(st.sets(st.integers(0, 3), min_size=1)))
        long = data.draw(st.integers(0, len(places)))
        sent = marked(body, {place: TTLS[i < long] for i, place in enumerate(places)})
        plan, other = both_look_up(cache, naive, clock, sent)
        cache.commit(plan)
        naive.commit(other, clock.now_s())
        clock.advance(data.draw(st.sampled_from([0.0, 1.0, 150.0, 299.0, 301.0, 3599.0])))


@settings(max_examples=40, deadline=None)
@given(rules=strategies.cache_rules(), order=st.permutations(range(4)), data=st.data())
def test_answers_in_any_order_leave_what_the_naive_cache_has(rules, order, data):
    """Four requests over one history, all started before the first answer, answered in every order."""
    body = start()
    body["messages"] += [
        {"role": role, "content": [text("x" * 40) for _ in range(3)]}
        for role in ("assistant", "user", "assistant")
    ]
    clock = ManualClock()
    cache, naive = PromptCache(clock, rules), NaiveCache(rules)
    plans = []
    last = len(blocks_of(body)) - 1
    for _ in order:
        places = data.draw(st.lists(st.integers(0, last), min_size=1, max_size=4, unique=True))
        ttl = data.draw(st.sampled_from(TTLS))
        sent = marked(body, dict.fromkeys(places, ttl))
        plans.append(both_look_up(cache, naive, clock, sent))
        clock.advance(data.draw(strategies.pauses_s))
    for which in order:
        cache.commit(plans[which][0])
        naive.commit(plans[which][1], clock.now_s())
        clock.advance(data.draw(st.sampled_from([0.0, 0.5])))
    for place in range(last + 1):
        both_look_up(cache, naive, clock, marked(body, {place: TTLS[0]}))


def both_look_up(
    cache: PromptCache, naive: NaiveCache, clock: ManualClock, body: dict[str, Any]
) -> tuple[Plan, NaivePlan]:
    sizes = sizes_of(body)
    layout = Layout.from_prompt(Prompt.from_request(body), sizes, workspace="one", rules=cache.rules)
    plan, other = cache.lookup(layout), naive.lookup(body, "one", clock.now_s(), sizes[-1])
    assert plan.usage() == other.usage, "\n".join(plan.reasons)
    return plan, other


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_three_started_together_write_three_times_and_any_order_of_answers_leaves_one_entry(order):
    clock = ManualClock()
    cache = PromptCache(clock)
    body = marked(start(), {2: TTLS[0]})
    sizes = sizes_of(body)
    layout = Layout.from_prompt(Prompt.from_request(body), sizes)
    plans = [cache.lookup(layout) for _ in order]
    assert [plan.written_5m_tokens for plan in plans] == [sizes[2]] * 3
    for which in order:
        cache.commit(plans[which])
    assert cache.lookup(layout).read_tokens == sizes[2]
    assert len(cache) == 1
