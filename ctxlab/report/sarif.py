"""Findings as a SARIF 2.1.0 log, which code hosts and editors show beside the line.

Models: one run; every kind of breaker as a rule; confirmed as ``error``, suspected as ``warning``; URIs
relative to a folder (``%SRCROOT%``) with forward slashes; what a comment or the baseline withholds as a
result with ``suppressions``; what could not be read as notifications of the invocation.
Does not model: fixes, code flows. A place inside a notebook or a request is a logical location: lines of a
cell are not lines of the file.
Source: OASIS SARIF 2.1.0 errata 01 and its JSON schema, 2026-10.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import ctxlab
from ctxlab.breakers import BREAKERS, Breaker, Finding
from ctxlab.errors import Problem
from ctxlab.report.places import STANDARD_INPUT, relative, split_place
from ctxlab.report.result import Report, Withheld
from ctxlab.report.text import cost_words

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "ctxlab/v1"
_RULES = tuple(BREAKERS.values())
_INDEX = {breaker.code: at for at, breaker in enumerate(_RULES)}
_LEVELS = {"confirmed": "error", "suspected": "warning"}


def as_sarif(report: Report, *, folder: Path | None = None, strict: bool = False) -> dict[str, Any]:
    """The report as a SARIF log for ``json.dumps``; paths are relative to ``folder`` (default: this one).

    >>> log = as_sarif(Report("lint", (), ("agent.py",)))
    >>> log["version"], len(log["runs"][0]["tool"]["driver"]["rules"]) == len(BREAKERS)
    ('2.1.0', True)
    """
    folder = Path() if folder is None else folder
    results = [_result(one, report, folder, ()) for one in report.findings]
    results += [_result(one.finding, report, folder, [_suppression(one)]) for one in report.withheld]
    run = {
        "tool": {
            "driver": {
                "name": "ctxlab",
                "version": ctxlab.__version__,
                "semanticVersion": ctxlab.__version__,
                "rules": [_rule(breaker) for breaker in _RULES],
            }
        },
        "automationDetails": {"id": f"ctxlab/{report.command}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.skipped and bool(report.read),
                "exitCode": report.exit_code(strict=strict),
                "toolExecutionNotifications": [
                    *_notifications(report.skipped, "error"),
                    *_notifications(report.remarks, "note"),
                ],
            }
        ],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(breaker: Breaker) -> dict[str, Any]:
    why = f"{breaker.why[0].upper()}{breaker.why[1:]}."
    return {
        "id": breaker.code,
        "name": "".join(word.capitalize() for word in breaker.rule.split("-")),
        "shortDescription": {"text": breaker.rule.replace("-", " ")},
        "fullDescription": {"text": why},
        "help": {
            "text": f"{why} A cache entry is read only where every byte of the prefix is the same; each "
            "finding says what to change."
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["prompt-caching"]},
    }


def _result(
    one: Finding, report: Report, folder: Path, suppressions: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    words = [one.message, one.fix, cost_words(one)]
    properties: dict[str, Any] = {"certainty": one.certainty}
    if one.tokens_per_turn is not None:
        properties["tokensPerTurn"] = one.tokens_per_turn
    if one.usd_per_turn is not None:
        properties["usdPerTurn"] = f"{one.usd_per_turn:f}"
    result: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": _INDEX[one.code],
        "kind": "fail",
        "level": _LEVELS[one.certainty],
        "message": {"text": "; ".join(word for word in words if word)},
        "locations": [_location(one, folder)],
        "properties": properties,
    }
    if one in report.fingerprints:
        result["partialFingerprints"] = {FINGERPRINT: report.fingerprints[one]}
    if held := list(suppressions):
        result["suppressions"] = held
    return result


def _suppression(one: Withheld) -> dict[str, Any]:
    kind = "inSource" if one.by == "comment" else "external"
    return {"kind": kind, "status": "accepted", "justification": one.reason}


def _location(one: Finding, folder: Path) -> dict[str, Any]:
    file, inside = split_place(one.path)
    physical: dict[str, Any] = {"artifactLocation": artifact(file, folder)}
    location: dict[str, Any] = {"physicalLocation": physical}
    if inside:
        line = f", line {one.line}" if one.line is not None else ""
        location["logicalLocations"] = [{"fullyQualifiedName": inside + line, "kind": "element"}]
    elif one.line is not None:
        region = {"startLine": one.line}
        if one.column is not None:
            region["startColumn"] = one.column
        physical["region"] = region
    return location


def artifact(file: str, folder: Path) -> dict[str, str]:
    """Where a file lies: a relative URI below ``folder``, else an absolute one.

    >>> artifact("my agent.py", Path())
    {'uri': 'my%20agent.py', 'uriBaseId': '%SRCROOT%'}
    """
    if file == STANDARD_INPUT:
        return {"uri": "stdin"}
    seen = relative(file, folder)
    if seen == ".." or seen.startswith("../") or Path(seen).is_absolute():
        return {"uri": Path(file).absolute().as_uri()}
    return {"uri": quote(seen, errors="surrogateescape"), "uriBaseId": "%SRCROOT%"}


def _notifications(problems: Iterable[Problem], level: str) -> list[dict[str, Any]]:
    return [
        {"level": level, "descriptor": {"id": one.rule}, "message": {"text": str(one)}} for one in problems
    ]
