"""Private things in a text, each character of them replaced by an x, so that lengths still hold.

Models: API keys and tokens, ids of organisations, e-mail addresses, whose home folder a path is in.
Does not model: everything else that may be private; so a recording keeps no text unless it is told to.
Source: own construction; forms of keys as their issuers document them, 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# of a match with a named group only that goes, of any other all
_PRIVATE = re.compile(
    "|".join(
        [
            r"\bsk-[\w-]{10,}",
            r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,})",
            r"\bxox[a-z]-[\w-]{10,}",
            r"\bAKIA[A-Z0-9]{12,}",
            r"\bAIza[\w-]{30,}",
            r"\beyJ[\w-]{10,}(?:\.[\w-]+){1,2}",
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            r"(?i:\bbearer\s+)(?P<token>[\w.~+/=-]{8,})",
            r"\borg_[A-Za-z0-9]{8,}",
            rf"(?i:\borg(?:ani[sz]ation)?(?:[ _]?id)?\b\W{{0,4}})(?P<organisation>{_UUID})",
            r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
            r"(?<![\w.])(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)(?P<home>[^\s/\\\"'<>:|*?]+)",
        ]
    )
)
_NAMED = ("token", "organisation", "home")
#: A field whose value is a secret whatever it looks like (of an entry of ``mcp_servers``).
_SECRET_FIELD = "authorization_token"


def scrubbed(text: str) -> str:
    """``text`` with every private thing in it replaced; as long as before.

    >>> scrubbed("Mail ann@example.org, she pays for org_01ABCDEFGH.")
    'Mail xxxxxxxxxxxxxxx, she pays for xxxxxxxxxxxxxx.'
    """
    while (clean := _PRIVATE.sub(_crossed_out, text)) != text:  # one address may stand against another
        text = clean
    return text


def _crossed_out(found: re.Match[str]) -> str:
    name = next((name for name in _NAMED if found[name] is not None), 0)
    start, end = found.span(name)
    start, end = start - found.start(), end - found.start()
    return found[0][:start] + "x" * (end - start) + found[0][end:]


def scrubbed_json(value: Any) -> Any:
    """:func:`scrubbed` for every text in a JSON value, names of fields included."""
    if isinstance(value, str):
        return scrubbed(value)
    if isinstance(value, Mapping):
        return {
            scrubbed(name): "x" * len(str(item)) if name == _SECRET_FIELD and item else scrubbed_json(item)
            for name, item in value.items()
        }
    return [scrubbed_json(item) for item in value] if isinstance(value, list) else value
