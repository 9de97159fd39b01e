"""Kernels of conditional accumulators: gradients are summed until enough have come, then taken, and the sum starts again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.process import forks
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import Shape, compatible, show
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.engine.runtime.diagnostics.waits import Wait, behind, several
from actorflow.errors import CancelledError, InvalidArgumentError

from ..shared.waiter import Waiter
from .scatter import sum_duplicates

_APPLY = ("AccumulatorApplyGradient", "SparseAccumulatorApplyGradient")
_TAKE = ("AccumulatorTakeGradient", "SparseAccumulatorTakeGradient")


@dataclass(slots=True, eq=False)
class _Taker:
    required: int
    waiter: Waiter
    result: Any = None


def _wake(waiters: Iterable[Waiter]) -> None:
    for waiter in waiters:
        waiter.wake()


class Accumulator:
    """The sum of applied gradients, their number, and the waiters that take their mean (or sum), in their order.

    Gradients of steps before `global_step`, which each taking counts up, are dropped without a word. Gradients of numbered
    workers are added in the order of the workers, whenever they come. Those of the first workers go into the total as soon as
    all before them are there. Others wait at their number until then, or until somebody takes.
    """

    def __init__(self, name: str, dtype: DType, shape: Shape, mean: bool) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.global_step = 0
        self.dropped = 0
        """How many gradients were stale, or one too many of their worker."""
        self._mean = mean
        self._begin()
        self._takers: deque[_Taker] = deque()
        self._watchers: list[tuple[int, Waiter]] = []
        self._guard = forks.new_lock()  # held while a gradient is added: an accumulator may serve several threads
        self._closed = False

    def _begin(self) -> None:
        """A new sum."""
        self._count = 0
        self._total: Any = None
        self._first: Any = None
        self._next = 0  # the number of the worker whose gradient is added next
        self._early: dict[tuple[int, int], Any] = {}  # gradients that wait, by their place
        self._given: Counter[int] = Counter()

    @property
    def count(self) -> int:
        return self._count

    def apply(self, local_step: int, *gradient: Any, worker: int = -1, most: int = 1) -> None:
        """Adds a gradient of step `local_step`. A gradient of a numbered worker is dropped if the worker has given `most`
        already since the last taking. Raises InvalidArgumentError for a gradient of another shape."""
        checked = self.checked(*gradient)
        with self._guard:
            if local_step < self.global_step or worker >= 0 and self._given[worker] >= most:
                self.dropped += 1
                return
            if self._first is None:
                self._first = checked
            self.agree(self._first, checked)
            place = (self._given[worker], worker)
            if worker >= 0:
                self._given[worker] += 1
            if worker < 0 or place == (0, self._next):
                self._add(checked)
                self._next += worker >= 0
                while (0, self._next) in self._early:
                    self._add(self._early.pop((0, self._next)))
                    self._next += 1
            else:
                self._early[place] = checked
            self._count += 1
            woken = self._serve()
        _wake(woken)

    def _add(self, gradient: Any) -> None:
        self._total = self.begun(gradient) if self._total is None else self.added(self._total, gradient)

    async def take(self, required: int, step: StepHandle) -> Any:
        """Waits for `required` gradients; gives their mean or sum. Raises CancelledError where the wait ended without."""
        if required < 1:
            raise InvalidArgumentError(f"Argument num_required must be positive, but it is {required}.")
        taker = _Taker(required, Waiter())
        with self._guard:
            self._takers.append(taker)
            woken = self._serve()
            waits = taker.result is None and not self._closed
        _wake(woken)
        if waits:
            await taker.waiter.wait(step, lambda: self._wait_of(taker))
        if taker.result is None:
            self._leave(taker)
            raise self._cancelled("gradients")
        return taker.result

    async def later_step(self, after: int, step: StepHandle) -> int:
        """Waits until the global step is later than `after`; gives it. Raises CancelledError where the wait ended without."""
        while True:
            watcher = (after, Waiter())
            with self._guard:
                if self.global_step > after:
                    return self.global_step
                if self._closed:
                    raise self._cancelled("a later step")
                self._watchers.append(watcher)
            await watcher[1].wait(step, lambda: self._later_wait(after))
            with self._guard:
                if watcher in self._watchers:
                    self._watchers.remove(watcher)
                    if not self._closed:
                        raise self._cancelled("a later step")

    def _wait_of(self, taker: _Taker) -> Wait:
        with self._guard:
            before = self._takers.index(taker) if taker in self._takers else 0
            has = f"has {self._count} (global step {self.global_step}, {self.dropped} dropped)"
        what = f"waits for {several(taker.required, 'gradient')} of the accumulator {self.name!r}, which {has}{behind(before)}"
        return Wait(what, self.name, (("applied by", _APPLY), ("taken by", _TAKE)))

    def _later_wait(self, after: int) -> Wait:
        what = (
            f"waits for a later step than {after} of the accumulator {self.name!r}, which is at step {self.global_step}"
        )
        return Wait(what, self.name, (("taken by", _TAKE), ("set by", ("AccumulatorSetGlobalStep",))))

    def set_global_step(self, step: int) -> None:
        """Sets the step; an accumulator that was closed is open again."""
        with self._guard:
            self.global_step = step
            self._closed = False
            woken = self._reached()
        _wake(woken)

    def close(self) -> None:
        """Ends all waits, and those that begin until `set_global_step`: who takes stops, or the container has been reset."""
        with self._guard:
            self._closed = True
            waiters = [taker.waiter for taker in self._takers] + [waiter for _, waiter in self._watchers]
        _wake(waiters)

    def _cancelled(self, what: str) -> CancelledError:
        return CancelledError(f"The wait for {what} of the accumulator {self.name!r} has been cancelled.")

    def _reached(self) -> list[Waiter]:
        """The waiters for a step that is there now."""
        reached = [waiter for after, waiter in self._watchers if after < self.global_step]
        self._watchers = [watcher for watcher in self._watchers if watcher[0] >= self.global_step]
        return reached

    def _serve(self) -> list[Waiter]:
        """Gives those who wait what they want, as far as it is there. They are to be woken."""
        served = []
        while self._takers and self._count >= max(1, self._takers[0].required):
            for place in sorted(self._early):
                self._add(self._early[place])
            taker = self._takers.popleft()
            taker.result = self.reduced(self._total, self._count if self._mean else 0)
            self._begin()
            self.global_step += 1
            served.append(taker.waiter)
        return [*served, *self._reached()] if served else served

    def _leave(self, taker: _Taker) -> None:
        """A taker gives up. Those behind it may want less than it did."""
        with self._guard:
            if taker in self._takers:
                self._takers.remove(taker)
            woken = self._serve()
        _wake(woken)

    # The differences between dense gradients and rows

    def checked(self, *gradient: Any) -> Any:
        """The gradient in the form in which it is summed."""
        (dense,) = gradient
        self._check_shape(np.shape(dense))
        return np.asarray(dense)

    def agree(self, first: Any, gradient: Any) -> None:
        """Raises InvalidArgumentError unless `gradient` has the shape of `first`."""
        if first.shape != gradient.shape:
            raise self._mismatch(gradient.shape, first.shape)

    def begun(self, gradient: Any) -> Any:
        """The total of one gradient, which may be added to in place."""
        return np.array(gradient)

    def added(self, total: Any, gradient: Any) -> Any:
        return np.add(total, gradient, out=total) if total.ndim else total + gradient

    def reduced(self, total: Any, count: int) -> Any:
        """The result: the mean over `count` gradients, or where that is 0 the sum."""
        return total if not count else (total / np.asarray(count, total.dtype)).astype(total.dtype)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if not compatible(self.shape, shape):
            raise self._mismatch(shape, self.shape)

    def _mismatch(self, shape: Shape, expected: Shape) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"The accumulator {self.name!r} takes gradients of shape {show(expected)}, but one of {show(shape)} was applied."
        )


class SparseAccumulator(Accumulator):
    """An accumulator of rows. The mean of a row is over those gradients in which its index occurred."""

    def checked(self, *gradient: Any) -> Any:
        indices, values, shape = gradient
        if indices.ndim != 1:
            raise InvalidArgumentError(f"Input indices should be vector but received shape: {show(indices.shape)}")
        if values.ndim < 1:
            raise InvalidArgumentError("Values cannot be 0-dimensional.")
        if len(indices) != len(values):
            raise InvalidArgumentError(f"Expected {len(indices)} non-empty input values, got {len(values)}.")
        whole = self.shape or None  # as for TensorFlow, () says nothing of the shape
        if shape is not None:
            self._check_shape(tuple(shape.tolist()))
            whole = tuple(shape.tolist()) or whole
        if whole is not None:
            if not compatible(whole[1:], values.shape[1:]):
                raise self._mismatch((whole[0], *values.shape[1:]), whole)
            most = whole[0]
            if most is not None and len(indices) and not 0 <= indices.min() <= indices.max() < most:
                raise InvalidArgumentError(f"An index is not in [0, {most}): {indices.tolist()[:20]}.")
        at, rows = sum_duplicates(np, indices, values)
        order = np.argsort(at)
        return at[order], rows[order], np.ones(len(at), np.int64), shape

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        """As TensorFlow's, an accumulator of rows takes gradients of more dimensions than its shape names."""
        least = len(self.shape or ())
        if len(shape) < least:
            raise InvalidArgumentError(
                f"Shape mismatch: expected shape rank at least {least}, got {len(shape)}. "
                f"{self._mismatch(shape, self.shape).message}"
            )
        if not compatible(self.shape or (), shape[:least]):
            raise self._mismatch(shape, self.shape)

    def agree(self, first: Any, gradient: Any) -> None:
        rows, more = first[1], gradient[1]
        if rows.shape[1:] != more.shape[1:]:
            raise self._mismatch((None, *more.shape[1:]), (None, *rows.shape[1:]))

    def begun(self, gradient: Any) -> Any:
        return gradient

    def added(self, total: Any, gradient: Any) -> Any:
        indices, rows, counts, whole_shape = total
        at, more, once, shape = gradient
        every, where = np.unique(np.concatenate([indices, at]), return_inverse=True)
        sums = np.zeros((len(every), *rows.shape[1:]), rows.dtype)
        numbers = np.zeros(len(every), np.int64)
        for part, values, times in ((where[: len(indices)], rows, counts), (where[len(indices) :], more, once)):
            sums[part] += values
            numbers[part] += times
        return every, sums, numbers, whole_shape if shape is None else shape

    def reduced(self, total: Any, count: int) -> Any:
        indices, rows, counts, whole_shape = total
        if count:
            rows = (rows / counts.astype(rows.dtype).reshape(-1, *[1] * (rows.ndim - 1))).astype(rows.dtype)
        return indices, rows, np.asarray(self._whole(rows) if whole_shape is None else whole_shape, np.int64)

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
def apply_gradient(
    xp: Any, handle: Accumulator, local_step: Any, gradient: Any, *, worker: int = -1, most: int = 1
) -> None:
    handle.apply(int(local_step), gradient, worker=worker, most=most)


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
    worker: int = -1,
    most: int = 1,
) -> None:
    whole = gradient_shape if has_known_shape else None
    handle.apply(int(local_step), gradient_indices, gradient_values, whole, worker=worker, most=most)


@kernel("AccumulatorNumAccumulated")
def number(xp: Any, handle: Accumulator) -> Any:
    return np.int32(handle.count)


@kernel("AccumulatorNumDropped")
def dropped(xp: Any, handle: Accumulator) -> Any:
    return np.int64(handle.dropped)


@kernel("AccumulatorClose")
def close(xp: Any, handle: Accumulator) -> None:
    handle.close()


@kernel("AccumulatorLaterStep", aborts_itself=True)
async def later_step(xp: Any, handle: Accumulator, after: Any, *, step: StepHandle) -> Any:
    return np.int64(await handle.later_step(int(after), step))


@kernel("AccumulatorSetGlobalStep")
def set_global_step(xp: Any, handle: Accumulator, new_global_step: Any) -> None:
    handle.set_global_step(int(new_global_step))


@kernel("AccumulatorTakeGradient", "SparseAccumulatorTakeGradient", aborts_itself=True)
async def take(xp: Any, handle: Accumulator, num_required: Any, *, step: StepHandle) -> Any:
    return await handle.take(int(num_required), step)
