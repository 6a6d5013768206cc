"""Inline suppressions: a comment that says which finding is accepted here, and why.

Models: ``# ctxlab: ignore[CTX101] the reason`` on the line of a finding or alone on the line above it.
Does not model: baselines of a whole project, or suppression of a whole file.

A suppression without a reason does not suppress: whoever reads the code next cannot judge it.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ctxlab.breakers.finding import BREAKERS, Finding
from ctxlab.errors import Problem

_COMMENT = re.compile(r"#\s*ctxlab:\s*ignore\b(?:\s*\[(?P<codes>[^\]]*)\])?(?P<reason>.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment: ``codes`` it accepts, the ``reason`` it gives, the ``line`` it stands on.

    ``alone`` says that nothing else stands on the line; only then does it reach the line below.
    """

    codes: tuple[str, ...]
    reason: str
    line: int
    alone: bool = False


def suppressions(text: str) -> dict[int, Suppression]:
    """Every suppression of a source text by the line it stands on; strings that look like one are none.

    >>> suppressions('x = 1  # ctxlab: ignore[CTX101] one request a day')[1].reason
    'one request a day'
    """
    if "ctxlab:" not in text:
        return {}
    found = {}
    for line, column, comment in _comments(text):
        match = _COMMENT.match(comment)
        if match:
            codes = tuple(code.strip().upper() for code in (match["codes"] or "").split(",") if code.strip())
            lines = text.splitlines()
            alone = line <= len(lines) and not lines[line - 1][:column].strip()
            found[line] = Suppression(codes, match["reason"].strip(" :-–—"), line, alone)
    return found


def apply(
    findings: Iterable[Finding], text: str, path: str = "<source>"
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Problem, ...]]:
    """Split ``findings`` of one file into kept and suppressed, and say what is wrong with the comments.

    Problems: no reason, no code, a code that does not exist, a suppression that met no finding.

    >>> from ctxlab.breakers.finding import finding
    >>> kept, gone, problems = apply([finding("clock", "a.py", "now() reaches system", line=1)],
    ...                              "now()  # ctxlab: ignore[CTX101] read once a day")
    >>> len(kept), len(gone), problems
    (0, 1, ())
    """
    comments = suppressions(text)
    kept: list[Finding] = []
    gone: list[Finding] = []
    used: set[int] = set()
    for one in findings:
        comment = _for_line(comments, one)
        if comment is None:
            kept.append(one)
            continue
        used.add(comment.line)
        (gone if comment.reason else kept).append(one)
    problems = [problem for line in sorted(comments) for problem in _faults(comments[line], path, used)]
    return tuple(kept), tuple(gone), tuple(problems)


def _for_line(comments: Mapping[int, Suppression], one: Finding) -> Suppression | None:
    if one.line is None:
        return None
    here, above = comments.get(one.line), comments.get(one.line - 1)
    if here is not None and one.code in here.codes:
        return here
    if above is not None and above.alone and one.code in above.codes:
        return above
    return None


def _faults(comment: Suppression, path: str, used: set[int]) -> list[Problem]:
    place = f"{path}:{comment.line}"
    if not comment.codes:
        return [
            Problem(place, "suppression-code", "names no code", "write ignore[CTX101] with the code you mean")
        ]
    faults = [
        Problem(place, "suppression-code", f"{code} is no code", f"codes run from {_first()} to {_last()}")
        for code in comment.codes
        if code not in BREAKERS
    ]
    if not comment.reason:
        faults.append(
            Problem(
                place,
                "suppression-reason",
                f"{', '.join(comment.codes)} is ignored without a reason, so it is still reported",
                "say behind the bracket why this does not cost anything here",
            )
        )
    if comment.line not in used and not faults:
        faults.append(
            Problem(place, "suppression-unused", f"{', '.join(comment.codes)} is not found here", "delete it")
        )
    return faults


def _first() -> str:
    return min(BREAKERS)


def _last() -> str:
    return max(BREAKERS)


def _comments(text: str) -> Iterable[tuple[int, int, str]]:
    reader = io.StringIO(text).readline
    try:
        for token in tokenize.generate_tokens(reader):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1], token.string
    except (tokenize.TokenError, SyntaxError):
        # what cannot be read to its end was read up to here; the scan says what is wrong with the file
        return
