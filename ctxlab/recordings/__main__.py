"""``python -m ctxlab.recordings check FILE…`` and ``… add FILE``: look at recordings, and take new ones in.

Models: the schema check that loading does, for any file, with notes on fields the format does not have;
adding rows to the shelf they belong on. Does not model: making a recording, or scrubbing one (see the README
of the data for what may stand in a row).
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctxlab.errors import CtxlabError
from ctxlab.places import data_path
from ctxlab.recordings.lines import Report
from ctxlab.recordings.reading import (
    exchanges_in,
    holds_sessions,
    load_exchanges,
    load_sessions,
    placed_rows,
    sessions_in,
)

_SHELVES = {True: "traces.jsonl.gz", False: "exchanges.jsonl.gz"}


def check(path: Path) -> Report:
    """Everything wrong with a file (the first 20 problems), and notes on what is only unknown."""
    report = Report()
    if not (load_sessions if holds_sessions(path) else load_exchanges)(path, report):
        report.add_nothing_read(path.name)
    return report


def add(path: Path, shelf: Path | None = None) -> int:
    """Put the rows of ``path`` behind those of the shelf they belong on; returns how many.

    Nothing is written unless old and new rows together pass the check (an id that is there already does not).
    """
    check(path).raise_problems()
    turns = holds_sessions(path)
    target = shelf or data_path("recordings", _SHELVES[turns])
    report = Report(most=None)
    new = list(placed_rows(path, report))
    rows = [*placed_rows(target, report), *new]
    report.raise_problems()
    lines = "".join(f"{_canonical(row)}\n" for _, row in rows)
    (sessions_in if turns else exchanges_in)(rows, report)  # this takes the rows apart
    report.raise_problems()
    trial = target.with_name(f"{target.name}.new")
    try:
        trial.write_bytes(packed(lines.encode("utf-8")))
        trial.replace(target)
    finally:
        trial.unlink(missing_ok=True)
    return len(new)


def _canonical(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def packed(data: bytes) -> bytes:
    """gzip without time, name or system in its header: the same bytes for the same rows."""
    packer = zlib.compressobj(9, wbits=31)
    body = packer.compress(data) + packer.flush()
    return body[:9] + b"\xff" + body[10:]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``check`` or ``add``; 0 when every row follows the format, 1 when one does not."""
    parser = argparse.ArgumentParser(
        prog="python -m ctxlab.recordings", description="Check or add recordings."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="name line and field of every problem").add_argument(
        "path", nargs="+", type=Path
    )
    commands.add_parser("add", help="check rows and add them to data/recordings").add_argument(
        "path", type=Path
    )
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a console that lacks a letter shows another, and goes on
            stream.reconfigure(errors="replace")
    try:
        if options.command == "add":
            print(f"{add(options.path)} rows added")
            return 0
        reports = {path: check(path) for path in options.path}
    except CtxlabError as error:
        print(error, file=sys.stderr)
        return 1
    for path, report in reports.items():
        for problem in report.problems:
            print(problem)
        for note in report.notes:
            print(f"note: {note}")
        print(f"{path.name}: {len(report.problems) or 'no'} problems, {len(report.notes) or 'no'} notes")
    return 1 if any(report.problems for report in reports.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
