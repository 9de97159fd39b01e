"""Fourier transforms (`tf.signal`)."""

from __future__ import annotations

from actorflow.public import namespace

__getattr__, __dir__, __all__ = namespace("af.signal", __name__)
