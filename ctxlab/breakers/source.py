"""Prefix breakers in Python source: values that change are followed into the prefix of a request.

Models: one module at a time, read as it would run, from where values are made to ``tools``, ``system``, the
earlier ``messages``, ``model`` and markers of a request. Confirmed: it certainly gets there and certainly
differs. Suspected: one of the two is not certain (a bare date, a value made once per process, a name).
Does not model: floors, prices, values that come from other modules, languages other than Python.

Kinds and their twins: the teaching documents' list of prefix breakers, and public reports of 2025 and 2026.
"""

from __future__ import annotations

import ast
import gc
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ctxlab.breakers.files import Source, sources
from ctxlab.breakers.finding import Finding, finding
from ctxlab.breakers.follow import entries, wording
from ctxlab.breakers.follow.outline import looks_like_one, outline
from ctxlab.breakers.follow.reading import OutOfStepsError, Reading, Seen
from ctxlab.errors import CtxlabError, Problem


class SourceError(CtxlabError, ValueError):
    """A text is no Python source (path is ``file:line``)."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found: ``findings`` by place, ``read`` paths, and a problem for each that was skipped."""

    findings: tuple[Finding, ...]
    read: tuple[str, ...]
    skipped: tuple[Problem, ...]

    @property
    def complete(self) -> bool:
        """Whether everything that was named could be read."""
        return not self.skipped


def scan_source(*paths: str | Path) -> Scan:
    """Scan files and folders (``*.py``, ``*.ipynb``); nothing a file holds makes this raise.

    Hidden folders, virtual environments and caches below a given folder are passed over. What cannot be read
    or parsed is a :class:`~ctxlab.errors.Problem` in ``skipped``.

    >>> scan_source("no-such-folder").skipped[0].rule
    'no-such-path'
    """
    findings: list[Finding] = []
    read: list[str] = []
    skipped: list[Problem] = []
    for one in sources(paths):
        if isinstance(one, Problem):
            skipped.append(one)
            continue
        try:
            with _collector_paused():
                found, doubts = _scan(one)
        except SourceError as error:
            skipped += error.problems
            continue
        findings += found
        skipped += doubts
        read.append(one.path)
    return Scan(tuple(sorted(findings, key=_place)), tuple(sorted(read)), tuple(sorted(skipped, key=str)))


def scan_text(text: str, path: str = "<source>") -> tuple[Finding, ...]:
    """Scan one module's text; raises :class:`SourceError` when it is not Python.

    >>> code = 'client.messages.create(system=f"It is {datetime.now()}", messages=[])'
    >>> [(one.code, one.certainty) for one in scan_text(code)]
    [('CTX101', 'confirmed')]
    """
    found, doubts = _scan(Source(path, text.replace("\r\n", "\n").replace("\r", "\n")))
    if doubts:
        raise SourceError(doubts)
    return tuple(sorted(found, key=_place))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """One module's tree and values all live until it is read: looking for garbage in between finds none."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _scan(source: Source) -> tuple[list[Finding], list[Problem]]:
    tree = _parse(source)
    if not looks_like_one(source.text):
        return [], []
    reading: Reading | None = None
    try:
        about = outline(tree)
        if not about.sends:
            return [], []
        reading = Reading(about, source.text)
        entries.read(reading, tree)
    except OutOfStepsError:
        message = "is too tangled to be followed to its end; what was found up to there is told"
        doubt = Problem(source.path, "followed-in-part", message, "split the module")
        return _findings(source, reading.seen if reading is not None else []), [doubt]
    except RecursionError:
        doubt = Problem(source.path, "followed-in-part", "is nested too deeply", "split its expressions")
        return _findings(source, reading.seen if reading is not None else []), [doubt]
    except Exception as error:  # one module that cannot be followed keeps no other from being read
        seen = reading.seen if reading is not None else []
        kind = type(error).__name__
        message = f"cannot be followed to its end ({kind}); what was found up to there is told"
        doubt = Problem(source.path, "followed-in-part", message, "report the module to the project")
        return _findings(source, seen), [doubt]
    return _findings(source, reading.seen), []


def _parse(source: Source) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as error:
        line = min(error.lineno or 1, source.text.count("\n") + 1)
        place, number = source.place(line)
        problem = Problem(f"{place}:{number}", "syntax", f"is not Python: {error.msg}", "correct it")
    except ValueError:
        problem = Problem(
            source.path, "binary", "holds NUL bytes, so it is no Python source", "save it as text"
        )
    except (RecursionError, MemoryError):
        problem = Problem(source.path, "syntax", "is nested too deeply to be parsed", "split its expressions")
    raise SourceError(problem)


def _findings(source: Source, seen: Iterable[Seen]) -> list[Finding]:
    """One finding per place and rule, the surest telling of it."""
    best: dict[tuple[str, int, int], Seen] = {}
    sinks: dict[tuple[str, int, int], set[int]] = {}
    for one in seen:
        key = (one.rule, one.line, one.column)
        sinks.setdefault(key, set()).add(one.sink)
        # what a script makes once is another one per request only where one request uses it
        if one.script and one.certain and len(sinks[key]) > 1:
            one = replace(one, certain=False)
        known = best.get(key)
        if known is not None and known.script and len(sinks[key]) > 1:
            known = replace(known, certain=False)
            best[key] = known
        if known is None or (one.certain and not known.certain):
            best[key] = one
    made = []
    for one in best.values():
        path, line = source.place(one.line) if one.line else (source.path, 1)
        made.append(
            finding(
                one.rule,
                path,
                one.message,
                fix=wording.FIXES.get(one.rule, ""),
                certainty="confirmed" if one.certain else "suspected",
                line=line,
                column=one.column,
                evidence=one.text,
            )
        )
    return made


def _place(one: Finding) -> tuple[str, int, int, str]:
    return (one.path, one.line or 0, one.column or 0, one.code)
