"""What the server does to a request before the model reads it: the one place for it.

Models: messages before the last summary are ignored; thinking of earlier turns is dropped on models that keep
only the last turn's; the context edits ``clear_thinking_20251015`` and ``clear_tool_uses_20250919`` with
every parameter, default and the rule of their order; whether a ``compact_20260112`` is due.
Does not model: the summary itself, the API's own error texts, or what an edit does to the prompt cache (hand
the effective request to :mod:`ctxlab.cache`, or the one that was sent).
Source: each file names its own.

This package stands above prompt and tokens, since triggers are in tokens; how they are counted is handed in.
Two faces: :func:`effective` works on a request, :func:`unread` on blocks of a prompt or of a recording.
"""

from ctxlab.effective.applying import (
    BEFORE_SUMMARY,
    OLD_THINKING,
    Applied,
    CountRequest,
    Effective,
    due_compaction,
    effective,
)
from ctxlab.effective.edits import (
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    COMPACT,
    DEFAULT_KEEP_TOOL_USES,
    DEFAULT_TRIGGER_TOKENS,
    LEAST_COMPACT_TRIGGER_TOKENS,
    PLACEHOLDER,
    EditRules,
    edit_problems,
    edits_of,
    thinks_by_default,
)
from ctxlab.effective.reading import THINKING, Readable, unread, without

__all__ = [
    "BEFORE_SUMMARY",
    "CLEAR_THINKING",
    "CLEAR_TOOL_USES",
    "COMPACT",
    "DEFAULT_KEEP_TOOL_USES",
    "DEFAULT_TRIGGER_TOKENS",
    "LEAST_COMPACT_TRIGGER_TOKENS",
    "OLD_THINKING",
    "PLACEHOLDER",
    "THINKING",
    "Applied",
    "CountRequest",
    "EditRules",
    "Effective",
    "Readable",
    "due_compaction",
    "edit_problems",
    "edits_of",
    "effective",
    "thinks_by_default",
    "unread",
    "without",
]
