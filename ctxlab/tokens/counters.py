"""Who counts a text: an installed tokenizer, a function of your own, or a ratio of characters.

Models: one interface, :class:`TextCounter`, that gives the tokens of a block's text or rendering, and of the
texts among the parameters; what it counted once it remembers, by the digest of the block.
Does not model: everything around texts (:mod:`ctxlab.tokens.structure`); by characters, scripts other than
Latin, of which the recordings hold next to nothing (a count that meets one says so and widens its band).

Source: ``ctok`` is an unofficial reconstruction of the vocabularies (an optional extra); it counts a text as
a prompt of one message, so the frame is taken off. The ratios of the characters counter were fitted on
recorded texts, see ``token_ratios.toml``.
"""

from __future__ import annotations

import importlib
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from threading import Lock
from typing import Any, Literal, Protocol, TypeVar

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.tokens.table import rules_of
from ctxlab.tokens.thumb import Band, bands, by_vocabulary, ratios

CountText = Callable[[str, str], int]
"""``counter(text, vocabulary)`` gives the tokens of a text by itself, without a frame; never asked for ""."""

TextKind = Literal["text", "tool", "call", "result", "named result", "schema", "name"]


@dataclass(frozen=True, slots=True)
class Text:
    """Something to count. ``chars`` is the length of what it renders, as recordings measure it.

    ``text`` is None where only the length is known.
    """

    kind: TextKind
    chars: int
    text: str | None


class TextCounter(Protocol):
    """Counts one :class:`Text` by a vocabulary; ``key`` tells counters apart that give different answers."""

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> Hashable: ...
    @property
    def needs_text(self) -> bool: ...
    @property
    def bands(self) -> tuple[Band, ...]: ...

    def tokens(self, text: Text, vocabulary: str) -> int: ...


@dataclass(frozen=True, slots=True)
class ByText:
    """A function of (text, vocabulary) as a counter."""

    name: str
    count_text: CountText
    needs_text: bool = True
    bands: tuple[Band, ...] = ()

    @property
    def key(self) -> Hashable:
        return self.count_text

    def tokens(self, text: Text, vocabulary: str) -> int:
        if text.text is None:
            raise InvalidArgumentError(
                Problem("counter", "needs-text", f"{self.name} counts texts, and here are only lengths", "")
            )
        if not text.text:
            return 0
        tokens = self.count_text(text.text, vocabulary)
        if type(tokens) is not int or tokens < 0:
            raise InvalidArgumentError(
                Problem(self.name, "whole-tokens", f"gave {tokens!r}", "return a whole number, 0 or more")
            )
        return tokens


@dataclass(frozen=True, slots=True)
class ByCharacters:
    """Characters over the ratio of the vocabulary, and constants for what a rendering adds; at least 1."""

    name: str
    characters_per_token: dict[str, Fraction]
    schema_characters_per_token: dict[str, Fraction]
    around: dict[TextKind, dict[str, Fraction]]
    bands: tuple[Band, ...]
    needs_text: bool = False

    @property
    def key(self) -> Hashable:
        return self.name

    def tokens(self, text: Text, vocabulary: str) -> int:
        around = self.around.get(text.kind)
        ratio = (self.schema_characters_per_token if text.kind == "schema" else self.characters_per_token)[
            vocabulary
        ]
        tokens = round(text.chars / ratio)
        if around is not None:
            return tokens + int(around[vocabulary])
        return max(1, tokens) if text.chars else 0


@cache
def calibrated_characters() -> ByCharacters:
    """The counter that needs nothing installed.

    >>> calibrated_characters().tokens(Text("text", 370, None), "v3")
    100
    """
    entry = ratios()["calibrated_characters"]
    return ByCharacters(
        name="calibrated_characters",
        characters_per_token=by_vocabulary(entry["characters_per_token"]),
        schema_characters_per_token=by_vocabulary(entry["schema_characters_per_token"]),
        around={
            "call": by_vocabulary(entry["tokens_around_a_call"]),
            "result": by_vocabulary(entry["tokens_around_a_result"]),
            "named result": by_vocabulary(entry["tokens_around_a_named_result"]),
        },
        bands=bands(entry),
    )


_CTOK_VERSIONS = {"v3": "3.0", "v4.7": "4.7", "v4.8": "4.8"}


def ctok_counter() -> ByText | None:
    """The counter of the ``tokens`` extra, or None where it is not installed."""
    token_count = _ctok_token_count()
    return None if token_count is None else ByText("ctok", _ctok_text(token_count))


@cache
def _ctok_text(token_count: Callable[[str, str], int]) -> CountText:
    def ctok(text: str, vocabulary: str) -> int:
        return token_count(text, _CTOK_VERSIONS[vocabulary]) - rules_of(vocabulary).frame

    return ctok


def _ctok_token_count() -> Callable[[str, str], int] | None:
    module = sys.modules.get("ctok") or _installed()
    return None if module is None else module.token_count


@cache
def _installed() -> Any:
    try:
        return importlib.import_module("ctok")
    except ImportError:
        return None


_Value = TypeVar("_Value")


class Memory:
    """The last ``most`` answers by key, the least recently used one forgotten first; safe between threads."""

    def __init__(self, most: int = 65_536):
        self._most = most
        self._found: OrderedDict[Hashable, object] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """What is remembered under ``key``; else what ``make`` gives, from now on."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]  # type: ignore[return-value]
        made = make()
        with self._lock:
            self._found[key] = made
            if len(self._found) > self._most:
                self._found.popitem(last=False)
        return made
