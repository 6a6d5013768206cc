"""The break-even sheet: what each lever would save, net, and from which turn on it pays.

Models: trimming, clearing, offloading and compaction of one request; caps and batches on the longest run of a
log.
Does not model: how good a summary is. Its length is assumed, and what it leaves out nobody knows beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ctxlab.errors import InvalidArgumentError, UnknownModelError, UnpricedModelError
from ctxlab.figures import Table, table, usd
from ctxlab.figures.svg import positive
from ctxlab.levers import (
    Outcome,
    PrefixLedger,
    apply_compaction,
    clear,
    compact_call,
    offload,
    trim,
    turn_starts,
)
from ctxlab.levers.policy import batches_usd, best_batch
from ctxlab.recordings import LogSummary, Session
from ctxlab.takeaways.files import request_of, write
from ctxlab.takeaways.logs import is_log, log_of, messages_of, read_from
from ctxlab.takeaways.markdown import counted, listed, page
from ctxlab.usage import Usage

_SUMMARY_TOKENS, _LONG_TOKENS = 1_500, 100
_AT_WORK = (
    "Which of our levers fires on every turn? Let it fire seldom, and deeper.",
    "Which results could go to the store when they arrive, before they are ever sent?",
    "Which facts have to survive to the letter, and which test looks for them?",
    "How many turns still follow when a lever fires? Compare with the column *pays from*.",
)


def break_even_sheet(
    source: Mapping[str, Any] | Session | LogSummary | str | Path,
    *,
    turns: int = 20,
    model: str | None = None,
    write_to: str | Path | None = None,
) -> Table:
    """What each lever would save on a request over the next ``turns``, net, and from which turn on it pays.

    ``source`` is a request body that was just answered, or the path of a JSON file with one; ``model`` stands
    in for the one it names. A session, or the path of a log or a folder of logs, gets a sheet of caps on its
    longest run instead. ``write_to`` also writes the page as Markdown. The request is not changed.

    Raises :class:`InvalidRequestError` for a body that cannot be read or breaks a rule already,
    :class:`RecordingError` where a log holds no usage.

    >>> body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Hi"}]}
    >>> break_even_sheet(body).text.splitlines()[0].split(" | ")[-1]
    'pays from'
    """
    positive("turns", turns)
    if is_log(source):
        return _caps_sheet(log_of(source), write_to)
    ledger = PrefixLedger.of(request_of(source), model=model)
    rows = [_lever_row(name, pull, turns) for name, pull in _levers(ledger).items()]
    shown = table(
        rows,
        ("lever", "tokens removed", "written again", "lost", f"net over {turns} turns", "pays from"),
        caption=f"Levers on a request of {ledger.total_tokens:,} tokens, {ledger.warm_tokens:,} of them warm",
        labelled="emulated",
        source=ledger.model.id,
    )
    if write_to is not None:
        write(_sheet_markdown(ledger, shown), write_to)
    return shown


def _levers(ledger: PrefixLedger) -> dict[str, Callable[[], Outcome]]:
    """The levers of a sheet, each on the request as it stands."""
    request = ledger.request
    half = max(len(turn_starts(request)) // 2, 1)
    return {
        f"trim to the newest {counted(half, 'turn')}": lambda: trim(request, keep_turns=half, ledger=ledger),
        "clear all results but 3": lambda: clear(request, keep=3, ledger=ledger),
        "offload long results now": lambda: offload(
            request, which="all", at_least_tokens=_LONG_TOKENS, ledger=ledger
        ),
        f"compact to {_SUMMARY_TOKENS:,} tokens (assumed)": lambda: _compacted(ledger),
    }


def _compacted(ledger: PrefixLedger) -> Outcome:
    """A compaction with a summary of an assumed length; what it would leave out nobody knows."""
    call = compact_call(ledger.request, ledger=ledger)
    usage = ledger.after(call).plan.usage()
    message = {
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "word " * _SUMMARY_TOKENS}],
        "usage": {
            "input_tokens": usage.input_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "cache_creation": {
                "ephemeral_5m_input_tokens": usage.cache_creation.ephemeral_5m_input_tokens,
                "ephemeral_1h_input_tokens": usage.cache_creation.ephemeral_1h_input_tokens,
            },
            "output_tokens": _SUMMARY_TOKENS,
        },
    }
    return apply_compaction(ledger.request, message, facts=(), ledger=ledger)


def _lever_row(name: str, pull: Callable[[], Outcome], turns: int) -> tuple[object, ...]:
    try:
        effect = pull().effect
    except InvalidArgumentError as error:
        problem = error.problems[0]
        return name, "", "", "", "", f"{problem.path} {problem.message}"
    if effect.refused is not None:
        return name, "", "", "", "", effect.refused.message
    if effect.removed_tokens <= 0:
        return name, effect.removed_tokens, "", "", "", "nothing to take out"
    try:
        saved, pays = effect.net_saving_usd(turns), effect.break_even_turn()
    except UnpricedModelError:
        return name, effect.removed_tokens, effect.rewritten_tokens, len(effect.gone), "unpriced", "unknown"
    when = "never" if pays is None else f"request {pays:,}"
    lost = "unknown" if effect.calls else len(effect.gone)
    money = usd(saved) if saved >= 0 else f"−{usd(-saved)}"
    return name, effect.removed_tokens, effect.rewritten_tokens, lost, money, when


def _sheet_markdown(ledger: PrefixLedger, shown: Table) -> str:
    marked = sum(block.cache_control is not None for block in ledger.prompt.blocks)
    return page(
        "Break-even sheet",
        "Counts and dollars only; no text is in this file. The request counts as just answered, its entries "
        "as alive. What is offloaded counts as never read again.",
        shown,
        listed(
            [
                f"Tools and system prompt: {ledger.fixed_tokens:,} tokens, which no lever takes away.",
                f"Warm: {ledger.warm_tokens:,} of {ledger.total_tokens:,} tokens.",
                f"Blocks with a marker of their own: {marked}.",
                "A lost thing is a message or a payload. What a summary leaves out nobody knows beforehand.",
            ]
        ),
        ask=_AT_WORK,
    )


def _caps_sheet(log: Session | LogSummary, write_to: str | Path | None) -> Table:
    model, usages = _longest_run(log)
    sizes = [usage.context_tokens for usage in usages]
    fixed, cap = min(sizes), max((max(sizes) - min(sizes)) // 2, 1)
    grown = [later - one for one, later in pairwise(sizes) if later > one]
    added = min(max(sum(grown) // max(len(grown), 1), 1), cap)
    rows = []
    try:
        best, _ = best_batch(model, cap_tokens=cap, fixed_tokens=fixed, added_tokens=added, turns=len(sizes))
        for name, limit, batch in (
            ("no cap", max(added * len(sizes), cap), 1),
            ("cap, cut on every turn", cap, added),
            ("cap, cut by a half", cap, max(cap // 2, 1)),
            (f"cap, cut by {best:,}: the cheapest", cap, best),
        ):
            cached, uncached = (
                batches_usd(
                    model,
                    cap_tokens=limit,
                    batch_tokens=batch,
                    fixed_tokens=fixed,
                    added_tokens=added,
                    turns=len(sizes),
                    cached=how,
                )
                for how in (True, False)
            )
            rows.append((name, usd(cached), usd(uncached)))
    except (UnpricedModelError, UnknownModelError):
        rows.append(("unpriced", "unknown", "unknown"))
    shown = table(
        rows,
        ("history", "input with a cache", "input without"),
        caption=f"{counted(len(sizes), 'request')}, growing by {counted(added, 'token')} a turn, "
        f"capped at {cap:,} of history",
        labelled="emulated",
        source=model,
    )
    if write_to is not None:
        write(_caps_markdown(log, fixed, shown), write_to)
    return shown


def _longest_run(log: Session | LogSummary) -> tuple[str, Sequence[Usage]]:
    """The model and the usages of the file with the most messages of one model."""
    runs: dict[tuple[str, str], list[Usage]] = {}
    for one in messages_of(log):
        runs.setdefault((one.where.rpartition(":")[0], one.model), []).append(one.usage)
    (_, model), usages = max(runs.items(), key=lambda item: len(item[1]))
    return model, usages


def _caps_markdown(log: Session | LogSummary, fixed_tokens: int, shown: Table) -> str:
    return page(
        "Break-even sheet of a log",
        f"Read: {read_from(log)}. Counts and dollars only; no text is in this file.",
        shown,
        listed(
            [
                f"Assumed stable: {fixed_tokens:,} tokens, the smallest request of the run. "
                "Growth is the mean.",
                "Assumed too: nothing that was dropped is read again, and every entry lives until the next "
                "turn.",
            ]
        ),
        ask=_AT_WORK,
    )
