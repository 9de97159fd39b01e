"""Kernels of optimizers' updates, from the rows of `actorflow.graph.ops.state.training`.

A dense update walks over a variable and its slots in blocks that stay in a core's cache, with temporaries of a block's size. So
a large variable is read and written once instead of once for each of its dozen operations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import RECORDED
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.graph.ops.state.training import adam_rate, adam_step
from actorflow.graph.ops.state.update import TABLE, Update

from .scatter import flat_rows, sum_duplicates
from .update_program import UpdateLoop, UpdateProgram, program_of, written

_BLOCK = 65536  # elements: smaller blocks lose to the call overhead of a dozen operations more than they win


def opened(grad: Any, *refs: VariableState) -> list[Any]:
    """The buffers of the variables, all of the gradient's shape, to be written."""
    shape = grad.shape
    for ref in refs:
        ref.check_shape(shape)
    return [ref.writable() for ref in refs]


def divided(row: Update, inputs: tuple[Any, ...]) -> tuple[Sequence[VariableState], Sequence[Any], Any]:
    """A dense op's inputs: the variable with its slots, the scalars, the gradient."""
    count, at = row.refs, row.refs + row.gradient
    return inputs[:count], inputs[count:at] + inputs[at + 1 :], inputs[at]


def prepared(xp: Any, program: UpdateProgram, dtype: Any, scalars: Sequence[Any]) -> tuple[UpdateLoop, list[Any]]:
    """The loop for these scalars, and the numbers that it needs. Values of another array module than numpy are not looked at."""
    loop = program.plain
    if loop is not None:
        return loop, [*scalars, *loop.constants]
    numbers = program.numbers(xp, dtype, scalars)
    loop = program.loop(numbers if xp is np else None)
    return loop, [*[numbers[n] for n in loop.numbers], *loop.constants]


def compute(xp: Any, program: UpdateProgram, arrays: Sequence[Any], scalars: Sequence[Any]) -> None:
    """Runs a program on arrays of one shape."""
    if xp is np and arrays[0].size <= _BLOCK and program.straight is not None:
        program.straight([*arrays, *scalars])
        return
    loop, constants = prepared(xp, program, arrays[0].dtype, scalars)
    run_loop(xp, loop, arrays, constants)


def run_loop(xp: Any, loop: UpdateLoop, arrays: Sequence[Any], constants: Sequence[Any]) -> None:
    """Runs a loop by calls of an array module."""
    first = arrays[0]
    if xp is not np:
        loop.run(xp, [*arrays, *constants, *[xp.empty_like(first) for _ in range(loop.scratch)]])
        return
    if first.size <= _BLOCK or not all(a.flags.c_contiguous for a in arrays):
        shape, dtype = first.shape, first.dtype
        loop.run(np, [*arrays, *constants, *[np.empty(shape, dtype) for _ in range(loop.scratch)]])
        return
    flat = [a.reshape(-1) for a in arrays]
    temporaries = [np.empty(_BLOCK, first.dtype) for _ in range(loop.scratch)]
    for start in range(0, first.size, _BLOCK):
        pieces = [a[start : start + _BLOCK] for a in flat]
        loop.run(np, [*pieces, *constants, *[t[: pieces[0].size] for t in temporaries]])


Compute = Callable[[Any, UpdateProgram, list[Any], Sequence[Any]], None]
"""`compute`, or what does the same."""


def update(xp: Any, row: Update, inputs: tuple[Any, ...], flag: bool, run: Compute = compute) -> None:
    """A dense update."""
    refs, scalars, grad = divided(row, inputs)
    arrays = opened(grad, *refs)
    arrays.append(grad)
    run(xp, program_of(row, flag), arrays, scalars)


Sums = Callable[[Any, Any, Any], Any]
"""`sum_duplicates` of `scatter`, or what does the same."""


def update_rows(
    xp: Any, row: Update, inputs: tuple[Any, ...], flag: bool, sums: Sums = sum_duplicates, run: Compute = compute
) -> None:
    """A sparse update: the formula on the rows that occur, which are put back."""
    count, at = row.refs, row.refs + row.gradient
    refs, scalars, grad, indices = inputs[:count], inputs[count:at] + inputs[at + 2 :], inputs[at], inputs[at + 1]
    buffers, at, g = _opened_rows(xp, grad, indices, refs, sums)
    rows = [buffer[at] for buffer in buffers]
    run(xp, program_of(row, flag), [*rows, g], scalars)
    for buffer, changed in zip(buffers, rows):
        buffer[at] = changed


def _opened_rows(
    xp: Any, grad: Any, indices: Any, refs: Sequence[VariableState], sums: Sums
) -> tuple[list[Any], Any, Any]:
    """The buffers of the variables, the rows to change, each once, and the gradient of each."""
    buffers = [ref.writable() for ref in refs]
    for ref in refs:
        ref.check_shape(buffers[0].shape)
    at, rows = flat_rows(xp, buffers[0], indices, grad)
    return buffers, *sums(xp, at, rows)


def kernel_of(row: Update, rows: bool, act: Callable[..., None]) -> Callable[..., None]:
    """A kernel for the op of a row: `act(xp, row, inputs, flag)` with the parameters that the op declares."""
    op = row.sparse if rows else row.dense
    assert op is not None
    parameters = ["xp", *(spec.name for spec in op.definition.inputs)]
    flags = [spec.name for spec in op.definition.attrs]

    def run(xp: Any, *inputs: Any, **attrs: Any) -> None:
        act(xp, row, inputs, attrs[row.flag] if flags else row.default)

    kinds = inspect.Parameter
    run.__name__ = run.__qualname__ = f"sparse_{row.name}" if rows else row.name
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in parameters]
        + [kinds(name, kinds.KEYWORD_ONLY) for name in flags]
    )
    return run


for _row in TABLE:
    kernel(_row.dense_type, gpu=RECORDED)(kernel_of(_row, False, update))
    if _row.sparse is not None and not _row.moves:
        kernel(f"Sparse{_row.dense_type}")(kernel_of(_row, True, update_rows))


_ADAM_STEP = UpdateProgram(written(adam_step, ["f8"] * 3, ["f8"] * 2, "f8"))


@kernel("SparseApplyAdam")
def sparse_adam(
    xp: Any,
    var: VariableState,
    m: VariableState,
    v: VariableState,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    indices: Any,
) -> None:
    adam_of_rows(xp, var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, indices, sum_duplicates)


def adam_of_rows(
    xp: Any,
    var: VariableState,
    m: VariableState,
    v: VariableState,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    indices: Any,
    sums: Sums,
) -> None:
    """Adam's update with a gradient of some rows. The moments of all rows shrink, and all rows move."""
    (w, mean, square), at, g = _opened_rows(xp, grad, indices, (var, m, v), sums)
    xp.multiply(mean, beta1, out=mean)
    mean[at] += (1 - beta1) * g
    xp.multiply(square, beta2, out=square)
    square[at] += (1 - beta2) * (g * g)
    rate = adam_rate(xp, lr, beta1_power, beta2_power)
    compute(xp, _ADAM_STEP, [w, mean, square], [rate, epsilon])
