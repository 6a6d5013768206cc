"""The two cache counters of an answer: what each of the four pairs means, and what to do next.

Models: the table that the first document announces and has lost, with one recorded example a row.
Does not model: causes. One pair of counters has several; times, markers and bytes tell them apart
(:func:`ctxlab.diagnose.diagnose`).
Source: prompt-caching page, 2026-09, for the counters; rows of ``data/recordings`` named in ``example``. The
row with both above zero may not have stood in the lost table.
"""

from __future__ import annotations

from dataclasses import dataclass

from ctxlab.errors import InvalidArgumentError, Problem


@dataclass(frozen=True, slots=True)
class Counters:
    """One row: whether the two counters are above zero, what that means, what is next, and an example."""

    written: bool
    read: bool
    means: str
    next: str
    example: str

    def __str__(self) -> str:
        figures = f"cache_creation {'> 0' if self.written else '0'}, cache_read {'> 0' if self.read else '0'}"
        return f"{figures}: {self.means}; {self.next}"


COUNTER_TABLE: tuple[Counters, ...] = (
    Counters(
        False,
        False,
        "nothing was ever stored: no marker took effect, or the prefix is below the model's minimum",
        "do not compare bytes; look at the marker and at the minimum",
        "claude-sonnet-4-5 asked with 1,026 tokens: 0 and 0; with one more, 1,024 are written",
    ),
    Counters(
        True,
        False,
        "stored again: the bytes changed, or the entry ended, or it could not be read yet",
        "look at the time between the starts and at requests in parallel, then compare bytes",
        "another model, and 727 s idle on 5m at the same time: 109,917 written, 0 read "
        "(cli/session-3a782158)",
    ),
    Counters(
        False,
        True,
        "alive: everything marked was read",
        "stop here",
        "4 fresh, 1,163 read (openllmetry/test_anthropic_prompt_caching_legacy)",
    ),
    Counters(
        True,
        True,
        "partly alive: read up to an earlier entry, the rest is written",
        "compare what was written with what you appended: healthy if they are about the same, a late change "
        "or a lost tail if much more was written",
        "healthy: 418 written, 1,111 read (pydantic-ai/test_anthropic_cache_real_api); not healthy: 4,563 "
        "written, 3,733 read, where the system prompt had changed and the tools survived "
        "(crush/download_tool)",
    ),
)
"""The four pairs, in the order of the document: nothing, written, read, both."""


def counters(read: int, written: int) -> Counters:
    """The row for ``cache_read_input_tokens`` and ``cache_creation_input_tokens`` of a second request.

    Raises :class:`InvalidArgumentError` for counts below zero.

    >>> counters(read=0, written=4096).means
    'stored again: the bytes changed, or the entry ended, or it could not be read yet'
    """
    for name, tokens in (("read", read), ("written", written)):
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise InvalidArgumentError(
                Problem(name, "count", f"is {tokens!r}", "give the figure of the answer, 0 or more")
            )
    return next(row for row in COUNTER_TABLE if (row.read, row.written) == (read > 0, written > 0))
