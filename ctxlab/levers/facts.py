"""Facts that have to survive word for word: found by pattern, and checked as exact strings.

Models: paths, addresses, ids, codes, times, figures, versions, names of errors and settings in a text, also
in one that is written without spaces; which of them a request still holds.
Does not model: meaning. A paraphrase is a loss; a rule in plain words has to be pinned to be looked for.
Source: field reports of 2026-02 to 2026-08 (what summaries lose: paths, commands, numbers, hashes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxlab.levers.making import instance, strings
from ctxlab.prompt import plain

# Words are told apart as in ASCII: in scripts that write without spaces a fact stands right beside letters.
# Names of files may hold letters of scripts that do write spaces (Latin, Greek, Cyrillic).
_IN_A_NAME = r"\w\u00c0-\u052f"
_OUTSIDE_A_LINK = r"\x00-\x20\"'<>)\]\x7f-\u00bf\u0530-\U0010ffff"
_ENDINGS = "py|js|ts|go|rs|java|c|h|cpp|sh|sql|md|txt|json|jsonl|ya?ml|toml|ini|cfg|csv|log|html|lock"
_STAGES = "(?i:rc|alpha|beta|a|b|dev|preview|pre|post|snapshot|canary|next|nightly)"
_PATTERNS = (
    rf"https?://[^{_OUTSIDE_A_LINK}]*[{_IN_A_NAME}/]",
    r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]*\w",
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    r"(?<!\w)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\w)",
    r"\b\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?\b",
    r"(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?",
    rf"(?<![{_IN_A_NAME}.-])(?:[A-Za-z]:)?(?:\.{{0,2}}[/\\])?(?:[{_IN_A_NAME}.-]+[/\\])+[{_IN_A_NAME}.-]*[{_IN_A_NAME}]",
    rf"(?<![{_IN_A_NAME}-])[{_IN_A_NAME}-]+\.(?:{_ENDINGS})\b",
    r"\b(?:[A-Z]\w*)?(?:Error|Exception|Warning)\b",
    r"\b0[xX][0-9a-fA-F]+\b",
    r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b",
    r"\b(?=[0-9A-F]*\d)(?=[0-9A-F]*[A-F])[0-9A-F]{7,64}\b",
    r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b",
    r"\b[A-Z][A-Z0-9]+(?:-\d+)+\b",
    r"\b[A-Z]{1,6}\d{2,}\b",
    rf"\bv?\d+(?:\.\d+)+(?:[.-]?{_STAGES}(?:[.-]?\d+)*)?(?:\+[\w.]*\w)?\b",
    r"(?<![\w.])\d[\d,]*\d(?:\.\d+)?(?:%|\b)",
)
_FACT = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.ASCII)
#: Fields that hold no words: pictures, signatures, ids.
_WORDLESS = frozenset({"data", "signature", "id", "tool_use_id", "type", "encrypted_content", "media_type"})


def find_facts(text: str) -> tuple[str, ...]:
    """What a text says that has to be right to the letter, in order, each once.

    >>> find_facts("Deploy 9f2c1ab from cfg/app.yaml to 10.0.3.17, port 8081; see ConnectionError.")
    ('9f2c1ab', 'cfg/app.yaml', '10.0.3.17', '8081', 'ConnectionError')
    """
    instance("text", text, str)
    return tuple(dict.fromkeys(match.group() for match in _FACT.finditer(text)))


def words_of(value: Any) -> str:
    """Every text in messages or a request, line by line; no pictures, signatures or ids.

    >>> words_of([{"role": "user", "content": [{"type": "text", "text": "Port 8081"}]}])
    'user\\nPort 8081'
    """
    return "\n".join(_strings(value))


def missing(facts: Iterable[str], text: str) -> tuple[str, ...]:
    """Those of the facts that a text does not hold, as whole words.

    >>> missing(["8081", "cfg/app.yaml"], "The port is 18081, the file cfg/app.yaml")
    ('8081',)
    """
    instance("text", text, str)
    return tuple(fact for fact in dict.fromkeys(strings("facts", facts)) if not _holds(text, fact))


def _holds(text: str, fact: str) -> bool:
    at = text.find(fact)
    while at >= 0:
        before, behind = text[at - 1 : at], text[at + len(fact) : at + len(fact) + 1]
        if not (_joins(before, fact[:1]) or _joins(fact[-1:], behind)):
            return True
        at = text.find(fact, at + 1)
    return False


def _joins(one: str, other: str) -> bool:
    """Whether two characters side by side belong to one word, by ASCII."""
    return bool(one and other) and _is_of_a_word(one) and _is_of_a_word(other)


def _is_of_a_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _WORDLESS:
                yield from _strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)
    elif value is not None and not isinstance(value, (bool, int, float)):
        yield from _strings(plain(value))
    elif value is not None:
        yield str(value)
