"""Answers picked from words that an exercise offers: how they may be spelt, and when another word is told.

Models: words whose capitals, hyphens and blanks do not matter; a case that only asks whether an answer is one
of the words on offer.
Does not model: which of the words is right; that is the lesson's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OneOf:
    """What a case expects that only asks whether an answer is one of the words to choose from.

    >>> print(OneOf(("yes", "no")))
    one of `"yes"`, `"no"`
    """

    words: tuple[str, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(f'`"{word}"`' for word in self.words)


def spelt(word: Any) -> Any:
    """A word as it was meant: capitals, hyphens and blanks around it do not make another answer.

    >>> spelt(" Still-There"), spelt(3)
    ('still there', 3)
    """
    if not isinstance(word, str):
        return word
    return " ".join(word.replace("-", " ").replace("_", " ").lower().split())


def same_word(got: Any, expected: Any) -> bool:
    """Whether an answer is the word, or one of the words on offer, to the letter."""
    return got in expected.words if isinstance(expected, OneOf) else bool(got == expected)


def same_spelt(got: Any, expected: Any) -> bool:
    """The same, however the answer is spelt."""
    return same_word(spelt(got), expected)
