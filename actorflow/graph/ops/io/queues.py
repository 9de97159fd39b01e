"""Queues as ops: a handle, and operations on it that may wait (paper section 4.6).

The handle is a reference of type `resource`. Elements are tuples of tensors, the components. Which types and shapes they
have is known to the node that makes the queue; a node that takes elements repeats it, because its outputs need them.
`actorflow.models.queues` has the classes that programs use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import ANY, DType, int32, int64, resource, string
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, show
from actorflow.graph.ops.declare import RefLike, op
from actorflow.graph.ops.shape_rules import no_output, require_rank, scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike

_HANDLE = {"handle": resource}
_HANDLE_AND_COUNT = {"handle": resource, "n": int32}
Types = tuple[Any, ...]
Shapes = tuple[Any, ...]


def _component_types(c: Inference) -> tuple[DType, ...]:
    dtypes: tuple[DType, ...] = c.attrs["component_types"]
    return dtypes


def _component_shapes(c: Inference) -> list[Shape]:
    return list(c.attrs["shapes"] or (None,) * len(c.attrs["component_types"]))


def _batched(c: Inference, count: int | None) -> list[Shape]:
    return [None if shape is None else (count, *shape) for shape in _component_shapes(c)]


def _count(c: Inference, index: int) -> int | None:
    require_rank(c, index, 0)
    value = c.value(index)
    if value is not None and int(value) < 0:
        raise ValueError(f"A number of elements is zero or more, not {int(value)}.")
    return None if value is None else int(value)


def _exactly(c: Inference) -> list[Shape]:
    return _batched(c, _count(c, 1))


def _at_most(c: Inference) -> list[Shape]:
    _count(c, 1)
    return _batched(c, None)


# ---- queues


@op("FIFOQueueV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def fifo_queue(
    *,
    component_types: Types,
    shapes: Shapes = (),
    capacity: int = -1,
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Tensor:
    """The handle of a queue, first in first out, that lives in `container` under `shared_name` (else the node's name).

    A capacity below 0 is none. Raises InvalidArgumentError in the run where a queue of that name differs."""


@op("PaddingFIFOQueueV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def padding_fifo_queue(
    *,
    component_types: Types,
    shapes: Shapes = (),
    capacity: int = -1,
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Tensor:
    """As `FIFOQueueV2`, with unknown sizes in its shapes, which `dequeue_many` pads to the largest."""


@op("PriorityQueueV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def priority_queue(
    *,
    component_types: Types,
    shapes: Shapes = (),
    capacity: int = -1,
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Tensor:
    """The handle of a queue that gives the element with the smallest first component, an int64, first."""


@op("RandomShuffleQueueV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def random_shuffle_queue(
    *,
    component_types: Types,
    shapes: Shapes = (),
    capacity: int = -1,
    min_after_dequeue: int = 0,
    seed: int = 0,
    seed2: int = 0,
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Tensor:
    """The handle of a queue that gives its elements in random order, and keeps `min_after_dequeue` while it is open."""


@op(
    "SelectQueue",
    shape=scalar,
    types={"otherwise": resource, "handle": resource, "index": int32},
    result=resource,
    gradient=None,
    stateful=True,
    work=0,
)
def select_queue(
    otherwise: RefLike, handle: RefLike, index: TensorLike, *, position: int, count: int, name: str | None = None
) -> Tensor:
    """`handle` where `index` is `position`, else `otherwise`: one link of a choice among `count` queues.

    Raises InvalidArgumentError in the run where the index is not in [0, count)."""


@op(
    "QueueEnqueueV2",
    shape=no_output,
    types=_HANDLE,
    result=None,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def queue_enqueue(handle: RefLike, components: Sequence[Any], *, name: str | None = None) -> Operation:
    """Adds one element; waits while the queue is full.

    Raises CancelledError in the run where the queue is closed, InvalidArgumentError where the shapes are not its."""


@op(
    "QueueEnqueueManyV2",
    shape=no_output,
    types=_HANDLE,
    result=None,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def queue_enqueue_many(handle: RefLike, components: Sequence[Any], *, name: str | None = None) -> Operation:
    """Adds the slices of the components along their first dimension, slice by slice as there is room."""


@op(
    "QueueDequeueV2",
    shape=_component_shapes,
    types=_HANDLE,
    result=_component_types,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def queue_dequeue(handle: RefLike, *, component_types: Types, shapes: Shapes = (), name: str | None = None) -> Any:
    """Takes one element; waits while there is none.

    Raises OutOfRangeError in the run where the queue is closed and empty."""


@op(
    "QueueDequeueManyV2",
    shape=_exactly,
    types=_HANDLE_AND_COUNT,
    result=_component_types,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def queue_dequeue_many(
    handle: RefLike, n: TensorLike, *, component_types: Types, shapes: Shapes = (), name: str | None = None
) -> Any:
    """Takes `n` elements, as they come, and stacks them along a new first dimension.

    Raises OutOfRangeError in the run where the queue is closed and has fewer."""


@op(
    "QueueDequeueUpToV2",
    shape=_at_most,
    types=_HANDLE_AND_COUNT,
    result=_component_types,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def queue_dequeue_up_to(
    handle: RefLike, n: TensorLike, *, component_types: Types, shapes: Shapes = (), name: str | None = None
) -> Any:
    """As `QueueDequeueManyV2`, but a closed queue gives what it has left, as long as that is something."""


@op("QueueCloseV2", shape=no_output, types=_HANDLE, result=None, gradient=None, stateful=True, asynchronous=True)
def queue_close(handle: RefLike, *, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
    """Closes the queue: when the enqueues that wait are done, or at once, which cancels them.

    Raises CancelledError in the run if the queue is closed already."""


@op("QueueSizeV2", shape=scalar, types=_HANDLE, result=int32, gradient=None, stateful=True)
def queue_size(handle: RefLike, *, name: str | None = None) -> Tensor:
    """How many elements are in the queue, an int32 scalar."""


@op("QueueIsClosedV2", shape=scalar, types=_HANDLE, result=bool_dtype, gradient=None, stateful=True)
def queue_is_closed(handle: RefLike, *, name: str | None = None) -> Tensor:
    """Whether the queue is closed."""


# ---- barriers


def _inserted(c: Inference) -> list[Shape]:
    keys, values = require_rank(c, 1, 1), c.shapes[2]
    if values == ():
        raise ValueError("Values of a barrier have one row for each key, but a scalar was given.")
    if keys is not None and values is not None and not compatible(keys, values[:1]):
        raise ValueError(f"Keys of shape {show(keys)} don't go with values of shape {show(values)}.")
    return []


def _taken(c: Inference) -> list[Shape]:
    fixed = _count(c, 1)
    count = None if c.attrs["allow_small_batch"] else fixed
    return [(count,), (count,), *_batched(c, count)]


@op("Barrier", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def barrier_handle(
    *,
    component_types: Types,
    shapes: Shapes = (),
    capacity: int = -1,
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Tensor:
    """The handle of a barrier, which lives in `container` under `shared_name` (else the node's name)."""


@op(
    "BarrierInsertMany",
    shape=_inserted,
    types={"handle": resource, "keys": string, "values": ANY},
    result=None,
    gradient=None,
    stateful=True,
)
def barrier_insert_many(
    handle: RefLike, keys: TensorLike, values: TensorLike, *, component_index: int, name: str | None = None
) -> Operation:
    """Gives the element of each key its component `component_index`, a row of `values`.

    Raises InvalidArgumentError in the run where a key has it already, CancelledError where the barrier is closed and the
    key is new."""


@op(
    "BarrierTakeMany",
    shape=_taken,
    types={"handle": resource, "num_elements": int32},
    result=lambda c: (int64, string, *_component_types(c)),
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def barrier_take_many(
    handle: RefLike,
    num_elements: TensorLike,
    *,
    component_types: Types,
    shapes: Shapes = (),
    allow_small_batch: bool = False,
    name: str | None = None,
) -> Any:
    """Takes complete elements, in the order in which their keys were first seen: their numbers, keys and components.

    Waits until there are that many. Raises OutOfRangeError in the run where the barrier is closed and can't have them;
    with `allow_small_batch` a closed one gives what it has."""


@op("BarrierClose", shape=no_output, types=_HANDLE, result=None, gradient=None, stateful=True)
def barrier_close(handle: RefLike, *, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
    """Refuses new keys; those that miss components may still get them, or with `cancel_pending_enqueues` are dropped."""


@op("BarrierReadySize", shape=scalar, types=_HANDLE, result=int32, gradient=None, stateful=True)
def barrier_ready_size(handle: RefLike, *, name: str | None = None) -> Tensor:
    """How many elements are complete, an int32 scalar."""


@op("BarrierIncompleteSize", shape=scalar, types=_HANDLE, result=int32, gradient=None, stateful=True)
def barrier_incomplete_size(handle: RefLike, *, name: str | None = None) -> Tensor:
    """How many elements miss a component, an int32 scalar."""
