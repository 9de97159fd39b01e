"""Optimizers' dense updates: the formulas of `actorflow.graph.ops.state.training` as lists of steps, which C does block by
block."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.graph.ops.state.update import TABLE, Update

from ..state import training
from ..state.update_program import UpdateLoop, UpdateProgram
from .library import available, function

STEPS = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "copysign",
    "negative",
    "absolute",
    "sign",
    "sqrt",
    "copyto",
)
"""The kinds of steps, in the order of `update.c`, by the names of numpy's functions."""
_KINDS = {name: number for number, name in enumerate(STEPS)}


_update = function("update")


@functools.lru_cache(256)
def _steps(loop: UpdateLoop) -> Any:
    return loop.steps(_KINDS)


def compute(xp: Any, program: UpdateProgram, arrays: list[Any], scalars: Sequence[Any]) -> None:
    """Runs a program on arrays of one shape, as `training.compute` does."""
    loop, numbers = training.prepared(xp, program, arrays[0].dtype, scalars)
    steps = _steps(loop)
    if steps is None or _update(steps, len(arrays) - 1, loop.scratch, arrays, numbers) is None:
        training.run_loop(xp, loop, arrays, numbers)


def update(xp: Any, row: Update, inputs: tuple[Any, ...], flag: bool) -> None:
    """A dense update."""
    training.update(xp, row, inputs, flag, compute if available() else training.compute)


for _row in TABLE:
    kernel(_row.dense_type, device="CPU", library="native")(training.kernel_of(_row, False, update))
