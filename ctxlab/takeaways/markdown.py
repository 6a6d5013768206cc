"""The layout all pages share: a title, what the page holds, its parts, the questions to take to work.

Models: Markdown of headings, lists and tables set as they print; counts and ranges as people read them.
Does not model: the tables themselves, see :mod:`ctxlab.figures`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from ctxlab.figures import Table, usd

_Amount = TypeVar("_Amount", int, Decimal, Fraction)


def page(title: str, says: str, *parts: Sequence[str] | Table, ask: Sequence[str]) -> str:
    """A whole page: ``says`` under the title, the lines of each part, ``ask`` as boxes to tick at the end.

    >>> print(page("Bill", "Figures only.", listed(["$1.00"]), ask=["What for?"]), end="")
    # Bill
    <BLANKLINE>
    Figures only.
    <BLANKLINE>
    - $1.00
    <BLANKLINE>
    ## To ask at work
    <BLANKLINE>
    - [ ] What for?
    """
    lines = [f"# {title}", "", says, ""]
    for part in (*parts, section("To ask at work", [f"[ ] {question}" for question in ask])):
        lines += ["```", part.text, "```", ""] if isinstance(part, Table) else [*part, ""]
    return "\n".join(lines)


def section(heading: str, items: Sequence[str]) -> list[str]:
    """The lines of a heading and its list.

    >>> section("Cache markers", ["none"])
    ['## Cache markers', '', '- none']
    """
    return [f"## {heading}", "", *listed(items)]


def listed(items: Sequence[str]) -> list[str]:
    """The lines of a list."""
    return [f"- {item}" for item in items]


def counted(number: int, thing: str) -> str:
    """So many of a thing.

    >>> counted(1, "message"), counted(2000, "message")
    ('1 message', '2,000 messages')
    """
    return f"{number:,} {thing}{'s' * (number != 1)}"


def between(low: _Amount, high: _Amount, told: Callable[[_Amount], str] = usd) -> str:
    """Dollars, or what ``told`` says; both ends where the figure is known as a range only.

    >>> between(Decimal(2), Decimal(2)), between(Decimal(2), Decimal("3.5"))
    ('$2.00', '$2.00 to $3.50')
    """
    return told(low) if low == high else f"{told(low)} to {told(high)}"
