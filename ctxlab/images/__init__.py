"""Pictures in a request: tokens, headers, limits, and what keeping or dropping them costs.

Models: ``sizes`` (tiers, scaling down, tokens), ``headers`` (type and size from the first bytes), ``limits``
(by platform), ``walk`` (where pictures stand in a request), ``preflight`` (what the API will refuse, before
it is sent), ``economics`` (shrink, keep or drop).
Does not model: pixels. What needs a decoder stands in :mod:`ctxlab.pictures`.
"""

from ctxlab.images.economics import (
    ASSUMPTIONS,
    Eviction,
    ImageCost,
    Resize,
    TrimOrKeep,
    best_resize,
    eviction,
    image_cost,
    staircase,
    trim_or_keep,
)
from ctxlab.images.headers import (
    MEDIA_TYPES,
    ImageHeader,
    UnreadableImageError,
    format_name,
    header_or_none,
    read_header,
)
from ctxlab.images.limits import (
    MANY_IMAGES,
    MAX_SIDE_PIXELS,
    MAX_SIDE_PIXELS_MANY,
    PLATFORMS,
    Platform,
    counts_as_picture,
    max_pictures,
    max_side_pixels,
    platform_of,
)
from ctxlab.images.preflight import ImageProblem, Preflight, SeenImage, check_images, preflight
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
from ctxlab.images.walk import Place, as_body, places, strict_base64

__all__ = [
    "ASSUMPTIONS",
    "MANY_IMAGES",
    "MAX_SIDE_PIXELS",
    "MAX_SIDE_PIXELS_MANY",
    "MEDIA_TYPES",
    "PATCH_PIXELS",
    "PIXELS_PER_TOKEN_SUPERSEDED",
    "PLATFORMS",
    "TIERS",
    "Eviction",
    "ImageCost",
    "ImageHeader",
    "ImageProblem",
    "PdfTokens",
    "Place",
    "Platform",
    "Preflight",
    "Resize",
    "Scaling",
    "SeenImage",
    "Tier",
    "TrimOrKeep",
    "UnreadableImageError",
    "as_body",
    "best_resize",
    "check_images",
    "counts_as_picture",
    "eviction",
    "format_name",
    "header_or_none",
    "image_cost",
    "image_tokens",
    "max_pictures",
    "max_side_pixels",
    "patches",
    "pdf_tokens",
    "places",
    "platform_of",
    "preflight",
    "read_header",
    "resized_size",
    "scaling",
    "size_problems",
    "staircase",
    "strict_base64",
    "superseded_image_tokens",
    "tier_of",
    "trim_or_keep",
]
