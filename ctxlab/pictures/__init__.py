"""Pictures as files and pixels: made to fit, drawn for the lessons, measured against the documents.

Models: ``fitting`` (conversions that make the API take a picture), ``samples`` (pictures of our own in
``data/images/``), ``documented`` (the table of documented and recorded sizes), ``drawing`` (how the samples
were made), ``command`` (``ctxlab images``).
Does not model: tokens and limits (:mod:`ctxlab.images`). Pillow is loaded only when a pixel is touched.
"""

from ctxlab.pictures.documented import (
    DocumentedSize,
    RecordedDifference,
    documented_sizes,
    recorded_differences,
)
from ctxlab.pictures.fitting import Change, FittedImage, FittedRequest, UnfittableImageError, fit
from ctxlab.pictures.samples import Sample, samples

__all__ = [
    "Change",
    "DocumentedSize",
    "FittedImage",
    "FittedRequest",
    "RecordedDifference",
    "Sample",
    "UnfittableImageError",
    "documented_sizes",
    "fit",
    "recorded_differences",
    "samples",
]
