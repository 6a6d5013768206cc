"""``ctxlab diagnose``: what became of the cache, call by call, and why.

Models: one line a call (read, written, fresh, dollars, verdict), the sentence behind every verdict but a
hit, the API's own reason beside ours, and a summary. A call whose prefix broke is a finding.
Does not model: the verdicts (:mod:`ctxlab.diagnose`), the formats of files (:mod:`ctxlab.commands.calls`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from ctxlab.breakers import BREAKERS, Finding, finding
from ctxlab.commands import calls
from ctxlab.cost import bill
from ctxlab.diagnose import VERDICTS, Diagnosis, Exchange
from ctxlab.diagnose import diagnose as diagnosed
from ctxlab.errors import CtxlabError
from ctxlab.figures import usd
from ctxlab.report import Report
from ctxlab.report.places import Sources

_GOOD = frozenset({"hit", "cold start"})
# a short prefix or one without a marker may be meant; what was stored and is read no more is not
_CONFIRMED = frozenset({"prefix changed", "parameter changed", "model changed", "lookback exceeded"})


def diagnose(path: Path) -> Report:
    """Diagnose the calls of one file; what could not be read of it is in ``skipped``."""
    found = calls.read(path)
    results = diagnosed(found.exchanges) if found.exchanges else ()
    prices = [_price(one) for one in found.exchanges]
    findings = tuple(
        _finding(path, one, line) for one, line in zip(results, found.lines, strict=True) if _broke(one)
    )
    where = list(calls.places(path, found))
    return Report(
        "diagnose",
        findings,
        (path.as_posix(),) if results else (),
        tuple(found.problems),
        drawing="\n".join(_page(results, prices, where, found.kind)) if results else "",
        details={
            "kind": found.kind,
            "calls": [_object(*row) for row in zip(results, prices, where, strict=True)],
            "verdicts": dict(Counter(one.verdict for one in results)),
        },
        fingerprints=Sources().fingerprints(findings, Path()),
    )


def _broke(one: Diagnosis) -> bool:
    return one.code in BREAKERS


def _finding(path: Path, one: Diagnosis, line: int | None) -> Finding:
    lost = f" ({one.lost_tokens:,} tokens read anew)" if one.lost_tokens else ""
    return finding(
        BREAKERS[str(one.code)].rule,
        path.as_posix() if line is not None else f"{path.as_posix()}: {_call(one)}",
        f"call {_call(one)}: {one.verdict}: {one.says}{lost}",
        fix=VERDICTS[one.verdict].next,
        certainty="confirmed" if one.verdict in _CONFIRMED else "suspected",
        line=line,
    )


def _call(one: Diagnosis) -> str:
    """The name of a call, the one by which diagnoses refer to each other."""
    return f"#{one.index}"


def _price(exchange: Exchange) -> Decimal | None:
    """What a call cost; None where usage, model or price is not known."""
    model = exchange.model or getattr(exchange.request, "parameters", {}).get("model", "").strip('"')
    if exchange.usage is None or not model:
        return None
    try:
        return bill(exchange.usage, model).total_usd
    except CtxlabError:
        return None


def _page(
    results: Sequence[Diagnosis], prices: Sequence[Decimal | None], where: Sequence[str], kind: str
) -> Iterator[str]:
    rows = [("call", "read", "written", "fresh", "cost", "verdict")]
    for one, price in zip(results, prices, strict=True):
        read, written, fresh = map(_count, (one.read_tokens, one.written_tokens, one.fresh_tokens))
        cost = "-" if price is None else usd(price)
        rows.append((_call(one), read, written, fresh, cost, one.verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for at, row in enumerate(rows):
        yield "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[5]])
        if at and results[at - 1].verdict not in _GOOD:
            yield from (f"      {line}" for line in _behind(results[at - 1], where[at - 1]))
    yield ""
    yield _summary(results, prices)
    if kind == "transcript":
        yield "a transcript holds no requests: what changed in the bytes cannot be told from it"


def _behind(one: Diagnosis, where: str) -> Iterator[str]:
    """What is known beside the verdict; a finding is told in full below the table."""
    if not _broke(one):
        yield f"{where}: {one.says}"
    difference = one.difference
    if difference is not None and not difference.appended and difference.path not in one.says:
        yield f"first difference: {difference}"
    if one.missing:
        yield f"missing: {', '.join(one.missing)}"
    if one.api_reason is not None:
        yield f"the API says: {one.api_reason} ({one.agreement})"


def _summary(results: Sequence[Diagnosis], prices: Sequence[Decimal | None]) -> str:
    seen = Counter(one.verdict for one in results)
    verdicts = ", ".join(f"{seen[verdict]} {verdict}" for verdict in VERDICTS if seen[verdict])
    parts = [f"{len(results)} call{'' if len(results) == 1 else 's'}: {verdicts}"]
    if known := [price for price in prices if price is not None]:
        open_calls = len(prices) - len(known)
        parts.append(f"{usd(sum(known))}{f' without {open_calls} unpriced' if open_calls else ''}")
    if lost := sum(one.lost_tokens or 0 for one in results):
        parts.append(f"{lost:,} tokens read anew that could have been read from the cache")
    return "; ".join(parts)


def _count(tokens: int | None) -> str:
    return "-" if tokens is None else f"{tokens:,}"


def _object(one: Diagnosis, price: Decimal | None, where: str) -> dict[str, Any]:
    return {
        "call": one.index,
        "where": where,
        "verdict": one.verdict,
        "says": one.says,
        "read_tokens": one.read_tokens,
        "written_tokens": one.written_tokens,
        "fresh_tokens": one.fresh_tokens,
        "lost_tokens": one.lost_tokens,
        "usd": None if price is None else f"{price:f}",
        "survived": one.survived,
        "compared_with": one.compared_with,
        "code": one.code,
        "path": one.path,
        "first_difference": None if one.difference is None else str(one.difference),
        "changed": list(one.changed),
        "missing": list(one.missing),
        "assumed": list(one.assumed),
        "notes": list(one.notes),
        "api_reason": one.api_reason,
        "agreement": one.agreement,
    }
