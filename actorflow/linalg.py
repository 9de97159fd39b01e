"""Linear algebra under the short names of `tf.linalg`."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.linalg", __name__)
