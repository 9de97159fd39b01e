"""Neural networks: activations, losses, normalization, embeddings (`tf.nn`)."""

from __future__ import annotations

from actorflow.public import namespace

__getattr__, __dir__, __all__ = namespace("af.nn", __name__)
