"""Header lines as one value a name.

Models: a header that is sent in several lines, as ``curl -H … -H …`` does, means their list.
Does not model: headers that are no lists; the API's requests have none in several lines.
Source: RFC 9110, 5.2 (field lines and combined field value).
"""

from __future__ import annotations

from collections.abc import Iterable


def combined(lines: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Header lines as a mapping with names in lower case.

    >>> combined([("anthropic-beta", "one"), ("Anthropic-Beta", "two"), ("accept", "*/*")])
    {'anthropic-beta': 'one, two', 'accept': '*/*'}
    """
    values: dict[str, str] = {}
    for name, value in lines:
        key = name.lower()
        values[key] = f"{values[key]}, {value}" if key in values else value
    return values
