"""Linear algebra under the short names of `tf.linalg`."""

from __future__ import annotations

from actorflow.public import namespace

__getattr__, __dir__, __all__ = namespace("af.linalg", __name__)
