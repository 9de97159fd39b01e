"""`af.train`: optimizers, moving averages, the global step, learning rates."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.train", __name__)
