"""`tf.nn` of 0.x: that of version 1, but the cross entropies take the logits first."""

from __future__ import annotations

from typing import Any

import actorflow.compat.v1 as _v1


def softmax_cross_entropy_with_logits(logits: Any, labels: Any, name: str | None = None) -> Any:
    """As in 0.x: logits, labels."""
    return _v1.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def sparse_softmax_cross_entropy_with_logits(logits: Any, labels: Any, name: str | None = None) -> Any:
    """As in 0.x: logits, labels."""
    return _v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def sigmoid_cross_entropy_with_logits(logits: Any, targets: Any, name: str | None = None) -> Any:
    """As in 0.x: logits, targets."""
    return _v1.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def __getattr__(name: str) -> Any:
    return getattr(_v1.nn, name)


def __dir__() -> list[str]:
    return dir(_v1.nn)
