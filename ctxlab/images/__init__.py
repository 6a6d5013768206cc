"""Pictures in a request: tokens, headers, limits, and what keeping or dropping them costs.

Models: ``sizes`` (tiers, scaling down, tokens), ``headers`` (type and size from the first bytes),
``preflight`` (what the API will refuse, before it is sent), ``economics`` (shrink, keep or drop).
Does not model: pixels. What needs a decoder stands in :mod:`ctxlab.pictures`.
"""

from ctxlab.images.headers import (
    MEDIA_TYPES,
    ImageHeader,
    UnreadableImageError,
    format_name,
    header_or_none,
    read_header,
)
from ctxlab.images.sizes import (
    PATCH_PIXELS,
    PIXELS_PER_TOKEN_SUPERSEDED,
    TIERS,
    PdfTokens,
    Scaling,
    Tier,
    image_tokens,
    patches,
    pdf_tokens,
    resized_size,
    scaling,
    size_problems,
    superseded_image_tokens,
    tier_of,
)

__all__ = [
    "MEDIA_TYPES",
    "PATCH_PIXELS",
    "PIXELS_PER_TOKEN_SUPERSEDED",
    "TIERS",
    "ImageHeader",
    "PdfTokens",
    "Scaling",
    "Tier",
    "UnreadableImageError",
    "format_name",
    "header_or_none",
    "image_tokens",
    "patches",
    "pdf_tokens",
    "read_header",
    "resized_size",
    "scaling",
    "size_problems",
    "superseded_image_tokens",
    "tier_of",
]
