"""``ctxlab images``: what picture files cost, and what the API will say to the pictures of a request.

Models: files one by one, as each would be taken alone, with a word on all of them in one request; requests as
JSON or JSON lines. A name that tells another type than the bytes is told. Nothing is decoded or changed.
Does not model: conversion (:func:`ctxlab.pictures.fit`), findings (:mod:`ctxlab.images`).
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxlab.commands.words import AddCommand
    from ctxlab.images import ImageProblem, Preflight, SeenImage

_MODEL = "claude-opus-5-5"
#: More than any platform takes; of longer files the rest is not read.
_MOST_BYTES = 48 * 1024 * 1024
_SUFFIXES = {
    "image/jpeg": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "image/png": (".png", ".apng"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
}


def add_images(add: AddCommand) -> None:
    """Add the command to the grammar."""
    words = add(
        "images", _run, "count the tokens of pictures, and say what the API will refuse", "images shot.png"
    )
    which = words.add_mutually_exclusive_group(required=True)
    which.add_argument("files", type=Path, nargs="*", default=[], metavar="FILE", help="pictures")
    which.add_argument(
        "--request", type=Path, metavar="FILE", help="a request body as JSON, or many as .jsonl"
    )
    words.add_argument("--model", metavar="ID", help=f"default: the request's own; for files {_MODEL}")
    words.add_argument(
        "--platform", default="api", metavar="NAME", help="api, aws, foundry, bedrock, google-cloud"
    )
    words.add_argument("--json", action="store_true", help="print one JSON object")


def _run(asked: argparse.Namespace) -> int:
    from ctxlab.errors import CtxlabError, Problem

    if asked.request is not None:
        return _requests(asked.request, asked.model, asked.platform, as_json=asked.json)
    if not asked.files:
        raise CtxlabError(Problem("FILE", "required", "is missing", "name pictures, or --request FILE"))
    return _files(asked.files, asked.model or _MODEL, asked.platform, as_json=asked.json)


# --- files


@dataclass(frozen=True, slots=True)
class _File:
    """One picture file; ``seen`` and ``tokens`` by tier, dollars a turn in full and read from a cache."""

    name: str
    image: SeenImage
    seen: dict[str, tuple[int, int]]
    tokens: dict[str, int]
    usd: tuple[str, str] | None
    problems: tuple[ImageProblem, ...]

    def as_object(self) -> dict[str, Any]:
        header = self.image.header
        return {
            "file": self.name,
            "media_type": None if header is None else header.media_type,
            "size": self.image.size,
            "seen": self.seen,
            "tokens": self.tokens,
            "usd_per_turn": None if self.usd is None else self.usd[0],
            "cached_usd_per_turn": None if self.usd is None else self.usd[1],
            "problems": [_told(problem) for problem in self.problems],
        }


def _files(paths: Sequence[Path], model: str, platform: str, *, as_json: bool) -> int:
    rows = [_file(path, model, platform) for path in paths]
    together = _together(rows)
    if as_json:
        shown = {"model": model, "files": [row.as_object() for row in rows], "in_one_request": together}
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        print(_file_table(rows, model))
        for row in rows:
            for problem in row.problems:
                print(f"{'refused' if problem.blocking else 'note'}: {problem}")
        for words in together:
            print(f"note: {words}")
    return 1 if any(problem.blocking for row in rows for problem in row.problems) else 0


def _file(path: Path, model: str, platform: str) -> _File:
    from dataclasses import replace

    from ctxlab.errors import UnpricedModelError
    from ctxlab.images import (
        TIERS,
        ImageProblem,
        header_or_none,
        image_cost,
        image_tokens,
        preflight,
        resized_size,
    )

    data = _read(path)
    header = header_or_none(data)
    declared = "image/png" if header is None else header.media_type
    source = {"type": "base64", "media_type": declared, "data": base64.b64encode(data).decode("ascii")}
    content = [{"type": "image", "source": source}]
    checked = preflight({"messages": [{"role": "user", "content": content}]}, model, platform)
    problems = [replace(problem, path=path.as_posix()) for problem in checked.problems]
    if header is not None and path.suffix and path.suffix.lower() not in _SUFFIXES[header.media_type]:
        says = f"is {header.media_type}, whatever its name says"
        fix = f"declare it as {header.media_type}"
        problems.append(ImageProblem(path.as_posix(), "file-name", says, fix, blocking=False))
    (image,) = checked.images
    if image.size is None:
        return _File(path.as_posix(), image, {}, {}, None, tuple(problems))
    try:
        cost = image_cost(*image.size, model)
        usd = (f"{cost.usd_per_turn:f}", f"{cost.cached_usd_per_turn:f}")
    except UnpricedModelError:
        usd = None
    return _File(
        path.as_posix(),
        image,
        {tier: resized_size(*image.size, tier=tier) for tier in TIERS},
        {tier: image_tokens(*image.size, tier=tier) for tier in TIERS},
        usd,
        tuple(problems),
    )


def _read(path: Path) -> bytes:
    from ctxlab.errors import CtxlabError, Problem

    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        says = "is a folder" if path.is_dir() else f"cannot be read ({error.strerror})"
        raise CtxlabError(Problem(path.as_posix(), "readable", says, "name picture files")) from None


def _together(rows: Sequence[_File]) -> list[str]:
    """What changes when all files stand in one request."""
    from ctxlab.images import MANY_IMAGES, MAX_SIDE_PIXELS_MANY

    large = [row.name for row in rows if row.image.size and max(row.image.size) > MAX_SIDE_PIXELS_MANY]
    if len(rows) <= MANY_IMAGES or not large:
        return []
    return [
        f"in one request these {len(rows)} would be refused: in more than {MANY_IMAGES} no side may exceed "
        f"{MAX_SIDE_PIXELS_MANY} pixels, and {len(large)} do, the first of them {large[0]}"
    ]


def _file_table(rows: Sequence[_File], model: str) -> str:
    from ctxlab.figures import table

    header = (
        "file",
        "type",
        "size",
        "standard",
        "tokens",
        "high-res",
        "tokens",
        "USD a turn",
        "cached",
        "problems",
    )
    return table([_cells(row) for row in rows], header, caption="Pictures").text + (
        f"\nUSD at the rates of {model}: every turn that sends the picture, and every turn that reads it."
    )


def _cells(row: _File) -> tuple[object, ...]:
    kind = "–" if row.image.header is None else row.image.header.media_type.removeprefix("image/")
    problems = ", ".join(problem.rule for problem in row.problems) or "–"
    if not row.tokens:
        return (row.name, kind, "–", "–", "–", "–", "–", "–", "–", problems)
    sizes = [value for tier in row.seen for value in (_size(row.seen[tier]), row.tokens[tier])]
    return (row.name, kind, _size(row.image.size), *sizes, *(row.usd or ("–", "–")), problems)


# --- requests


def _requests(path: Path, model: str | None, platform: str, *, as_json: bool) -> int:
    from ctxlab.commands import bodies
    from ctxlab.errors import CtxlabError, Problem
    from ctxlab.images import preflight

    found = list(bodies.read(path))
    broken = [one for one in found if isinstance(one, Problem)]
    if broken:
        raise CtxlabError(broken)
    bare = [
        Problem(one.name, "model", "names no model", "give --model ID")
        for one in found
        if not isinstance(one, Problem) and model is None and one.body.get("model") is None
    ]
    if bare:
        raise CtxlabError(bare)
    checked = [
        (one.name, preflight(one.body, model, platform)) for one in found if not isinstance(one, Problem)
    ]
    if as_json:
        shown = {"requests": [_request_object(name, one) for name, one in checked]}
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        print("\n\n".join(_request_page(name, one) for name, one in checked))
    return 0 if all(one.ok for _, one in checked) else 1


def _request_object(name: str, checked: Preflight) -> dict[str, Any]:
    low, high = checked.tokens
    return {
        "request": name,
        "ok": checked.ok,
        "platform": checked.platform.name,
        "tier": checked.tier.name,
        "request_bytes": checked.request_bytes,
        "low_tokens": low,
        "high_tokens": high,
        "images": [
            {
                "path": one.path,
                "source": one.source,
                "media_type": None if one.header is None else one.header.media_type,
                "size": one.size,
                "seen": one.seen,
                "low_tokens": one.low_tokens,
                "high_tokens": one.high_tokens,
            }
            for one in checked.images
        ],
        "problems": [_told(problem) for problem in checked.problems],
    }


def _request_page(name: str, checked: Preflight) -> str:
    from ctxlab.figures import table

    low, high = checked.tokens
    rows = [
        (one.path, one.source, _size(one.size), _size(one.seen), _band(one.low_tokens, one.high_tokens))
        for one in checked.images
    ]
    shown = table(rows, ("picture", "source", "size", "seen", "tokens"), caption="Pictures").text
    verdict = (
        "no picture is in the way"
        if checked.ok
        else f"refused, {_problems(len(checked.blocking))} in the way"
    )
    count = f"{len(checked.images)} picture{'' if len(checked.images) == 1 else 's'}"
    lines: Iterable[str] = [
        *([shown] if rows else []),
        *(f"{'refused' if problem.blocking else 'note'}: {problem}" for problem in checked.problems),
        f"{name}: {verdict}; {count}, {_band(low, high)} tokens "
        f"({checked.tier.name}, {checked.platform.name})",
    ]
    return "\n".join(lines)


def _problems(count: int) -> str:
    return f"{count} problem{'' if count == 1 else 's'}"


def _told(problem: ImageProblem) -> dict[str, Any]:
    return {
        "path": problem.path,
        "rule": problem.rule,
        "message": problem.message,
        "fix": problem.fix,
        "blocking": problem.blocking,
    }


def _size(size: tuple[int, int] | None) -> str:
    return "–" if size is None else f"{size[0]} x {size[1]}"


def _band(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
