"""A watched client: figures and verdicts of every call, nothing held but digests, nothing broken."""

from __future__ import annotations

import asyncio
import gc
import gzip
import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import httpx2
import pytest

from ctxlab.clock import ManualClock
from ctxlab.cost import bill
from ctxlab.diagnose import Watched, watch
from ctxlab.emulator import Emulator, overloaded
from ctxlab.errors import InvalidArgumentError

from .diagnosed import MARK, ask, turn
from .emulated import a_word_a_token, text, user

Q = user(text("[30] the first question"))


class Seen:
    """An emulator, a watched client of it, and what was told of its calls."""

    def __init__(self, replies: Any = "echo", **options: Any) -> None:
        self.clock = ManualClock(1000.0)
        self.api = Emulator(replies=replies, clock=self.clock, counter=a_word_a_token)
        self.calls: list[Watched] = []
        self.options = {"on_call": self.calls.append, "clock": self.clock, **options}
        self.client = watch(self.api.client(), **self.options)

    @property
    def verdicts(self) -> list[str | None]:
        return [None if call.diagnosis is None else call.diagnosis.verdict for call in self.calls]

    def create(self, body: dict[str, Any], wait_s: float = 2.0, **more: Any) -> Any:
        message = self.client.messages.create(**body, **more)
        self.clock.advance(wait_s)
        return message


def test_figures_dollars_and_verdict_of_a_call_are_told():
    seen = Seen()
    message = seen.create(ask(Q))
    (call,) = seen.calls
    assert message.usage.cache_creation_input_tokens == call.usage.cache_creation_input_tokens > 0
    assert call.bill_usd == bill(message, "claude-opus-5-5").total_usd
    assert (call.diagnosis.verdict, call.response_id, call.status) == ("cold start", message.id, 200)


def test_each_call_is_judged_against_the_one_it_goes_on_from():
    seen = Seen()
    seen.create(ask(Q))
    seen.create(ask(Q, *turn(1)), wait_s=300)
    seen.create(ask(Q, *turn(1), *turn(2)))
    seen.create(ask(Q, *turn(1), *turn(2), system=[text("[1500] the rules of the ship")]))
    assert seen.verdicts == ["cold start", "hit", "expired", "prefix changed"]
    assert seen.calls[-1].first_difference.startswith("system[0].text")
    assert seen.calls[1].first_difference is None


def test_the_client_that_was_passed_goes_on_unwatched():
    api, told = Emulator(counter=a_word_a_token), []
    client = api.client()
    watched = watch(client, on_call=told.append)
    assert type(watched) is type(client)
    client.messages.create(**ask(Q))
    assert told == []


def test_a_stream_is_told_once_it_is_read():
    seen = Seen()
    seen.create(ask(Q))
    with seen.client.messages.stream(**ask(Q)) as stream:
        assert len(seen.calls) == 1
        final = stream.get_final_message()
    assert seen.verdicts == ["cold start", "hit"]
    assert seen.calls[1].usage.output_tokens == final.usage.output_tokens


def test_a_stream_that_is_left_early_is_judged_by_its_beginning():
    seen = Seen()
    seen.create(ask(Q))
    with seen.client.messages.create(**ask(Q), stream=True) as stream:
        next(iter(stream))
    assert seen.verdicts == ["cold start", "hit"]
    assert "stream-cut" in seen.calls[1].usage.flags


def test_raw_and_streaming_responses_are_watched_too():
    seen = Seen()
    raw = seen.client.messages.with_raw_response.create(**ask(Q))
    seen.clock.advance(2)
    assert raw.parse().usage.cache_creation_input_tokens > 0
    with seen.client.messages.with_streaming_response.create(**ask(Q)) as response:
        assert json.loads(response.read())["usage"]["cache_read_input_tokens"] > 0
    assert seen.verdicts == ["cold start", "hit"]


def test_beta_messages_are_watched_too():
    seen = Seen()
    seen.client.beta.messages.create(**ask(Q))
    assert seen.verdicts == ["cold start"]


def test_counting_tokens_and_listing_models_are_no_calls():
    seen = Seen()
    body = {name: value for name, value in ask(Q).items() if name != "max_tokens"}
    seen.client.messages.count_tokens(**body)
    seen.client.models.list()
    assert seen.calls == []


@pytest.mark.parametrize("stream", [False, True])
def test_refusals_are_recorded_as_such_and_not_judged(stream):
    seen = Seen(replies=[overloaded(), "fine"])
    with pytest.raises(anthropic.APIStatusError):
        seen.create(ask(Q), stream=stream)
    (call,) = seen.calls
    assert (call.status, call.diagnosis, call.bill_usd) == (529, None, None)
    assert call.error.startswith("overloaded_error")
    seen.create(ask(Q))
    assert seen.verdicts[1:] == ["cold start"]


def test_a_body_the_api_refuses_is_a_refusal():
    seen = Seen()
    with pytest.raises(anthropic.BadRequestError):
        seen.create({**ask(Q), "messages": [{"role": "nobody", "content": "x"}]})
    assert (seen.calls[0].status, seen.calls[0].diagnosis) == (400, None)


def test_a_lost_connection_is_recorded_and_raised():
    def gone(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("gone", request=request)

    told: list[Watched] = []
    http = httpx2.Client(transport=httpx2.MockTransport(gone))
    client = anthropic.Anthropic(
        api_key="key", base_url="http://nowhere.invalid", http_client=http, max_retries=0
    )
    with pytest.raises(anthropic.APIConnectionError):
        watch(client, on_call=told.append).messages.create(**ask(Q))
    (call,) = told
    assert (call.status, call.diagnosis, call.usage) == (None, None, None)
    assert call.error.startswith("APIConnectionError")


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.parametrize("stream", [False, True])
def test_answers_that_come_packed_are_read_all_the_same(encoding, stream):
    figures = {"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 900}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [],
    }
    message |= {"stop_reason": None, "stop_sequence": None, "usage": figures}
    end = {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}
    events = [
        {"type": "message_start", "message": message},
        {"type": "message_delta", **end},
        {"type": "message_stop"},
    ]
    parts = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events]
    body = ("".join(parts) if stream else json.dumps(message)).encode()
    headers = {"content-type": "text/event-stream" if stream else "application/json"}
    if encoding == "gzip":
        headers["content-encoding"] = encoding
        body = gzip.compress(body)

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(body))

    told: list[Watched] = []
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = watch(
        anthropic.Anthropic(
            api_key="key", base_url="http://nowhere.invalid", http_client=http, max_retries=0
        ),
        on_call=told.append,
    )
    got = client.messages.create(**ask(Q), stream=stream)
    if stream:
        assert [event.type for event in got] == ["message_start", "message_delta", "message_stop"]
    assert told[0].usage.cache_creation_input_tokens == 900
    assert told[0].usage.output_tokens == (7 if stream else 1)
    assert told[0].diagnosis.verdict == "cold start"


def test_a_retry_after_a_refusal_is_compared_with_the_call_before_both():
    seen = Seen(replies=["one", overloaded(), "two"])
    seen.create(ask(Q))
    changed = ask(Q, *turn(1), system=[text("[1500] the rules of the ship")])
    with pytest.raises(anthropic.APIStatusError):
        seen.create(changed)
    seen.create(changed)
    assert seen.verdicts == ["cold start", None, "prefix changed"]
    assert seen.calls[-1].first_difference.startswith("system[0].text")


def test_two_agents_on_one_client_are_not_compared_with_each_other():
    seen = Seen()
    agents = {name: [text(f"[1500] you are the {name}")] for name in ("cook", "pilot")}
    for history in ((), turn(1), (*turn(1), *turn(2))):
        for name, system in agents.items():
            seen.create(ask(user(text(f"[30] a task for the {name}")), *history, system=system))
    assert seen.verdicts == ["cold start", "cold start"] + ["hit"] * 4
    assert not any(call.first_difference for call in seen.calls[2:])


def test_conversations_beyond_those_remembered_are_not_compared():
    seen = Seen(remember=2)
    for name in ("a", "b", "c"):
        seen.create(ask(user(text(f"[30] {name * 9}")), system=[text(f"[1500] {name}")]))
    seen.create(ask(user(text(f"[30] {'a' * 9}")), *turn(1), system=[text("[1500] a!")]))
    assert seen.calls[-1].diagnosis.compared_with is None


def test_a_late_change_is_shown_beside_a_hit():
    seen = Seen()
    system = [text("[1500] the rules", cache_control=MARK)]
    for now in ("10:41:07", "10:41:09"):
        seen.create(ask(user(text(f"[9] it is {now}")), system=system, cache_control=...))
    assert seen.calls[1].diagnosis.verdict == "hit"
    assert "10:41:07 became 10:41:09" in seen.calls[1].first_difference


# --- sinks


def test_the_live_line_holds_figures_dollars_and_verdict():
    out = io.StringIO()
    seen = Seen(live=out)
    seen.create(ask(Q))
    seen.create(ask(Q))
    first, second = out.getvalue().splitlines()
    usage = seen.calls[0].usage
    assert f"written {usage.cache_creation_input_tokens:,}" in first
    assert first.endswith("cold start: nothing it could read had been stored")
    assert second.endswith(": hit")
    assert f"${seen.calls[1].bill_usd:.4f}" in second
    assert second == str(seen.calls[1])


def test_live_true_writes_to_standard_error(capsys):
    Seen(live=True).create(ask(Q))
    told = capsys.readouterr()
    assert "cold start" in told.err
    assert told.out == ""


def test_jsonl_gets_a_line_a_call_in_a_file_or_a_stream(tmp_path):
    out, path = io.StringIO(), tmp_path / "calls.jsonl"
    for sink in (out, path):
        seen = Seen(jsonl=sink)
        seen.create(ask(Q))
        seen.create(ask(Q, *turn(1)))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows == [json.loads(line) for line in out.getvalue().splitlines()]
    assert [row["verdict"] for row in rows] == ["cold start", "hit"]
    assert rows[1]["read_tokens"] == seen.calls[1].usage.cache_read_input_tokens


def test_nothing_that_was_said_stands_in_a_line(tmp_path):
    path = tmp_path / "calls.jsonl"
    seen = Seen(jsonl=path)
    seen.create(ask(user(text("[30] my secret question"))))
    assert "secret" not in path.read_text(encoding="utf-8")


def test_a_failing_callback_is_told_once_and_never_reaches_the_caller(capsys):
    def fails(call: Watched) -> None:
        raise ZeroDivisionError("mine")

    seen = Seen(on_call=fails)
    for _ in range(3):
        assert seen.create(ask(Q)).usage.input_tokens > 0
    told = capsys.readouterr().err
    assert told.count("on_call failed (ZeroDivisionError: mine)") == 1


def test_a_file_that_cannot_be_written_does_not_stop_the_callback(tmp_path, capsys):
    seen = Seen(jsonl=tmp_path)
    seen.create(ask(Q))
    assert seen.verdicts == ["cold start"]
    assert "jsonl failed" in capsys.readouterr().err


def test_a_coroutine_function_as_callback_is_told_and_not_forgotten(capsys):
    async def on_call(call: Watched) -> None: ...

    Seen(on_call=on_call).create(ask(Q))
    assert "on_call failed (TypeError" in capsys.readouterr().err


def test_what_is_no_client_is_refused():
    with pytest.raises(InvalidArgumentError, match="client"):
        watch(object())
    with pytest.raises(InvalidArgumentError, match="remember"):
        watch(Emulator().client(), remember=0)


# --- what is held


def test_of_all_requests_only_the_text_of_the_last_is_held():
    clock = ManualClock(1000.0)
    answers = ["ok"] * 9
    seen = Seen(clock=clock, on_call=None, replies=answers)
    for n in range(6):
        words = "-".join(["needle", str(n)])
        seen.create(ask(user(text(f"[30] {words} {'x' * 500}"))))
    seen.api.calls.clear()
    observer = seen.client.middleware[-1]._observer
    gc.collect()
    texts = [
        block.wire_bytes
        for record in observer.tracker.remembered
        if record.sketch is not None and record.sketch.prompt is not None
        for block in record.sketch.prompt.blocks
    ]
    assert any(b"needle-5" in one for one in texts)
    assert not any(b"needle-%d" % n in one for one in texts for n in range(5))


def test_old_texts_are_really_gone():
    """Nothing the observer holds leads to them."""
    seen = Seen(on_call=None)
    for n in range(4):
        seen.create(ask(Q, *turn(1), user(text(f"[30] needle-{n} {'y' * 300}"))))
    observer = seen.client.middleware[-1]._observer
    reached, queue = set(), [observer.tracker]
    held: list[bytes] = []
    while queue:
        one = queue.pop()
        if id(one) in reached or isinstance(one, type):
            continue
        reached.add(id(one))
        if isinstance(one, (bytes, str)):
            held.append(one.encode() if isinstance(one, str) else one)
            continue
        module = type(one).__module__
        if module.startswith(("ctxlab", "builtins", "collections")):
            queue += gc.get_referents(one)
    assert any(b"needle-3" in one for one in held)
    assert not any(b"needle-%d" % n in one for one in held for n in range(3))


# --- sync and async


def _story(call: Any, clock: ManualClock) -> Any:
    """One story for both clients: a generator of requests and waits."""
    system = [text("[1500] the rules of the ship")]
    yield call(ask(Q)), 2
    yield call(ask(Q, *turn(1))), 300
    yield call(ask(Q, *turn(1), *turn(2))), 2
    yield call(ask(Q, *turn(1), *turn(2), system=system)), 2
    yield call(ask(Q, *turn(1), system=system, model="claude-sonnet-5-5")), 2


def _told(calls: list[Watched]) -> list[dict[str, Any]]:
    return [call.to_dict() for call in calls]


@pytest.mark.parametrize("stream", [False, True])
def test_both_kinds_of_client_tell_the_same(stream):
    plain = Seen()
    for body, wait_s in _story(dict, plain.clock):
        answer = plain.client.messages.create(**body, stream=stream)
        if stream:
            list(answer)
        plain.clock.advance(wait_s)

    other = Seen()

    async def run() -> None:
        client = watch(other.api.async_client(), **other.options)
        for body, wait_s in _story(dict, other.clock):
            answer = await client.messages.create(**body, stream=stream)
            if stream:
                async for _ in answer:
                    pass
            other.clock.advance(wait_s)

    asyncio.run(run())
    assert _told(plain.calls) == _told(other.calls)
    assert plain.verdicts == ["cold start", "hit", "expired", "prefix changed", "model changed"]


def test_calls_sent_together_are_not_yet_visible_to_each_other():
    seen = Seen()

    async def run() -> None:
        client = watch(seen.api.async_client(), **seen.options)
        await client.models.list()
        await asyncio.gather(*(client.messages.create(**ask(Q)) for _ in range(4)))
        seen.clock.advance(1)
        await client.messages.create(**ask(Q))

    asyncio.run(run())
    assert sorted(seen.verdicts) == ["cold start", "hit", *["not yet visible"] * 3]


def test_threads_may_share_a_watched_client():
    seen = Seen()
    bodies = [ask(user(text(f"[30] {n}")), system=[text(f"[1500] agent {n}")]) for n in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda body: seen.client.messages.create(**body), bodies))
    assert sorted(call.number for call in seen.calls) == list(range(1, 9))
    assert not [call for call in seen.calls if call.error]


def test_options_set_later_keep_the_watch_and_two_watches_do_not_disturb_each_other():
    seen, more = Seen(), []
    client = watch(seen.client.with_options(timeout=5), on_call=more.append, clock=seen.clock)
    client.messages.create(**ask(Q))
    assert ["cold start"] == seen.verdicts == [call.diagnosis.verdict for call in more]


def test_what_the_server_cleared_is_read_from_a_stream_as_well():
    seen = Seen()
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 2},
        "keep": {"type": "tool_uses", "value": 1},
    }
    history = [Q]
    for n in range(3):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "find", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"[200] found {n}"}
        history += [{"role": "assistant", "content": [call]}, user(result)]
        body = ask(
            *history,
            context_management={"edits": [edit]},
            tools=[{"name": "find", "input_schema": {"type": "object"}}],
        )
        with seen.client.beta.messages.stream(**body, betas=["context-management-2025-06-27"]) as stream:
            stream.get_final_message()
        seen.clock.advance(2)
    assert seen.verdicts == ["cold start", "hit", "prefix changed"]
    assert seen.calls[-1].diagnosis.path == "context_management"
