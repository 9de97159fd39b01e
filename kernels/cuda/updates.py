"""Optimizers' dense updates on a GPU: one launch each, which reads and writes the variable and its slots once.

The formulas are the rows of `actorflow.graph.ops.state.training`. A value that the CPU computes once for all elements, such
as Adam's rate, each thread computes for itself: its operands are on the GPU, and a kernel that waits for memory has the
time. Halves, and a variable that is its own slot, are left to the kernels for every device.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import RECORDED
from actorflow.graph.ops.state.update import TABLE, Update

from ..state import training
from ..state.update_program import recipe_of
from .choices import GPU
from .source import elementwise

_FLOATS = {"<f4": "f4", "<f8": "f8"}


def update(xp: Any, row: Update, inputs: tuple[Any, ...], flag: bool) -> None:
    """A dense update, by one kernel where its types allow that."""
    if not _by_one_kernel(xp, row, inputs, flag):
        training.update(xp, row, inputs, flag)


def _by_one_kernel(xp: Any, row: Update, inputs: tuple[Any, ...], flag: bool) -> bool:
    """Runs the kernel of a formula; False, and nothing done, for a formula without a kernel."""
    refs, scalars, grad = training.divided(row, inputs)
    dtype = _FLOATS.get(grad.dtype.str)
    if dtype is None or len({id(r) for r in refs}) < len(refs) or any(r.dtype.numpy_dtype != grad.dtype for r in refs):
        return False
    if any(s.dtype != grad.dtype for s, name in zip(scalars, row.scalars) if name not in row.types):
        return False
    recipe = recipe_of(row, flag, dtype)
    buffers = training.opened(grad, *refs)
    written = [into for _, into in recipe.outputs if into is not None]
    operands = [*buffers, grad, *scalars]
    read = [x for k, x in enumerate(operands) if k not in written]
    elementwise(xp, recipe, f"apply_{row.name}")(*read, *[operands[k] for k in written])
    return True


for _row in TABLE:
    kernel(_row.dense_type, device=GPU, gpu=RECORDED)(training.kernel_of(_row, False, update))
