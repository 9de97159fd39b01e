"""Sparse tensors (`tf.sparse`)."""

from __future__ import annotations

from actorflow.public import namespace

__getattr__, __dir__, __all__ = namespace("af.sparse", __name__)
