"""Promises of compaction: when it happens, what each pass costs, what its block does, what is refused."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import anthropic
import pytest
from anthropic import beta_tool
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.clock import ManualClock
from ctxlab.cost import bill
from ctxlab.emulator import ContextRules, Emulator, Summary, call, compaction_unavailable
from ctxlab.emulator.compaction import sign
from ctxlab.emulator.summaries import NO_SUMMARY_REASONS
from ctxlab.errors import InvalidArgumentError
from ctxlab.usage import Usage
from tests.emulated import HELLO, MARK, MODEL, a_request, a_word_a_token, assistant, text, user

THRESHOLD, ON_DEMAND = "compact-2026-01-12", "compact-2026-09-04"
EDITING = "context-management-2025-06-27"
LEDGER = "[100] A summary of the ledger."
V3 = "claude-sonnet-4-6"
TOOLS = [{"name": "read", "input_schema": {"type": "object"}}]
GOING_ON = [
    user(text("[60000] The ledger.")),
    assistant(text("Noted.")),
    user(text("Which book is the first?")),
]


def an_emulator(*summaries: Any, replies: Any = "echo", **options: Any) -> Emulator:
    options = {"summaries": summaries} if summaries else options
    return Emulator(clock=ManualClock(), counter=a_word_a_token, replies=replies, **options)


def compact(trigger: int = 50_000, **more: Any) -> dict[str, Any]:
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": trigger}, **more}
    return {"edits": [edit]}


def due(**more: Any) -> dict[str, Any]:
    return a_request(**{"messages": GOING_ON, "context_management": compact(), **more})


def ask(api: Emulator, request: dict[str, Any], *betas: str) -> Any:
    return api.client().beta.messages.create(**request, betas=list(betas) or [THRESHOLD])


def on_demand(api: Emulator, messages: list[Any] | None = None, **more: Any) -> Any:
    request = a_request(
        **{"max_tokens": 4000, "messages": messages or GOING_ON, "compaction": {"type": "summarize"}, **more}
    )
    return ask(api, request, ON_DEMAND)


def continued(answer: Any, *more: Any) -> list[Any]:
    return [{"role": "assistant", "content": answer.to_dict()["content"]}, *more]


def totals(answer: Any) -> list[tuple[str, int]]:
    return [(one.type, one.total_input_tokens) for one in Usage.from_response(answer).iterations]


# --- at the threshold


@pytest.mark.parametrize(("tokens", "happens"), [(49_993, False), (49_994, True)])
def test_a_prompt_that_reaches_the_trigger_is_summarised(tokens, happens):
    api = an_emulator(LEDGER)
    answer = ask(api, due(messages=[user(text(f"[{tokens}] The ledger."))]))
    assert (
        api.client()
        .beta.messages.count_tokens(model=MODEL, messages=[user(text(f"[{tokens}] The ledger."))])
        .input_tokens
        == tokens + 6
    )
    assert ([block.type for block in answer.content] == ["compaction", "text"]) is happens
    assert (api.calls[0].compaction is not None) is happens


def test_a_trigger_that_has_to_be_exceeded_is_a_switch():
    messages = [user(text("[49994] The ledger."))]
    api = an_emulator(LEDGER, context_rules=ContextRules(compacting_at="exceeds"))
    api = Emulator(
        clock=ManualClock(),
        counter=a_word_a_token,
        summaries=[LEDGER],
        context_rules=ContextRules(compacting_at="exceeds"),
    )
    assert [block.type for block in ask(api, due(messages=messages)).content] == ["text"]


def test_without_a_trigger_it_is_a_hundred_and_fifty_thousand():
    for tokens, happens in ((149_993, False), (149_994, True)):
        api = an_emulator(LEDGER)
        edits = {"edits": [{"type": "compact_20260112"}]}
        ask(api, due(messages=[user(text(f"[{tokens}] The ledger."))], context_management=edits))
        assert (api.calls[0].compaction is not None) is happens


def test_the_summary_comes_first_and_the_reply_goes_on_from_it():
    api = an_emulator(LEDGER)
    answer = ask(api, due())
    block, reply = answer.content
    assert (block.type, block.content, block.signature) == ("compaction", LEDGER, None)
    assert (reply.text, answer.stop_reason) == ("Which book is the first?", "end_turn")
    assert answer.context_management.to_dict() == {"applied_edits": []}


def test_the_pass_reads_the_prompt_and_168_and_the_answer_reads_the_summary_and_101():
    for model in (V3, MODEL):
        api = an_emulator(LEDGER)
        prompt = api.client().beta.messages.count_tokens(model=model, messages=GOING_ON).input_tokens
        answer = ask(api, due(model=model))
        assert totals(answer) == [("compaction", prompt + 168), ("message", 100 + 101)]


def test_the_top_level_sums_every_pass_but_the_summary_and_the_bill_counts_them_all():
    api = an_emulator(Summary(LEDGER, output_tokens=3_500))
    answer = ask(api, due())
    usage = Usage.from_response(answer)
    summary, message = usage.iterations
    assert (usage.input_tokens, usage.output_tokens) == (message.input_tokens, message.output_tokens)
    assert summary.output_tokens == 3_500
    assert summary.total_input_tokens > 60_000
    assert bill(usage, MODEL).total_usd > 10 * bill(Usage(input_tokens=usage.input_tokens), MODEL).total_usd
    books = api.calls[0]
    assert (books.usage.iterations, books.usage.input_tokens) == (usage.iterations, usage.input_tokens)
    assert bill(books.usage, MODEL).total_usd == bill(usage, MODEL).total_usd


def test_passes_are_told_wherever_the_edit_is_and_nowhere_else():
    short = ask(an_emulator(LEDGER), due(messages=[HELLO]))
    assert [one.type for one in short.usage.iterations] == ["message"]
    assert ask(an_emulator(), a_request(), EDITING).usage.iterations is None


def test_a_paused_compaction_shows_nothing_at_the_top():
    api = an_emulator(LEDGER, replies=[])
    answer = ask(api, due(context_management=compact(pause_after_compaction=True)))
    assert [block.type for block in answer.content] == ["compaction"]
    assert answer.stop_reason == "compaction"
    told = answer.usage.to_dict()
    assert {name: told[name] for name in told if name != "iterations"} == {
        "input_tokens": 0,
        "output_tokens": 0,
    }
    assert [one["type"] for one in told["iterations"]] == ["compaction"]
    assert api.calls[0].usage.flags == Usage.from_response(answer).flags == {"no-message-iteration"}
    assert api.calls[0].usage.billed_input_tokens > 60_000


def test_a_pause_is_gone_on_with_from_the_block():
    api = an_emulator(LEDGER, replies=["The blue one."])
    paused = ask(api, due(context_management=compact(pause_after_compaction=True)))
    again = ask(api, due(messages=[*GOING_ON, {"role": "assistant", "content": paused.content}]))
    assert again.content[0].text == "The blue one."
    assert totals(again) == [("message", 201)]


def test_everything_before_the_last_block_is_ignored_and_a_lost_block_brings_it_all_back():
    api = an_emulator(LEDGER, "[90] Another.")
    answer = ask(api, due())
    kept = ask(api, due(messages=[*GOING_ON, *continued(answer, HELLO)]))
    dropped = ask(api, due(messages=continued(answer, HELLO)))
    assert totals(kept) == totals(dropped)
    assert totals(kept)[0][1] < 300
    texts_only = [*GOING_ON, assistant(text(answer.content[1].text)), HELLO]
    assert totals(ask(api, due(messages=texts_only)))[0][1] > 60_000


def test_of_several_blocks_the_last_one_rules():
    blocks = [assistant({"type": "compaction", "content": f"[{size}] Summary."}) for size in (5_000, 40)]
    both, last = ([*before, blocks[1], HELLO] for before in ([blocks[0], HELLO], []))
    assert totals(ask(an_emulator(), due(messages=both))) == totals(ask(an_emulator(), due(messages=last)))


@pytest.mark.parametrize("written", [None, "", Summary(None, stop_reason="tool_use", output_tokens=40)])
def test_a_pass_that_writes_no_summary_leaves_a_block_with_null_and_the_conversation_whole(written):
    api = an_emulator(written)
    answer = ask(api, due())
    assert answer.to_dict()["content"][0] == {"type": "compaction", "content": None}
    summary, message = Usage.from_response(answer).iterations
    assert summary.total_input_tokens == message.total_input_tokens + 168
    again = ask(an_emulator(LEDGER), due(messages=[*GOING_ON, *continued(answer, HELLO)]))
    assert again.content[0].content == LEDGER  # nothing was summarised, so it is due as before


def test_an_empty_block_is_refused():
    messages = [assistant({"type": "compaction", "content": ""}), HELLO]
    api = an_emulator()
    with pytest.raises(anthropic.BadRequestError, match=r"messages\.0\.content\.0\.content: is empty"):
        ask(api, due(messages=messages))
    assert api.calls[0].usage is None


def test_a_block_without_a_compaction_header_is_no_block():
    messages = [assistant({"type": "compaction", "content": LEDGER}), HELLO]
    for betas in ([], [EDITING]):
        with pytest.raises(anthropic.BadRequestError, match="Input tag 'compaction' found"):
            an_emulator().client().beta.messages.create(**a_request(messages=messages), betas=betas)


# --- what the cache sees


def test_a_pass_reads_the_warm_prefix_and_100_tokens_of_it_are_fresh_as_recorded():
    api = an_emulator(LEDGER, LEDGER)
    request = due(model=V3, messages=[user(text("[55010] Filler."))], system=[text("[10] Rules.")])
    cold, warm = (ask(api, {**request, "cache_control": MARK}) for _ in range(2))
    for answer in (cold, warm):
        summary = Usage.from_response(answer).iterations[0]
        assert (summary.total_input_tokens, summary.input_tokens) == (55_196, 100)
    assert cold.usage.iterations[0].cache_creation_input_tokens == 55_096
    assert warm.usage.iterations[0].cache_read_input_tokens == 55_096


def test_a_marker_on_the_system_prompt_survives_the_summary():
    api = an_emulator(LEDGER)
    answer = ask(api, due(system=[text("[2000] Rules.", cache_control=MARK)]))
    summary, message = answer.usage.iterations
    assert message.cache_read_input_tokens == summary.cache_creation_input_tokens > 2_000
    assert api.calls[0].compaction.spans[0][1] == "W"
    assert api.calls[0].spans[0][1] == "R"
    assert len(api.calls[0].compaction.reasons) == len(api.calls[0].reasons) == 1


def test_a_summary_that_is_marked_when_it_comes_back_is_read_by_the_next_request():
    api = an_emulator("[3000] A long summary.")
    answer = ask(api, due())
    block = {**answer.to_dict()["content"][0], "cache_control": MARK}
    for _ in range(2):
        ask(api, due(messages=[assistant(block, text("Noted.")), HELLO]))
    assert (
        api.calls[1].usage.cache_creation_input_tokens == api.calls[2].usage.cache_read_input_tokens > 3_000
    )


def test_where_the_words_of_the_edit_stand_and_how_long_a_summary_may_be_are_switches():
    marked = due(system=[text("[2000] Rules.", cache_control=MARK)])
    written = {}
    for stands in ("messages", "front"):
        rules = ContextRules(edit_stands=stands)
        api = Emulator(clock=ManualClock(), counter=a_word_a_token, summaries=[LEDGER], context_rules=rules)
        written[stands] = ask(api, marked).usage.iterations[0].cache_creation_input_tokens
    assert written["front"] == written["messages"] + 71
    rules = ContextRules(threshold_room="max_tokens")
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, summaries=[LEDGER], context_rules=rules)
    assert ask(api, due(max_tokens=50)).content[0].content is None


def test_a_client_that_leaves_before_the_first_byte_leaves_neither_entries_nor_a_bill():
    api = an_emulator(LEDGER, LEDGER)
    body = json.dumps(due(system=[text("[2000] Rules.", cache_control=MARK)], stream=True)).encode()
    headers = {"x-api-key": api.key(), "anthropic-version": "2026-10-21", "anthropic-beta": THRESHOLD}
    opened = api.engine.open("POST", "/v1/messages", "", headers, body)
    opened.close()
    assert (api.calls[0].state, api.calls[0].usage, len(api.engine.cache)) == ("abandoned", None, 0)
    opened = api.engine.open("POST", "/v1/messages", "", headers, body)
    next(opened)
    opened.close()
    cut = api.calls[1]
    assert cut.state == "cut"
    assert "stream-cut" in cut.usage.flags
    assert len(api.engine.cache) == 1
    assert [one.output_tokens for one in cut.usage.iterations] == [102, 1]


# --- streams, and clients of both kinds


def streamed(api: Emulator, request: dict[str, Any], beta: str) -> tuple[list[Any], Any]:
    with api.client().beta.messages.stream(**request, betas=[beta]) as stream:
        return list(stream), stream.get_final_message()


def test_a_summary_at_the_threshold_starts_empty_and_comes_in_one_delta():
    events, message = streamed(an_emulator(LEDGER), due(), THRESHOLD)
    own = [event for event in events if getattr(event, "index", None) == 0]
    assert [event.type for event in own] == [
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    ]
    assert own[0].content_block.to_dict() == {"type": "compaction", "content": None}
    assert own[1].delta.to_dict() == {"type": "compaction_delta", "content": LEDGER}
    assert [event.content for event in events if event.type == "compaction"] == [LEDGER]
    assert "iterations" not in events[0].message.usage.to_dict()
    plain = ask(an_emulator(LEDGER), due())
    assert Usage.from_response(message) == Usage.from_response(plain)
    assert [block.to_dict(exclude_none=True) for block in message.content] == [
        block.to_dict() for block in plain.content
    ]


def test_a_summary_on_demand_stands_whole_in_its_start():
    request = a_request(max_tokens=4000, messages=GOING_ON, compaction={"type": "summarize"})
    events, message = streamed(an_emulator(LEDGER), request, ON_DEMAND)
    own = [event for event in events if getattr(event, "index", None) == 0]
    assert [event.type for event in own] == ["content_block_start", "content_block_stop"]
    assert own[0].content_block.to_dict() == {
        "type": "compaction",
        "content": LEDGER,
        "signature": sign(LEDGER),
    }
    assert message.stop_reason == "compaction"
    assert Usage.from_response(message) == Usage.from_response(on_demand(an_emulator(LEDGER)))


def test_an_asynchronous_client_is_told_the_same():
    async def both() -> list[Any]:
        client = an_emulator(LEDGER, LEDGER).async_client()
        request = a_request(max_tokens=4000, messages=GOING_ON, compaction={"type": "summarize"})
        one = await client.beta.messages.create(**request, betas=[ON_DEMAND])
        return [await client.beta.messages.create(**due(), betas=[THRESHOLD]), one]

    threshold, asked_for = asyncio.run(both())
    assert threshold.content == ask(an_emulator(LEDGER), due()).content
    assert asked_for.content == on_demand(an_emulator(LEDGER)).content


# --- on demand


def test_a_compaction_on_demand_is_one_signed_block_and_shows_nothing_at_the_top():
    api = an_emulator(LEDGER, replies=[])
    answer = on_demand(api)
    assert answer.to_dict()["content"] == [
        {"type": "compaction", "content": LEDGER, "signature": sign(LEDGER)}
    ]
    assert answer.stop_reason == "compaction"
    assert answer.context_management is None
    assert {name for name in answer.usage.to_dict() if name != "iterations"} == {
        "input_tokens",
        "output_tokens",
    }
    prompt = api.client().beta.messages.count_tokens(model=MODEL, messages=GOING_ON).input_tokens
    assert totals(answer) == [("compaction", prompt + 168)]
    assert api.calls[0].compaction.on_demand
    assert api.calls[0].compaction.summary.evidence == "scripted"


def test_it_reads_what_an_ordinary_request_has_written():
    api = an_emulator(LEDGER)
    ask(api, a_request(messages=GOING_ON, cache_control=MARK), EDITING)
    on_demand(api, cache_control=MARK)
    left, found = api.calls[0].usage, api.calls[1].usage.iterations[0]
    assert found.cache_read_input_tokens == left.cache_creation_input_tokens
    assert found.input_tokens == left.input_tokens + 168


def test_where_the_words_that_ask_for_it_stand_is_a_switch():
    rules = ContextRules(on_demand_prompt="around")
    api = Emulator(clock=ManualClock(), counter=a_word_a_token, summaries=[LEDGER], context_rules=rules)
    behind = on_demand(an_emulator(LEDGER), cache_control=MARK).usage.iterations[0]
    around = on_demand(api, cache_control=MARK).usage.iterations[0]
    assert around.cache_creation_input_tokens == behind.cache_creation_input_tokens + 71
    assert around.input_tokens == behind.input_tokens - 71


@pytest.mark.parametrize(
    "as_sent",
    [
        lambda answer: answer.to_dict()["content"],
        lambda answer: answer.model_dump(exclude_none=True)["content"],
        lambda answer: answer.content,
        lambda answer: json.loads(answer.to_json())["content"],
    ],
    ids=["to_dict", "model_dump without nulls", "objects", "to_json"],
)
def test_its_block_makes_a_short_prompt_when_it_is_sent_back_first(as_sent):
    api = an_emulator(LEDGER)
    answer = on_demand(api)
    for role in ("assistant", "user"):
        messages = [{"role": role, "content": [*as_sent(answer)]}, HELLO]
        ask(api, a_request(messages=messages), ON_DEMAND)
        assert api.calls[-1].usage.total_input_tokens < 220
    with_the_rest = [user(*as_sent(answer), text("And on."))]
    assert ask(api, a_request(messages=with_the_rest), ON_DEMAND).stop_reason == "end_turn"


def test_a_conversation_is_compacted_again_with_its_old_block_in_place():
    api = an_emulator(LEDGER, "[80] A newer summary.")
    first = on_demand(api)
    second = on_demand(api, continued(first, HELLO))
    assert second.content[0].content == "[80] A newer summary."
    assert totals(second)[0][1] < 400


def test_a_conversation_that_ends_with_an_answer_can_be_compacted_and_a_count_of_it_ignores_the_parameter():
    ended = [*GOING_ON, assistant(text("The blue one."))]
    assert on_demand(an_emulator(LEDGER), ended).stop_reason == "compaction"
    client = an_emulator().client()
    count = client.beta.messages.count_tokens(
        model=MODEL, messages=GOING_ON, compaction={"type": "summarize"}, betas=[ON_DEMAND]
    )
    assert (
        count.input_tokens == client.beta.messages.count_tokens(model=MODEL, messages=GOING_ON).input_tokens
    )


@pytest.mark.parametrize("reason", NO_SUMMARY_REASONS)
def test_a_compaction_without_a_summary_is_an_empty_answer_that_is_billed(reason):
    api = an_emulator(Summary(None, output_tokens=55, stop_reason=reason))
    answer = on_demand(api)
    assert (answer.content, answer.stop_reason) == ([], reason)
    (spent,) = api.calls[0].usage.iterations
    assert spent.output_tokens == 55
    assert spent.total_input_tokens > 60_000


def test_a_summary_that_does_not_fit_max_tokens_is_none():
    answer = on_demand(an_emulator(LEDGER), max_tokens=60)
    assert (answer.content, answer.stop_reason) == ([], "max_tokens")
    assert answer.usage.iterations[0].output_tokens == 60


def test_the_tool_runner_compacts_before_its_next_turn():
    @beta_tool
    def read(page: int) -> str:
        """Reads a page.

        Args:
            page: Its number.
        """
        return "word " * 500

    api = an_emulator(LEDGER, replies=[[call("read", page=1)], "The blue one."])
    runner = api.client().beta.messages.tool_runner(
        model=MODEL, max_tokens=4000, tools=[read], messages=[HELLO], betas=[ON_DEMAND]
    )
    reasons = []
    for message in runner:
        reasons.append(message.stop_reason)
        if message.stop_reason == "tool_use":
            runner.compact_before_next_turn()
    assert reasons == ["tool_use", "compaction", "end_turn"]
    *_, summarised, last = api.calls
    assert summarised.compaction.on_demand
    assert summarised.usage.billed_input_tokens > 900
    assert [block.type for block in last.prompt.blocks if block.segment == "messages"] == ["compaction"]


def test_the_tool_runner_compacts_what_it_streams_and_leaves_out_what_shapes_a_reply():
    @beta_tool
    def read(page: int) -> str:
        """Reads a page.

        Args:
            page: Its number.
        """
        return f"Page {page}."

    api = an_emulator(LEDGER, replies=[[call("read", page=1)], "The blue one."])
    runner = api.client().beta.messages.tool_runner(
        model=MODEL,
        max_tokens=4000,
        tools=[read],
        messages=[user(text("[60000] The ledger."))],
        betas=[ON_DEMAND],
        stop_sequences=["END"],
        stream=True,
    )
    reasons = []
    for stream in runner:
        message = stream.get_final_message()
        reasons.append(message.stop_reason)
        if len(reasons) == 1:
            runner.compact_before_next_turn({"type": "summarize", "instructions": "Be brief."})
    assert reasons == ["tool_use", "compaction", "end_turn"]
    billed = [one for one in api.calls if one.usage is not None]  # a thread is asked for first, and refused
    assert [one.compaction is not None for one in billed] == [False, True, False]
    assert billed[1].usage.billed_input_tokens > 60_000 > 1_000 > billed[2].usage.billed_input_tokens


def test_the_tool_runner_keeps_the_conversation_where_no_summary_came():
    api = an_emulator(None, replies=["One.", "Two."])
    runner = api.client().beta.messages.tool_runner(
        model=MODEL, max_tokens=4000, tools=[], messages=[HELLO], betas=[ON_DEMAND]
    )
    for _message in runner:
        if api.calls[-1].compaction is None:
            runner.compact_before_next_turn()
    said, summarised = api.calls[-2:]
    assert (said.stop_reason, said.compaction, summarised.stop_reason) == ("end_turn", None, "end_turn")
    assert summarised.compaction.summary.content is None
    assert runner.until_done().content[0].text == "One."


# --- what is refused


def block(content: str = LEDGER, signature: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "compaction", "content": content, "signature": signature or sign(content), **more}


CODED: dict[str, tuple[dict[str, Any], str]] = {
    "behind a message": ({"messages": [HELLO, assistant(block())]}, "compaction_block_misplaced"),
    "behind a text": ({"messages": [user(text("Well."), block())]}, "compaction_block_misplaced"),
    "in a system message": (
        {"messages": [{"role": "system", "content": [block()]}, HELLO]},
        "compaction_block_misplaced",
    ),
    "two of them": (
        {"messages": [assistant(block(), block("[9] Other.")), HELLO]},
        "compaction_block_ambiguous",
    ),
    "an old one left": (
        {"messages": [assistant(block()), HELLO, assistant(block())]},
        "compaction_block_ambiguous",
    ),
    "another text": (
        {"messages": [assistant(block("A forgery.", sign(LEDGER))), HELLO]},
        "compaction_content_mismatch",
    ),
    "one space more": (
        {"messages": [assistant(block(LEDGER + " ", sign(LEDGER))), HELLO]},
        "compaction_content_mismatch",
    ),
    "its text nulled": (
        {"messages": [assistant({"type": "compaction", "content": None, "signature": sign(LEDGER)}), HELLO]},
        "compaction_content_mismatch",
    ),
    "its text taken out": (
        {"messages": [assistant({"type": "compaction", "signature": sign(LEDGER)}), HELLO]},
        "compaction_content_mismatch",
    ),
    "nulled and behind a message": (
        {"messages": [HELLO, assistant({"type": "compaction", "content": None, "signature": sign(LEDGER)})]},
        "compaction_block_misplaced",
    ),
    "an old one nulled and left": (
        {"messages": [assistant({**block(), "content": None}), HELLO, assistant(block())]},
        "compaction_block_ambiguous",
    ),
    "nulled and signed by somebody": (
        {"messages": [assistant({"type": "compaction", "content": None, "signature": "c2ln"}), HELLO]},
        "compaction_signature_invalid",
    ),
    "signed by somebody": (
        {"messages": [assistant(block(signature="c2lnbmVk")), HELLO]},
        "compaction_signature_invalid",
    ),
    "signed anew without the key": (
        {"messages": [assistant(block("A forgery.", sign("A forgery.")[:-64] + sign(LEDGER)[-64:])), HELLO]},
        "compaction_signature_invalid",
    ),
    "not signed": (
        {"messages": [assistant({"type": "compaction", "content": LEDGER}), HELLO]},
        "compaction_signature_invalid",
    ),
    "tools that nobody changed": (
        {"messages": [assistant(block(tool_changes=[])), HELLO]},
        "compaction_tool_changes_mismatch",
    ),
    "an open call": (
        {
            "tools": TOOLS,
            "compaction": {"type": "summarize"},
            "messages": [
                HELLO,
                assistant({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}),
            ],
        },
        "compaction_incomplete_turn",
    ),
    "no messages": ({"compaction": {"type": "summarize"}, "messages": []}, "compaction_nothing_to_summarize"),
    "blank messages": (
        {"compaction": {"type": "summarize"}, "messages": [{"role": "user", "content": " "}]},
        "compaction_nothing_to_summarize",
    ),
    "a summary that failed": (
        {
            "compaction": {"type": "summarize"},
            "messages": [assistant({"type": "compaction", "content": None})],
        },
        "compaction_nothing_to_summarize",
    ),
}


@pytest.mark.parametrize("case", CODED)
def test_what_is_wrong_with_a_block_has_the_sdks_name_and_leaves_nothing(case):
    fields, code = CODED[case]
    request = a_request(**fields)
    before, api = copy.deepcopy(request), an_emulator(LEDGER)
    with pytest.raises(anthropic.BadRequestError) as refused:
        ask(api, request, ON_DEMAND)
    assert refused.value.error_code == code
    assert type(refused.value).__name__ == "".join(word.capitalize() for word in code.split("_")) + "Error"
    assert request == before
    last = api.calls[-1]
    assert (last.state, last.usage, last.compaction, len(api.engine.cache)) == ("refused", None, None, 0)


FORM = {"type": "json_schema", "schema": {"type": "object", "properties": {}, "additionalProperties": False}}
REFUSED: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "without its header": ({}, (EDITING,), "compaction: Extra inputs are not permitted"),
    "beside edits": (
        {"context_management": {"edits": []}},
        (ON_DEMAND, EDITING),
        "compaction: cannot be combined with `context_management`",
    ),
    "with stop sequences": (
        {"stop_sequences": ["END"]},
        (ON_DEMAND,),
        "compaction: cannot be combined with `stop_sequences`",
    ),
    "with an output format": (
        {"output_config": {"format": FORM}},
        (ON_DEMAND,),
        "compaction: cannot be combined with `output_config.format`",
    ),
    "with what is left of a task budget": (
        {"output_config": {"task_budget": {"type": "tokens", "total": 30_000, "remaining": 0}}},
        (ON_DEMAND,),
        "compaction: cannot be combined with `output_config.task_budget.remaining`",
    ),
    "with a forced choice": (
        {"model": "claude-opus-4-8", "tools": TOOLS, "tool_choice": {"type": "any"}},
        (ON_DEMAND,),
        "compaction: cannot be combined with `tool_choice.type: any`",
    ),
    "of another kind": (
        {"compaction": {"type": "threshold"}},
        (ON_DEMAND,),
        "compaction: Input tag 'threshold' found using 'type' does not match any of the expected tags: "
        "'summarize'",
    ),
    "with long instructions": (
        {"compaction": {"type": "summarize", "instructions": "x" * 16_385}},
        (ON_DEMAND,),
        "compaction.instructions: String should have at most 16384 characters",
    ),
    "on a model that cannot": (
        {"model": "claude-haiku-4-5"},
        (ON_DEMAND,),
        "compaction: not supported on claude-haiku-4-5",
    ),
}


@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("case", REFUSED)
def test_a_compaction_is_refused_with_what_shapes_a_reply(case):
    fields, betas, says = REFUSED[case]
    request = a_request(**{"compaction": {"type": "summarize"}, **fields})
    api = an_emulator(LEDGER)
    with pytest.raises(anthropic.BadRequestError) as refused:
        ask(api, request, *betas)
    assert refused.value.body["error"]["message"] == says
    assert (api.calls[-1].usage, api.calls[-1].state) == (None, "refused")


def test_a_block_without_text_that_nobody_signed_still_stands_for_nothing():
    failed = assistant({"type": "compaction", "content": None})
    for betas in ((ON_DEMAND,), (THRESHOLD,), (ON_DEMAND, THRESHOLD)):
        request = a_request(messages=[HELLO, failed, HELLO])
        assert ask(an_emulator(), request, *betas).stop_reason == "end_turn"


@pytest.mark.parametrize("asked", [{}, {"compaction": {"type": "summarize"}}])
def test_a_task_budget_that_the_api_would_take_is_not_emulated(asked):
    budget = {"type": "tokens", "total": 30_000, **({} if asked else {"remaining": 9})}
    with pytest.raises(
        anthropic.APIStatusError, match=r"not emulated: output_config\.task_budget"
    ) as refused:
        ask(an_emulator(), a_request(output_config={"task_budget": budget}, **asked), ON_DEMAND)
    assert refused.value.status_code == 501
    with pytest.raises(anthropic.BadRequestError, match="task_budget: Extra inputs"):
        an_emulator().client().beta.messages.create(**a_request(output_config={"task_budget": budget}))


def test_instructions_and_a_choice_that_forces_nothing_are_taken():
    more = {"tools": TOOLS, "tool_choice": {"type": "auto"}, "stop_sequences": []}
    answer = on_demand(
        an_emulator(LEDGER), compaction={"type": "summarize", "instructions": "Be brief."}, **more
    )
    assert answer.stop_reason == "compaction"


def test_the_header_goes_with_every_later_request():
    request = a_request(messages=[assistant(block()), HELLO])
    for betas, says in (([], "Input tag 'compaction' found"), ([THRESHOLD], "signature: Extra inputs")):
        with pytest.raises(anthropic.BadRequestError, match=says):
            an_emulator().client().beta.messages.create(**request, betas=betas)


def test_a_signed_block_does_not_go_with_a_compaction_edit_and_does_with_clearing():
    request = a_request(messages=[assistant(block()), HELLO])
    with pytest.raises(anthropic.BadRequestError, match="cannot be combined with a signed"):
        ask(an_emulator(), {**request, "context_management": compact()}, ON_DEMAND, THRESHOLD)
    clear = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    assert (
        ask(an_emulator(), {**request, "context_management": clear}, ON_DEMAND, EDITING).stop_reason
        == "end_turn"
    )


def test_a_plain_dump_has_nulls_that_are_refused_and_the_same_without_them_is_taken():
    api = an_emulator(LEDGER)
    answer = on_demand(api)
    dumped = {"role": "assistant", "content": answer.model_dump()["content"]}
    with pytest.raises(anthropic.BadRequestError, match=r"encrypted_content: Extra inputs are not permitted"):
        ask(api, a_request(messages=[dumped, HELLO]), ON_DEMAND)
    kept = assistant({"type": "text", "text": "Noted.", "citations": None})
    with pytest.raises(anthropic.BadRequestError, match=r"messages\.1\.content\.0\.text\.citations"):
        ask(api, a_request(messages=[*continued(answer), kept, HELLO]), ON_DEMAND)
    assert ask(api, a_request(messages=[kept, HELLO]), ON_DEMAND).stop_reason == "end_turn"


@given(st.text(min_size=1).filter(str.strip), st.text())
def test_a_signature_is_that_of_its_text_and_of_no_other(content, other):
    assert sign(content) == sign(content)
    assert (sign(content) == sign(other)) is (content == other)


# --- where summaries come from


def test_a_function_of_what_is_read_writes_them_and_may_change_its_request():
    seen = []

    def write(request: dict[str, Any]) -> str:
        seen.append([message["content"][0]["type"] for message in request["messages"]])
        request["messages"].clear()
        return LEDGER

    api = an_emulator(summaries=write)
    answer = on_demand(api)
    assert (
        on_demand(api, continued(answer, HELLO | {"content": [text("Go on.")]})).stop_reason == "compaction"
    )
    assert seen == [["text", "text", "text"], ["compaction", "text"]]


def test_by_default_a_summary_says_how_the_users_messages_begin():
    answer = on_demand(an_emulator())
    assert (
        "The user said, in 2 messages: [60000] The ledger. | Which book is the first?"
        in answer.content[0].content
    )
    again = on_demand(an_emulator(), continued(answer, HELLO))
    assert "Before that: The user said, in 2 messages" in again.content[0].content


def test_a_script_that_is_used_up_or_wrong_is_our_own_error():
    api = an_emulator(LEDGER)
    on_demand(api)
    with pytest.raises(anthropic.InternalServerError, match="no summary left: it had 1"):
        on_demand(api)
    with pytest.raises(anthropic.InternalServerError, match="gave no summary"):
        on_demand(an_emulator(3))
    with pytest.raises(InvalidArgumentError, match="summaries"):
        an_emulator(summaries="sometimes")


def test_a_summary_may_be_unavailable_and_the_next_try_succeeds():
    api = an_emulator(compaction_unavailable(), LEDGER)
    with pytest.raises(anthropic.APIStatusError) as refused:
        on_demand(api)
    assert (refused.value.status_code, refused.value.error_code) == (529, "compaction_unavailable")
    assert (api.calls[0].usage, api.calls[0].state) == (None, "refused")
    assert on_demand(api).content[0].content == LEDGER


@pytest.mark.parametrize(
    "wrong",
    [Summary(LEDGER, output_tokens=-1), Summary(LEDGER, stop_reason="tired"), Summary(3)],  # type: ignore[arg-type]
)
def test_a_summary_that_cannot_be_is_named(wrong):
    with pytest.raises(InvalidArgumentError, match="summary"):
        Summary.of(wrong)


def test_books_let_go_of_both_plans():
    api = an_emulator(LEDGER, LEDGER, LEDGER)
    api.calls.hold_positions = 1
    for _ in range(3):
        ask(api, due())
    first, last = api.calls[0], api.calls[-1]
    assert (first.plan, first.compaction.plan) == (None, None)
    assert last.compaction.plan is not None
    assert first.compaction.reasons
    assert first.compaction.usage.total_input_tokens > 60_000
