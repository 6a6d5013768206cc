"""The files of a learner: finding what a typed path means, reading a request, writing a page.

Models: paths as people type and paste them (quotes, blanks, ``~``), request files, pages, folders of pages.
Does not model: logs, see :mod:`ctxlab.takeaways.logs`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import Prompt

_REQUEST = Problem(
    "source",
    "path-or-request",
    "is neither a request body nor a path",
    "give the dict you would send, or the path of a JSON file with it",
)
_PAGE = Problem("write_to", "writable-file", "is no path", "give a file name in a folder that exists")
_FOLDER = Problem("write_to", "writable-folder", "is no path", "give the path of a folder")


def path_of(source: object, wanted: Problem = _REQUEST) -> Path:
    """The path somebody typed or pasted, from the home folder on where it begins with ``~``.

    Raises :class:`InvalidArgumentError` with ``wanted`` for what is no path.

    >>> path_of(' "requests/first.json" ').name
    'first.json'
    """
    typed = str(source).strip().strip("\"'") if isinstance(source, (str, os.PathLike)) else ""
    if not typed or "\0" in typed:
        raise InvalidArgumentError(wanted)
    with contextlib.suppress(RuntimeError):  # nobody is called so: then it is a file's own name
        return Path(typed).expanduser()
    return Path(typed)


def request_of(source: object) -> Mapping[str, Any]:
    """A request body in hand, or the one in a JSON file.

    Raises :class:`InvalidArgumentError` for a file that cannot be read, :class:`InvalidRequestError` for a
    file that holds no request.
    """
    if isinstance(source, Mapping):
        return source
    path = path_of(source)
    try:
        raw = path.read_bytes()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InvalidArgumentError(
            Problem(str(path), "readable-file", reason, "give the path of a JSON file")
        ) from None
    Prompt.from_json(raw, source=path.name)  # says what is wrong, and where
    body: Mapping[str, Any] = json.loads(raw)
    return body


def write(page: str, path: object) -> None:
    """Write a page. Raises :class:`InvalidArgumentError` where that is not possible."""
    try:
        path_of(path, _PAGE).write_text(page, encoding="utf-8")
    except OSError as error:
        raise _unwritten(path, _PAGE, error) from None


def write_into(folder: object, pages: Mapping[str, str], *, once: Mapping[str, str]) -> None:
    """Write into a folder, made where there is none; what is to be written ``once`` is never overwritten.

    Raises :class:`InvalidArgumentError` where that is not possible.
    """
    try:
        into = path_of(folder, _FOLDER)
        into.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (into / name).write_text(text, encoding="utf-8")
        for name, text in once.items():
            with contextlib.suppress(FileExistsError), (into / name).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise _unwritten(folder, _FOLDER, error) from None


def _unwritten(path: object, wanted: Problem, error: OSError) -> InvalidArgumentError:
    reason = error.strerror or "cannot be written"
    return InvalidArgumentError(replace(wanted, path=f"write_to {str(path)!r}", message=reason))
