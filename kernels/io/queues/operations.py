"""Kernels of queues and barriers. Those that may have to wait are asynchronous: they hold no thread meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import Shape
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.errors import InvalidArgumentError

from .barrier import BarrierCore, Insert
from .core import Close, Put, QueueCore, QueueTake
from .elements import QueueSpec
from .shared import SharedQueue
from .stores import Draw, Fifo, Prioritized, Shuffled

_DRAWN_AT_ONCE = 256

# ---- making and finding


def _found(ctx: KernelContext, container: str, spec: QueueSpec, make: Callable[[], QueueCore]) -> SharedQueue[Any]:
    """The queue of that name, which is made at its first use. Raises InvalidArgumentError if it is not as `spec` says."""
    queue: SharedQueue[Any] = ctx.resources.lookup_or_create(
        container, spec.name, SharedQueue, lambda: SharedQueue(make(), spec)
    )
    queue.spec.require(spec, ctx.node.name)
    return queue


def _limit(capacity: int) -> float:
    return float("inf") if capacity < 0 else capacity


@kernel("FIFOQueueV2", "PaddingFIFOQueueV2")
def fifo_queue(
    xp: Any,
    *,
    component_types: tuple[DType, ...],
    shapes: tuple[Shape, ...],
    capacity: int,
    container: str,
    shared_name: str,
    ctx: KernelContext,
) -> SharedQueue[Any]:
    spec = QueueSpec(ctx.node.op, shared_name or ctx.node.name, capacity, component_types, shapes)
    return _found(ctx, container, spec, lambda: QueueCore(spec.name, Fifo(), _limit(capacity)))


@kernel("PriorityQueueV2")
def priority_queue(
    xp: Any,
    *,
    component_types: tuple[DType, ...],
    shapes: tuple[Shape, ...],
    capacity: int,
    container: str,
    shared_name: str,
    ctx: KernelContext,
) -> SharedQueue[Any]:
    spec = QueueSpec(ctx.node.op, shared_name or ctx.node.name, capacity, component_types, shapes)
    return _found(ctx, container, spec, lambda: QueueCore(spec.name, Prioritized(), _limit(capacity)))


@kernel("RandomShuffleQueueV2")
def random_shuffle_queue(
    xp: Any,
    *,
    component_types: tuple[DType, ...],
    shapes: tuple[Shape, ...],
    capacity: int,
    min_after_dequeue: int,
    seed: int,
    seed2: int,
    container: str,
    shared_name: str,
    ctx: KernelContext,
) -> SharedQueue[Any]:
    order = (("min_after_dequeue", min_after_dequeue), ("random seeds", (seed, seed2)))
    spec = QueueSpec(ctx.node.op, shared_name or ctx.node.name, capacity, component_types, shapes, order)

    def make() -> QueueCore:
        return QueueCore(spec.name, Shuffled(draws(seed, seed2), min_after_dequeue), _limit(capacity))

    return _found(ctx, container, spec, make)


def draws(seed: int, seed2: int) -> Draw:
    """A function that draws a number below n. Equal seeds draw equally; zeros stand for fresh randomness."""
    key = np.array((seed, seed2), np.uint64) if seed or seed2 else np.random.SeedSequence().generate_state(2, np.uint64)
    generator = np.random.Generator(np.random.Philox(key=key))
    drawn: list[int] = []

    def draw(n: int) -> int:
        if not drawn:
            drawn.extend(generator.integers(2**63, size=_DRAWN_AT_ONCE).tolist())
        return drawn.pop() % n

    return draw


@kernel("SelectQueue")
def select_queue(xp: Any, otherwise: Any, handle: Any, index: Any, *, position: int, count: int) -> Any:
    at = int(index)
    if not 0 <= at < count:
        raise InvalidArgumentError(f"Index {at} is not in [0, {count}), the queues to select from.")
    return handle if at == position else otherwise


# ---- queues


@kernel("QueueEnqueueV2", aborts_itself=True)
async def enqueue(xp: Any, handle: SharedQueue[Any], components: Sequence[Any], *, step: StepHandle) -> None:
    await handle.perform(Put([handle.spec.element(xp, components)]), step)


@kernel("QueueEnqueueManyV2", aborts_itself=True)
async def enqueue_many(xp: Any, handle: SharedQueue[Any], components: Sequence[Any], *, step: StepHandle) -> None:
    await handle.perform(Put(handle.spec.elements(xp, components)), step)


@kernel("QueueDequeueV2", aborts_itself=True)
async def dequeue(xp: Any, handle: SharedQueue[Any], *, step: StepHandle) -> Any:
    taken = await handle.perform(QueueTake(1), step)
    return _outputs(taken.elements[0])


@kernel("QueueDequeueManyV2", aborts_itself=True)
async def dequeue_many(xp: Any, handle: SharedQueue[Any], n: Any, *, step: StepHandle) -> Any:
    return await _batch(xp, handle, n, False, step)


@kernel("QueueDequeueUpToV2", aborts_itself=True)
async def dequeue_up_to(xp: Any, handle: SharedQueue[Any], n: Any, *, step: StepHandle) -> Any:
    return await _batch(xp, handle, n, True, step)


async def _batch(xp: Any, handle: SharedQueue[Any], n: Any, up_to: bool, step: StepHandle) -> Any:
    if n < 0:
        raise InvalidArgumentError(f"A dequeue of {int(n)} elements was requested of {handle.core}.")
    if not handle.spec.component_shapes:
        handle.spec.batch(xp, ())  # raises, before elements are taken
    taken = await handle.perform(QueueTake(int(n), up_to), step)
    return _outputs(handle.spec.batch(xp, taken.elements))


def _outputs(values: Sequence[Any]) -> Any:
    """A kernel's result: several values, or the only value."""
    return values[0] if len(values) == 1 else tuple(values)


@kernel("QueueCloseV2", aborts_itself=True)
async def close(xp: Any, handle: SharedQueue[Any], *, cancel_pending_enqueues: bool, step: StepHandle) -> None:
    if cancel_pending_enqueues:
        handle.change(lambda core: core.close_and_cancel())
    else:
        await handle.perform(Close(), step)


@kernel("QueueSizeV2", "BarrierReadySize")
def size(xp: Any, handle: SharedQueue[Any]) -> Any:
    return np.int32(handle.look(len))


@kernel("QueueIsClosedV2")
def is_closed(xp: Any, handle: SharedQueue[Any]) -> Any:
    return np.bool_(handle.look(lambda core: core.closed))


# ---- barriers


@kernel("Barrier")
def barrier(
    xp: Any,
    *,
    component_types: tuple[DType, ...],
    shapes: tuple[Shape, ...],
    capacity: int,
    container: str,
    shared_name: str,
    ctx: KernelContext,
) -> SharedQueue[BarrierCore]:
    spec = QueueSpec("Barrier", shared_name or ctx.node.name, capacity, component_types, shapes)
    return _found(ctx, container, spec, lambda: BarrierCore(spec.name, len(component_types)))


@kernel("BarrierInsertMany")
def barrier_insert_many(
    xp: Any, handle: SharedQueue[BarrierCore], keys: Any, values: Any, *, component_index: int
) -> None:
    spec = handle.spec
    if not 0 <= component_index < len(spec.component_types):
        raise InvalidArgumentError(
            f"The component_index {component_index} is not in [0, {len(spec.component_types)}) of barrier {spec.name!r}."
        )
    if keys.ndim != 1:
        raise InvalidArgumentError(f"Keys are a vector, but their shape is {keys.shape}.")
    part = QueueSpec(
        "Barrier",
        spec.name,
        -1,
        (spec.component_types[component_index],),
        spec.component_shapes and (spec.component_shapes[component_index],),
    )
    if len(keys) and values.ndim and len(values) and not values.size:
        raise InvalidArgumentError(
            f"Tensors with no elements are not supported, but the values have shape {values.shape}."
        )
    rows = [row[0] for row in part.elements(xp, [values])]
    if len(rows) != len(keys):
        raise InvalidArgumentError(f"There are {len(keys)} keys, but {len(rows)} values.")
    handle.perform_nowait(Insert(component_index, keys.tolist(), rows))


@kernel("BarrierTakeMany", aborts_itself=True)
async def barrier_take_many(
    xp: Any, handle: SharedQueue[BarrierCore], num_elements: Any, *, allow_small_batch: bool, step: StepHandle
) -> Any:
    if num_elements < 0:
        raise InvalidArgumentError(f"{int(num_elements)} elements were requested of {handle.core}.")
    taken = await handle.perform(QueueTake(int(num_elements), allow_small_batch), step)
    elements = taken.elements
    indices = xp.array([element[1] for element in elements], np.int64)
    keys = np.empty(len(elements), object)
    keys[:] = [element[2] for element in elements]
    spec = handle.spec
    if not spec.component_shapes and elements:
        shapes = tuple(value.shape for value in elements[0][3:])
        spec = QueueSpec("Barrier", spec.name, -1, spec.component_types, shapes)
    return indices, keys, *spec.batch(xp, [element[3:] for element in elements])


@kernel("BarrierClose")
def barrier_close(xp: Any, handle: SharedQueue[BarrierCore], *, cancel_pending_enqueues: bool) -> None:
    handle.change(lambda core: core.close(cancel_pending_enqueues))


@kernel("BarrierIncompleteSize")
def barrier_incomplete_size(xp: Any, handle: SharedQueue[BarrierCore]) -> Any:
    return np.int32(handle.look(lambda core: core.incomplete))
