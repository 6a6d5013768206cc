"""A report to where it was asked for: text, JSON or SARIF, on standard output or in a file.

Models: colour only where a terminal shows it; where standard output carries a program's format, or the report
goes to a file, the summary on standard error. Does not model: the formats themselves.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.report import Report, objects, sarif, text

FORMATS = ("text", "json", "sarif")


def write(report: Report, form: str = "text", to: Path | None = None, *, strict: bool = False) -> int:
    """Write ``report`` and return the exit code of the command.

    Raises :class:`InvalidArgumentError` where ``to`` cannot be written.
    """
    if form == "json":
        shown = json.dumps(objects.as_object(report, strict=strict), indent=2, ensure_ascii=False)
    elif form == "sarif":
        shown = json.dumps(sarif.as_sarif(report, strict=strict), indent=2, ensure_ascii=False)
    else:
        shown = text.as_text(report, colour=to is None and text.wants_colour(sys.stdout))
    if to is None:
        print(shown)
    else:
        try:
            to.write_text(shown + "\n", encoding="utf-8", errors="replace", newline="\n")
        except OSError as error:
            raise InvalidArgumentError(
                Problem(str(to), "writable", f"cannot be written ({error.strerror})", "give another --output")
            ) from None
    if to is not None or form != "text":
        for problem in report.skipped:
            print(f"not read: {problem}", file=sys.stderr)
        print(report.summary, file=sys.stderr)
    return report.exit_code(strict=strict)
