"""The cases of ``data/scenarios`` sent to the API: what that will cost, whether it may, and what came of it.

Models: a price before anything is sent, by the rules and at most; a question that has to be answered with
yes; a new case every few seconds, each with its own waits; recordings as they come in.
Does not model: what the recordings say about the rules (``ctxlab conformance`` replays them).
Source: prices of :mod:`ctxlab.cost`, sizes of :mod:`ctxlab.tokens` (calibrated characters without ``ctok``).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxlab import cost
from ctxlab.clock import Clock, SystemClock
from ctxlab.cost import Bill
from ctxlab.errors import CtxlabError, InvalidArgumentError, MissingPackageError, Problem
from ctxlab.live.store import Store
from ctxlab.scenarios import Outcome, Scenario, Step, by_rules, check, play, scenarios
from ctxlab.scenarios.playing import Answer, ask_with
from ctxlab.tokens.counters import ctok_counter
from ctxlab.usage import CacheCreation, Usage

if TYPE_CHECKING:
    import httpx2

KEY = "ANTHROPIC_API_KEY"
API = "https://api.anthropic.com"
#: Between the first requests of two cases, to stay below limits on requests a minute (own choice).
_APART_S = 4.0
_RETRIES = 4

Say = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will cost in USD.

    ``usd`` is by the rules, ``most_usd`` if nothing is ever read and everything is written for an hour; both
    take every answer to be of full length. ``waits_s`` is the longest time that a case waits.
    """

    cases: int
    requests: int
    usd: Decimal
    most_usd: Decimal
    waits_s: float
    models: tuple[str, ...]

    def __str__(self) -> str:
        sent = f"{self.cases} cases, {self.requests} requests to {', '.join(self.models)}"
        price = f"about {self.usd:.3f} USD, at most {self.most_usd:.3f} USD"
        return f"{sent}: {price}, and {self.waits_s / 60:,.0f} minutes of waiting"


def estimate(cases: Sequence[Scenario]) -> Estimate:
    """The price of sending ``cases``, before anything is sent.

    >>> told = estimate([one for one in scenarios() if one.name == "written-then-read"])
    >>> told.requests, told.usd < told.most_usd < Decimal("0.01")
    (3, True)
    """
    likely, most = Bill(), Bill()
    steps = [(step, usage) for case in cases for step, usage in zip(case.steps, by_rules(case), strict=True)]
    for step, usage in steps:
        if usage is None:
            continue  # refusals and counts are free
        request, output_tokens = step.request, int(step.request["max_tokens"])
        geo, total = request.get("inference_geo"), usage.total_input_tokens
        written = Usage(input_tokens=0, cache_creation=CacheCreation(0, total), output_tokens=output_tokens)
        likely += cost.bill(replace(usage, output_tokens=output_tokens), request["model"], inference_geo=geo)
        most += cost.bill(written, request["model"], inference_geo=geo)
    return Estimate(
        cases=len(cases),
        requests=len(steps),
        usd=likely.total_usd,
        most_usd=most.total_usd,
        waits_s=max((case.waits_s for case in cases), default=0.0),
        models=tuple(sorted({step.request["model"] for step, _ in steps})),
    )


@dataclass(frozen=True, slots=True)
class LiveRun:
    """What came of a run: where its recordings are, and what of each case was not as it claims."""

    path: Path
    played: int
    problems: tuple[Problem, ...]
    spent: Bill


def send(
    cases: Sequence[Scenario],
    store: Store,
    *,
    run: str,
    key: str,
    say: Say | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    clock: Clock | None = None,
    sleep: Sleep = asyncio.sleep,
) -> LiveRun:
    """Play every case against the API and record it; a case that breaks off does not stop the others.

    ``transport``, ``clock`` and ``sleep`` are the world outside; by default they are real.
    """
    return asyncio.run(_send(cases, store, run, key, say or _tell, transport, clock or SystemClock(), sleep))


async def _send(
    cases: Sequence[Scenario],
    store: Store,
    run: str,
    key: str,
    say: Say,
    transport: httpx2.AsyncBaseTransport | None,
    clock: Clock,
    sleep: Sleep,
) -> LiveRun:
    import anthropic
    import httpx2

    from ctxlab.live.transport import AsyncRecorder

    outside = transport or httpx2.AsyncHTTPTransport()
    counter = "ctok" if ctok_counter() is not None else None

    async def one(number: int, case: Scenario) -> tuple[list[Problem], Bill]:
        await sleep(number * _APART_S)
        recorder = AsyncRecorder(outside, store, sequence=f"{run}/{case.name}", clock=clock, counter=counter)
        client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=API,
            max_retries=_RETRIES,
            http_client=httpx2.AsyncClient(transport=recorder, trust_env=False),
        )

        async def ask(step: Step) -> Answer:
            return await ask_with(client, step)

        try:
            outcomes = await play(case, ask, clock, sleep)
        except (anthropic.APIError, CtxlabError, OSError) as error:
            problems = [Problem(case.name, "played", f"broke off: {type(error).__name__}: {error}")]
            outcomes = ()
        else:
            problems = check(case, outcomes)
        problems += recorder.passed
        say(f"{case.name}: {'as it claims' if not problems else '; '.join(map(str, problems))}")
        return problems, _spent(outcomes)

    found = await asyncio.gather(*(one(number, case) for number, case in enumerate(cases)))
    await outside.aclose()
    problems = tuple(problem for own, _ in found for problem in own)
    return LiveRun(store.path, len(cases), problems, sum((bill for _, bill in found), Bill()))


def _spent(outcomes: Sequence[Outcome]) -> Bill:
    bills = [
        cost.bill(outcome.usage, outcome.step.request["model"])
        for outcome in outcomes
        if outcome.usage is not None
    ]
    return sum(bills, Bill())


def live(
    to: Path | None = None,
    *,
    only: Sequence[str] = (),
    yes: bool = False,
    environment: Mapping[str, str] | None = None,
    answer: Callable[[str], str] | None = None,
    say: Say | None = None,
    **world: Any,
) -> LiveRun | int:
    """``ctxlab conformance --live``: price the cases, ask, send them. An exit code if nothing was recorded.

    2 without a key, or where nobody can be asked; 0 if the answer was no; 1 if nothing was answered. ``only``
    names cases (default: all that can be sent), ``to`` the file to record to. ``world`` goes to :func:`send`.

    Raises :class:`InvalidArgumentError` for a case that does not exist or cannot be sent, and for a file that
    exists; :class:`MissingPackageError` without the SDK.
    """
    say = say or _tell
    key = (os.environ if environment is None else environment).get(KEY)
    if not key:
        say(
            f"{KEY} is not set: nothing was sent. Without --live recordings are replayed, which needs no key."
        )
        return 2
    _need_the_sdk()
    run = datetime.now(UTC).strftime("live-%Y%m%dT%H%M%SZ")
    path = to or Path(f"{run}.jsonl")
    if path.exists():
        raise InvalidArgumentError(Problem(str(path), "new-file", "exists", "name a file that does not"))
    cases = chosen(scenarios(run), only)
    say(str(estimate(cases)))
    if not yes:
        if answer is None and not sys.stdin.isatty():
            say("Nobody is there to ask: nothing was sent. Say --yes to send without being asked.")
            return 2
        if (answer or _typed)("Send them? [y/N]").strip().lower() not in ("y", "yes"):
            say("Nothing was sent.")
            return 0
    done = send(
        cases, Store(path, source="data/scenarios", tags=["scenario"]), run=run, key=key, say=say, **world
    )
    say(f"{done.played} cases, {len(done.problems) or 'no'} problems, {done.spent.total_usd:.4f} USD; {path}")
    return done if path.exists() else 1


def _typed(question: str) -> str:
    """What a person types; the question does not mix with what the command prints."""
    print(question, end=" ", file=sys.stderr, flush=True)
    return sys.stdin.readline()


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def chosen(known: Sequence[Scenario], only: Sequence[str]) -> list[Scenario]:
    """The cases that can be sent, or those of them that ``only`` names."""
    by_name = {case.name: case for case in known}
    problems = []
    for name in only:
        if name not in by_name:
            problems.append(Problem(name, "known-case", "is not a case of data/scenarios"))
        elif by_name[name].not_live:
            problems.append(Problem(name, "can-be-sent", f"cannot be sent: {by_name[name].not_live}"))
    if problems:
        raise InvalidArgumentError(problems)
    return [by_name[name] for name in only] if only else [case for case in known if not case.not_live]


def _need_the_sdk() -> None:
    try:
        import anthropic  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            Problem("anthropic", "installed", "a live run needs the SDK", 'pip install "ctxlab[api]"')
        ) from None
