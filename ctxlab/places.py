"""Where the data and the notebooks lie: beside the package in a clone, inside it after ``pip install``.

Models: two layouts of the same files. Does not model: the learner's copies (see :mod:`ctxlab.cli`).
"""

from __future__ import annotations

from pathlib import Path

from ctxlab.errors import CtxlabError, Problem

_PACKAGE = Path(__file__).resolve().parent
#: Where a wheel puts data and notebooks.
_SHARE = _PACKAGE / "_share"


def clone_root() -> Path | None:
    """The root of the clone this package runs from, or None when it was installed from a wheel.

    With ``pip install --target`` a wheel may lie in a folder that has a pyproject.toml and data of its own.
    """
    if _SHARE.is_dir():
        return None
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "data").is_dir() else None


def data_path(*parts: str) -> Path:
    """The path of a file below ``data/``; raises :class:`CtxlabError` when it is not there.

    >>> data_path("README.md").name
    'README.md'
    """
    return _shared("data", *parts)


def notebooks_path(*parts: str) -> Path:
    """The path of a file or folder below ``notebooks/``."""
    return _shared("notebooks", *parts)


def _shared(*parts: str) -> Path:
    root = clone_root()
    path = (root if root is not None else _SHARE).joinpath(*parts)
    if not path.exists():
        raise CtxlabError(
            Problem(
                "/".join(parts),
                "shipped-file",
                "is missing from this installation",
                "reinstall ctxlab, or run from a complete clone",
            )
        )
    return path
