"""``ctxlab lint``: source files, notebooks and request bodies, scanned for prefix breakers.

Models: Python files, notebooks and folders of them (:func:`ctxlab.breakers.scan_source`); ``*.json`` and
``*.jsonl`` named by themselves, as request bodies; ``-`` as source on standard input; codes picked or left
out; suppressions in comments; a baseline read or written.
Does not model: JSON files inside folders: a folder holds many that are no requests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from ctxlab.breakers import BREAKERS, Finding, scan_request, scan_source, scan_text
from ctxlab.breakers.suppressions import Suppression, apply, suppressions
from ctxlab.commands import bodies
from ctxlab.errors import CtxlabError, InvalidArgumentError, InvalidRequestError, Problem
from ctxlab.report import Baseline, Report, Sources, Withheld
from ctxlab.report.places import STANDARD_INPUT

_BODIES = (".json", ".jsonl")
_Told = TypeVar("_Told", bound=Problem)


@dataclass(slots=True)
class _Run:
    """What has been found so far. ``listed`` are the read files in which comments may suppress."""

    findings: list[Finding] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)
    sources: Sources = field(default_factory=Sources)
    listed: list[str] = field(default_factory=list)


def lint(
    paths: Sequence[str],
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    baseline: Path | None = None,
    write_baseline: Path | None = None,
) -> Report:
    """Scan ``paths``. ``select`` and ``ignore`` are codes, beginnings of codes or rules.

    Raises :class:`InvalidArgumentError` for a code that does not exist and for a file that is no baseline.
    """
    picked = _codes("--select", select) or frozenset(BREAKERS)
    left_out = _codes("--ignore", ignore)
    known = None if baseline is None else Baseline.read(baseline)
    run = _Run()
    _scan(paths, run)
    wanted = picked - left_out
    kept, withheld, remarks = _suppressed(run)
    kept = [one for one in kept if one.code in wanted]
    withheld = [one for one in withheld if one.finding.code in wanted]
    if write_baseline is not None:
        known = Baseline.of(write_baseline, kept, run.sources)
        known.write()
    new = tuple(kept)
    if known is not None:
        new, held, stale = known.sift(kept, run.sources)
        withheld, remarks = withheld + list(held), remarks + list(stale)
    everything = [*new, *(one.finding for one in withheld)]
    return Report(
        "lint",
        new,
        tuple(run.read),
        tuple(run.skipped),
        tuple(withheld),
        tuple(remarks),
        fingerprints=run.sources.fingerprints(everything, Path()),
    )


def _scan(paths: Sequence[str], run: _Run) -> None:
    source = []
    for path in dict.fromkeys(paths):
        if path == "-":
            _scan_input(run)
        elif path.lower().endswith(_BODIES) and not Path(path).is_dir():
            _scan_bodies(Path(path), run)
        else:
            source.append(path)
    if source:
        scan = scan_source(*source)
        run.findings += scan.findings
        run.read += scan.read
        run.skipped += scan.skipped
        run.listed += scan.read
        if not (scan.read or scan.skipped):
            told = Problem(
                ", ".join(source), "no-files", "holds no Python file, no notebook", "check the path"
            )
            run.skipped.append(told)


def _scan_input(run: _Run) -> None:
    try:
        text = sys.stdin.buffer.read().removeprefix(b"\xef\xbb\xbf").decode("utf-8")
        run.findings += scan_text(text, STANDARD_INPUT)
    except UnicodeDecodeError as error:
        run.skipped.append(Problem(STANDARD_INPUT, "encoding", f"is not UTF-8 at byte {error.start}"))
    except CtxlabError as error:
        run.skipped += error.problems
    else:
        run.read.append(STANDARD_INPUT)
        run.listed.append(STANDARD_INPUT)
        run.sources = Sources({STANDARD_INPUT: text})


def _scan_bodies(path: Path, run: _Run) -> None:
    read = False
    for one in bodies.read(path):
        if isinstance(one, Problem):
            run.skipped.append(one)
            continue
        try:
            found = scan_request(one.body)
        except InvalidRequestError as error:
            run.skipped += [_inside(one, problem) for problem in error.problems]
            continue
        read = True
        run.findings += [_inside(one, finding) for finding in found]
    if read:
        run.read.append(path.as_posix())


def _inside(found: bodies.Found, told: _Told) -> _Told:
    """What was said of a body, with the file it is from."""
    place = f"{found.inside}: {told.path}" if found.inside else told.path
    return replace(told, path=f"{found.file}: {place}")


def _suppressed(run: _Run) -> tuple[list[Finding], list[Withheld], list[Problem]]:
    """All findings parted by the comments beside them, and what is wrong with the comments."""
    kept: list[Finding] = []
    withheld: list[Withheld] = []
    remarks: list[Problem] = []
    by_path: dict[str, list[Finding]] = {}
    for one in run.findings:
        by_path.setdefault(one.path, []).append(one)
    commented = {path for file in run.listed for path in run.sources.commented(file)}
    for path in [*by_path, *sorted(commented - by_path.keys())]:
        own = by_path.get(path, [])
        if path not in commented:
            kept += own
            continue
        text = run.sources.text(path)
        comments = suppressions(text)
        left, gone, wrong = apply(own, text, path)
        kept += left
        remarks += wrong
        withheld += [Withheld(one, _reason(one, comments), "comment") for one in gone]
    return kept, withheld, remarks


def _reason(one: Finding, comments: Mapping[int, Suppression]) -> str:
    lines = (one.line or 0, (one.line or 0) - 1)
    return next(comments[at].reason for at in lines if at in comments and one.code in comments[at].codes)


def _codes(option: str, asked: Iterable[str]) -> frozenset[str]:
    """Codes for codes, beginnings of codes and rules; commas part them too."""
    found: set[str] = set()
    for word in (word.strip() for words in asked for word in words.split(",")):
        matching = {
            code
            for code, breaker in BREAKERS.items()
            if code.startswith(word.upper()) or breaker.rule == word
        }
        if not word or not matching:
            known = ", ".join(f"{code} {breaker.rule}" for code, breaker in BREAKERS.items())
            raise InvalidArgumentError(Problem(option, "known-code", f"{word!r} is no code", f"use {known}"))
        found |= matching
    return frozenset(found)
