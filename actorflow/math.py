"""Functions of numbers, elementwise and along axes, under the names of `tf.math`."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.math", __name__)
