"""The bill page: what a folder of logs cost.

Models: each message at the list price of its day, summed by model and class of tokens.
Does not model: discounts of a contract. What has no price is named, never free.
"""

from __future__ import annotations

from pathlib import Path

from ctxlab.cost import Call, Line, SessionBill, bill_session
from ctxlab.figures import Table, table, usd
from ctxlab.recordings import LogSummary, Session
from ctxlab.takeaways.files import write
from ctxlab.takeaways.logs import has_whole_outputs, log_of, messages_of, read_from
from ctxlab.takeaways.markdown import between, counted, listed, page


def bill_page(source: Session | LogSummary | str | Path, *, write_to: str | Path | None = None) -> Table:
    """What a folder of logs (or a recorded session) cost, by model and class of tokens.

    Each message is priced by the list of its day, where the log tells the day. Of a recorded session that
    under-reports its output only the input side is billed. ``write_to`` also writes the page as Markdown.
    Messages without a price are counted by model, never free. Raises :class:`RecordingError` when there is no
    usage to read, and :class:`InvalidArgumentError` where the page cannot be written.
    """
    log = log_of(source)
    billed = bill_session(Call(one.model, one.usage, on=one.on) for one in messages_of(log))
    total = between(*billed.bill.range_usd) + ("" if billed.complete else ", incomplete")
    shown = table(
        [*_rows(billed), ("all models", counted(len(log.turns), "message"), "", "", total)],
        ("model", "class", "tokens", "per million", "dollars"),
        caption="What these logs cost, at list prices" + ("" if has_whole_outputs(log) else ", input only"),
        labelled="recorded",
        source=read_from(log),
    )
    if write_to is not None:
        write(_markdown(log, billed, shown), write_to)
    return shown


def _rows(billed: SessionBill) -> list[tuple[object, ...]]:
    bill = billed.bill
    rows: list[tuple[object, ...]] = [
        (
            line.model_id,
            _class_of(line),
            line.tokens,
            usd(line.usd_per_mtok),
            between(line.amount, line.amount_high),
        )
        for line in sorted(bill.lines, key=lambda line: (line.model_id, line.iteration_type != "message"))
        if line.tokens
    ]
    if searches := bill.web_search_requests:
        found = f"{searches} web search{'es' * (searches != 1)}"
        rows.append(("all models", found, "", "", usd(bill.web_search_usd)))
    rows += [
        (
            missing.model,
            f"all classes of {counted(missing.requests, 'message')}: {missing.reason}",
            missing.usage.billed_input_tokens + missing.usage.billed_output_tokens,
            "",
            "unknown",
        )
        for missing in billed.unpriced
    ]
    return rows


def _class_of(line: Line) -> str:
    """The class of tokens, and the step where it was no ordinary answer (a summary, an advisor)."""
    label = "fresh" if line.label == "input" else line.label
    return label if line.iteration_type == "message" else f"{label}, {line.iteration_type}"


def _markdown(log: Session | LogSummary, billed: SessionBill, shown: Table) -> str:
    total = sum(usage.total_input_tokens for usage in log.usages)
    read = sum(usage.cache_read_input_tokens for usage in log.usages)
    figures = [
        f"Input in all: {total:,} tokens, {100 * read / (total or 1):.1f} % of them read from the cache.",
        f"Largest request: {max((usage.context_tokens for usage in log.usages), default=0):,} tokens.",
    ]
    if billed.bill.estimate:
        low, high = billed.bill.range_usd
        figures.append(f"Some writes have no known lifetime: between {usd(low)} and {usd(high)}.")
    figures += [f"Flagged: {flag}." for flag in sorted(billed.bill.flags)]
    return page(
        "Bill of a log",
        f"Read: {read_from(log)}. Figures only; no text is in this file.",
        shown,
        listed(figures),
        ask=(
            "Are output tokens counted in full in these logs? Compare one day with the "
            "provider's usage page.",
            "Which share of the bill is re-reading the same history?",
            "What would twice the turns cost?",
        ),
    )
