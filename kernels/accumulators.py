"""Kernels of conditional accumulators: gradients are summed until enough have come, then taken, and the sum starts anew."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.dtypes import DType
from actorflow.errors import CancelledError, InvalidArgumentError
from actorflow.registry.kernel import kernel
from actorflow.runtime.context import KernelContext, StepHandle
from actorflow.shapes import Shape, compatible, show

from .state_sparse import sum_duplicates
from .waiting import Waiter


@dataclass(slots=True, eq=False)
class _Taker:
    required: int
    waiter: Waiter
    result: Any = None


class Accumulator:
    """What applied gradients add up to, how many they were, and who waits to take their mean (or sum), in their order.

    Gradients of steps before `global_step`, which each taking counts up, are dropped without a word.
    """

    def __init__(self, name: str, dtype: DType, shape: Shape, mean: bool) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.global_step = 0
        self._mean = mean
        self._count = 0
        self._total: Any = None
        self._takers: deque[_Taker] = deque()
        self._guard = threading.Lock()  # held while a gradient is added: an accumulator may serve several threads
        self._closed = False

    @property
    def count(self) -> int:
        return self._count

    def apply(self, local_step: int, *gradient: Any) -> None:
        """Adds a gradient of step `local_step`. Raises InvalidArgumentError where its shape is another."""
        checked = self.checked(*gradient)
        with self._guard:
            if local_step < self.global_step:
                return
            self._total = checked if self._total is None else self.added(self._total, checked)
            self._count += 1
            served = self._serve()
        for taker in served:
            taker.waiter.wake()

    async def take(self, required: int, step: StepHandle) -> Any:
        """Waits for `required` gradients; gives their mean or sum. Raises CancelledError where the wait ended without."""
        if required < 1:
            raise InvalidArgumentError(f"Argument num_required must be positive, but it is {required}.")
        taker = _Taker(required, Waiter())
        with self._guard:
            self._takers.append(taker)
            served = self._serve()
            waits = taker.result is None and not self._closed
        for other in served:
            other.waiter.wake()
        if waits:
            await taker.waiter.wait(step)
        if taker.result is None:
            self._leave(taker)
            raise CancelledError(f"The wait for gradients of the accumulator {self.name!r} has been cancelled.")
        return taker.result

    def set_global_step(self, step: int) -> None:
        with self._guard:
            self.global_step = step

    def close(self) -> None:
        """Ends all waits: the container has been reset."""
        with self._guard:
            self._closed = True
            takers = list(self._takers)
        for taker in takers:
            taker.waiter.wake()

    def _serve(self) -> list[_Taker]:
        """Gives those who wait what they want, as far as it is there."""
        served = []
        while self._takers and self._count >= max(1, self._takers[0].required):
            taker = self._takers.popleft()
            taker.result = self.reduced(self._total, self._count if self._mean else 0)
            self._total, self._count = None, 0
            self.global_step += 1
            served.append(taker)
        return served

    def _leave(self, taker: _Taker) -> None:
        """A taker gives up. Those behind it may want less than it did."""
        with self._guard:
            if taker in self._takers:
                self._takers.remove(taker)
            served = self._serve()
        for other in served:
            other.waiter.wake()

    # What differs between dense gradients and rows

    def checked(self, *gradient: Any) -> Any:
        """The gradient in the form in which it is summed."""
        (dense,) = gradient
        self._check_shape(np.shape(dense))
        return np.array(dense)

    def added(self, total: Any, gradient: Any) -> Any:
        if total.shape != gradient.shape:
            raise self._mismatch(gradient.shape, total.shape)
        return np.add(total, gradient, out=total) if total.ndim else total + gradient

    def reduced(self, total: Any, count: int) -> Any:
        """The result: the mean over `count` gradients, or where that is 0 the sum."""
        return total if not count else (total / np.asarray(count, total.dtype)).astype(total.dtype)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if not compatible(self.shape, shape):
            raise self._mismatch(shape, self.shape)

    def _mismatch(self, shape: Shape, wanted: Shape) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"The accumulator {self.name!r} takes gradients of shape {show(wanted)}, but one of {show(shape)} was applied."
        )


class SparseAccumulator(Accumulator):
    """An accumulator of rows. The mean of a row is over those gradients in which its index occurred."""

    def checked(self, *gradient: Any) -> Any:
        indices, values, shape = gradient
        if indices.ndim != 1 or values.ndim < 1 or len(indices) != len(values):
            raise InvalidArgumentError(
                f"Rows have one index each, but there are indices of shape {indices.shape} and values of shape {values.shape}."
            )
        whole = self.shape
        if shape is not None:
            self._check_shape(tuple(shape.tolist()))
            whole = tuple(shape.tolist())
        if whole is not None:
            if not compatible(whole[1:], values.shape[1:]):
                raise self._mismatch((whole[0], *values.shape[1:]), whole)
            most = whole[0]
            if most is not None and len(indices) and not 0 <= indices.min() <= indices.max() < most:
                raise InvalidArgumentError(f"An index is not in [0, {most}): {indices.tolist()[:20]}.")
        at, rows = sum_duplicates(np, indices, values)
        order = np.argsort(at)
        return at[order], rows[order], np.ones(len(at), np.int64), shape

    def added(self, total: Any, gradient: Any) -> Any:
        indices, rows, counts, known = total
        at, more, once, shape = gradient
        if rows.shape[1:] != more.shape[1:]:
            raise self._mismatch((None, *more.shape[1:]), (None, *rows.shape[1:]))
        every, where = np.unique(np.concatenate([indices, at]), return_inverse=True)
        sums = np.zeros((len(every), *rows.shape[1:]), rows.dtype)
        numbers = np.zeros(len(every), np.int64)
        for part, values, times in ((where[: len(indices)], rows, counts), (where[len(indices) :], more, once)):
            sums[part] += values
            numbers[part] += times
        return every, sums, numbers, known if shape is None else shape

    def reduced(self, total: Any, count: int) -> Any:
        indices, rows, counts, known = total
        if count:
            rows = (rows / counts.astype(rows.dtype).reshape(-1, *[1] * (rows.ndim - 1))).astype(rows.dtype)
        return indices, rows, np.asarray(self._whole(rows) if known is None else known, np.int64)

    def _whole(self, rows: Any) -> list[int]:
        """The shape of the gradient where none was given: unknown sizes are -1, as in TensorFlow."""
        if self.shape is None:
            return [-1, *rows.shape[1:]]
        return [-1 if size is None else size for size in self.shape]


@kernel("ConditionalAccumulator")
def dense_accumulator(
    xp: Any, *, dtype: DType, shape: Shape, container: str, shared_name: str, reduction_type: str, ctx: KernelContext
) -> Accumulator:
    name = shared_name or ctx.node.name
    return ctx.resources.lookup_or_create(
        container, name, Accumulator, lambda: Accumulator(name, dtype, shape, reduction_type == "MEAN")
    )


@kernel("SparseConditionalAccumulator")
def sparse_accumulator(
    xp: Any, *, dtype: DType, shape: Shape, container: str, shared_name: str, reduction_type: str, ctx: KernelContext
) -> SparseAccumulator:
    name = shared_name or ctx.node.name
    return ctx.resources.lookup_or_create(
        container, name, SparseAccumulator, lambda: SparseAccumulator(name, dtype, shape, reduction_type == "MEAN")
    )


@kernel("AccumulatorApplyGradient")
def apply_gradient(xp: Any, handle: Accumulator, local_step: Any, gradient: Any) -> None:
    handle.apply(int(local_step), gradient)


@kernel("SparseAccumulatorApplyGradient")
def apply_rows(
    xp: Any,
    handle: Accumulator,
    local_step: Any,
    gradient_indices: Any,
    gradient_values: Any,
    gradient_shape: Any,
    *,
    has_known_shape: bool,
) -> None:
    handle.apply(int(local_step), gradient_indices, gradient_values, gradient_shape if has_known_shape else None)


@kernel("AccumulatorNumAccumulated")
def number(xp: Any, handle: Accumulator) -> Any:
    return np.int32(handle.count)


@kernel("AccumulatorSetGlobalStep")
def set_global_step(xp: Any, handle: Accumulator, new_global_step: Any) -> None:
    handle.set_global_step(int(new_global_step))


@kernel("AccumulatorTakeGradient", "SparseAccumulatorTakeGradient", aborts_itself=True)
async def take(xp: Any, handle: Accumulator, num_required: Any, *, step: StepHandle) -> Any:
    return await handle.take(int(num_required), step)
