"""Files, records and decoding under TensorFlow's names (`tf.io`, `tf.python_io`)."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.io", __name__)
