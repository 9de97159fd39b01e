"""Fourier transforms (`tf.signal`)."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.signal", __name__)
