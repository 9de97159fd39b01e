"""Byte strings (`tf.strings`)."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.strings", __name__)
