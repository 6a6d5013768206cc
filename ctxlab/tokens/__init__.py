"""How many tokens a prompt has, before anybody is asked, and where each of them stands.

Models: :func:`count`, which adds what the server puts around texts (from a dated table) to what a counter
says about the texts; :func:`count_recorded`, the same sum over counts that recordings carry; rules of thumb,
to measure how far off they are; what real answers correct (:class:`Calibration`).
Does not model: where one token ends and the next begins.

Source: ``token_rules.toml`` (constants, each with source and evidence) and ``token_ratios.toml`` (ratios and
how far they were off), both checked against ``data/recordings/`` by tests.
"""

from ctxlab.tokens.calibration import Calibration
from ctxlab.tokens.counters import CountText, Text, TextCounter
from ctxlab.tokens.counting import (
    Count,
    Sizer,
    compaction_pass_tokens,
    content_tokens,
    contents_tokens,
    count,
    count_recorded,
    output_tokens_of_text,
    recorded_on,
)
from ctxlab.tokens.rendering import rendered_call, rendered_result, rendered_schema, rendered_tool
from ctxlab.tokens.structure import Outside
from ctxlab.tokens.table import (
    Constant,
    Residual,
    Rules,
    constants_of,
    families,
    residual_of,
    residuals,
    rules_of,
)
from ctxlab.tokens.thumb import Band, CharactersRule, Countable, rules

__all__ = [
    "Band",
    "Calibration",
    "CharactersRule",
    "Constant",
    "Count",
    "CountText",
    "Countable",
    "Outside",
    "Residual",
    "Rules",
    "Sizer",
    "Text",
    "TextCounter",
    "compaction_pass_tokens",
    "constants_of",
    "content_tokens",
    "contents_tokens",
    "count",
    "count_recorded",
    "families",
    "output_tokens_of_text",
    "recorded_on",
    "rendered_call",
    "rendered_result",
    "rendered_schema",
    "rendered_tool",
    "residual_of",
    "residuals",
    "rules",
    "rules_of",
]
