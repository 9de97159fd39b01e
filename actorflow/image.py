"""Images: conversions, sizes, colours, boxes (`tf.image`)."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.image", __name__)
