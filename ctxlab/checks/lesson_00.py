"""Questions and exercises of notebook 00, window and store.

Truths come from recorded sessions when they are asked for; nothing here holds an answer that can be computed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from ctxlab import recordings
from ctxlab.catalogue import models
from ctxlab.checks.exercises import Case, Exercise
from ctxlab.checks.predictions import Field as Figure
from ctxlab.checks.predictions import Figures, Option, Prediction
from ctxlab.figures import Figure as Picture
from ctxlab.figures import Table, bars_under_ceiling, table
from ctxlab.prompt import Prompt

LONG, SHORT = "cli/session-375d5d79", "cli/session-cde341db"
CACHED = "pydantic-ai/test_inline_system_prompt_cache_prefix_is_reused#1"
BARE = "pydantic-ai/test_anthropic_opus_48_features#0"


# --- what the notebook shows


def blocks_table(prompt: Prompt) -> Table:
    """The blocks of a request in the order in which the API reads them."""
    rows = [
        (block.path, block.role or "", block.type, block.chars, block.content_sha256[:8])
        for block in prompt.blocks
    ]
    header = ("place", "role", "type", "characters", "digest")
    return table(rows, header, caption="The request as one list of blocks")


def memory_types_table() -> Table:
    """The four memory types, rebuilt: the document's table is lost, its prose names the cells."""
    rows = [
        ("working", "the current request", "messages, in RAM", "until the answer is complete",
         "every turn, by itself", "never: it is the request"),
        ("episodic", "what happened, and when", "a dated log", "weeks to months",
         "at the end of a turn or task", "on demand, when the past comes up"),
        ("semantic", "what is true about user and world", "a row per key", "until contradicted",
         "when the user says something durable", "at every turn start"),
        ("procedural", "how things are done here", "rules, or rows of kind method", "until superseded",
         "after a correction or a confirmed approach", "at every turn start"),
    ]  # fmt: skip
    header = ("type", "holds", "lives in", "lasts", "written", "read")
    return table(rows, header, caption="Four memory types", labelled="rebuilt", source="from the prose")


def windows_table() -> Table:
    """Context window and price of every model in the catalogue that is not retired."""
    rows = [
        (model.id, model.window_tokens or 0, model.released or "")
        for model in models()
        if model.window_tokens and model.lifecycle != "retired"
    ]
    rows.sort(key=lambda row: (str(row[2]), row[0]), reverse=True)
    source = "model pages, September to November 2026"
    return table(
        rows,
        ("model", "window in tokens", "released"),
        caption="Windows",
        labelled="documented",
        source=source,
    )


@dataclass(frozen=True, slots=True)
class Statement:
    """Something a user said, with the fields a model would fill in. ``ends_in_days`` counts from today."""

    text: str
    holds: str = "general"  # general, now or past
    ends_in_days: int | None = None
    is_secret: bool = False
    can_be_checked: bool = True
    is_in_the_code: bool = False


STATEMENTS = (
    Statement("I prefer metric units."),
    Statement("It is raining here.", holds="now"),
    Statement("We deploy with make ship."),
    Statement("My train leaves at 18:40 today.", ends_in_days=0),
    Statement("The API key is sk-demo-123.", is_secret=True),
    Statement("Please be more careful.", can_be_checked=False),
    Statement("I live in Berlin."),
    Statement("Thanks, that works!", can_be_checked=False, holds="now"),
    Statement("The code freeze lasts until Friday of next week.", ends_in_days=11),
    Statement("This function returns a list.", is_in_the_code=True),
    Statement("Never push to main; it broke the release in May."),
    Statement("I was in Lisbon once.", holds="past"),
)


def statements_table(count: int) -> Table:
    """The first statements, as the fields that ``durable`` will see."""
    header = ("text", "holds", "ends_in_days", "is_secret", "can_be_checked", "is_in_the_code")
    rows = [tuple(str(getattr(statement, name)) for name in header) for statement in STATEMENTS[:count]]
    return table(rows, header, caption="What a model filled in", labelled="scripted")


def _three_days(statement: Statement) -> str:
    """The specification of exercise 00-2, and the truth of prediction 00-c."""
    if statement.is_secret or not statement.can_be_checked or statement.is_in_the_code:
        return "no"
    if statement.ends_in_days is not None:
        return "until" if statement.ends_in_days >= 3 else "no"
    return "yes" if statement.holds == "general" else "no"


def three_day_test() -> dict[str, int]:
    """How many of the twelve statements pass for good, until a date, or not at all."""
    verdicts = [_three_days(statement) for statement in STATEMENTS]
    return {name: verdicts.count(name) for name in ("yes", "until", "no")}


def _true_or_false() -> Figures:
    """What passes for somebody who keeps whatever can be checked."""
    checkable = sum(statement.can_be_checked for statement in STATEMENTS)
    return {"yes": checkable, "until": 0, "no": len(STATEMENTS) - checkable}


# --- predictions


def _totals(name: str) -> list[int]:
    return [turn.usage.total_input_tokens for turn in recordings.session(name).turns if turn.usage]


def _new(name: str) -> int:
    usages = [turn.usage for turn in recordings.session(name).turns if turn.usage]
    return sum(usage.input_tokens + usage.cache_creation_input_tokens for usage in usages)


def _bars(name: str) -> Picture:
    totals = _totals(name)
    window = 200_000
    alt = (
        f"{len(totals)} requests, none above {max(totals):,} tokens, "
        f"add up to {sum(totals) / window:.0f} full windows of {window:,}."
    )
    return bars_under_ceiling(
        totals,
        ceiling=window,
        title="Every bar is one whole request",
        alt=alt,
        evidence="recorded",
        source=name,
    )


def _processed(name: str, number: str, options: tuple[Option, ...]) -> Prediction:
    """The same question about two sessions: the opening one, and the exit."""
    return Prediction(
        id=number,
        question="How many input tokens did the API take in over the whole session?",
        fields=(Figure("total_tokens", "input tokens in all", "tokens", tolerance=0.05),),
        options=options,
        truth=lambda: {"total_tokens": sum(_totals(name))},
        read_result=lambda result: {"total_tokens": result},
        misconceptions={
            "window-is-sent-once": lambda: {"total_tokens": max(_totals(name))},
            "only-new-text-counts": lambda: {"total_tokens": _new(name)},
            "every-turn-is-the-largest": lambda: {"total_tokens": max(_totals(name)) * len(_totals(name))},
        },
        rule="history-is-sent-again",
        rule_sentence="Every turn sends the whole history again, so a session processes the sum "
        "of its requests.",
        evidence="recorded",
        source=f"{name}, {len(_totals(name))} turns",
        picture=lambda result: _bars(name),
        why="The window limits one request. The sum over all requests is what is processed and billed.",
    )


def _read_of_a_bare_question() -> Figures:
    usage = recordings.exchange(BARE).usage
    return {"read_tokens": usage.cache_read_input_tokens if usage else 0}


def _read_of_the_cached_call() -> Figures:
    usage = recordings.exchange(CACHED).usage
    return {"read_tokens": usage.cache_read_input_tokens if usage else 0}


PREDICTIONS = (
    _processed(
        LONG,
        "00-a",
        (
            Option("A", "about 155 thousand: the last, fullest window holds it all", "window-is-sent-once"),
            Option(
                "B", "about 180 thousand: what was sent before is not taken in again", "only-new-text-counts"
            ),
            Option("C", "about 25 million: every request counts, at its own size"),
            Option(
                "D", "about 39 million: every turn costs as much as the largest", "every-turn-is-the-largest"
            ),
        ),
    ),
    Prediction(
        id="00-b",
        question="What does the third call read from the cache, and does its answer know the long prompt?",
        fields=(Figure("read_tokens", "tokens read from the cache", "tokens"),),
        options=(
            Option(
                "A",
                "It reads the whole entry and knows the prompt: it was cached a second ago",
                "cache-is-a-memory",
            ),
            Option(
                "B",
                "It reads nothing, but knows: the server keeps the conversation",
                "server-keeps-the-conversation",
            ),
            Option("C", "It is refused: a live entry must be used", "a-miss-is-an-error"),
            Option("D", "It reads nothing and does not know: it sees what it was sent"),
        ),
        truth=_read_of_a_bare_question,
        read_result=lambda result: {"read_tokens": result},
        misconceptions={"cache-is-a-memory": _read_of_the_cached_call},
        rule="request-is-not-memory",
        rule_sentence="A cache makes a prefix cheaper that you send. It never adds a token to a request.",
        evidence="documented",
        source="prompt-caching page, 2026-09; a recorded bare question to the same model, sent "
        "on another day",
        why="Reads are a part of the input you sent: a request of 13 tokens cannot read 1,590.",
    ),
    Prediction(
        id="00-c",
        question="How many of the twelve statements pass the three-day test?",
        fields=(
            Figure("yes", "pass for good", ""),
            Figure("until", "pass until a date", ""),
            Figure("no", "do not pass", ""),
        ),
        options=(
            Option("A", "12 for good: storage is cheap, keep it all", "remember-everything"),
            Option("B", "5 for good, 7 not: a fact is a fact, dates do not matter", "facts-have-no-end"),
            Option("C", "10 for good, 2 not: everything that can be true or false", "true-is-durable"),
            Option("D", "4 for good, 1 until a date, 7 not: most of it is over by Thursday"),
        ),
        truth=three_day_test,
        read_result=lambda result: result,
        misconceptions={
            "remember-everything": lambda: {"yes": len(STATEMENTS), "until": 0, "no": 0},
            "facts-have-no-end": lambda: {
                "yes": three_day_test()["yes"] + three_day_test()["until"],
                "until": 0,
                "no": three_day_test()["no"],
            },
            "true-is-durable": _true_or_false,
        },
        rule="three-days",
        rule_sentence="Store what you would want to be told again in three days, with an end "
        "date where it has one.",
        evidence="scripted",
        source="twelve statements written for this lesson",
        why="Most of a conversation is over in three days. A secret, a wish and what the code "
        "says never belong in.",
    ),
    _processed(
        SHORT,
        "00-exit",
        (
            Option("A", "about 62 thousand: the last, fullest window holds it all", "window-is-sent-once"),
            Option("B", "about 3 million: every request counts, at its own size"),
            Option(
                "C", "about 4 million: every turn costs as much as the largest", "every-turn-is-the-largest"
            ),
            Option(
                "D", "about 100 thousand: what was sent before is not taken in again", "only-new-text-counts"
            ),
        ),
    ),
)


# --- exercises


def _survivors(rng: random.Random) -> list[Case]:
    kept = {"file on disk", "database row"}
    labels = {
        "messages list": "a list in the memory of the process that died",
        "system text held in a variable": "the program starts it anew, it does not remember it",
        "prompt cache entry on the server": "nobody can read text out of it",
        "summary of the history, held in memory": "state, as long as somebody saves it",
        "file on disk": "outlives the process",
        "database row": "outlives the process",
    }
    return [
        Case(
            "store-survives" if place in kept else "request-is-not-memory",
            (place,),
            "still there" if place in kept else "gone",
            label=label,
        )
        for place, label in labels.items()
    ]


def _durable_cases(rng: random.Random) -> list[Case]:
    city, tool = (
        rng.choice(["Lisbon", "Oslo", "Quito"]),
        rng.choice(["make ship", "just release", "nox -s ship"]),
    )
    days = rng.randrange(4, 40)
    hidden = [
        Statement(f"I live in {city}."),
        Statement(f"I was in {city} last year.", holds="past"),
        Statement(f"I am in {city} right now, at the station.", holds="now"),
        Statement(f"I am in {city} until the end of the project.", ends_in_days=days),
        Statement(f"I stay in {city} until tomorrow.", ends_in_days=1),
        Statement("The exam is in three days.", ends_in_days=3),
        Statement("The exam is in two days.", ends_in_days=2),
        Statement(f"We deploy with {tool}."),
        Statement(f"We deploy with {tool}; it says so in the Makefile.", is_in_the_code=True),
        Statement(f"We used to deploy with {tool}.", holds="past"),
        Statement(f"Deploy with {tool} this time.", holds="now"),
        Statement("My password is the name of my cat.", is_secret=True),
        Statement("The token for staging works until June.", is_secret=True, ends_in_days=days),
        Statement("Always do your best.", can_be_checked=False),
        Statement("Try to be faster until the demo.", can_be_checked=False, ends_in_days=days),
        Statement("Never delete a branch without asking; we lost one."),
        Statement("The class Reader has eleven methods.", is_in_the_code=True),
        Statement("I prefer short answers."),
        Statement("I prefer a short answer to this one.", holds="now"),
        Statement("Our fiscal year starts in April."),
    ]
    rng.shuffle(hidden)

    def rule(statement: Statement) -> str:
        if statement.is_secret:
            return "no-secrets"
        if not statement.can_be_checked or statement.is_in_the_code:
            return "worth-a-row"
        return "three-days"

    shown = [Case(rule(s), (s,), _three_days(s), label=s.text) for s in STATEMENTS]
    return shown + [Case(rule(s), (s,), _three_days(s), label="a look-alike", hidden=True) for s in hidden]


_TYPES = {
    "The user prefers metric units": ("semantic", "every turn"),
    "Ship with make ship": ("procedural", "every turn"),
    "On 3 May the migration failed at step 4": ("episodic", "on demand"),
    "The tool result that just came back": ("working", "never"),
    "The user's daughter is called Mia": ("semantic", "every turn"),
    "Ask before you delete a branch: we lost one": ("procedural", "every turn"),
}


def _type_cases(rng: random.Random) -> list[Case]:
    asked = {"type": ("type-by-question", 0), "read": ("reads-are-not-writes", 1)}
    return [
        Case(rule, (fact,), (name, answer[at]), label=fact, spec=f"{name}: {answer[at]}")
        for name, (rule, at) in asked.items()
        for fact, answer in _TYPES.items()
    ]


def _same_half(got: Any, expected: Any) -> bool:
    name, wanted = expected
    return (
        isinstance(got, (tuple, list)) and len(got) == 2 and bool(got[0 if name == "type" else 1] == wanted)
    )


def _order_cases(rng: random.Random) -> list[Case]:
    cases = []
    for turns in (0, 2, rng.randrange(3, 6)):
        stable = ["tools", "system"]
        history = [f"turn {i} {rng.randrange(1000)}" for i in range(turns)]
        recalled = [f"fact {rng.randrange(1000)}" for _ in range(2)]
        message = f"question {rng.randrange(1000)}"
        wanted = [*stable, *history, *recalled, message]
        for rule, expected in (("nothing-lost", sorted(wanted)), ("volatile-last", wanted)):
            label = f"{turns} turns of history, 2 recalled facts"
            told = "the same texts, each once, in one flat list" if rule == "nothing-lost" else ""
            arguments = (stable, history, recalled, message)
            cases.append(Case(rule, arguments, expected, label=label, spec=told))
    return cases


def _same_texts(got: Any, expected: Any) -> bool:
    if not isinstance(got, (list, tuple)) or not all(isinstance(text, str) for text in got):
        return False
    return bool(list(got) == expected or (expected == sorted(expected) and sorted(got) == expected))


EXERCISES = (
    Exercise(
        id="00-1",
        title="what is left after a crash",
        asks=("places",),
        rules={
            "store-survives": "What lies in a file or a database is there for the next process.",
            "request-is-not-memory": "What was only part of a request, or sped one up, tells "
            "the next process nothing.",
        },
        cases=_survivors,
        answers=True,
    ),
    Exercise(
        id="00-2",
        title="what deserves a row",
        asks=("durable",),
        rules={
            "no-secrets": "A secret is never stored: a memory is replayed word for word.",
            "worth-a-row": "What cannot be checked, or stands in the code, is not worth a row.",
            "three-days": "Store what still holds in three days; say until when if it ends.",
        },
        cases=_durable_cases,
    ),
    Exercise(
        id="00-3",
        title="four memory types",
        asks=("answers",),
        rules={
            "type-by-question": "Semantic: what is true. Procedural: how it is done. Episodic: "
            "what happened. Working: this request.",
            "reads-are-not-writes": "Facts and methods are read every turn, episodes on demand, "
            "the request itself never.",
        },
        cases=_type_cases,
        compare=_same_half,
        answers=True,
        home=True,
    ),
    Exercise(
        id="00-4",
        title="the order of a request",
        asks=("build_request",),
        rules={
            "nothing-lost": "All four parts are sent, each text once.",
            "volatile-last": "What changes most comes last: stable, history, recalled, message.",
        },
        cases=_order_cases,
        compare=_same_texts,
        home=True,
    ),
)
