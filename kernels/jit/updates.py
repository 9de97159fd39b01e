"""Optimizers' dense updates as one loop each: every variable and slot is read and written once.

The formulas are the rows of `actorflow.graph.ops.state.training`, as for numpy's kernels, so the results are the same bits.
The native kernels compute the first updates, until the loop is there, and whatever it can't take. They go through
the arrays block by block, so they are as fast where a formula is short or an array small (`benchmarks/engine/ablations.py`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.library import provide
from actorflow.engine.runtime.codegen import llvm
from actorflow.engine.runtime.codegen.jit import TieredCache
from actorflow.engine.runtime.codegen.jit_recipe import CALLED
from actorflow.graph.ops.state.update import TABLE, Update

from ..native import update as native
from ..state import training
from ..state.update_program import UpdateLoop, program_of
from .compiler import compiled
from .ufuncs import inner_loop

_LEAST, _LEAST_OF_NUMPY = 1 << 15, 2000
"""Elements: below, the native kernels cost no more; numpy, which computes what C does not know, costs more earlier."""
_LEAST_STEPS = 8
"""Instructions: the native kernels do fewer at the speed of the memory."""

provide("jit", llvm.available)


@functools.cache
def loop_of(loop: UpdateLoop, dtype: str) -> TieredCache[Any] | None:
    """The compiled loop of an update for one element type, made in the background when it has been asked for a few times. None
    where only numpy computes one of its functions as numpy does."""
    ops = {step.op for step in loop.recipe.body}
    if "pow" in ops or any(inner_loop(op, dtype) is None for op in ops & CALLED):
        return None
    return TieredCache(lambda: compiled(loop.recipe))


def update(xp: Any, row: Update, inputs: tuple[Any, ...], flag: bool) -> None:
    """A dense update, by its compiled loop where that is there."""
    if not _by_loop(row, inputs, flag):
        native.update(xp, row, inputs, flag)


def _by_loop(row: Update, inputs: tuple[Any, ...], flag: bool) -> bool:
    """Runs the loop of a formula; False, and nothing done, where numpy has to."""
    refs, scalars, grad = training.divided(row, inputs)
    if type(grad) is not np.ndarray or grad.dtype.str not in ("<f4", "<f8") or len({id(r) for r in refs}) < len(refs):
        return False
    dtype = grad.dtype
    if any(ref.dtype.numpy_dtype != dtype for ref in refs):
        return False
    program = program_of(row, flag, dtype.str[1:])
    numbers = program.numbers(np, dtype, scalars)
    loop = program.loop(numbers)
    demanded = loop_of(loop, dtype.str[1:])
    code = None if demanded is None else demanded.get()
    if code is None:
        return False
    arrays = [*training.opened(grad, *refs), grad, *[np.asarray(numbers[n], dtype) for n in loop.numbers]]
    code.in_place(grad.size, arrays)
    return True


@functools.cache
def _least(row: Update) -> int | None:
    """The elements from which on a loop is faster than the other kernels; None if it never is."""
    ops = [step.op for step in program_of(row, False, "f4").loop(None).recipe.body]
    if CALLED & set(ops):
        return _LEAST_OF_NUMPY
    return _LEAST if len(ops) >= _LEAST_STEPS else None


def _pays(row: Update) -> Any:
    at = row.refs + row.gradient

    def pays(attrs: Any, shapes: Any) -> bool:
        least = _least(row)
        return least is not None and int(np.prod(shapes[at], dtype=np.int64)) >= least

    return pays


for _row in TABLE:
    kernel(_row.dense_type, device="CPU", library="jit", pays=_pays(_row))(training.kernel_of(_row, False, update))
