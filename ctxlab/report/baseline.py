"""A baseline: what is known and left for later, so that only what is new stops a build.

Models: a JSON file of fingerprints (code, path from the baseline's folder, words of the line or JSON path),
so that a known finding stays known when lines move; entries that match nothing any more; files of another
format. Does not model: reasons per entry (a comment beside the line has one), merging two baselines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxlab.breakers import Finding
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.report.places import Sources, relative, split_place
from ctxlab.report.result import Withheld

FORMAT = 1
REASON = "listed in the baseline"


@dataclass(frozen=True, slots=True)
class Entry:
    """One known finding: its name, and enough to find it by eye."""

    fingerprint: str
    code: str
    path: str
    line: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of ``path``."""

    path: Path
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, path: Path, findings: Sequence[Finding], sources: Sources) -> Baseline:
        """What ``findings`` would be in a baseline at ``path``; writes nothing."""
        names = sources.fingerprints(findings, path.parent)
        entries = []
        for one, name in names.items():
            file, inside = split_place(one.path)
            entries.append(Entry(name, one.code, relative(file, path.parent), sources.line(one) or inside))
        return cls(
            path, tuple(sorted(entries, key=lambda one: (one.path, one.code, one.line, one.fingerprint)))
        )

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read a baseline; raises :class:`InvalidArgumentError` for a file that is none."""
        try:
            body = json.loads(path.read_bytes())
            if not isinstance(body, dict) or body.get("format") != FORMAT:
                raise ValueError(f"format is not {FORMAT}")
            entries = tuple(_entry(row) for row in body["findings"])
        except OSError as error:
            raise _refused(path, "readable", f"cannot be read ({error.strerror})") from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _refused(path, "baseline", f"is not a baseline ({error})") from None
        return cls(path, entries)

    def write(self) -> None:
        """Write the file; raises :class:`InvalidArgumentError` where that is not possible."""
        rows = [
            {"fingerprint": one.fingerprint, "code": one.code, "path": one.path, "line": one.line}
            for one in self.entries
        ]
        text = json.dumps({"format": FORMAT, "findings": rows}, indent=2, ensure_ascii=False)
        try:
            self.path.write_text(text + "\n", encoding="utf-8", errors="replace", newline="\n")
        except OSError as error:
            raise _refused(self.path, "writable", f"cannot be written ({error.strerror})") from None

    def sift(
        self, findings: Sequence[Finding], sources: Sources
    ) -> tuple[tuple[Finding, ...], tuple[Withheld, ...], tuple[Problem, ...]]:
        """Findings that are new, those that are known, and a remark for each entry that matched none."""
        names = sources.fingerprints(findings, self.path.parent)
        known = {one.fingerprint for one in self.entries}
        new = tuple(one for one in findings if names[one] not in known)
        held = tuple(Withheld(one, REASON, "baseline") for one in findings if names[one] in known)
        met = set(names.values())
        stale = tuple(
            Problem(
                str(self.path),
                "baseline-stale",
                f"{one.code} in {one.path} ({one.line or 'no line'}) is not found any more",
                "write the baseline again",
            )
            for one in self.entries
            if one.fingerprint not in met
        )
        return new, held, stale


def _entry(row: Mapping[str, Any]) -> Entry:
    words = [row[name] for name in ("fingerprint", "code", "path", "line")]
    if not all(isinstance(word, str) for word in words):
        raise ValueError("an entry holds something that is no text")
    return Entry(*words)


def _refused(path: Path, rule: str, message: str) -> InvalidArgumentError:
    return InvalidArgumentError(Problem(str(path), rule, message, "write one with --write-baseline"))
