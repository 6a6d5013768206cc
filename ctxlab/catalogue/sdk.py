"""The SDK names this version knows, so that a change is noticed and the notebook it spoils is named.

Models: names by kind (ids, betas, edits, stop reasons, usage fields), and the notebooks that rest on each.
Does not model: how the names are found in an SDK; ``tests/test_drift.py`` does that for the installed one.
Source: Python package anthropic 2.14.0, 2026-11-24, in the tables below ``drift`` of ``catalogue.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ctxlab.catalogue.model import argument_error
from ctxlab.catalogue.reading import toml
from ctxlab.errors import Problem


def known(kind: str) -> frozenset[str]:
    """The SDK names of one kind (``usage_fields``, ``betas``, ``edits``, …) that this version knows.

    >>> "cache_creation" in known("usage_fields")
    True
    """
    _drift_table(kind)
    return _known(kind)


def drift(seen: Mapping[str, Iterable[str]]) -> list[Problem]:
    """Compare names found in an SDK with the ones known here, and say which notebook a difference hits.

    ``seen`` maps kinds (the tables below ``drift`` in ``catalogue.toml``) to names. Each name that is new or
    gone gives one problem; a kind that is not in ``seen`` is not compared. Raises
    :class:`InvalidArgumentError` for a kind that is not in the catalogue, and for what is no list of names.

    >>> today = {"edits": known("edits")}
    >>> drift(today)
    []
    >>> drift({"edits": [*today["edits"], "fold_20270101"]})[0].message
    'is new in the SDK; notebook 05 may be wrong'
    """
    if not isinstance(seen, Mapping):
        raise argument_error("seen", "kinds", f"is of type {type(seen).__name__}", "map kinds to their names")
    problems = []
    for kind, names in seen.items():
        table = _drift_table(kind)
        found, expected = _names(kind, names), set(table["names"])
        for name in sorted(found ^ expected):
            notebooks = _notebooks_hit(table, name)
            hit = (
                f"notebook {' and '.join(notebooks)} may be wrong"
                if notebooks
                else "no notebook depends on it"
            )
            change = "is new in the SDK" if name in found else "is gone from the SDK"
            problems.append(
                Problem(
                    f"{kind}.{name}",
                    "drift",
                    f"{change}; {hit}",
                    f"read up on it, then bring drift.{kind} in catalogue.toml up to date",
                )
            )
    return problems


@cache
def _known(kind: str) -> frozenset[str]:
    return frozenset(_drift_table(kind)["names"])


def _drift_table(kind: str) -> dict[str, Any]:
    tables: dict[str, dict[str, Any]] = toml()["drift"]
    if not isinstance(kind, str) or kind not in tables:
        raise argument_error("kind", "known-kind", f"is {kind!r}", f"one of {', '.join(sorted(tables))}")
    return tables[kind]


def _names(kind: str, names: Iterable[str]) -> set[str]:
    listed = None if isinstance(names, (str, bytes)) or not isinstance(names, Iterable) else list(names)
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise argument_error(kind, "names", f"is {names!r}", "give a list of names")
    return set(listed)


def _notebooks_hit(table: dict[str, Any], name: str) -> list[str]:
    watched = [books for part, books in table.get("watch", {}).items() if part in name]
    return sorted({book for books in watched for book in books}) or list(table["notebooks"])
