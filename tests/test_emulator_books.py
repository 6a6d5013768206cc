"""Promises of the books: who reads, who writes, what is billed, to the token and in any order of answers."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxlab import tokens
from ctxlab.cache import CacheRules
from ctxlab.catalogue import get_model
from ctxlab.clock import ManualClock
from ctxlab.emulator import KEY, Books, Emulator, Engine, call
from ctxlab.figures import prefix_strip
from ctxlab.prompt import Prompt
from ctxlab.recordings import Exchange, exchange, sequences
from ctxlab.usage import Usage
from tests import naive_cache, strategies
from tests.emulated import HEADERS, HELLO, MARK, MODEL, a_request, a_word_a_token, assistant, sent, text, user
from tests.naive_cache import NaiveCache
from tests.rebuilt import request_of

LONG_MARK = {"type": "ephemeral", "ttl": "1h"}
RULES = text("[3000] The rules.", cache_control=MARK)


def an_emulator(**options: Any) -> Emulator:
    return Emulator(clock=ManualClock(), counter=a_word_a_token, **options)


def split(usage: Usage) -> tuple[int, int, int, int]:
    """Read, written for an hour, written for five minutes, fresh."""
    long = usage.cache_creation.ephemeral_1h_input_tokens
    written = usage.cache_creation_input_tokens
    return usage.cache_read_input_tokens, long, written - long, usage.input_tokens


def usages(api: Emulator) -> list[Usage]:
    return [made.usage for made in api.calls if made.usage is not None]


# --- recorded

# sequences of texts only, which start on an empty cache
RECORDED = [
    "openllmetry/test_anthropic_prompt_caching_legacy",
    "openllmetry/test_anthropic_prompt_caching_stream_legacy",
    "openinference/test_anthropic_instrumentation_messages_token_counts",
    "pydantic-ai/test_inline_system_prompt_cache_prefix_is_reused",
]
DDTRACE = "dd-trace-py/anthropic_completion_cache_{}#0"


def named(row: Exchange) -> dict[str, Any]:
    """The recorded request with each text named by its digest."""
    body = request_of(row)
    blocks = [*body.get("system", []), *itertools.chain(*(m["content"] for m in body["messages"]))]
    for block, recorded in zip(blocks, row.blocks, strict=True):
        assert block["type"] == "text"
        block["text"] = f"text {recorded.sha256}"
    return body


def learned_sizes(row: Exchange, known: dict[str, int]) -> dict[str, int]:
    """Tokens of each text, from the boundaries that the row's usage reveals; frames are the token rules'."""
    assert row.usage is not None
    sizes = {f"text {block.sha256}": 10 for block in row.blocks} | known
    body = named(row)
    read, long, short, fresh = split(row.usage)
    marked = [i for i, block in enumerate(row.blocks) if block.cache_control]
    ends = sorted({read + long, read + long + short} - {0})
    for i, end in [*zip(marked, ends, strict=False), (-1, read + long + short + fresh)]:
        counted = tokens.count(Prompt.from_request(body), str(row.model_id), counter=lambda t, _: sizes[t])
        name = f"text {row.blocks[i].sha256}"
        if name not in known:
            sizes[name] += end - (counted.total if i == -1 else counted.cumulative[i])
    return sizes


def replayed(rows: list[Exchange], seconds_between: float = 2) -> list[tuple[Usage, Usage]]:
    """(emulated, recorded) of each row; sizes are what rows before it and its own total reveal."""
    clock, sizes = ManualClock(), dict[str, int]()
    engine = Engine(clock=clock, counter=lambda t, _: sizes.get(t, 0), retired_models=True)
    told = []
    for row in rows:
        assert row.usage is not None
        sizes.update(learned_sizes(row, sizes))
        headers = {**HEADERS, "anthropic-version": "2023-06-01"}
        body = {"max_tokens": 100, **named(row), "stream": row.streamed}
        status, _, answer = engine.respond("POST", "/v1/messages", "", headers, sent(body))
        assert status == 200, answer
        if not isinstance(answer, bytes):
            list(answer)
        told.append((engine.calls[-1].usage, row.usage))
        clock.advance(seconds_between)
    return told


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_write_and_read_come_out_to_the_token(name):
    pairs = replayed(list(sequences()[name]))
    assert pairs[0][1].cache_creation_input_tokens > 1000
    assert pairs[1][1].cache_read_input_tokens > 1000
    for emulated, recorded in pairs:
        assert emulated.cache_read_input_tokens == recorded.cache_read_input_tokens
        assert emulated.cache_creation_input_tokens == recorded.cache_creation_input_tokens
        assert emulated.input_tokens == recorded.input_tokens


def test_a_prefix_written_by_one_recorded_question_is_read_by_another():
    rows = [exchange(DDTRACE.format("write")), exchange(DDTRACE.format("read"))]
    for emulated, recorded in replayed(rows):
        assert emulated.cache_read_input_tokens == recorded.cache_read_input_tokens
        assert emulated.cache_creation_input_tokens == recorded.cache_creation_input_tokens
        assert emulated.input_tokens == recorded.input_tokens


def test_an_hour_and_five_minutes_in_one_request_are_billed_as_recorded():
    row = exchange("dd-trace-py/completion_anthropic_cache_write_1h_ttl#0")
    ((emulated, recorded),) = replayed([row])
    assert split(emulated) == split(recorded)
    assert recorded.cache_creation.ephemeral_5m_input_tokens > 0


def test_five_minutes_and_a_second_later_the_recorded_prefix_is_written_again():
    (_, recorded), (emulated, _) = replayed(list(sequences()[RECORDED[0]]), seconds_between=301)
    assert emulated.cache_read_input_tokens == 0
    assert emulated.cache_creation_input_tokens == recorded.cache_creation_input_tokens


# --- when an entry is there


def opened_streams(api: Emulator, bodies: list[dict[str, Any]]) -> list[Any]:
    client = api.client()
    return [client.messages.create(**body, stream=True) for body in bodies]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_all_that_start_before_the_first_byte_write_and_all_that_start_after_it_read(n):
    api = an_emulator()
    body = a_request(system=[RULES])
    before = opened_streams(api, [body] * n)
    next(iter(before[0]))
    after = opened_streams(api, [body] * n)
    for stream in random.Random(n).sample([*before, *after], 2 * n):
        list(stream)
    written = [made.plan.written_5m_tokens > 3000 for made in api.calls]
    read = [made.plan.read_tokens > 3000 for made in api.calls]
    assert written == [True] * n + [False] * n
    assert read == [False] * n + [True] * n
    assert len(api.engine.cache) == 1


async def gathered(client: Any, n: int, *, stream: bool) -> None:
    """``n`` requests for the same prefix, each in a task of its own."""

    async def one() -> None:
        answer = await client.messages.create(**a_request(system=[RULES]), stream=stream)
        if stream:
            async for _ in answer:
                pass

    await asyncio.gather(*(one() for _ in range(n)))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("copied", [False, True])
def test_gathered_requests_write_each_for_itself(stream, copied):
    async def ask(api: Emulator) -> None:
        client = api.async_client()
        await gathered(client.with_options(timeout=9) if copied else client, 50, stream=stream)
        await gathered(client, 50, stream=stream)

    for _ in range(5):
        api = an_emulator()
        asyncio.run(ask(api))
        written = [usage.cache_creation_input_tokens > 3000 for usage in usages(api)]
        read = [usage.cache_read_input_tokens > 3000 for usage in usages(api)]
        assert written == [True] * 50 + [False] * 50
        assert read == [False] * 50 + [True] * 50


def test_tasks_that_reach_the_client_some_turns_apart_are_still_together():
    async def ask(api: Emulator) -> None:
        client = api.async_client()

        async def later(turns: int) -> None:
            for _ in range(turns):
                await asyncio.sleep(0)
            await client.messages.create(**a_request(system=[RULES]))

        await asyncio.gather(*(later(turns) for turns in range(0, 50, 5)))

    api = an_emulator()
    asyncio.run(ask(api))
    assert [usage.cache_creation_input_tokens > 3000 for usage in usages(api)] == [True] * 10


def test_requests_sent_together_arrive_in_the_order_they_are_sent():
    async def ask(api: Emulator) -> list[Any]:
        client = api.async_client()
        asked = [a_request(messages=[user(text(f"Question {i}"))]) for i in range(50)]
        return await asyncio.gather(*(client.messages.create(**body) for body in asked))

    for _ in range(5):
        api = an_emulator()
        answers = asyncio.run(ask(api))
        assert [made.message_id for made in api.calls] == [answer.id for answer in answers]


@pytest.mark.parametrize("stream", [False, True])
def test_one_awaited_first_saves_the_others_the_write(stream):
    async def ask(api: Emulator) -> None:
        client = api.async_client()
        await client.messages.create(**a_request(system=[RULES]))
        await gathered(client, 49, stream=stream)

    for _ in range(5):
        api = an_emulator()
        asyncio.run(ask(api))
        assert [usage.cache_creation_input_tokens > 0 for usage in usages(api)] == [True] + [False] * 49
        assert [usage.cache_read_input_tokens > 3000 for usage in usages(api)] == [False] + [True] * 49


def test_a_thousand_requests_at_once_balance():
    prefixes = [text(f"[{1000 + i}] The rules of group {i}.", cache_control=MARK) for i in range(10)]
    bodies = [a_request(system=[prefixes[i % 10]], messages=[user(text(f"Q {i}"))]) for i in range(1000)]
    random.Random(3).shuffle(bodies)

    async def wave(api: Emulator) -> list[Usage]:
        client = api.async_client()
        answers = await asyncio.gather(*(client.messages.create(**body) for body in bodies))
        return [Usage.from_response(answer.usage) for answer in answers]

    async def waves(api: Emulator) -> tuple[list[Usage], list[Usage]]:
        return await wave(api), await wave(api)

    api = an_emulator()
    first, second = asyncio.run(waves(api))
    assert sum([*first, *second], Usage.zero()).total_input_tokens == api.calls.usage.total_input_tokens
    assert {made.state for made in api.calls} == {"complete"}
    assert [usage.cache_creation_input_tokens for usage in first] == [
        usage.cache_read_input_tokens for usage in second
    ]
    assert sum(usage.cache_read_input_tokens for usage in first) == 0
    assert sum(usage.cache_creation_input_tokens for usage in second) == 0
    assert len({made.message_id for made in api.calls}) == 2000
    assert len(api.engine.cache) == 10


# --- the client leaves


def test_a_stream_closed_before_its_first_byte_leaves_nothing():
    api = an_emulator()
    api.client().messages.create(**a_request(system=[RULES]), stream=True).close()
    (made,) = api.calls
    assert (made.state, made.usage, len(api.engine.cache)) == ("abandoned", None, 0)
    api.client().messages.create(**a_request(system=[RULES]))
    assert usages(api)[0].cache_read_input_tokens == 0


def test_a_stream_cut_later_keeps_its_entries_and_its_input():
    api = an_emulator(replies=["A long reply. " * 20] * 2)
    stream = api.client().messages.create(**a_request(system=[RULES]), stream=True)
    next(iter(stream))
    stream.close()
    (made,) = api.calls
    assert made.state == "cut"
    assert made.usage.cache_creation_input_tokens > 3000
    assert (made.usage.output_tokens, made.usage.flags) == (1, {"stream-cut"})
    api.client().messages.create(**a_request(system=[RULES]))
    assert usages(api)[1].cache_read_input_tokens == made.usage.cache_creation_input_tokens


def test_a_stream_that_is_only_half_read_in_a_with_block_is_cut():
    api = an_emulator(replies=["A long reply. " * 20])
    with api.client().messages.stream(**a_request()) as stream:
        next(iter(stream.text_stream))
    assert api.calls[0].state == "cut"


def test_a_task_that_is_cancelled_before_its_answer_begins_leaves_nothing():
    async def ask(api: Emulator) -> None:
        task = asyncio.create_task(api.async_client().messages.create(**a_request(system=[RULES])))
        while not len(api.calls):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    api = an_emulator()
    asyncio.run(ask(api))
    assert (api.calls[0].state, api.calls[0].usage, len(api.engine.cache)) == ("abandoned", None, 0)


def test_closing_twice_and_reading_to_the_end_before_closing_change_nothing():
    api = an_emulator()
    stream = api.client().messages.create(**a_request(system=[RULES]), stream=True)
    list(stream)
    stream.close()
    stream.close()
    assert (api.calls[0].state, api.calls[0].usage.flags) == ("complete", frozenset())


# --- against the naive cache

COUNTED: Callable[[str, str], int] = lambda words, _: 40 * len(words)  # noqa: E731


def counted(body: dict[str, Any]) -> list[int]:
    found = tokens.count(Prompt.from_request(body), body["model"], counter=COUNTED)
    return [*found.cumulative, found.cumulative[-1] + found.tail_tokens]


@pytest.fixture
def naive_sizes(monkeypatch):
    """The naive cache with the sizes of the token rules: its own have no frames."""
    monkeypatch.setattr(naive_cache, "sizes_of", lambda body: counted(body)[:-1])


class Both:
    """An engine and the naive cache on one clock."""

    def __init__(self, rules: CacheRules):
        self.clock = ManualClock()
        self.engine = Engine(
            clock=self.clock, counter=COUNTED, rules=rules, keys={KEY: "one", "other-key": "other"}
        )
        self.naive = NaiveCache(rules)

    def open(self, body: dict[str, Any], workspace: str = "one") -> tuple[Any, Any]:
        headers = {**HEADERS, "x-api-key": KEY if workspace == "one" else "other-key"}
        opened = self.engine.open("POST", "/v1/messages", "", headers, sent({**body, "stream": True}))
        assert opened.status == 200, opened.read()
        plan = self.naive.lookup(body, workspace, self.clock.now_s(), counted(body)[-1])
        assert split(self.engine.calls[-1].plan.usage()) == split(plan.usage)
        return opened, plan

    def begin(self, opened: Any, plan: Any) -> None:
        next(opened)
        self.naive.commit(plan, self.clock.now_s())

    def ask(self, body: dict[str, Any], workspace: str = "one") -> None:
        opened, plan = self.open(body, workspace)
        self.begin(opened, plan)
        list(opened)


def conversation(places: Iterator[int] | list[int], ttl: str, length: int = 9) -> dict[str, Any]:
    """Rules, a tool and ``length`` texts, with markers at those places of tools, system and messages."""
    tool = {"name": "read", "input_schema": {"type": "object", "title": "x" * 30}}
    blocks = [tool, text("y" * 20), *(text(f"{i} " * 8) for i in range(length))]
    for place in places:
        mark = {"type": "ephemeral", "ttl": ttl}
        blocks[min(place, len(blocks) - 1)]["cache_control"] = mark
    spoken = blocks[2:]
    messages = [
        {"role": "assistant" if i % 2 else "user", "content": spoken[3 * i : 3 * i + 3]}
        for i in range(-(-len(spoken) // 3))
    ]
    if messages[-1]["role"] == "assistant":
        messages.append(HELLO | {"content": [text()]})
    return {"model": MODEL, "max_tokens": 9, "tools": [tool], "system": [blocks[1]], "messages": messages}


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_answers_begun_in_any_order_leave_what_the_naive_cache_has(naive_sizes, order):
    both = Both(CacheRules())
    shuffled = random.Random(str(order))
    held = []
    for _ in order:
        places = shuffled.sample(range(11), k=2)
        held.append(both.open(conversation(places, shuffled.choice(["5m", "1h"]))))
        both.clock.advance(shuffled.choice([0, 1, 100, 299]))
    for which in order:
        if shuffled.random() < 0.25:
            held[which][0].close()
            continue
        both.begin(*held[which])
        both.clock.advance(shuffled.choice([0, 1, 150]))
    for place in range(11):
        both.open(conversation([place], "5m"))


@settings(max_examples=60, deadline=None)
@given(rules=strategies.cache_rules(), data=st.data())
def test_any_history_reads_and_writes_what_the_naive_cache_does(rules, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive_cache, "sizes_of", lambda body: counted(body)[:-1])
        both = Both(rules)
        body = conversation([], "5m", data.draw(st.integers(1, 12)))
        for _ in range(data.draw(st.integers(1, 7))):
            body = json.loads(json.dumps(body))
            do = data.draw(st.sampled_from(["ask", "append", "edit", "rewind", "tool_choice"]))
            if do == "append":
                more = [text("more " * 5) for _ in range(data.draw(st.sampled_from([1, 3, 21])))]
                body["messages"] += [assistant(*more), user(text("And then?"))]
            elif do == "edit":
                message = body["messages"][data.draw(st.integers(0, len(body["messages"]) - 1))]
                message["content"][0]["text"] += "!"
            elif do == "rewind":
                body["messages"] = body["messages"][: 1 + 2 * data.draw(st.integers(0, 2))]
            elif do == "tool_choice":
                body["tool_choice"] = {"type": data.draw(st.sampled_from(["auto", "none"]))}
            marked = json.loads(json.dumps(body))
            spoken = itertools.chain(*(message["content"] for message in marked["messages"]))
            carriers = [*marked["tools"], *marked["system"], *spoken]
            ttl = data.draw(st.sampled_from(["5m", "1h"]))
            where = st.one_of(st.integers(0, len(carriers) - 1), st.just(len(carriers) - 1))
            for place in data.draw(st.lists(where, max_size=4, unique=True)):
                carriers[place]["cache_control"] = {"type": "ephemeral", "ttl": ttl}
            both.ask(marked, data.draw(st.sampled_from(["one", "one", "one", "other"])))
            both.clock.advance(data.draw(strategies.pauses_s))


# --- what is counted, and how often


def test_a_turn_counts_the_texts_that_are_new_in_it_and_no_other():
    asked: list[str] = []

    def spy(words: str, vocabulary: str) -> int:
        asked.append(words)
        return len(words.split())

    api = Emulator(clock=ManualClock(), counter=spy, replies=(f"Reply {i}." for i in range(6)))
    messages: list[Any] = []
    for turn in range(6):
        new = [text(f"Block {i} of turn {turn}.") for i in range(turn % 3 + 1)]
        messages.append(user(*new))
        asked.clear()
        request = a_request(system="Be brief.", messages=messages)
        answer = api.client().messages.create(**request)
        expected = {block["text"] for block in new} | {answer.content[0].text}
        assert sorted(asked) == sorted(expected | ({"Be brief."} if turn == 0 else set()))
        messages.append({"role": "assistant", "content": answer.content})


def test_a_turn_of_a_tool_loop_counts_its_new_blocks():
    asked: list[str] = []

    def spy(words: str, vocabulary: str) -> int:
        asked.append(words)
        return len(words.split())

    api = Emulator(clock=ManualClock(), counter=spy, replies=(call("read", path=f"{i}.py") for i in range(9)))
    tool = {"name": "read", "input_schema": {"type": "object"}}
    messages: list[Any] = [HELLO]
    for turn in range(9):
        asked.clear()
        answer = api.client().messages.create(**a_request(tools=[tool], messages=messages))
        if turn:
            assert len(asked) == 2, asked  # the result that came in, and the call that went out
        result = {"type": "tool_result", "tool_use_id": answer.content[0].id, "content": f"line {turn}"}
        messages += [{"role": "assistant", "content": answer.content}, user(result)]


# --- workspaces, ids, time


def test_workspaces_do_not_read_each_others_entries():
    api = an_emulator()
    for workspace in ("default", "team", "team", "default"):
        api.client(workspace).messages.create(**a_request(system=[RULES]))
    assert [usage.cache_read_input_tokens > 0 for usage in usages(api)] == [False, False, True, True]


def test_one_key_is_one_workspace_and_another_name_for_it_is_refused():
    api = an_emulator()
    client = api.client("team", default_headers={"anthropic-workspace-id": "team"})
    assert client.messages.create(**a_request()).role == "assistant"
    with pytest.raises(Exception, match="another workspace"):
        client.with_options(default_headers={"anthropic-workspace-id": "x"}).messages.create(**a_request())


def test_ids_are_the_same_in_every_run_and_others_with_another_seed():
    def ids(seed: int) -> list[str | None]:
        api = Emulator(clock=ManualClock(), counter=a_word_a_token, replies=[call("t")] * 3, seed=seed)
        answers = [api.client().messages.create(**a_request()) for _ in range(3)]
        calls = [answer.content[0].id for answer in answers]
        return [*(made.message_id for made in api.calls), *(made.request_id for made in api.calls), *calls]

    assert ids(0) == ids(0)
    assert not set(ids(0)) & set(ids(1))
    assert len(set(ids(0))) == 9


def test_the_life_of_an_entry_counts_from_the_start_of_the_request_that_used_it():
    clock = ManualClock()

    def slow(request: dict[str, Any]) -> str:
        clock.advance(250)
        return "At last."

    api = Emulator(clock=clock, counter=a_word_a_token, replies=slow)
    for pause_s in (40, 0, 0):
        api.client().messages.create(**a_request(system=[RULES]))
        clock.advance(pause_s)
    # 290 s after the first started the second reads, and is answered 540 s after it; the third starts then
    assert [usage.cache_read_input_tokens > 0 for usage in usages(api)] == [False, True, True]
    assert [made.ended_s - made.started_s for made in api.calls] == [250, 250, 250]
    clock.advance(51)
    api.client().messages.create(**a_request(system=[RULES]))
    assert usages(api)[-1].cache_read_input_tokens == 0


def test_prewarming_writes_for_the_next_request_and_says_nothing():
    api = an_emulator()
    warmed = api.client().messages.create(**a_request(system=[RULES], max_tokens=0))
    assert (warmed.content, warmed.stop_reason, warmed.usage.output_tokens) == ([], "max_tokens", 0)
    api.client().messages.create(**a_request(system=[RULES], messages=[user(text("Another"))]))
    assert usages(api)[1].cache_read_input_tokens == usages(api)[0].cache_creation_input_tokens > 3000


def test_below_the_floor_nothing_is_written_and_nobody_says_so():
    floor = get_model(MODEL).min_cacheable_tokens
    api = an_emulator()
    for size in (floor - 50, floor + 50):
        api.client().messages.create(**a_request(system=[text(f"[{size}]", cache_control=MARK)]))
    assert [usage.cache_creation_input_tokens > 0 for usage in usages(api)] == [False, True]


def test_a_change_in_a_tool_a_byte_before_the_marker_or_the_model_is_a_new_prefix():
    api = an_emulator()
    tool = {"name": "read", "input_schema": {"type": "object"}}
    base = a_request(tools=[tool], system=[RULES])
    variants = [
        base,
        base,
        {**base, "tools": [{**tool, "description": "Reads."}]},
        {**base, "system": [{**RULES, "text": RULES["text"] + " "}]},
        {**base, "model": "claude-opus-5"},
        {**base, "messages": [user(text("Something else"))]},
    ]
    for body in variants:
        api.client().messages.create(**body)
    assert [usage.cache_read_input_tokens > 0 for usage in usages(api)] == [
        False,
        True,
        False,
        False,
        False,
        True,
    ]


# --- the log


def test_a_call_says_what_it_read_what_it_wrote_and_why():
    api = an_emulator()
    messages = [
        user(text("[600] A long question", cache_control=LONG_MARK), text("and its end", cache_control=MARK))
    ]
    system = [{**RULES, "cache_control": LONG_MARK}]
    api.client().messages.create(**a_request(system=system))
    api.client().messages.create(**a_request(system=system, messages=messages))
    made = api.calls[-1]
    assert [letter for _, letter, _ in made.spans] == ["R", "W", "W", "F"]
    assert [path for path, _, _ in made.spans[:2]] == ["system[0]", "messages[0].content[0]"]
    assert made.markers == [(0, "1h"), (1, "1h"), (2, "5m")]
    sizes = {letter: sum(size for _, one, size in made.spans if one == letter) for letter in "RWF"}
    assert (sizes["R"], sizes["W"], sizes["F"]) == (
        made.usage.cache_read_input_tokens,
        made.usage.cache_creation_input_tokens,
        made.usage.input_tokens,
    )
    assert len(made.reasons) == 3
    assert made.evidence == "emulated"
    strip = prefix_strip(made.spans, markers=made.markers, title="t", alt="a", evidence=made.evidence)
    assert "system[0]" in repr(strip)


def test_the_log_has_every_request_and_answers_to_indices_and_slices():
    api = an_emulator()
    client = api.client()
    client.messages.create(**a_request())
    client.messages.count_tokens(model=MODEL, messages=[HELLO])
    client.models.list()
    with pytest.raises(Exception, match="claude-9"):
        client.messages.create(**a_request(model="claude-9"))
    assert [made.path for made in api.calls[:3]] == [
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/models",
    ]
    assert [made.state for made in api.calls] == ["complete", "complete", "complete", "refused"]
    assert [made.number for made in api.calls] == [1, 2, 3, 4]
    assert api.calls[-1].usage is None
    assert "404" in repr(api.calls[-1])
    api.calls.clear()
    assert (len(api.calls), api.calls.usage) == (0, Usage.zero())
    client.messages.create(**a_request())
    assert api.calls[0].number == 5


def test_old_plans_are_let_go_and_figures_stay():
    api = an_emulator()
    api.engine.calls = Books(hold_positions=10)
    for _ in range(4):
        api.client().messages.create(**a_request(messages=[user(*[text("a")] * 4)]))
    assert [made.plan is None for made in api.calls] == [True, True, False, False]
    assert all(made.usage is not None and made.reasons == api.calls[-1].reasons for made in api.calls)
    assert api.calls[0].spans == api.calls[0].markers == []


def test_old_calls_are_let_go_too():
    api = an_emulator()
    api.engine.calls = Books(hold_calls=3)
    for _ in range(5):
        api.client().messages.create(**a_request())
    assert [made.number for made in api.calls] == [3, 4, 5]
