"""An op that holds the interpreter, which tasks import."""

from __future__ import annotations

import ctypes
from typing import Any

import actorflow as af
from actorflow.graph.ops.shape_rules import unchanged


@af.op("ChaosHog", shape=unchanged, gradient=None, stateful=True)
def hog(seconds: af.TensorLike, *, name: str | None = None) -> af.Tensor:  # type: ignore[empty-body]
    """Holds the interpreter of its task for `seconds`, and gives them back."""


@af.kernel("ChaosHog")
def _hog(xp: Any, seconds: Any) -> Any:
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # which lets no one else have the interpreter, as CDLL would
    return seconds
