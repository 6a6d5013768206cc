"""Levers on random conversations: whatever they do, the request stays one the API takes.

Models: every lever with random settings, and several one after the other, on random conversations; cases and
cases changed per lever; results that break a rule, changes that take nothing from what the model reads,
errors nobody expects, changed inputs, and ledgers that do not add up.
Does not model: what levers save (the tests compare that with the emulator's bill).
Source: own construction.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ctxlab import breakpoints, validity
from ctxlab.errors import CtxlabError
from ctxlab.levers import (
    Outcome,
    PrefixLedger,
    apply_compaction,
    clear,
    compact_call,
    offload,
    trim,
    with_read_tool,
)
from ctxlab.properties.conversations import conversation, words

Lever = Callable[[Random, PrefixLedger], Outcome]
#: A lever that hardly ever finds something to do has not been tried.
LEAST_CHANGED = 0.3
#: Why a lever may find nothing to do, and why it may have to leave a conversation alone.
_NOTHING_TO_DO = frozenset({"last-turn-fits", "something-to-summarise"})
_REFUSED = frozenset({"thinking-unchanged", "thinking-bound"})
_SHOWN = 5
_READ_AGAIN_EVERY = 5


def _trim(random: Random, ledger: PrefixLedger) -> Outcome:
    if random.random() < 0.5:
        return trim(ledger.request, keep_turns=random.randint(1, 4), ledger=ledger)
    least = ledger.total_tokens // 4
    return trim(ledger.request, keep_tokens=max(random.randint(least, ledger.total_tokens), 1), ledger=ledger)


def _clear(random: Random, ledger: PrefixLedger) -> Outcome:
    return clear(
        ledger.request,
        keep=random.choice((0, 1, 1, 2, 3)),
        exclude_tools=random.choice(((), (), ("search",))),
        clear_at_least_tokens=random.choice((0, 0, 100)),
        clear_inputs=random.random() < 0.3,
        ledger=ledger,
    )


def _offload(random: Random, ledger: PrefixLedger) -> Outcome:
    request = ledger.request
    if random.random() < 0.5:
        ledger = ledger.after(with_read_tool(request))
    which = random.choice(("all", "all", "arriving"))
    return offload(ledger.request, which=which, at_least_tokens=random.choice((20, 100)), ledger=ledger)


def _compact(random: Random, ledger: PrefixLedger) -> Outcome:
    keep = random.choice((1, 1, 2))
    call = compact_call(ledger.request, keep_turns=keep, ledger=ledger)
    problems = validity.check(call)
    if problems:
        raise AssertionError(f"the call for a summary breaks a rule: {problems[0]}")
    stop = random.choice(("end_turn", "end_turn", "end_turn", "max_tokens", "tool_use"))
    answer = {"content": [{"type": "text", "text": words(random, 40)}], "stop_reason": stop}
    return apply_compaction(
        ledger.request, answer, keep_turns=keep, pins=("never touch prod",), ledger=ledger
    )


LEVERS: Mapping[str, Lever] = {"trim": _trim, "clear": _clear, "offload": _offload, "compact": _compact}


@dataclass
class Report:
    """What a run saw. ``invalid`` holds up to some cases that broke something, by seed and number."""

    cases: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    invalid: list[str] = field(default_factory=list)

    @property
    def held(self) -> bool:
        """Nothing invalid, and every lever had something to do often enough."""
        return not self.failures and all(
            self.changed[name] >= LEAST_CHANGED * tried for name, tried in self.tried.items()
        )

    def fail(self, says: str) -> None:
        self.failures += 1
        if len(self.invalid) < _SHOWN:
            self.invalid.append(says)

    def __str__(self) -> str:
        lines = [f"{self.cases:,} cases"]
        for name, tried in self.tried.items():
            share = f"{100 * self.changed[name] / tried:.0f} %"
            more = f", {self.refused[name]:,} refused" if self.refused[name] else ""
            lines.append(f"{name}: {tried:,} tried, {self.changed[name]:,} changed ({share}){more}")
        lines.append(f"invalid results: {self.failures:,}")
        return "\n".join([*lines, *self.invalid])


def run(n: int, seed: int, levers: Mapping[str, Lever] = LEVERS) -> Report:
    """Try ``n`` cases: a random conversation, then one to three levers one after the other."""
    report = Report()
    for number in range(n):
        random = Random(f"{seed}/{number}")
        body = conversation(random, at_rest=random.random() < 0.2)
        names = random.choices(list(levers), k=random.choice((1, 1, 2, 3)))
        report.cases += 1
        _case(report, f"seed {seed}, case {number}", random, body, names, levers)
    return report


def main(n: int, seed: int) -> int:
    """Run and print; 0 where the property held."""
    started_s = time.perf_counter()
    report = run(n, seed)
    print(report)
    print(f"{time.perf_counter() - started_s:.0f} s")
    return 0 if report.held else 1


def _case(
    report: Report,
    case: str,
    random: Random,
    body: dict[str, Any],
    names: Sequence[str],
    levers: Mapping[str, Lever],
) -> None:
    before = json.dumps(body)
    ledger = PrefixLedger.of(body, sent=random.choice((True, None)), counter=_count)
    for number, name in enumerate(names):
        if number == 0:  # later levers find what earlier ones left
            report.tried[name] += 1
        try:
            made = levers[name](random, ledger)
        except CtxlabError as error:
            rules = {problem.rule for problem in error.problems}
            if rules <= _REFUSED:
                report.refused[name] += number == 0
            elif not rules <= _NOTHING_TO_DO:
                report.fail(f"{case}, {name}: {error}")
            continue
        if number == 0:
            report.changed[name] += made.changed
            report.refused[name] += made.effect.refused is not None
        for problem in _problems(made):
            report.fail(f"{case}, {name}: {problem}")
        ledger = made.ledger
    if json.dumps(body) != before:
        report.fail(f"{case}, {names}: the given request was changed")
    if report.cases % _READ_AGAIN_EVERY:
        return
    fresh = PrefixLedger.of(ledger.request, sent=None, counter=_count)
    if fresh.cumulative_tokens != ledger.cumulative_tokens or fresh.read.chain() != ledger.read.chain():
        report.fail(f"{case}, {names}: the ledger is not the one of the request")


def _problems(made: Outcome) -> list[str]:
    """What the result breaks that the request did not; and a change that took nothing from the model."""
    request = made.request
    found = [*validity.check(_gone_on(request)), *breakpoints.validate(request)]
    found += validity.check_edit(made.origin.prompt, made.ledger.prompt, made.ledger.model)
    told = [str(problem) for problem in found]
    read, still_read = (Counter(_read(ledger)) for ledger in (made.origin, made.ledger))
    if made.changed and not read - still_read:
        told.append("changed, and the model reads all that it read before")
    return told


def _gone_on(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """A list at rest with its next question, any other as it is."""
    messages = request["messages"]
    at_rest = messages and messages[-1]["role"] == "assistant"
    return {**request, "messages": [*messages, {"role": "user", "content": "Next."}]} if at_rest else request


def _read(ledger: PrefixLedger) -> list[str]:
    return [block.content_sha256 for block in ledger.read.blocks if block.message is not None]


def _count(text: str, vocabulary: str) -> int:
    return len(text) // 4 + 1 if text else 0
