"""`af.train`: optimizers, moving averages, the global step, learning rates."""

from __future__ import annotations

from actorflow.public import namespace

__getattr__, __dir__, __all__ = namespace("af.train", __name__)
