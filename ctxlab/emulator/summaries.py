"""What the server would have written as a summary: an outline, a script, or a function of the request.

Models: summaries of both kinds of compaction, none (the model called a tool, or ran out of room), errors.
Does not model: summarising. A summary is *scripted*, and so is what it costs where that is given.
Source: compaction pages 2026-08 to 2026-10 for what stands in place of a summary that failed; in recordings
a pass puts out 17 (Sonnet 4.6) or 31 (Opus 4.6) tokens more than its summary has, which belongs to the model
and not to the rules: unless it is given, a pass costs what a reply of that text would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ctxlab.emulator.errors import ApiError
from ctxlab.emulator.replies import Kind, scripted, words_of
from ctxlab.errors import InvalidArgumentError, Problem

_MOST_HEADS = 8
_HEAD_CHARS = 80
#: Why an answer can be without a summary (compaction-on-demand page, 2026-09).
NO_SUMMARY_REASONS = ("end_turn", "max_tokens", "model_context_window_exceeded", "refusal", "tool_use")


@dataclass(frozen=True, slots=True)
class Summary:
    """What a compaction pass came to. ``content`` is None where it wrote no summary, for ``stop_reason``.

    ``output_tokens`` is what the pass put out (None: the tokens of the text and those around a reply).

    >>> Summary.of("Two books are kept.").content
    'Two books are kept.'
    >>> Summary.of(Summary(None, stop_reason="tool_use")).stop_reason
    'tool_use'
    """

    content: str | None
    output_tokens: int | None = None
    stop_reason: str = "end_turn"
    evidence: Literal["scripted"] = "scripted"

    @classmethod
    def of(cls, said: Any) -> Summary:
        """Read a summary as a person writes it: a text, None or an empty text for none, a :class:`Summary`.

        Raises :class:`InvalidArgumentError` for anything else.
        """
        given = said if isinstance(said, Summary) else cls(said)
        if given.content is not None and not isinstance(given.content, str):
            raise _unreadable("summary", f"is of type {type(given.content).__name__}")
        tokens = given.output_tokens
        if tokens is not None and (type(tokens) is not int or tokens < 0):
            raise _unreadable("summary.output_tokens", f"is {tokens!r}")
        if given.stop_reason not in NO_SUMMARY_REASONS:
            raise _unreadable("summary.stop_reason", f"is {given.stop_reason!r}")
        return given if given.content else cls(None, tokens, given.stop_reason)


Summarizer = Callable[[dict[str, Any]], Summary]


def summarizer(said: Any) -> tuple[Summarizer, bool]:
    """What ``Emulator(summaries=…)`` was given, as one function; and whether it may change the request.

    A name (``"outline"``), a function of the request as the model reads it, or any iterable of summaries that
    are used up one a compaction.
    """
    if said is None or said == "outline":
        return outline, False
    return scripted(said, Kind("summaries", "summary", Summary.of, "outline"))


def outline(request: dict[str, Any]) -> Summary:
    """How the messages of the user begin, an earlier summary included.

    >>> outline({"messages": [{"role": "user", "content": "Where is the ledger?"}]}).content
    '<summary>\\nThe user said, in 1 message: Where is the ledger?\\n</summary>'
    """
    told: list[str] = []
    earlier = ""
    for message in request["messages"]:
        content = message["content"]
        blocks = content if isinstance(content, list) else ()
        earlier += "".join(block["content"] or "" for block in blocks if block["type"] == "compaction")
        if message["role"] == "user":
            told.append(" ".join(words_of(content).split())[:_HEAD_CHARS])
    heads = " | ".join(head for head in told[-_MOST_HEADS:] if head)
    times = "1 message" if len(told) == 1 else f"{len(told)} messages"
    before = f"Before that: {_inside(earlier)}\n" if earlier else ""
    return Summary(f"<summary>\n{before}The user said, in {times}: {heads}\n</summary>")


def _inside(summary: str) -> str:
    return " ".join(summary.replace("<summary>", "").replace("</summary>", "").split())[: 5 * _HEAD_CHARS]


def compaction_unavailable() -> ApiError:
    """529, to put into a script of summaries: a compaction that failed on the server and may be tried again.

    Own wording; the code is the SDK's (types/compaction_unavailable_error.py, 2026-11).
    """
    says = "The compaction could not be completed. Please retry the request."
    return ApiError(529, "overloaded_error", says, {"error_code": "compaction_unavailable"})


def _unreadable(path: str, message: str) -> InvalidArgumentError:
    return InvalidArgumentError(Problem(path, "summary", message, "give a text, None or a Summary"))
