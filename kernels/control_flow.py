"""Kernels of control flow. Where their tokens go, and when they fire, is the runtime's part (`actorflow.runtime.frames`)."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel
from actorflow.runtime.tokens import DEAD


@kernel("Enter", "Exit", "NextIteration", "LoopCond")
def forward(xp: Any, data: Any) -> Any:
    return data


@kernel("Switch")
def switch(xp: Any, data: Any, pred: Any) -> Any:
    return (DEAD, data) if pred else (data, DEAD)


@kernel("Merge")
def merge(xp: Any, inputs: list[Any]) -> Any:
    raise AssertionError("Merge is carried out by the runtime: it fires on its first live token")
