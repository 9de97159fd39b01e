"""An op whose expected work says nothing of the time that it takes, and a graph whose first placement is not the best."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import actorflow as af
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike

LENGTHS = {"long": 0.02, "a": 0.004, "b": 0.0041, "c": 0.0042}
"""The seconds of each piece."""
BATCH = np.ones(4, np.float32)


@af.op("TestHeld", shape=unchanged, gradient=None, work=lambda c: 1e8)
def hold(x: TensorLike, *, seconds: float, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
    """`x` itself after some seconds of a thread's time."""


@af.kernel("TestHeld")
def _hold(xp: Any, x: Any, *, seconds: float) -> Any:
    time.sleep(seconds)
    return x + 0


def pieces() -> tuple[Tensor, Tensor]:
    """One long piece and three short ones, which all seem alike; two and two of them is not the best."""
    x = af.placeholder(af.float32, [4], name="x")
    return x, af.add_n([hold(x, seconds=seconds, name=name) for name, seconds in LENGTHS.items()], name="sum")
