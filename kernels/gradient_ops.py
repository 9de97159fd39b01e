"""Kernels of the ops that the gradient walk makes."""

from __future__ import annotations

from typing import Any

from actorflow.errors import InvalidArgumentError
from actorflow.registry.kernel import kernel


@kernel("SumTo")
def sum_to(xp: Any, gradient: Any, shape: Any) -> Any:
    wanted = tuple(shape.tolist())
    given = gradient.shape
    if given == wanted:
        return gradient
    extra = len(given) - len(wanted)
    if extra < 0 or any(size not in (1, given[extra + i]) for i, size in enumerate(wanted)):
        raise InvalidArgumentError(
            f"A gradient of shape {given} can't be summed to {wanted}, which does not broadcast to it."
        )
    axes = (*range(extra), *(extra + i for i, size in enumerate(wanted) if size == 1))
    # Half-precision sums lose small terms after a few thousand: they are added up in float32.
    wide = xp.float32 if gradient.dtype.itemsize == 2 and gradient.dtype.kind in "fV" else None
    total = xp.add.reduce(gradient, axis=axes, dtype=wide)
    return total.astype(gradient.dtype, copy=False).reshape(wanted)


@kernel("CustomGradient")
def custom_gradient(xp: Any, values: Any) -> Any:
    return tuple(values) if len(values) > 1 else values[0]
