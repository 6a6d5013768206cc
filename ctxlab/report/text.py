"""Findings for a person: what, where, why it costs money, what to do, and what it costs each turn.

Models: findings under the file they are in, colour where a terminal shows it, what was skipped, one summary
line at the end. Does not model: wrapping to the width of a terminal.
Source: NO_COLOR and TERM=dumb turn colour off (no-color.org, 2026-10).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from decimal import Decimal
from typing import TextIO

from ctxlab.breakers import Finding
from ctxlab.figures import usd
from ctxlab.figures.svg import plain
from ctxlab.report.result import Report

_RED, _YELLOW, _BOLD, _DIM, _PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[2m", "\x1b[0m"


def wants_colour(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal whose owner has not turned colour off."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def as_text(report: Report, *, colour: bool = False) -> str:
    """The whole report; its last line is the summary.

    >>> print(as_text(Report("lint", (), ("agent.py",))))
    0 confirmed, 0 suspected; 1 file read, 0 skipped
    """
    parts = [report.drawing.rstrip("\n")] if report.drawing else []
    parts += ["\n".join(_lines(one, colour)) for one in report.findings]
    if report.remarks:
        parts.append("\n".join(f"note: {one}" for one in report.remarks))
    if report.skipped:
        parts.append("\n".join(f"{_in(_BOLD, 'not read', colour)} {one}" for one in report.skipped))
    if not report.read:
        parts.append("nothing was read, so nothing is known")
    return "\n\n".join([*parts, report.summary])


def _lines(one: Finding, colour: bool) -> Iterator[str]:
    shade = _RED if one.confirmed else _YELLOW
    code = _in(shade, f"{one.code} {one.certainty}", colour)
    yield f"{_in(_BOLD, plain(one.place), colour)}: {code}: {plain(one.message)}"
    if one.evidence and one.evidence not in one.message:
        yield f"    {_in(_DIM, 'seen', colour)}   {plain(one.evidence)}"
    yield f"    {_in(_DIM, 'why', colour)}    {one.why}"
    if one.fix:
        yield f"    {_in(_DIM, 'fix', colour)}    {one.fix}"
    if cost := cost_words(one):
        yield f"    {_in(_DIM, 'costs', colour)}  {cost}"


def cost_words(one: Finding) -> str:
    """What a finding costs each turn, as far as that is known; empty where it is not.

    >>> from ctxlab.breakers import finding
    >>> cost_words(finding("clock", "a.py", "a clock").priced(55_000, Decimal("0.12375")))
    '55,000 tokens read anew each turn, $0.12 more than from the cache'
    """
    if one.tokens_per_turn is None:
        return ""
    tokens = f"{one.tokens_per_turn:,} tokens read anew each turn"
    return tokens if one.usd_per_turn is None else f"{tokens}, {more_words(one.usd_per_turn)}"


def more_words(amount: Decimal) -> str:
    """What reading anew costs above reading from the cache, in words.

    >>> more_words(Decimal("0.0256")), more_words(Decimal(0))
    ('$0.0256 more than from the cache', 'at no more money: nothing of it was cached')
    """
    return (
        f"{usd(amount)} more than from the cache" if amount else "at no more money: nothing of it was cached"
    )


def _in(shade: str, words: str, colour: bool) -> str:
    return f"{shade}{words}{_PLAIN}" if colour else words
