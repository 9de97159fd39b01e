"""Functions of numbers, elementwise and along axes, under the names of `tf.math`."""

from __future__ import annotations

from actorflow.public import namespace

__getattr__, __dir__, __all__ = namespace("af.math", __name__)
