"""``ctxlab diff``: requests of one session held side by side, in render order.

Models: each request against the one before it: both strips with the first divergence pinned, what survives,
what is read anew and what that costs each turn, the findings, and what a diff of sorted dumps would say.
Does not model: whether an entry was there to be read (``ctxlab diagnose``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxlab.breakers import Comparison, DumpDifference, Finding, compare, sorted_dump_difference
from ctxlab.commands import bodies
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem
from ctxlab.prompt import Prompt
from ctxlab.report import Report, drawn
from ctxlab.report.places import Sources
from ctxlab.report.text import more_words


def diff(paths: Sequence[Path], *, model: str | None = None, counter: str | None = None) -> Report:
    """Compare the requests of ``paths`` in the order given; ``model`` prices them instead of their own,
    ``counter`` counts their tokens (as in :func:`ctxlab.tokens.count`).

    What cannot be read is skipped and said; the others are compared. Raises :class:`InvalidArgumentError`
    when fewer than two requests are named.
    """
    found: list[bodies.Found] = []
    prompts: list[Prompt] = []
    skipped: list[Problem] = []
    for path in paths:
        for one in bodies.read(path):
            if isinstance(one, Problem):
                skipped.append(one)
                continue
            try:
                prompts.append(Prompt.from_request(one.body))
                found.append(one)
            except InvalidRequestError as error:
                skipped += [
                    replace(problem, path=f"{one.name}: {problem.path}") for problem in error.problems
                ]
    if len(found) + len(skipped) < 2:
        given = ", ".join(str(path) for path in paths)
        raise InvalidArgumentError(
            Problem(given, "two-requests", "is one request", "name at least two, or a file that holds two")
        )
    names = [one.name for one in found]
    if len(found) < 2:
        return Report("diff", (), tuple(one.file for one in found), tuple(skipped), details={"pairs": []})
    pairs = compare(prompts, model=model, counter=counter)
    dumps = [sorted_dump_difference(found[one.earlier].body, found[one.later].body) for one in pairs]
    findings = tuple(_named(finding, names[one.later]) for one in pairs for finding in one.findings)
    drawing = "\n\n".join(
        _pair(one, dump, prompts, names, model, counter) for one, dump in zip(pairs, dumps, strict=True)
    )
    return Report(
        "diff",
        findings,
        tuple(dict.fromkeys(one.file for one in found)),
        tuple(skipped),
        drawing=drawing,
        details={"pairs": [_object(one, dump, names) for one, dump in zip(pairs, dumps, strict=True)]},
        fingerprints=Sources().fingerprints(findings, Path()),
    )


def _named(finding: Finding, name: str) -> Finding:
    return replace(finding, path=f"{name}: {finding.path}")


def _pair(
    one: Comparison,
    dump: DumpDifference | None,
    prompts: Sequence[Prompt],
    names: Sequence[str],
    model: str | None,
    counter: str | None,
) -> str:
    earlier, later = prompts[one.earlier], prompts[one.later]
    shown = _short(names[one.earlier], names[one.later])
    lines = [drawn(earlier, later, one.difference, names=shown, model=model, counter=counter), *_effect(one)]
    lines.append(f"a diff of sorted dumps: {dump_words(one, dump)}")
    return "\n".join(lines)


def _effect(one: Comparison) -> Iterator[str]:
    kept = "" if one.kept_tokens is None else f", about {one.kept_tokens:,} tokens"
    blocks = f"{one.kept_blocks} block{'' if one.kept_blocks == 1 else 's'}"
    yield f"survives: {one.survives} ({blocks}{kept})"
    if one.lost_tokens:
        price = "at a price nobody lists" if one.lost_usd is None else more_words(one.lost_usd)
        yield f"read anew each turn though it was sent before: about {one.lost_tokens:,} tokens, {price}"


def dump_words(one: Comparison, dump: DumpDifference | None) -> str:
    """What the naive method says of a pair, and whether that helps."""
    if dump is None:
        return "identical" if one.stable else "identical; it cannot see what broke"
    points = f"differ first in {dump.field!r}"
    if one.stable:
        return f"{points}; nothing broke"
    segment = one.difference.segment if one.difference is not None else None
    return points if segment in (None, dump.field) else f"{points}; the prefix parts in {segment!r}"


def _short(earlier: str, later: str) -> tuple[str, str]:
    """The last parts of two names, as many as tell them apart."""
    one, other = earlier.replace("\\", "/").split("/"), later.replace("\\", "/").split("/")
    for many in range(1, max(len(one), len(other))):
        if one[-many:] != other[-many:]:
            return "/".join(one[-many:]), "/".join(other[-many:])
    return earlier, later


def _object(one: Comparison, dump: DumpDifference | None, names: Sequence[str]) -> dict[str, Any]:
    difference = one.difference
    return {
        "earlier": names[one.earlier],
        "later": names[one.later],
        "stable": one.stable,
        "survives": one.survives,
        "kept_blocks": one.kept_blocks,
        "kept_tokens": one.kept_tokens,
        "lost_tokens": one.lost_tokens,
        "lost_usd": None if one.lost_usd is None else f"{one.lost_usd:f}",
        "first_difference": None
        if difference is None
        else {
            "kind": difference.kind,
            "path": difference.path,
            "at_char": difference.at_char,
            "appended": difference.appended,
        },
        "sorted_dumps": {"identical": dump is None, "field": None if dump is None else dump.field},
    }
