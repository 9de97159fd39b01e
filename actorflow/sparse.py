"""Sparse tensors (`tf.sparse`)."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.sparse", __name__)
