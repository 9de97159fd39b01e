"""Neural networks: activations, losses, normalization, embeddings (`tf.nn`)."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.nn", __name__)
