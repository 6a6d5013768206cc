"""The image check: every picture of a request, before it is sent.

Models: size as sent and as seen, tokens, and what :func:`ctxlab.images.preflight` says to each picture.
Does not model: pixels. No picture is decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxlab.figures import Table, table
from ctxlab.images import Preflight, preflight
from ctxlab.takeaways.files import request_of, write
from ctxlab.takeaways.markdown import between, listed, page, section


def image_check(
    source: Mapping[str, Any] | str | Path,
    *,
    model: str | None = None,
    platform: str = "api",
    write_to: str | Path | None = None,
) -> Table:
    """Every picture of a request: its size, what the model sees, its tokens, and what the API would refuse.

    ``source`` is a request body or the path of a JSON file with one; ``model`` stands in for the one it
    names. No picture is decoded. ``write_to`` also writes the page as Markdown. Raises
    :class:`InvalidRequestError` for a body that cannot be read, and what
    :func:`ctxlab.images.preflight` raises for a model or platform nobody knows.

    >>> image_check({"messages": [{"role": "user", "content": "Hi"}]}, model="claude-opus-5-5")
    place | sent | seen | tokens | problem
    ------|------|------|--------|--------
    """
    checked = preflight(request_of(source), model, platform)
    told: dict[str, list[str]] = {}
    for problem in checked.problems:
        told.setdefault(problem.path, []).append(problem.message)
    rows: list[tuple[object, ...]] = []
    for image in checked.images:
        said = [words for path in sorted(told) if path.startswith(image.path) for words in told.pop(path)]
        tokens = between(image.low_tokens, image.high_tokens, _whole)
        rows.append((image.path, _size(image.size), _size(image.seen), tokens, "; ".join(said)))
    rows += [(path, "", "", "", "; ".join(words)) for path, words in told.items()]
    shown = table(rows, ("place", "sent", "seen", "tokens", "problem"), caption="Pictures of this request")
    if write_to is not None:
        write(_markdown(checked, shown), write_to)
    return shown


def _size(size: tuple[int, int] | None) -> str:
    return "" if size is None else f"{size[0]:,} × {size[1]:,}"


def _whole(number: int) -> str:
    return f"{number:,}"


def _markdown(checked: Preflight, shown: Table) -> str:
    refused = [f"`{one.path}`: {one.message} [{one.rule}]" for one in checked.blocking]
    return page(
        "Pictures of a request",
        "Places, sizes and counts only; no picture is in this file.",
        shown,
        listed([f"Tokens of all pictures: {between(*checked.tokens, _whole)}, sent again on every turn."]),
        section("What the API would refuse", refused or ["nothing"]),
        ask=(
            "Which of these pictures could be smaller before they are sent?",
            "How soon does one request hold more than 20 of them, and is any side above 2,000 pixels?",
            "Do we drop old pictures one by one? Drop them in batches, or not at all.",
        ),
    )
