"""Kernels of control flow's primitives. The runtime (`actorflow.runtime.frames`) decides where their tokens go."""

from __future__ import annotations

from typing import Any

from actorflow.errors import InvalidArgumentError
from actorflow.registry.kernel import kernel
from actorflow.registry.traits import HANDS_ON
from actorflow.runtime.tokens import DEAD


@kernel("Enter", "Exit", "NextIteration", "LoopCond", gpu=HANDS_ON)
def forward(xp: Any, data: Any) -> Any:
    return data


@kernel("Switch", gpu=HANDS_ON)
def switch(xp: Any, data: Any, pred: Any) -> Any:
    return (DEAD, data) if pred else (data, DEAD)


@kernel("Merge", gpu=HANDS_ON)
def merge(xp: Any, inputs: list[Any]) -> Any:
    raise AssertionError("Merge is carried out by the runtime: it fires on its first live token")


# ---- What is said where a part of a function's body is asked for outside of a call.


@kernel("_Arg", "_Return", "Call")
def inside(xp: Any, *values: Any, function: str) -> Any:
    raise InvalidArgumentError(
        f"This is part of the body of the function {function}, which has values in its calls only.",
        hint="Fetch what a call of the function gives.",
    )
