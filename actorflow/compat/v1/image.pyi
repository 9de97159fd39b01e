# `make names` writes this file from the marks in the sources.

from actorflow.ops.image.convert import convert_image_dtype as convert_image_dtype
from actorflow.ops.image.glimpse import extract_glimpse as extract_glimpse

__all__ = [
    "convert_image_dtype",
    "extract_glimpse",
]
