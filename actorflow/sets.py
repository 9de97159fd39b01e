"""Sets of numbers or strings, in the last dimension of tensors (`tf.sets`)."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.sets", __name__)
