"""The true bill page: what responses cost with every step of them, beside what the top level shows.

Models: ``usage.iterations`` (compaction, an advisor) against the figures above them; a function to copy.
Prices are those of the list of a message's day, or of the newest where no day is told.
Does not model: rates of your own contract.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxlab.cost import Call, bill_session
from ctxlab.figures import Table, table
from ctxlab.recordings import LogSummary, Session
from ctxlab.takeaways.files import write_into
from ctxlab.takeaways.logs import NO_MODEL, Message, has_whole_outputs, log_of, messages_of
from ctxlab.takeaways.markdown import between, counted, page, section
from ctxlab.usage import Usage

_TRUE_BILL = '''\
"""What a response of the Messages API cost, every step of it. Standard library only: copy it as it is.

The top level of `usage` leaves out the steps in which the server writes summaries (compaction, 2026). They
are in `usage.iterations`, and they are billed. Nothing is guessed: a step of another model needs its rates.
"""

CLASSES = {
    "fresh": "input_tokens",
    "read": "cache_read_input_tokens",
    "written": "cache_creation_input_tokens",
    "output": "output_tokens",
}


def steps(usage):
    """The entries that are billed: the iterations if there are any, else the top level as the only one."""
    return usage.get("iterations") or [usage]


def true_bill(usage, rates, others=None):
    """Tokens of input, tokens of output, dollars.

    `usage` is a dictionary (`response.usage.to_dict()`), `rates` are dollars per million tokens: "fresh",
    "read", "written" (five minutes), "written_1h" and "output". `others` holds rates by model for steps that
    name a model of their own, such as an advisor; without them such a step is a KeyError.

    >>> rates = {"fresh": 4, "read": 0.2, "written": 5, "written_1h": 8, "output": 20}
    >>> passed = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500}
    >>> replied = {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000}
    >>> true_bill({**replied, "iterations": [passed, replied]}, rates)
    (203000, 4500, 0.902)
    """
    read_in = put_out = 0
    micro_usd = 0
    for step in steps(usage):
        of = {name: step.get(field) or 0 for name, field in CLASSES.items()}
        long = (step.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
        short = (step.get("cache_creation") or {}).get("ephemeral_5m_input_tokens") or 0
        of["written"] = max(of["written"], long + short)
        read_in += of["fresh"] + of["read"] + of["written"]
        put_out += of["output"]
        own = (others or {})[step["model"]] if step.get("model") else rates
        if long:
            micro_usd += long * (own["written_1h"] - own["written"])
        micro_usd += sum(tokens * own[name] for name, tokens in of.items())
    return read_in, put_out, micro_usd / 1_000_000
'''
_MOST_PLACES = 20


def true_bill_page(
    source: Mapping[str, Any] | Usage | Session | LogSummary | str | Path,
    *,
    model: str | None = None,
    write_to: str | Path | None = None,
) -> Table:
    """What a response, a log or a folder of logs cost, every step of it, beside what the top level shows.

    ``source`` is a response as a dictionary (or its ``usage`` alone), or the path of saved responses or logs;
    ``model`` stands in where none is named. Of a recorded session that under-reports its output only the
    input is billed. ``write_to`` is a folder, made where there is none: ``true-bill.md`` is written there,
    and ``true_bill.py``, a function without dependencies, if it does not exist. Models without a price are
    named, never counted as free. Raises :class:`InvalidUsageError` and :class:`RecordingError` where there is
    no usage to read.

    >>> true_bill_page({"model": "claude-opus-5-5", "usage": {"input_tokens": 0, "output_tokens": 0,
    ...     "iterations": [{"type": "compaction", "input_tokens": 90_000, "output_tokens": 500}]}})
    what is counted     |  input | output | dollars
    --------------------|--------|--------|--------
    the top level       |      0 |      0 |   $0.00
    every step          | 90,000 |    500 |   $0.37
    left out at the top | 90,000 |    500 |   $0.37
    """
    answers, whole = _answers(source, model)
    steps = bill_session(Call(one.model, one.usage, on=one.on) for one in answers)
    tops = bill_session(Call(one.model, replace(one.usage, iterations=()), on=one.on) for one in answers)
    read_in = sum(one.usage.billed_input_tokens for one in answers)
    put_out = sum(one.usage.billed_output_tokens for one in answers)
    shown_in = sum(one.usage.total_input_tokens for one in answers)
    shown_out = sum(one.usage.output_tokens for one in answers)
    partly = "" if steps.complete else ", incomplete"
    of_tops, of_steps = tops.bill.range_usd, steps.bill.range_usd
    left_out = (of_steps[0] - of_tops[0], of_steps[1] - of_tops[1])
    rows: list[tuple[object, ...]] = [
        ("the top level", shown_in, shown_out, between(*of_tops) + partly),
        ("every step", read_in, put_out, between(*of_steps) + partly),
        ("left out at the top", read_in - shown_in, put_out - shown_out, between(*left_out) + partly),
    ]
    rows += [
        (
            f"{one.model}: {one.reason}",
            one.usage.billed_input_tokens,
            one.usage.billed_output_tokens,
            "unknown",
        )
        for one in steps.unpriced
    ]
    caption = "What was billed, and what the top level shows" + ("" if whole else ", input only")
    shown = table(rows, ("what is counted", "input", "output", "dollars"), caption=caption)
    if write_to is not None:
        pages = {"true-bill.md": _markdown(answers, shown)}
        write_into(write_to, pages, once={"true_bill.py": _TRUE_BILL})
    return shown


def _answers(source: object, model: str | None) -> tuple[list[Message], bool]:
    """Every message, and whether its output is told in full."""
    unnamed = model or NO_MODEL
    if isinstance(source, (Session, LogSummary, str, os.PathLike)):
        log = log_of(source)
        return messages_of(log, unnamed), has_whole_outputs(log)
    named = source.get("model") if isinstance(source, Mapping) else getattr(source, "model", None)
    return [Message("the response", str(named or unnamed), Usage.from_response(source))], True


def _markdown(answers: Sequence[Message], shown: Table) -> str:
    hidden = [
        f"`{one.where}`: top level {one.usage.total_input_tokens:,} in and {one.usage.output_tokens:,} out, "
        f"billed {one.usage.billed_input_tokens:,} and {one.usage.billed_output_tokens:,} "
        f"({', '.join(step.type for step in one.usage.billed)})"
        for one in answers
        if (one.usage.billed_input_tokens, one.usage.billed_output_tokens)
        != (one.usage.total_input_tokens, one.usage.output_tokens)
    ]
    if len(hidden) > _MOST_PLACES:
        hidden = [*hidden[:_MOST_PLACES], f"and {len(hidden) - _MOST_PLACES:,} more"]
    return page(
        "True bill",
        f"{counted(len(answers), 'message')}. Figures only; no text is in this file.",
        shown,
        section("Where the top level leaves steps out", hidden or ["nowhere"]),
        ask=(
            "Do our dashboards and budgets read `usage.iterations`, or only the top level?",
            "Which of our requests pause, compact on demand, or ask an advisor?",
            "Is the window measured by the last `message` step, and never by a summary's?",
        ),
    )
