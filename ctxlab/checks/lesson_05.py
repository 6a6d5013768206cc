"""Questions and exercises of notebook 05, server-side compaction and context editing.

Truths about compaction are read from recorded answers when they are asked for; those about editing come from
the cache model, and the learner's runs from the emulator through the real client. Summaries are scripted.
"""

from __future__ import annotations

import copy
import math
import pprint
import random
import textwrap
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxlab import cost, recordings
from ctxlab.catalogue import get_model
from ctxlab.checks.exercises import Case, Exercise, is_blank, same
from ctxlab.checks.managed import (
    COMPACTING,
    EDITING,
    FIXED_TOKENS,
    around_the_cut,
    as_read,
    before_and_after,
    edited,
    emulated,
    first_cleared,
    five_policies,
    four_and_five,
    pays_back,
    rates_for,
    summary_of,
    turns_to_pay,
    turns_until,
)
from ctxlab.checks.predictions import Field, Option, Prediction
from ctxlab.checks.quantities import Between
from ctxlab.checks.runs import MODEL, Explained, Pair, drawable, text, user, words
from ctxlab.effective import (
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    COMPACT,
    DEFAULT_KEEP_TOOL_USES,
    DEFAULT_TRIGGER_TOKENS,
    LEAST_COMPACT_TRIGGER_TOKENS,
    effective,
)
from ctxlab.levers import missing, words_of
from ctxlab.usage import CacheCreation, Iteration, Usage

if TYPE_CHECKING:
    from ctxlab.figures import Figure, Table

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "around_the_cut",
    "as_read",
    "four_and_five",
    "pays_back",
    "turns_to_pay",
    "words",
]

_MTOK = 1_000_000

BEFORE, PAUSED = "langchain/test_compaction#0", "langchain/test_compaction#1"
COLD = "pydantic-ai/test_anthropic_compaction_usage_with_cache#0"
WARM = "pydantic-ai/test_anthropic_compaction_usage_with_cache_streaming#0"
REPLIES = (
    "ruby_llm/chat_anthropic_claude-sonnet-4-6_compacts_a_long_conversation_and_bills_the_summarization_pass"
    "#0"
)
_LONG_REPLY = "ai/anthropic-compaction.1#0"
"""Recorded answers: before a compaction, paused after one, cold, warm, and one that goes on to reply."""

# --- recorded compactions


def usage_of(exchange: str) -> Usage:
    """The ``usage`` of a recorded answer."""
    usage = recordings.exchange(exchange).usage
    assert usage is not None
    return usage


def _pass(usage: Usage) -> Iteration:
    """The step that wrote a summary."""
    return next(one for one in usage.iterations if one.type == "compaction")


def _top(usage: Usage) -> dict[str, int]:
    return {"input": usage.input_tokens, "output": usage.output_tokens}


def _steps(usage: Usage) -> dict[str, int]:
    """Input and output of all steps: what somebody expects who takes the top level for a sum."""
    return {"input": usage.billed_input_tokens, "output": usage.billed_output_tokens}


def icebergs(exchanges: Mapping[str, str]) -> Figure:
    """Recorded compactions by name: what the top level shows of each, and what it leaves out."""
    from ctxlab.figures.iceberg import Berg, iceberg

    bergs = []
    for name, exchange in exchanges.items():
        usage = usage_of(exchange)
        summary = _pass(usage)
        hidden = {
            "R": summary.cache_read_input_tokens,
            "W": summary.cache_creation_input_tokens,
            "F": summary.input_tokens,
            "O": summary.output_tokens,
        }
        shown = usage.total_input_tokens + usage.output_tokens
        bergs.append(Berg(name, shown, {cls: tokens for cls, tokens in hidden.items() if tokens}))
    least = min(berg.hidden_tokens / (berg.shown_tokens + berg.hidden_tokens) for berg in bergs)
    told = f"{math.floor(1000 * least) / 10:g} % or more" if len(bergs) > 1 else f"{100 * least:.0f} %"
    return iceberg(
        bergs,
        title="What the top level shows of a compaction",
        alt=f"The top level of usage leaves out {told} of the tokens that were billed.",
        evidence="recorded",
        source="Claude Opus 4.6 and Sonnet 4.6, 2026",
    )


def more_icebergs() -> Figure:
    """Three more recorded compactions; none of them had a cache."""
    return icebergs(
        {
            "plain": "pydantic-ai/test_anthropic_compaction_end_to_end#0",
            "streamed": "langchain/test_compaction_streaming#1",
            "long reply": _LONG_REPLY,
        }
    )


def pass_usd(usage: Usage, model: str = "claude-sonnet-4-6") -> Decimal:
    """What the steps that wrote summaries cost."""
    return cost.bill(usage, model).by_iteration()["compaction"]


def _pass_as(**classes: Any) -> dict[str, Decimal]:
    """The same pass with its input in other classes."""
    step = Iteration(type="compaction", output_tokens=_pass(usage_of(WARM)).output_tokens, **classes)
    return {"usd": pass_usd(Usage(iterations=(step,)))}


def _two_passes() -> Pair:
    from ctxlab.figures import prefix_strip

    drawn = []
    for title, exchange in (("First request", COLD), ("The same, minutes later", WARM)):
        step = _pass(usage_of(exchange))
        held, letter = step.cache_read_input_tokens, "R"
        if not held:
            held, letter = step.cache_creation_input_tokens, "W"
        did = "reads" if letter == "R" else "writes"
        drawn.append(
            prefix_strip(
                [("conversation", letter, held), ("the rest", "F", step.input_tokens)],
                title=f"{title}: its pass",
                alt=f"The pass {did} {held:,} of {step.total_input_tokens:,} tokens.",
                evidence="recorded",
                source="Claude Sonnet 4.6, 2026",
                bill=pass_usd(usage_of(exchange)),
            )
        )
    return Pair(*drawn)


def after_the_cut() -> Explained:
    """Recorded first requests after a compaction by the client: how much of the old prefix is still read."""
    from ctxlab.figures import table

    rows = []
    for name, at in _CUTS:
        turns = recordings.session(name).turns
        before, now = turns[at - 1].usage, turns[at].usage
        rows.append(
            (
                f"{name.split('/')[-1]}:{at + 1}",
                before.total_input_tokens,
                now.input_tokens,
                now.cache_creation_input_tokens,
                now.cache_read_input_tokens,
            )
        )
    header = ("session:turn", "input before", "fresh", "written", "still read")
    caption = "The first request after a compaction"
    return Explained(
        table(rows, header, caption=caption, labelled="recorded", source="compactions by the client"),
        "What was marked in front of the history is still the same prefix, so it is still read. One agent "
        "read nothing; what it had marked, its log does not say.",
    )


def policies() -> Explained:
    """A session under five policies, and what follows for the choice between clearing and compacting."""
    return Explained(
        five_policies(),
        "A compaction breaks the prefix once, and then the prefix grows again. Clearing breaks it whenever "
        "one more result leaves the newest three. That is so where the server clears anew on every request, "
        "as the emulator does. Then clear_at_least, the documented cure, only delays it.",
        "Without a cache, clearing always saves. With one, it has to be rare to pay. In batches it is rare: "
        "let keep grow with each call, and fall back to three now and then.",
    )


def still_read(usage: Any) -> str:
    """How much of what 05-c's first request stored its second still reads; refuses more than half."""
    stored = edited()[0].layout.positions[-1].cumulative_tokens or 0
    share = usage.cache_read_input_tokens / stored
    assert share < 0.5
    return (
        f"{share:.0%} of what was stored is still read. So the emulator holds with the short document.\n"
        "In degree the long one has a point: cleared in batches, the prefix breaks seldom."
    )


_CUTS = (
    ("cli/session-1284c080", 159),
    ("cli/session-6113e919", 50),
    ("cli/session-375d5d79", 183),
    ("cli/session-a318ad73", 121),
    ("pi-mono/before-compaction", 294),
)


# --- facts and measures for home


def recorded_answer() -> dict[str, Any]:
    """A response with a compaction as somebody would have saved it: model and ``usage``, no text."""
    exchange = recordings.exchange(_LONG_REPLY)
    return {"model": exchange.response_model, "usage": _figures_of(_LONG_REPLY)}


def triggers() -> Table:
    """What starts each lever, by default and at the least, and since when."""
    from ctxlab.figures import table

    rows = [
        (COMPACT, f"{DEFAULT_TRIGGER_TOKENS[COMPACT]:,}", f"{LEAST_COMPACT_TRIGGER_TOKENS:,}", "2026-01"),
        (
            CLEAR_TOOL_USES,
            f"{DEFAULT_TRIGGER_TOKENS[CLEAR_TOOL_USES]:,}, keeps {DEFAULT_KEEP_TOOL_USES}",
            "none",
            "2025-09",
        ),
        (CLEAR_THINKING, "no trigger", "none", "2025-10"),
        ("compaction on demand", "no trigger: you ask", "none", "2026-09"),
        ("compaction_control of the Python SDK", "100,000", "none", "removed in 1.0.0, 2026-08-20"),
    ]
    header = ("lever", "default", "minimum", "since")
    return table(rows, header, caption="Input tokens that set each lever off", labelled="documented")


def shares_of_a_session() -> Table:
    """What three recorded sessions added to their histories: results of tools, and text of the user."""
    from ctxlab.figures import table

    rows = []
    for name in ("cli/session-375d5d79", "cli/session-1284c080", "pi-mono/before-compaction"):
        blocks = [block for turn in recordings.session(name).turns for block in turn.blocks]
        chars = sum(block.chars or 0 for block in blocks)
        results = sum(block.chars or 0 for block in blocks if block.type == "tool_result")
        rows.append((name.split("/")[-1], chars, f"{100 * results / chars:.0f} %"))
    header = ("session", "characters from outside", "of these results of tools")
    caption = "What clearing could reach"
    return table(rows, header, caption=caption, labelled="recorded", source="answers not counted")


def thinking_kept() -> Table:
    """Which models keep earlier thinking unless a request says otherwise."""
    from ctxlab.figures import table

    models = (
        "claude-sonnet-4-5",
        "claude-haiku-4-5",
        "claude-opus-4-5",
        "claude-sonnet-4-6",
        "claude-haiku-5-5",
        MODEL,
    )
    rows = [(name, str(get_model(name).keeps_thinking)) for name in models]
    caption = "Thinking of earlier turns that stays by default"
    return table(rows, ("model", "keeps"), caption=caption, labelled="documented")


def on_demand() -> Any:
    """An emulated answer to a request for a compaction, without a threshold."""
    api, _ = emulated(summaries=["Two books, the first one is kept."])
    messages = [user(text("book", 60_000)), {"role": "assistant", "content": "Noted."}, user(text("on", 3))]
    asked = {"model": MODEL, "max_tokens": 4_000, "messages": messages}
    return api.client().beta.messages.create(
        **asked, compaction={"type": "summarize"}, betas=["compact-2026-09-04"]
    )


# --- predictions


def _cleared_figures() -> dict[str, int]:
    usage = edited()[1].usage()
    return {"read": usage.cache_read_input_tokens, "written": usage.cache_creation_input_tokens}


def _read_up_to(blocks: int) -> dict[str, int]:
    """The figures of somebody who thinks that so many blocks are read."""
    ends = [position.cumulative_tokens or 0 for position in edited()[1].layout.positions]
    read = ends[blocks - 1] if blocks else 0
    return {"read": read, "written": ends[-1] - read}


def _as_if_edited_later() -> dict[str, int | Between]:
    """The last entry that is still sent is read; some count the results that were cleared as read as well."""
    first, second = edited()
    stored = first.layout.positions[-1].cumulative_tokens or 0
    still = _read_up_to(-2)
    assert second.layout.total_tokens is not None
    return {"read": Between(still["read"], stored), "written": still["written"]}


def _as_if_new() -> dict[str, int | Between]:
    """All is written; some count the tokens behind the last block as well."""
    total, written = edited()[1].layout.total_tokens or 0, _read_up_to(0)["written"]
    return {"read": 0, "written": Between(written, total)}


_TOP_REPLIES = (
    "The top level of `usage` counts the steps that reply; the bill is the sum of all `iterations`."
)


def _in_and_out() -> tuple[Field, ...]:
    return Field("input", "input_tokens at the top"), Field("output", "output_tokens at the top")


PREDICTIONS = (
    Prediction(
        id="05-a",
        question="What do `input_tokens` and `output_tokens` say at the top level of this `usage`?",
        fields=_in_and_out(),
        options=(
            Option("A", "83,555 and 139: the top adds up what all steps used", "the-top-is-the-sum"),
            Option(
                "B",
                "83,555 and 0: the history was read as input, and nothing was said to you",
                "only-the-reading-counts",
            ),
            Option("C", "0 and 0: the top counts steps that reply, and this one did not"),
            Option(
                "D",
                "0 and 139: the history was paid for before, and the summary is the output",
                "the-history-was-paid-before",
            ),
        ),
        truth=lambda: _top(usage_of(PAUSED)),
        read_result=_top,
        misconceptions={
            "the-top-is-the-sum": lambda: _steps(usage_of(PAUSED)),
            "only-the-reading-counts": lambda: {**_steps(usage_of(PAUSED)), "output": 0},
            "the-history-was-paid-before": lambda: {**_steps(usage_of(PAUSED)), "input": 0},
        },
        rule="sum-iterations",
        rule_sentence=_TOP_REPLIES,
        evidence="recorded",
        source="Claude Opus 4.6, langchain's own tests, 2026",
        picture=lambda usage: icebergs({"paused": PAUSED}),
        why="No step of this request replied, so the top level is empty. Its two figures were there before "
        "compaction was, and still say what replies read and put out. A dashboard that reads them sees a "
        "free request.",
    ),
    Prediction(
        id="05-b",
        question="What does the pass of the second request cost, its output included?",
        fields=(Field("usd", "the pass", "usd"),),
        options=(
            Option("A", "About 2 cents: its input is the prefix that was stored"),
            Option(
                "B",
                "About 17 cents: a summary takes a full reading, without the writing",
                "a-pass-reads-at-full-price",
            ),
            Option(
                "C",
                "About 21 cents: the order to summarise makes it another prompt",
                "a-pass-is-another-prompt",
            ),
            Option(
                "D",
                "About 0.2 cents: what is cached has been paid for",
                "what-is-cached-is-paid",
            ),
        ),
        truth=lambda: {"usd": pass_usd(usage_of(WARM))},
        read_result=lambda usage: {"usd": pass_usd(usage)},
        misconceptions={
            "a-pass-reads-at-full-price": lambda: _pass_as(
                input_tokens=_pass(usage_of(WARM)).total_input_tokens
            ),
            "a-pass-is-another-prompt": lambda: _pass_as(
                input_tokens=_pass(usage_of(COLD)).input_tokens,
                cache_creation=CacheCreation(_pass(usage_of(COLD)).cache_creation_input_tokens),
            ),
            "what-is-cached-is-paid": lambda: _pass_as(input_tokens=_pass(usage_of(WARM)).input_tokens),
        },
        rule="the-pass-reads-the-prefix",
        rule_sentence="The pass sends the conversation itself, and reads what the cache holds of it.",
        evidence="recorded",
        source="Claude Sonnet 4.6, pydantic-ai's own tests, 2026-08",
        picture=lambda usage: _two_passes(),
        why="A pass sends the conversation as it was, and the order to summarise behind it. In front of that "
        "order nothing has changed, so it is read at the price of a read while the cache is "
        "warm.",
    ),
    Prediction(
        id="05-c",
        question="What does the second request read from the cache, and what does it write?",
        fields=(
            Field("read", "read from the cache", "tokens"),
            Field("written", "written to the cache", "tokens"),
        ),
        options=(
            Option(
                "A",
                "It reads all that was stored and is still sent: clearing comes behind the cache",
                "edits-come-after-the-cache",
            ),
            Option(
                "B",
                "It reads up to the first cleared result: so far the two requests are the same",
                "reads-up-to-the-change",
            ),
            Option(
                "C",
                "It reads nothing: an edited conversation is another conversation",
                "an-edited-prompt-is-new",
            ),
            Option("D", "It reads tools and system prompt: the next entry ends behind a cleared result"),
        ),
        truth=_cleared_figures,
        read_result=lambda answer: {
            "read": answer.usage.cache_read_input_tokens,
            "written": answer.usage.cache_creation_input_tokens,
        },
        misconceptions={
            "edits-come-after-the-cache": _as_if_edited_later,
            "reads-up-to-the-change": lambda: _read_up_to(first_cleared()),
            "an-edited-prompt-is-new": _as_if_new,
        },
        rule="clearing-breaks-the-prefix",
        rule_sentence="Clearing changes the prompt at the first cleared result; entries that end behind it "
        "are lost.",
        evidence="emulated",
        source="two turns of this notebook's own",
        uses=("api/edits-break-prefixes", "entries-at-markers"),
        agreement="The page on context editing says so; some users report that reads go on.",
        picture=lambda answer: before_and_after(),
        why="What stays is word for word what it was. But it now stands behind something else.",
    ),
    Prediction(
        id="05-exit",
        question="What do `input_tokens` and `output_tokens` say at the top level of this `usage`?",
        fields=_in_and_out(),
        options=(
            Option(
                "A", "The larger step: the pass, since the reply only follows from it", "the-top-is-the-pass"
            ),
            Option("B", "What the reply read and put out: the pass is told in `iterations` only"),
            Option("C", "All that was billed: both steps belong to one request", "the-top-is-the-sum"),
            Option(
                "D",
                "Two zeros: the request was compacted, and that empties the top",
                "a-compaction-shows-zero",
            ),
        ),
        truth=lambda: _top(usage_of(REPLIES)),
        read_result=_top,
        misconceptions={
            "the-top-is-the-pass": lambda: {
                "input": _pass(usage_of(REPLIES)).input_tokens,
                "output": _pass(usage_of(REPLIES)).output_tokens,
            },
            "the-top-is-the-sum": lambda: _steps(usage_of(REPLIES)),
            "a-compaction-shows-zero": lambda: {"input": 0, "output": 0},
        },
        rule="sum-iterations",
        rule_sentence=_TOP_REPLIES,
        evidence="recorded",
        source="Claude Sonnet 4.6, ruby_llm's own tests, 2026-08",
        picture=lambda usage: icebergs({"with a reply": REPLIES}),
        why="The pass is billed, and told in `iterations` alone. The top level misses 99.8 % of the input.",
    ),
)


# --- exercises

_DOCUMENTED = {
    "input_tokens": 23_000,
    "output_tokens": 1_000,
    "iterations": [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
    ],
}
"""The worked example of the compaction page, as a ``usage``."""


def documented_usage() -> dict[str, Any]:
    """The worked example of the compaction page: 180,000 tokens give way to 23,000."""
    return copy.deepcopy(_DOCUMENTED)


def rates_of(model: str = MODEL) -> dict[str, float]:
    """Dollars per million tokens of each class, writes for five minutes."""
    prices = get_model(model).rates_at()
    card = prices.card(0)
    of = card.input_usd_per_mtok
    return {
        "fresh": float(of),
        "written": float(of * prices.cache_write_5m_multiplier),
        "read": float(of * prices.cache_read_multiplier),
        "output": float(card.output_usd_per_mtok),
    }


def _billed(usage: Mapping[str, Any], rates: Mapping[str, float]) -> tuple[int, int, Fraction]:
    told = Usage.from_response(usage)
    exact = {name: Fraction(str(rate)) for name, rate in rates.items()}
    usd = sum(
        (
            one.input_tokens * exact["fresh"]
            + one.cache_creation_input_tokens * exact["written"]
            + one.cache_read_input_tokens * exact["read"]
            + one.output_tokens * exact["output"]
            for one in told.billed
        ),
        Fraction(0),
    )
    return told.billed_input_tokens, told.billed_output_tokens, usd / _MTOK


_THREE = "three numbers: tokens of input, tokens of output, dollars"


def _bill_cases(rng: random.Random) -> list[Case]:
    rates, sonnet = rates_of(), rates_of("claude-sonnet-4-6")
    steps = [
        {
            "type": kind,
            "input_tokens": rng.randrange(9, 200_000),
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "output_tokens": rng.randrange(9, 4_000),
        }
        for kind in ("message", "compaction", "message")
    ]
    top = {
        name: steps[0][name] + steps[2][name]  # type: ignore[operator]
        for name in ("input_tokens", "output_tokens")
    }
    read, written = rng.randrange(9_000, 90_000), rng.randrange(900, 9_000)
    plain = {
        "input_tokens": rng.randrange(9, 400),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": rng.randrange(9, 900),
    }
    nulls = {
        "input_tokens": 12,
        "cache_read_input_tokens": None,
        "cache_creation_input_tokens": None,
        "output_tokens": 30,
        "iterations": [
            {"type": "message", "input_tokens": 12, "cache_read_input_tokens": None, "output_tokens": 30}
        ],
    }
    asked = [
        ("sum-iterations", _DOCUMENTED, rates, "the documented example", False),
        ("sum-iterations", {**top, "iterations": steps}, rates, "compacted between two replies", True),
        ("sum-iterations", _figures_of(PAUSED), sonnet, "paused after the compaction", True),
        ("each-class-its-price", _figures_of(COLD), sonnet, "a pass that writes", True),
        ("each-class-its-price", _figures_of(WARM), sonnet, "a pass that reads", True),
        ("no-iterations", plain, rates, "no `iterations`", False),
        ("no-iterations", {**plain, "iterations": None}, rates, "`iterations` is None", False),
        ("nulls-are-zeros", nulls, rates, "cache figures are missing or None", True),
    ]
    shape = Case("three-figures", (_DOCUMENTED, rates), _THREE, label="the documented example", spec=_THREE)
    return [shape] + [
        Case(rule, (usage, prices), bill, label=label, hidden=hidden, spec=f"`{(*bill[:2], float(bill[2]))}`")
        for rule, usage, prices, label, hidden in asked
        for bill in [_billed(usage, prices)]
    ]


def _figures_of(exchange: str) -> dict[str, Any]:
    """The counts of a recorded ``usage``, as it came."""
    figures = recordings.exchange(exchange).figures
    assert figures is not None
    return copy.deepcopy(dict(figures))


def _same_bill(got: Any, expected: Any) -> bool:
    if isinstance(got, Mapping | str):
        return False
    input_tokens, output_tokens, usd = got
    if expected == _THREE:
        return all(isinstance(one, Real | Decimal) and not isinstance(one, bool) for one in got)
    rounded = abs(float(usd) - float(expected[2])) <= 1e-6
    return rounded and not isinstance(usd, bool) and same([input_tokens, output_tokens], list(expected[:2]))


# --- a request made legal

PARTS = ("clearing", "thinking", "compaction")
_DRAFT: Mapping[str, Any] = {
    "client": "client.messages",
    "betas": None,
    "clearing": "clear_tool_uses",
    "thinking": "clear_thinking",
    "compaction": COMPACTING,
    "order": PARTS,
    "trigger": 40_000,
    "parameter": None,
}
_LEGAL: Mapping[str, Any] = {
    "client": "client.beta.messages",
    "betas": [EDITING, COMPACTING],
    "clearing": CLEAR_TOOL_USES,
    "thinking": CLEAR_THINKING,
    "compaction": COMPACT,
    "order": ["thinking", "clearing", "compaction"],
    "trigger": LEAST_COMPACT_TRIGGER_TOKENS,
    "parameter": {"type": "adaptive"},
}


def _edits(form: Mapping[str, Any]) -> list[dict[str, Any]]:
    by_part = {
        "clearing": {
            "type": form["clearing"],
            "trigger": {"type": "input_tokens", "value": 100_000},
            "keep": {"type": "tool_uses", "value": 3},
            "exclude_tools": ["web_search"],
            "clear_at_least": {"type": "input_tokens", "value": 20_000},
        },
        "thinking": {"type": form["thinking"], "keep": "all"},
        "compaction": {
            "type": form["compaction"],
            "trigger": {"type": "input_tokens", "value": form["trigger"]},
        },
    }
    if sorted(form["order"]) != sorted(PARTS):
        raise ValueError(f"order names {', '.join(PARTS)}, each once")
    return [by_part[part] for part in form["order"]]


def draft() -> None:
    """Print the request as the team wrote it."""
    print('client.messages.create(model="claude-opus-4-8", max_tokens=4096, tools=tools,')
    print('    messages=messages, extra_body={"context_management": {"edits": [')
    for edit in _edits(_DRAFT):
        print(textwrap.indent(pprint.pformat(edit, sort_dicts=False, width=76), " " * 8) + ",")
    print("    ]}})")


def answer_to(form: Mapping[str, Any]) -> str:
    """What comes of the request with the form filled in so far; what is blank stays as the team wrote it.

    >>> answer_to({})
    '400: context_management: Extra inputs are not permitted'
    """
    import anthropic

    whole = {**_DRAFT, **{name: value for name, value in form.items() if not is_blank(value)}}
    api, _ = emulated()
    client = api.client()
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("web_search", "read_file")]
    asked: dict[str, Any] = {
        "model": "claude-opus-4-8",
        "max_tokens": 4_096,
        "tools": tools,
        "messages": [user(text("on", 3))],
    }
    try:
        asked["extra_body"] = {"context_management": {"edits": _edits(whole)}}
        if whole["betas"] is not None:
            listed = whole["betas"]
            asked["betas"] = [listed] if isinstance(listed, str) else list(listed)
        if whole["parameter"] is not None:
            asked["thinking"] = whole["parameter"]
        messages = _messages_of(client, whole["client"])
        answer = messages.create(**asked)
    except anthropic.APIStatusError as error:
        told = error.body["error"]["message"] if isinstance(error.body, dict) else str(error)
        return f"{error.status_code}: {told}"
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return f"200: {answer.stop_reason}"


def _messages_of(client: Any, named: Any) -> Any:
    """The part of the client that a learner named, with or without ``.create``."""
    named = str(named).strip().removesuffix(".create")
    if named not in ("client.messages", "client.beta.messages"):
        raise ValueError("client is client.messages or client.beta.messages")
    return client.beta.messages if named == "client.beta.messages" else client.messages


def _form_cases(rng: random.Random) -> list[Case]:
    rules = {
        "client": "client",
        "betas": "header",
        "clearing": "dated-names",
        "thinking": "dated-names",
        "compaction": "dated-names",
        "order": "thinking-first",
        "trigger": "least-trigger",
        "parameter": "thinking-on",
    }
    return [Case(rule, (name,), name, label=f"`{name}`", hidden=True) for name, rule in rules.items()]


def _accepted(got: Any, name: str) -> bool:
    if name == "trigger" and got != LEAST_COMPACT_TRIGGER_TOKENS:
        return False
    return answer_to({**_LEGAL, name: got}).startswith("200")


class _Said(str):
    """A refusal, wrapped to the width of a panel."""

    def __repr__(self) -> str:
        return textwrap.fill(str(self), 76)


@drawable
def _answered(case: Case, got: Any) -> object:
    answer = answer_to({**_LEGAL, case.args[0]: got})
    if case.args[0] == "trigger" and answer.startswith("200"):
        least = f"{LEAST_COMPACT_TRIGGER_TOKENS:,}"
        return _Said(f"The API takes it; the task asks for the earliest, and that is {least}.")
    return _Said(f"With all else right the answer is {answer}")


# --- going on after a compaction


def _history(rng: random.Random) -> list[dict[str, Any]]:
    return [
        user(text(f"ledger{rng.randrange(100, 999)}", rng.randrange(30_000, 33_000))),
        {"role": "assistant", "content": f"Noted, {rng.randrange(100, 999)}."},
        user(text(f"annex{rng.randrange(100, 999)}", rng.randrange(22_000, 25_000))),
    ]


def _block(rng: random.Random) -> dict[str, Any]:
    return {"type": "compaction", "content": f"Summary {rng.randrange(10_000, 99_999)}: two books, in order."}


def _going_on_cases(rng: random.Random) -> list[Case]:
    question = f"Which book is number {rng.randrange(2, 99)}?"
    reply = {"type": "text", "text": f"There are {rng.randrange(100, 999)} pages."}
    block, failed = _block(rng), {"type": "compaction", "content": None}
    older = [*_history(rng)[:1], {"role": "assistant", "content": [_block(rng)]}, *_history(rng)]
    asked: list[tuple[str, list[Any], list[dict[str, Any]], str]] = [
        (_TAKES_IT, _history(rng), [block, reply], "compacted and replied"),
        ("block-is-state", _history(rng), [block, reply], "compacted and replied"),
        ("block-is-state", _history(rng), [block], "paused after the compaction"),
        ("block-is-state", older, [block, reply], "compacted for the second time"),
        ("reply-stays", _history(rng), [block, reply], "compacted and replied"),
        ("no-summary-keeps-all", _history(rng), [failed, reply], "the summary failed: `content` is None"),
    ]
    cases = []
    for rule, messages, content, label in asked:
        reason = "end_turn" if len(content) > 1 else "compaction"
        response = {"role": "assistant", "content": content, "stop_reason": reason}
        spec = _SPECS[rule]
        cases.append(
            Case(
                rule,
                (messages, response, question),
                _Expected(rule, messages, content, question),
                label=label,
                spec=spec,
            )
        )
    return cases


_TAKES_IT = "the-api-takes-it"
_SPECS = {
    _TAKES_IT: "messages that the API takes",
    "block-is-state": "the server reads the summary in place of what it stands for",
    "reply-stays": "the reply and, last, the question are sent",
    "no-summary-keeps-all": "without a summary the whole history is still sent",
}


class _Expected(NamedTuple):
    """What a list of messages is held against."""

    rule: str
    messages: Sequence[Mapping[str, Any]]
    content: Sequence[Mapping[str, Any]]
    question: str


def _read_of(messages: Any) -> tuple[str, int]:
    """What the model reads of these messages, as text and in tokens; raises where the API refuses them."""
    edit = {"type": COMPACT, "trigger": {"type": "input_tokens", "value": 50_000}}
    api, _ = emulated(summaries=summary_of)
    asked = {"model": MODEL, "max_tokens": 200, "messages": messages}
    api.client().beta.messages.create(**asked, context_management={"edits": [edit]}, betas=[COMPACTING])
    call = api.calls[-1]
    tokens = call.compaction.usage.total_input_tokens if call.compaction else call.usage.context_tokens
    return words_of(effective(asked).request["messages"]), tokens


def _goes_on(got: Any, expected: _Expected) -> bool:
    got = got if isinstance(got, str | Mapping) else list(got)
    read, tokens = _read_of(got)
    if expected.rule == _TAKES_IT:
        return True
    told = [block.get("text") or block.get("content") for block in expected.content]
    if expected.rule == "block-is-state":
        return tokens < LEAST_COMPACT_TRIGGER_TOKENS and str(told[0]) in read and told[0] in _summaries(got)
    last = got[-1]
    asks = last["role"] == "user" and expected.question in words_of(last)
    if expected.rule == "reply-stays":
        return asks and str(told[-1]) in read
    return asks and all(words_of(message) in read for message in expected.messages)


def _summaries(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What the compaction blocks hold that are sent as the assistant's."""
    said = [message["content"] for message in messages if message["role"] == "assistant"]
    sent = [content for content in said if not isinstance(content, str)]
    return [block.get("content") for blocks in sent for block in blocks if block.get("type") == "compaction"]


@drawable
def _refusal(case: Case, got: Any) -> object:
    """The API's own answer to messages that it refuses."""
    import anthropic

    try:
        _read_of(got[1] if isinstance(got, tuple) else got)
    except anthropic.APIStatusError as error:
        told = error.body["error"]["message"] if isinstance(error.body, dict) else str(error)
        return _Said(f"The API answers {error.status_code}: {told}")
    return None


def prompt_of_next(messages: Any) -> int:
    """The tokens that the model, or the pass before it, reads of these messages."""
    return _read_of(messages)[1]


# --- when it pays


def _paying_cases(rng: random.Random) -> list[Case]:
    rates, bare = rates_for(True), rates_for(False)
    cases = [Case("amortise", (180_000, 3_500, FIXED_TOKENS, 0.05), 4, label="as in the notebook")]
    while len(cases) < 4:
        history, summary = rng.randrange(60_000, 400_000, 1_000), rng.randrange(2_000, 20_000, 500)
        fixed = rng.randrange(4_000, 30_000, 100)
        turns = turns_until(history, summary, fixed, rates)
        cheap = turns_until(history, summary, fixed, rates._replace(output=Fraction(0)))
        if turns is None or cheap is None or not _clear(turns) or math.ceil(cheap) == math.ceil(turns):
            continue
        cases.append(
            Case(
                "amortise",
                (history, summary, fixed, 0.05),
                math.ceil(turns),
                label="a warm cache",
                hidden=True,
            )
        )
    while len(cases) < 7:
        history, summary = rng.randrange(60_000, 400_000, 1_000), rng.randrange(2_000, 40_000, 500)
        fixed = rng.randrange(4_000, 30_000, 100)
        turns = turns_until(history, summary, fixed, bare)
        dear = turns_until(history, summary, fixed, bare._replace(write=Fraction(5, 4)))
        if turns is None or dear is None or not _clear(turns) or math.ceil(dear) == math.ceil(turns):
            continue
        cases.append(
            Case(
                "nothing-is-written",
                (history, summary, fixed, 1),
                math.ceil(turns),
                label="no cache",
                hidden=True,
            )
        )
    small = rng.randrange(20_000, 30_000, 100)
    cases += [
        Case("never-pays", (small, 6_000, small - 5_000, 0.05), None, label="more is left than there was"),
        Case(
            "never-pays",
            (small, 5_000, small - 5_000, 1),
            None,
            label="as much is left as there was",
            hidden=True,
        ),
    ]
    return cases


def _clear(turns: Fraction) -> bool:
    """Whether rounding cannot move the answer."""
    return Fraction(1, 50) < turns - math.floor(turns) < Fraction(49, 50)


# --- exact strings


def _keeping_cases(rng: random.Random) -> list[Case]:
    cases = []
    for label in ("a first compaction", "another agent"):
        port = str(rng.randrange(2_000, 9_999))
        path = f"C:\\feeds\\{rng.randrange(100, 999)}.csv"
        error = f'KeyError: "Zürich {rng.randrange(10, 99)}"'
        used = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"path": path}}
        result = {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": [{"type": "text", "text": f"line one\n{error}\n" + "row " * rng.randrange(50, 90)}],
        }
        messages = [
            {"role": "user", "content": f"Listen on port {port}. The feed is {path}."},
            {"role": "assistant", "content": [{"type": "text", "text": "I will read it."}, used]},
            {"role": "user", "content": [result]},
        ]
        told = f"The service listens on 1{port}; the feed {path} could not be read, a city was missing."
        response = {
            "role": "assistant",
            "content": [{"type": "compaction", "content": told}],
            "stop_reason": "compaction",
        }
        question = f"What next, number {rng.randrange(2, 99)}?"
        args = (messages, response, [port, path, error], question)
        cases += [
            Case(rule, args, (rule, *args), label=label, spec=spec)
            for rule, spec in (
                (_TAKES_IT, _SPECS[_TAKES_IT]),
                ("exact-survival", "each exact string stands in the store as it is"),
                ("all-is-saved", "each text of `messages` stands in the store as it is"),
                ("block-is-state", "the response's `content`, as it came, is the first message"),
                ("history-is-gone", "the texts of `messages` are not sent again"),
                ("lost-is-sent", "each exact string is read, the question in the last message"),
            )
        ]
    return cases


def _texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every text of these messages, those in the results of tools included."""
    found: list[str] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        for block in blocks:
            found += [one["text"] for one in (block, *block.get("content", ())) if one["type"] == "text"]
    return found


def _kept_right(got: Any, expected: Any) -> bool:
    rule, before, response, exact, question = expected
    store, messages = got
    if rule == _TAKES_IT:
        return bool(_read_of(messages))
    if rule == "exact-survival":
        return isinstance(store, str) and all(one in store for one in exact)
    if rule == "all-is-saved":
        return all(one in store for one in _texts(before))
    first = messages[0]
    if rule == "block-is-state":
        return bool(first["role"] == "assistant" and first["content"] == response["content"])
    read, _ = _read_of(messages)
    if rule == "history-is-gone":
        return not any(words_of(message["content"]) in read for message in before)
    return not missing(exact, read) and question in words_of(messages[-1])


_TWO_FIELDS = "A message has `role` and `content` only; `stop_reason` is not sent back."

EXERCISES = (
    Exercise(
        id="05-1",
        title="the true bill",
        asks=("true_bill",),
        rules={
            "three-figures": "The answer is three numbers in this order: input, output, dollars.",
            "sum-iterations": "Where there are `iterations`, they are the bill: each once, and not the top "
            "level beside them.",
            "each-class-its-price": "Fresh, written, read and put out have a price each.",
            "no-iterations": "Without `iterations` the top level is the bill.",
            "nulls-are-zeros": "A count that is missing or None is 0.",
        },
        cases=_bill_cases,
        compare=_same_bill,
    ),
    Exercise(
        id="05-2",
        title="make it legal",
        asks=("form",),
        answers=True,
        rules={
            "client": "`got an unexpected keyword argument 'betas'`: use `client.beta.messages`.",
            "header": "`context_management: Extra inputs are not permitted`: each edit wants its header.",
            "dated-names": "`does not match any of the expected tags`: an edit's type ends in its date.",
            "thinking-first": "`comes behind another edit`: clearing of thinking goes first.",
            "least-trigger": "`below the minimum of 50,000`: none starts earlier, and this one is to start "
            "there.",
            "thinking-on": "`requires thinking to be enabled or adaptive`: this model has it off by default.",
        },
        cases=_form_cases,
        compare=_accepted,
        draw=_answered,
    ),
    Exercise(
        id="05-3",
        title="go on after a compaction",
        asks=("go_on",),
        rules={
            _TAKES_IT: _TWO_FIELDS,
            "block-is-state": "The block goes back as a block of the assistant's: only so does it stand in "
            "place of the history.",
            "reply-stays": "What was replied and the new question are sent as well.",
            "no-summary-keeps-all": "A block without a summary stands for nothing: the history stays.",
        },
        cases=_going_on_cases,
        compare=_goes_on,
        draw=_refusal,
        home=True,
    ),
    Exercise(
        id="05-4",
        title="turns to pay",
        asks=("turns_to_pay",),
        rules={
            "amortise": "The pass, its output and the writing of the summary are paid once, "
            "what is saved comes turn by turn.",
            "nothing-is-written": "Without a cache the summary is fresh input like everything else.",
            "never-pays": "Where as much is sent as before, it never pays.",
        },
        cases=_paying_cases,
        home=True,
    ),
    Exercise(
        id="05-5",
        title="three exact strings",
        asks=("carry_on",),
        rules={
            _TAKES_IT: _TWO_FIELDS,
            "exact-survival": "What the summary replaces is stored so that an exact string is found in it.",
            "all-is-saved": "All texts are stored: nobody knows yet which string will be asked for.",
            "block-is-state": "The block goes first, as it came.",
            "history-is-gone": "What the summary stands for is stored, and not sent again.",
            "lost-is-sent": "What the summary has lost goes along, word for word, and so does the question.",
        },
        cases=_keeping_cases,
        compare=_kept_right,
        draw=_refusal,
        home=True,
    ),
)
