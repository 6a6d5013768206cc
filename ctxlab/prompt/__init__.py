"""A request as what it is to the cache: one ordered list of blocks, each with a digest, chained.

Models: render order (tools, then system, then messages); a plain string as the one text block it stands
for; two digests per block; the chained digest of every prefix; the first difference between two prompts,
and its kind; appending turns at the price of hashing only what is new.
Does not model: token counts (:mod:`ctxlab.tokens`), cache entries, or what the server removes before the
model reads. Whether the API would accept the request is not judged: unknown roles and block types pass as
they are. Where key order counts, two keys that JSON writes alike (``1`` and ``"1"``) are not noticed.

Sources: render order, and that a prefix must be identical up to and including the marked block:
prompt-caching page, 2026-09. Key order of ``tool_use.input`` counts: the same page's invalidation table.
Canonical form of ``content_sha256`` (sorted keys, no spaces, ``cache_control`` left out): the one the
recordings use, met by their hashes. That key order inside a tool's schema counts too is *assumed*;
``chain("sorted")`` is the other reading, which recorded token counts favour. A field that is null counts as
not sent: the SDK's answers give null to what the API left out, and dumps of them are sent back. So does
``is_error: false`` on a result, its default: recorded totals with and without it follow one rule.
"""

from ctxlab.prompt.blocks import SEGMENTS, Block, Chainable, KeyOrder, Part, Segment, chained
from ctxlab.prompt.difference import Difference, DifferenceKind, first_difference, first_different_byte
from ctxlab.prompt.objects import plain
from ctxlab.prompt.request import Prompt, extend

__all__ = [
    "SEGMENTS",
    "Block",
    "Chainable",
    "Difference",
    "DifferenceKind",
    "KeyOrder",
    "Part",
    "Prompt",
    "Segment",
    "chained",
    "extend",
    "first_difference",
    "first_different_byte",
    "plain",
]
