"""Findings for a program: one JSON object, keys in a fixed order.

Models: format 1, described by ``report.schema.json`` beside this module. A field is never renamed or removed
within one ``format``; new ones may come. Money is a string of dollars, digit for digit.
Does not model: SARIF (:mod:`ctxlab.report.sarif`).
"""

from __future__ import annotations

from typing import Any

import ctxlab
from ctxlab.breakers import Finding
from ctxlab.errors import Problem
from ctxlab.report.places import split_place
from ctxlab.report.result import Report

FORMAT = 1


def as_object(report: Report, *, strict: bool = False) -> dict[str, Any]:
    """The report for ``json.dumps``.

    >>> list(as_object(Report("lint", (), ("agent.py",))))[:4]
    ['format', 'tool', 'version', 'command']
    """
    return {
        "format": FORMAT,
        "tool": "ctxlab",
        "version": ctxlab.__version__,
        "command": report.command,
        "exit_code": report.exit_code(strict=strict),
        "summary": {
            "confirmed": sum(one.confirmed for one in report.findings),
            "suspected": sum(not one.confirmed for one in report.findings),
            "withheld": len(report.withheld),
            "read": len(report.read),
            "skipped": len(report.skipped),
        },
        "findings": [finding_object(one, report) for one in report.findings],
        "withheld": [
            {"by": one.by, "reason": one.reason, "finding": finding_object(one.finding, report)}
            for one in report.withheld
        ],
        "read": list(report.read),
        "skipped": [problem_object(one) for one in report.skipped],
        "remarks": [problem_object(one) for one in report.remarks],
        "details": dict(report.details),
    }


def finding_object(one: Finding, report: Report) -> dict[str, Any]:
    """One finding; what is not known is null."""
    file, inside = split_place(one.path)
    return {
        "code": one.code,
        "rule": one.rule,
        "certainty": one.certainty,
        "path": file,
        "inside": inside or None,
        "line": one.line,
        "column": one.column,
        "message": one.message,
        "why": one.why,
        "fix": one.fix,
        "evidence": one.evidence,
        "tokens_per_turn": one.tokens_per_turn,
        "usd_per_turn": None if one.usd_per_turn is None else f"{one.usd_per_turn:f}",
        "fingerprint": report.fingerprints.get(one),
    }


def problem_object(one: Problem) -> dict[str, str]:
    """What is wrong, where, by which rule, and what to do."""
    return {"path": one.path, "rule": one.rule, "message": one.message, "fix": one.fix}
