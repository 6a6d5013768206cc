"""The words of ``ctxlab lint``, ``ctxlab diff`` and ``ctxlab diagnose``, and what runs for them.

Models: arguments, and the options all three share. Nothing is loaded before a command runs.
Does not model: the rest of the command line (:mod:`ctxlab.cli`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxlab.report import Report


class AddCommand(Protocol):
    """Adds one command to the grammar and gives the parser of its words."""

    def __call__(
        self, name: str, command: Callable[[argparse.Namespace], int], purpose: str, example: str, /
    ) -> argparse.ArgumentParser: ...


def add_commands(add: AddCommand) -> None:
    """Add the three commands."""
    lint = add(
        "lint", _lint, "find what breaks a cached prefix, in source and in requests", "lint agent.py src/"
    )
    lint.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="Python files, notebooks, folders of them; requests as .json or .jsonl; - reads source",
    )
    lint.add_argument(
        "--select", metavar="CODES", action="append", default=[], help="these only: CTX1,CTX203"
    )
    lint.add_argument("--ignore", metavar="CODES", action="append", default=[], help="all but these")
    lint.add_argument("--baseline", type=Path, metavar="FILE", help="leave out what this file lists as known")
    lint.add_argument(
        "--write-baseline", type=Path, metavar="FILE", help="list what is found as known from now on"
    )

    diff = add(
        "diff", _diff, "compare requests as the cache does: in render order", "diff turn-1.json turn-2.json"
    )
    diff.add_argument(
        "paths", nargs="+", type=Path, metavar="FILE", help="requests, in the order they were sent"
    )
    diff.add_argument("--model", metavar="ID", help="price them for this model instead of their own")

    diagnose = add(
        "diagnose", _diagnose, "say of every call of a session why it hit or missed", "diagnose session.jsonl"
    )
    diagnose.add_argument(
        "path", type=Path, metavar="FILE", help="a call a line: request, usage, started_s; or an agent's log"
    )

    for one in (lint, diff, diagnose):
        one.add_argument("--format", choices=("text", "json", "sarif"), default="text", help="default: text")
        one.add_argument("--json", action="store_const", dest="format", const="json", help="--format json")
        one.add_argument("--output", type=Path, metavar="FILE", help="write it there")
        one.add_argument("--strict", action="store_true", help="exit 1 for what is only suspected, too")


def _lint(asked: argparse.Namespace) -> int:
    from ctxlab.commands.lint import lint

    return _reported(
        lint(
            asked.paths,
            select=asked.select,
            ignore=asked.ignore,
            baseline=asked.baseline,
            write_baseline=asked.write_baseline,
        ),
        asked,
    )


def _diff(asked: argparse.Namespace) -> int:
    from ctxlab.commands.diff import diff

    return _reported(diff(asked.paths, model=asked.model), asked)


def _diagnose(asked: argparse.Namespace) -> int:
    from ctxlab.commands.diagnose import diagnose

    return _reported(diagnose(asked.path), asked)


def _reported(report: Report, asked: argparse.Namespace) -> int:
    from ctxlab.commands import output

    return output.write(report, asked.format, asked.output, strict=asked.strict)
