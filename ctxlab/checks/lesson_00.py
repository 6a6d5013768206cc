"""Questions and exercises of notebook 00, window and store.

Truths come from recorded sessions when they are asked for; nothing here holds an answer that can be computed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from typing import Any

from ctxlab import recordings
from ctxlab.catalogue import models
from ctxlab.checks.chosen import OneOf, same_spelt, same_word, spelt
from ctxlab.checks.exercises import Case, Exercise
from ctxlab.checks.predictions import Field as Figure
from ctxlab.checks.predictions import Figures, Option, Prediction
from ctxlab.checks.runs import Pair
from ctxlab.figures import Figure as Picture
from ctxlab.figures import Table, bars_under_ceiling, prefix_strip, table
from ctxlab.prompt import Prompt
from ctxlab.recordings import Session

LONG, SHORT = "cli/session-375d5d79", "cli/session-cde341db"
CACHED = "pydantic-ai/test_inline_system_prompt_cache_prefix_is_reused#1"
"""The second of two calls with the same prompt."""
BARE = "pydantic-ai/test_anthropic_opus_48_features#0"
"""A short question to the same model, with nothing before it."""


# --- what the notebook shows


def blocks_table(prompt: Prompt) -> Table:
    """The blocks of a request in the order in which the API reads them."""
    rows = [
        (block.path, block.role or "", block.type, block.chars, block.content_sha256[:8])
        for block in prompt.blocks
    ]
    header = ("place", "role", "type", "characters", "digest")
    return table(rows, header, caption="The request as one list of blocks", labelled="scripted")


def classes_table(session: Session) -> Table:
    """What one turn and the whole session took in: fresh, read, written, and how much of it was new."""
    usages = [turn.usage for turn in session.turns if turn.usage]
    rows = []
    for name, taken in (("101", usages[100:101]), (f"1 to {len(usages)}", usages)):
        fresh = sum(usage.input_tokens for usage in taken)
        read = sum(usage.cache_read_input_tokens for usage in taken)
        written = sum(usage.cache_creation_input_tokens for usage in taken)
        total = fresh + read + written
        rows.append((name, fresh, read, written, total, f"{100 * (fresh + written) / total:.1f} %"))
    header = ("turns", "fresh", "read", "written", "in all", "sent for the first time")
    return table(rows, header, caption="What was taken in", labelled="recorded", source=session.name)


def memory_types_table() -> Table:
    """The four memory types, rebuilt: the document's table is lost, its prose names the cells."""
    rows = [
        ("working", "all of this request", "the list of messages, in RAM",
         "until the answer is complete", "every turn, by itself", "never: it is the request"),
        ("episodic", "what happened, and when", "a dated log that only grows", "weeks to months",
         "at the end of a turn or task", "on demand, when the past comes up"),
        ("semantic", "what is true about user and world", "one row per key", "until contradicted",
         "when the user says something durable", "at every turn start"),
        ("procedural", "how things are done here, and why", "a file of rules, or rows of kind method",
         "until superseded", "after a correction or a confirmed approach", "at every turn start"),
    ]  # fmt: skip
    header = ("type", "holds", "lives in", "lasts", "written", "read")
    source = "from the prose around the lost table"
    return table(rows, header, caption="Four memory types", labelled="rebuilt", source=source)


def windows_table() -> Table:
    """Context window of every model in the catalogue that is not retired, the newest first."""
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
        caption="What each model takes",
        labelled="documented",
        source=source,
    )


@dataclass(frozen=True, slots=True, repr=False)
class Statement:
    """Something a user said, with the fields a model would fill in. ``ends_in_days`` counts from today.

    >>> Statement("The exam is in two days.", ends_in_days=2)
    Statement('The exam is in two days.', ends_in_days=2)
    """

    text: str
    holds: str = "general"  # general, now or past
    ends_in_days: int | None = None
    is_secret: bool = False
    can_be_checked: bool = True
    is_in_the_code: bool = False

    def __repr__(self) -> str:
        return f"Statement({', '.join([repr(self.text), *_unusual(self)])})"


def _unusual(statement: Statement) -> list[str]:
    """The fields in which a statement differs from one that holds in general and may be stored."""
    told = []
    for field in fields(statement)[1:]:
        value = getattr(statement, field.name)
        if value != field.default:
            told.append(f"{field.name}={value!r}")
    return told


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


def statements_table(*numbers: int) -> Table:
    """These of the twelve statements, as the fields that ``durable`` will see."""
    header = ("text", "holds", "ends_in_days", "is_secret", "can_be_checked", "is_in_the_code")
    chosen = [STATEMENTS[number - 1] for number in numbers]
    rows = [tuple(str(getattr(statement, name)) for name in header) for statement in chosen]
    return table(rows, header, caption="What a model filled in", labelled="scripted")


def _verdicts_table() -> Table:
    """Each of the twelve statements with its verdict and the reason for it."""
    rows = [(f"{at}. {one.text}", _three_days(one), _reason(one)) for at, one in enumerate(STATEMENTS, 1)]
    return table(rows, ("statement", "passes", "why"), caption="One by one", labelled="scripted")


def _reason(statement: Statement) -> str:
    if statement.is_secret:
        return "a secret: it would be read back word for word"
    if not statement.can_be_checked:
        return "nobody can check it"
    if statement.is_in_the_code:
        return "the code says it"
    if statement.ends_in_days is not None:
        return "still holds on Thursday, then ends" if statement.ends_in_days >= 3 else "over before Thursday"
    return {"general": "good to know on Thursday, too", "now": "true now only", "past": "over already"}[
        statement.holds
    ]


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


def _true_today() -> Figures:
    """What passes for somebody who keeps whatever is true today."""
    true = [one for one in STATEMENTS if one.can_be_checked and not (one.is_secret or one.is_in_the_code)]
    until = sum(_three_days(statement) == "until" for statement in true)
    return {"yes": len(true) - until, "until": until, "no": len(STATEMENTS) - len(true)}


def _all_but_secrets() -> Figures:
    secrets = sum(statement.is_secret for statement in STATEMENTS)
    return {"yes": len(STATEMENTS) - secrets, "until": 0, "no": secrets}


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
        why="No request was too large; the window was filled again on every turn. The limit is for one "
        "request, the bill for the sum. A window of a million only lets the requests grow further.",
    )


def _read_of_a_bare_question() -> Figures:
    usage = recordings.exchange(BARE).usage
    return {"read_tokens": usage.cache_read_input_tokens if usage else 0}


def _read_of_the_cached_call() -> Figures:
    usage = recordings.exchange(CACHED).usage
    return {"read_tokens": usage.cache_read_input_tokens if usage else 0}


def _sent_and_not_sent() -> Pair:
    """The second call, which sent the prompt, above a call that did not."""
    return Pair(
        _strip_of(CACHED, "prompt", "The second call sent the prompt, so it could be read"),
        _strip_of(BARE, "question", "A question came alone, so there was nothing to read"),
    )


def _strip_of(name: str, sent: str, title: str) -> Picture:
    usage = recordings.exchange(name).usage
    assert usage is not None
    read, fresh = usage.cache_read_input_tokens, usage.input_tokens
    spans = [(sent, "R", read), ("end", "F", fresh)] if read else [(sent, "F", fresh)]
    alt = f"{title}: {read:,} of the {usage.total_input_tokens:,} tokens it took in came from the cache."
    return prefix_strip(spans, title=title, alt=alt, evidence="recorded", source=name)


PREDICTIONS = (
    _processed(
        LONG,
        "00-a",
        (
            Option(
                "A", "about 155 thousand: the fullest request holds all the others", "window-is-sent-once"
            ),
            Option(
                "B", "about 180 thousand: what was sent before is not taken in again", "only-new-text-counts"
            ),
            Option("C", "about 25 million: every request counts, at its own size"),
            Option(
                "D", "about 39 million: every turn counts as much as the largest", "every-turn-is-the-largest"
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
            Option(
                "C",
                "It reads the whole entry, but does not know: entries go with the key",
                "entry-goes-with-the-key",
            ),
            Option("D", "It reads nothing and does not know: it sees what it was sent"),
        ),
        truth=_read_of_a_bare_question,
        read_result=lambda result: {"read_tokens": result},
        misconceptions={"cache-is-a-memory": _read_of_the_cached_call},
        rule="request-is-not-memory",
        rule_sentence="A cache makes text cheaper that you send again. It never adds a token to a request.",
        evidence="documented",
        source="prompt-caching page, 2026-09; a recorded bare question to the same model, sent "
        "on another day",
        picture=lambda result: _sent_and_not_sent(),
        why="What is read is a part of what you sent: a request of 13 tokens cannot read 1,590. "
        "Whatever the model is to know on this turn has to stand in the blocks of this turn.",
    ),
    Prediction(
        id="00-c",
        question="How many of the twelve statements pass the three-day test?",
        fields=(
            Figure("yes", "how many pass for good", ""),
            Figure("until", "how many pass until a date", ""),
            Figure("no", "how many do not pass", ""),
        ),
        options=(
            Option(
                "A", "11 for good, 1 not: storage is cheap, so keep all but the key", "remember-everything"
            ),
            Option("B", "5 for good, 7 not: a fact is a fact, dates do not matter", "facts-have-no-end"),
            Option(
                "C", "7 for good, 1 until a date, 4 not: what is true now is worth keeping", "true-is-durable"
            ),
            Option("D", "4 for good, 1 until a date, 7 not: most of it is over by Thursday"),
        ),
        truth=three_day_test,
        read_result=lambda result: result,
        misconceptions={
            "remember-everything": _all_but_secrets,
            "facts-have-no-end": lambda: {
                "yes": three_day_test()["yes"] + three_day_test()["until"],
                "until": 0,
                "no": three_day_test()["no"],
            },
            "true-is-durable": _true_today,
        },
        rule="three-days",
        rule_sentence="Store what you would want to be told again in three days, with an end "
        "date where it has one.",
        evidence="scripted",
        source="twelve statements written for this lesson",
        picture=lambda result: _verdicts_table(),
        why="Most of what is said in a conversation is over in three days. The rest is short enough to keep.",
    ),
    _processed(
        SHORT,
        "00-exit",
        (
            Option("A", "about 62 thousand: the fullest request holds all the others", "window-is-sent-once"),
            Option("B", "about 3 million: every request counts, at its own size"),
            Option(
                "C", "about 4 million: every turn counts as much as the largest", "every-turn-is-the-largest"
            ),
            Option(
                "D", "about 100 thousand: what was sent before is not taken in again", "only-new-text-counts"
            ),
        ),
    ),
)


# --- exercises


_LEFT = OneOf(("still there", "gone"))


def _survivors(rng: random.Random) -> list[Case]:
    kept = {"file on disk", "database row"}
    labels = {
        "messages list": "a list in the memory of the process that died",
        "system text held in a variable": "the variable is gone; the program sets a new one, out of its file",
        "prompt cache entry on the server": "it may be alive, but nobody can read text out of it",
        "summary of the history, held in memory": "gone with that memory, unless somebody wrote it down",
        "file on disk": "the disk keeps it",
        "database row": "the database keeps it",
    }
    return [Case("one-of-two-words", (place,), _LEFT) for place in labels] + [
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

    words = OneOf(("yes", "until", "no"))
    secret = next(statement for statement in STATEMENTS if statement.is_secret)
    word = Case("one-of-three-words", (secret,), words, label=_told(secret), spec=str(words))
    shown = [Case(rule(s), (s,), _three_days(s), label=_told(s)) for s in STATEMENTS]
    twins = [
        Case(rule(s), (s,), _three_days(s), label=f"a look-alike, {_told(s)}", hidden=True) for s in hidden
    ]
    return [word, *shown, *twins]


def _told(statement: Statement) -> str:
    """A statement and what is special about it, for a line that a learner reads."""
    unusual = ", ".join(f"`{told}`" for told in _unusual(statement))
    return f"“{statement.text}”" + (f" with {unusual}" if unusual else "")


_TYPES = {
    "The user is allergic to nuts": ("semantic", "every turn"),
    "Run the linter before every commit": ("procedural", "every turn"),
    "On 3 May the migration failed at step 4": ("episodic", "on demand"),
    "The tool result that just came back": ("working", "never"),
    "The user's daughter is called Mia": ("semantic", "every turn"),
    "Ask before you delete a branch: we lost one": ("procedural", "every turn"),
}


_KINDS = ("working", "episodic", "semantic", "procedural")
_TIMES = ("every turn", "on demand", "never")


def _type_cases(rng: random.Random) -> list[Case]:
    halves = {
        "a-pair-of-words": ("pair", 0),
        "type-by-question": ("type", 0),
        "reads-are-not-writes": ("read", 1),
    }
    return [
        Case(rule, (fact,), (name, answer[at]))
        for rule, (name, at) in halves.items()
        for fact, answer in _TYPES.items()
    ]


def _same_half(got: Any, expected: Any) -> bool:
    name, wanted = expected
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        return False
    kind, time = map(spelt, got)
    if name == "pair":
        return kind in _KINDS and time in _TIMES
    return bool((kind if name == "type" else time) == wanted)


def _order_cases(rng: random.Random) -> list[Case]:
    cases = []
    for turns in (0, 2, rng.randrange(3, 6)):
        stable = ["tools", "system"]
        history = [f"turn {i} {rng.randrange(1000)}" for i in range(turns)]
        recalled = [f"fact {rng.randrange(1000)}" for _ in range(2)]
        message = f"question {rng.randrange(1000)}"
        wanted = [*stable, *history, *recalled, message]
        label = f"{turns} turns of history, 2 recalled facts"
        arguments = (stable, history, recalled, message)
        told = {
            "one-flat-list": "a list of texts, no list inside it",
            "nothing-lost": "the same texts, each once",
        }
        for rule in ("one-flat-list", "nothing-lost", "volatile-last"):
            cases.append(
                Case(rule, arguments, (rule, wanted), label=label, spec=told.get(rule, f"`{wanted}`"))
            )
    return cases


def _same_texts(got: Any, expected: Any) -> bool:
    rule, wanted = expected
    if not isinstance(got, (list, tuple)) or not all(isinstance(text, str) for text in got):
        return False
    if rule == "one-flat-list":
        return True
    return bool(list(got) == wanted or (rule == "nothing-lost" and sorted(got) == sorted(wanted)))


EXERCISES = (
    Exercise(
        id="00-1",
        title="what is left after a crash",
        asks=("places",),
        rules={
            "one-of-two-words": 'Each answer is `"still there"` or `"gone"`, in quotes.',
            "store-survives": "What lies in a file or a database is there for the next process.",
            "request-is-not-memory": "What was only part of a request, or sped one up, tells "
            "the next process nothing.",
        },
        cases=_survivors,
        compare=same_spelt,
        answers=True,
    ),
    Exercise(
        id="00-2",
        title="what deserves a row",
        asks=("durable",),
        rules={
            "one-of-three-words": 'The function returns `"yes"`, `"until"` or `"no"`, in small letters.',
            "no-secrets": "A secret is never stored: a memory is read back word for word.",
            "worth-a-row": "What cannot be checked, or stands in the code, is not worth a row.",
            "three-days": "Store what still holds in three days; say until when if it ends.",
        },
        cases=_durable_cases,
        compare=same_word,
    ),
    Exercise(
        id="00-3",
        title="four memory types",
        asks=("answers",),
        rules={
            "a-pair-of-words": 'Each answer is a pair of a type and a time, like `("working", "never")`.',
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
            "one-flat-list": "The answer is one list, and every entry is a text.",
            "nothing-lost": "All four parts are sent, each text once.",
            "volatile-last": "What changes most comes last: stable, history, recalled, message.",
        },
        cases=_order_cases,
        compare=_same_texts,
        home=True,
    ),
)
