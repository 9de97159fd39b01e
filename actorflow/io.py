"""Files, records and decoding under TensorFlow's names (`tf.io`, `tf.python_io`)."""

from __future__ import annotations

from actorflow.public import namespace

__getattr__, __dir__, __all__ = namespace("af.io", __name__)
