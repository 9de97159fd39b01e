"""Names that TensorFlow 1.15 keeps in `tf.data.experimental`."""

from __future__ import annotations

from actorflow.data.dataset import AUTOTUNE
from actorflow.public import public

public("tf.data:experimental")

__all__ = ["AUTOTUNE"]
