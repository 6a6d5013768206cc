"""A case played: against the rules alone, on the emulator, or by whoever answers requests.

Models: the order of steps and the time between their starts; steps that are sent together; what a case
claims, compared with what was answered.
Does not model: what an answer says; retries.
Source: own construction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxlab import effective, tokens
from ctxlab.cache import CacheRules, Layout, PromptCache
from ctxlab.clock import Clock, ManualClock
from ctxlab.errors import Problem
from ctxlab.prompt import Prompt
from ctxlab.scenarios.claims import figures_of
from ctxlab.scenarios.files import Scenario, Step
from ctxlab.tokens import CountText
from ctxlab.usage import Usage

Counter = str | CountText | None
PATHS = {"messages": "/v1/messages", "count_tokens": "/v1/messages/count_tokens"}


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and JSON body of an answer."""

    status: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A step with its answer. ``usage`` is None for a refusal and a count; claims look at ``figures``."""

    step: Step
    answer: Answer
    usage: Usage | None
    figures: Mapping[str, int]


Ask = Callable[[Step], Awaitable[Answer]]
Sleep = Callable[[float], Awaitable[None]]


async def play(scenario: Scenario, ask: Ask, clock: Clock, sleep: Sleep) -> tuple[Outcome, ...]:
    """Send every step when it is due; steps that are together are sent without waiting for one another."""
    outcomes: list[Outcome] = []
    started_s = clock.now_s()
    for group in scenario.groups():
        await sleep(max(started_s + group[0].wait_s - clock.now_s(), 0.0))
        started_s = clock.now_s()
        answers = await asyncio.gather(*(ask(step) for step in group))
        outcomes += [_outcome(step, answer) for step, answer in zip(group, answers, strict=True)]
    return tuple(outcomes)


def _outcome(step: Step, answer: Answer) -> Outcome:
    if answer.status != 200:
        return Outcome(step, answer, None, {})
    if step.endpoint == "count_tokens":
        return Outcome(step, answer, None, {"total": answer.body["input_tokens"]})
    usage = Usage.from_response(answer.body)
    return Outcome(step, answer, usage, figures_of(usage))


def check(scenario: Scenario, outcomes: Sequence[Outcome]) -> list[Problem]:
    """Every claim of a case that its outcomes do not bear out, and every answer of the wrong kind."""
    problems: list[Problem] = []
    told = [outcome.figures for outcome in outcomes]
    for i, outcome in enumerate(outcomes):
        step, answer = outcome.step, outcome.answer
        place = f"{scenario.name}, step {step.number}"
        message = str((answer.body.get("error") or {}).get("message", ""))
        if step.refused is not None:
            if answer.status != 400 or step.refused not in message:
                seen = f"{answer.status} {message}".strip()
                problems.append(Problem(place, "refused", f"was answered with {seen}, not {step.refused!r}"))
        elif answer.status != 200:
            problems.append(Problem(place, "answered", f"was refused: {answer.status} {message}"))
        else:
            for claim in step.expect:
                if any(not told[of - 1] for of in claim.steps):
                    problems.append(Problem(place, "claim", f"{claim.text}: a step it names has no figures"))
                elif not claim.holds(told, i):
                    problems.append(Problem(place, "claim", claim.told(told, i)))
    return problems


def by_rules(
    scenario: Scenario, *, counter: Counter = None, rules: CacheRules | None = None
) -> tuple[Usage | None, ...]:
    """What cache and token rules say of each step, without any client or server.

    A prompt is what the model reads (:mod:`ctxlab.effective`). None for refusals and counts, and from a step
    on whose conversation the server summarises.
    """
    clock = ManualClock()
    cache = PromptCache(clock, rules)
    found: list[Usage | None] = []
    started_s = 0.0
    summarised = False
    for group in scenario.groups():
        clock.advance(max(started_s + group[0].wait_s - clock.now_s(), 0.0))
        started_s = clock.now_s()
        plans = []
        for step in group:
            read = None
            if step.refused is None and step.endpoint == "messages":
                read = _as_read(step, counter)
                summarised = summarised or read is None
            if read is None or summarised:
                found.append(None)
                continue
            prompt = Prompt.from_request(read)
            count = tokens.count(prompt, step.request["model"], counter=counter)
            layout = Layout.from_prompt(prompt, count, workspace=step.workspace, rules=cache.rules)
            plans.append(cache.lookup(layout))
            found.append(plans[-1].usage())
        clock.advance(group[0].takes_s)
        for plan in plans:
            cache.commit(plan)
    return tuple(found)


def _as_read(step: Step, counter: Counter) -> Mapping[str, Any] | None:
    """The request of a step as the model reads it; None where it reads a summary that the server writes."""
    model = step.request["model"]

    def count(request: Mapping[str, Any]) -> int:
        return tokens.count(Prompt.from_request(request), model, counter=counter).total

    read = effective.effective(step.request, model, count=count).request
    due = effective.due_compaction(read, model, count=count)
    return None if due is not None or read.get("compaction") is not None else read


def on_emulator(
    scenario: Scenario, *, counter: Counter = None, rules: CacheRules | None = None
) -> tuple[Outcome, ...]:
    """Play a case on an emulator of its own, through the real client, in no time."""
    from ctxlab.emulator import Emulator

    clock = ManualClock()
    taking_s = 0.0

    def reply(request: dict[str, Any]) -> str:
        clock.advance(taking_s)
        return "Noted."

    emulator = Emulator(replies=reply, clock=clock, counter=counter, rules=rules)

    async def run() -> tuple[Outcome, ...]:
        clients = {step.workspace: emulator.async_client(step.workspace) for step in scenario.steps}
        for client in clients.values():
            # the first call of a client waits for a thread, which would put requests out of step
            await client.models.list()

        async def ask(step: Step) -> Answer:
            nonlocal taking_s
            taking_s = step.takes_s
            return await ask_with(clients[step.workspace], step)

        async def sleep(seconds: float) -> None:
            clock.advance(seconds)

        return await play(scenario, ask, clock, sleep)

    return asyncio.run(run())


async def ask_with(client: Any, step: Step) -> Answer:
    """Send a step with a client of the SDK, as it is: nothing is checked or filled in on the way."""
    import anthropic
    import httpx2

    headers = {"anthropic-beta": ",".join(step.betas)} if step.betas else {}
    try:
        response = await client.post(
            PATHS[step.endpoint],
            cast_to=httpx2.Response,
            body=dict(step.request),
            options={"headers": headers},
        )
    except anthropic.APIStatusError as error:
        response = error.response
    try:
        body = response.json()
    except ValueError:
        body = {}
    return Answer(response.status_code, body if isinstance(body, dict) else {})
