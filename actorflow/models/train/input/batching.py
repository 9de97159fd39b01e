"""Batches of examples, in order or shuffled, from queues that runners fill (`tf.train.batch` and its kin)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, ShapeLike, as_shape, show
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import fill
from actorflow.graph.ops.array.gather import boolean_mask
from actorflow.graph.ops.array.shape import expand_dims, reshape, shape
from actorflow.graph.ops.building import composite
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.models.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from actorflow.models.train.input.fullness import check_capacity, summarize_fullness
from actorflow.models.train.input.queue_runner import QueueRunner, add_queue_runner
from actorflow.models.train.input.sparse_examples import as_dense, as_sparse, sparse_places
from actorflow.public import public

Tensors = Any  # a sequence of tensors, or a dict of them
Making = tuple[Callable[..., QueueBase], int, int]
"""How a queue of some types and shapes is made, how many examples it holds, and how many of these stay behind."""


@public("af.train")
def batch(
    tensors: Tensors,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the examples that `tensors` give run by run (`tf.train.batch`).

    A queue runner fills the batches' queue: start it with `af.train.start_queue_runners`.

    Example:
        >>> number = af.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
        >>> numbers = af.train.batch([number], batch_size=4, allow_smaller_final_batch=True)
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for batch in af.train.prefetch(session, numbers):
        ...         print(batch)
        [0 1 2 3]
        [4 5]

    Args:
        tensors: one example, as a sequence or a dict of tensors, also sparse tensors; with `enqueue_many` several examples.
        batch_size: the number of examples in a batch, an int32 scalar.
        num_threads: the number of loops that run `tensors`; with several loops, the order of the examples is not fixed.
        capacity: the maximum number of examples that are ready in the queue.
        enqueue_many: whether the tensors hold several examples along dimension 0, instead of one example.
        shapes: the shape of each tensor of an example, without the batch; from the tensors unless given.
        dynamic_pad: whether sizes may vary between examples. Each batch is padded to its largest example, with zeros or
            empty strings.
        allow_smaller_final_batch: whether the examples left at the end of the input make a smaller batch; otherwise
            they are dropped.
        shared_name: sessions that share a container (`af.container`) find the same queue under this name.

    Returns:
        Tensors in the structure of one source, with a new dimension 0 of size `batch_size`; a single tensor for a source that
        is a sequence of one tensor.

    Raises:
        ValueError: no tensors are given, not all shapes are known, or an argument does not fit the others.
        TypeError: the sources have different types.
    """
    return _batches(
        "batch", [tensors], batch_size, True, num_threads, enqueue_many, shapes, allow_smaller_final_batch, name,
        _fifo(capacity, dynamic_pad, shared_name),
    )  # fmt: skip


@public("af.train")
def maybe_batch(
    tensors: Tensors,
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch` of the examples for which `keep_input` is true (`tf.train.maybe_batch`).

    Example:
        >>> number = af.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
        >>> odd = af.train.maybe_batch([number], keep_input=af.equal(number % 2, 1), batch_size=4)
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for batch in af.train.prefetch(session, odd):
        ...         print(batch)
        [1 3 5 7]

    Args:
        tensors: see `batch`.
        keep_input: whether to keep the examples of a run, a bool scalar; with `enqueue_many` also a bool vector, for each
            example.
        batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name:
            see `batch`.
    """
    return _batches(
        "batch", [tensors], batch_size, keep_input, num_threads, enqueue_many, shapes, allow_smaller_final_batch, name,
        _fifo(capacity, dynamic_pad, shared_name),
    )  # fmt: skip


@public("af.train")
def batch_join(
    tensors_list: Sequence[Tensors],
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch` over several sources, each run by a loop of its own (`tf.train.batch_join`).

    Example:
        >>> sources = [[af.train.range_input_producer(4, num_epochs=1).dequeue()] for _ in range(2)]
        >>> numbers = af.train.batch_join(sources, batch_size=8)
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for batch in af.train.prefetch(session, numbers):
        ...         print(np.sort(batch))
        [0 0 1 1 2 2 3 3]

    Args:
        tensors_list: a list of sources, each a sequence or a dict of tensors, with the same types. Each source has a
            loop of its own.
        batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name: see `batch`.

    Raises:
        TypeError: the sources have different types.
        ValueError: see `batch`.
    """
    return _batches(
        "batch_join", tensors_list, batch_size, True, None, enqueue_many, shapes, allow_smaller_final_batch, name,
        _fifo(capacity, dynamic_pad, shared_name),
    )  # fmt: skip


@public("af.train")
def maybe_batch_join(
    tensors_list: Sequence[Tensors],
    keep_input: TensorLike,
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch_join` of the examples for which `keep_input` is true (`tf.train.maybe_batch_join`).

    Example:
        >>> numbers = [af.train.range_input_producer(4, num_epochs=1).dequeue() for _ in range(2)]
        >>> odd = af.train.maybe_batch_join([[n] for n in numbers], keep_input=af.constant(True), batch_size=8)
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for batch in af.train.prefetch(session, odd):
        ...         print(np.sort(batch))
        [0 0 1 1 2 2 3 3]

    Args:
        tensors_list: see `batch_join`.
        keep_input: see `maybe_batch`.
        batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name: see `batch`.
    """
    return _batches(
        "batch_join", tensors_list, batch_size, keep_input, None, enqueue_many, shapes, allow_smaller_final_batch, name,
        _fifo(capacity, dynamic_pad, shared_name),
    )  # fmt: skip


@public("af.train")
def shuffle_batch(
    tensors: Tensors,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch` in random order (`tf.train.shuffle_batch`).

    Example:
        >>> number = af.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
        >>> numbers = af.train.shuffle_batch([number], batch_size=6, capacity=32, min_after_dequeue=6)
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for batch in af.train.prefetch(session, numbers):
        ...         print(np.sort(batch))
        [0 1 2 3 4 5]

    Args:
        tensors, batch_size: see `batch`.
        capacity: the maximum number of examples in the queue.
        min_after_dequeue: the number of examples that stay in the queue while there is input; more mix better.
        num_threads: see `batch`.
        seed: makes the order the same in each session, as long as examples come in the same order.
        enqueue_many, shapes, allow_smaller_final_batch, shared_name: see `batch`.

    Raises:
        ValueError: `capacity` is not above `min_after_dequeue`; or see `batch`.
    """
    return _batches(
        "shuffle_batch", [tensors], batch_size, True, num_threads, enqueue_many, shapes, allow_smaller_final_batch, name,
        _shuffling(capacity, min_after_dequeue, seed, shared_name),
    )  # fmt: skip


@public("af.train")
def maybe_shuffle_batch(
    tensors: Tensors,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch` of the examples for which `keep_input` is true (`tf.train.maybe_shuffle_batch`).

    Example:
        >>> number = af.train.range_input_producer(8, num_epochs=1).dequeue()
        >>> odd = af.train.maybe_shuffle_batch([number], 4, 32, 0, keep_input=af.equal(number % 2, 1))
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for batch in af.train.prefetch(session, odd):
        ...         print(np.sort(batch))
        [1 3 5 7]

    Args:
        tensors, batch_size: see `batch`.
        capacity, min_after_dequeue, seed: see `shuffle_batch`.
        keep_input: see `maybe_batch`.
        num_threads: see `batch`.
        enqueue_many, shapes, allow_smaller_final_batch, shared_name: see `batch`.
    """
    return _batches(
        "shuffle_batch", [tensors], batch_size, keep_input, num_threads, enqueue_many, shapes,
        allow_smaller_final_batch, name, _shuffling(capacity, min_after_dequeue, seed, shared_name),
    )  # fmt: skip


@public("af.train")
def shuffle_batch_join(
    tensors_list: Sequence[Tensors],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch` over several sources, each run by a loop of its own (`tf.train.shuffle_batch_join`).

    Example:
        >>> sources = [[af.train.range_input_producer(4, num_epochs=1).dequeue()] for _ in range(2)]
        >>> numbers = af.train.shuffle_batch_join(sources, batch_size=8, capacity=32, min_after_dequeue=0)
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for batch in af.train.prefetch(session, numbers):
        ...         print(np.sort(batch))
        [0 0 1 1 2 2 3 3]

    Args:
        tensors_list: see `batch_join`.
        batch_size: see `batch`.
        capacity, min_after_dequeue, seed: see `shuffle_batch`.
        enqueue_many, shapes, allow_smaller_final_batch, shared_name: see `batch`.
    """
    return _batches(
        "shuffle_batch_join", tensors_list, batch_size, True, None, enqueue_many, shapes, allow_smaller_final_batch, name,
        _shuffling(capacity, min_after_dequeue, seed, shared_name),
    )  # fmt: skip


@public("af.train")
def maybe_shuffle_batch_join(
    tensors_list: Sequence[Tensors],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch_join` of the examples for which `keep_input` is true (`tf.train.maybe_shuffle_batch_join`).

    Example:
        >>> numbers = [af.train.range_input_producer(4, num_epochs=1).dequeue() for _ in range(2)]
        >>> mixed = af.train.maybe_shuffle_batch_join([[n] for n in numbers], 8, 32, 0, keep_input=af.constant(True))
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for batch in af.train.prefetch(session, mixed):
        ...         print(np.sort(batch))
        [0 0 1 1 2 2 3 3]

    Args:
        tensors_list: see `batch_join`.
        batch_size: see `batch`.
        capacity, min_after_dequeue, seed: see `shuffle_batch`.
        keep_input: see `maybe_batch`.
        enqueue_many, shapes, allow_smaller_final_batch, shared_name: see `batch`.
    """
    return _batches(
        "shuffle_batch_join", tensors_list, batch_size, keep_input, None, enqueue_many, shapes,
        allow_smaller_final_batch, name, _shuffling(capacity, min_after_dequeue, seed, shared_name),
    )  # fmt: skip


def _fifo(capacity: int, dynamic_pad: bool, shared_name: str | None) -> Making:
    check_capacity(capacity)
    kind: Any = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return lambda types, shapes: kind(capacity, types, shapes, shared_name=shared_name), capacity, 0


def _shuffling(capacity: int, min_after_dequeue: int, seed: int | None, shared_name: str | None) -> Making:
    if capacity <= min_after_dequeue:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")

    def make_queue(types: Any, shapes: Any) -> QueueBase:
        return RandomShuffleQueue(capacity, min_after_dequeue, types, shapes, seed=seed, shared_name=shared_name)

    return make_queue, capacity, min_after_dequeue


def _batches(
    default: str,
    sources: Sequence[Tensors],
    batch_size: TensorLike,
    keep_input: TensorLike,
    loops: int | None,
    enqueue_many: bool,
    shapes: Sequence[ShapeLike] | None,
    smaller_final: bool,
    name: str | None,
    making: Making,
) -> Any:
    """The one way of batching: a queue, enqueues that a runner keeps running, and a dequeue."""
    if not sources:
        raise ValueError("Expected at least one set of tensors.")
    listed = [_listed(source) for source in sources]
    if isinstance(sources[0], Mapping) and any(set(s) != set(sources[0]) for s in sources):
        raise ValueError("All dictionaries in tensors_list must have the same keys.")
    sparse = sparse_places(listed)
    with composite(name, default, *(t for some in listed for t in some)) as scope:
        examples = [[as_dense(t, enqueue_many) for t in some] for some in listed]
        types = [t.dtype for t in examples[0]]
        for some in examples[1:]:
            if [t.dtype for t in some] != types:
                raise TypeError(f"Expected types to be consistent: {types} vs. {[t.dtype for t in some]}.")
        component_shapes = (
            None if shapes is None else [(3,) if at in sparse else each for at, each in enumerate(shapes)]
        )
        make_queue, capacity, reserve = making
        queue = make_queue(types, _shapes(examples, component_shapes, enqueue_many))
        enqueues = [_enqueue(queue, some, keep_input, enqueue_many) for some in examples]
        add_queue_runner(QueueRunner(queue, enqueues * (loops or 1)))
        over = f"over_{reserve}_of_{capacity - reserve}" if default.startswith("shuffle") else f"of_{capacity}"
        summarize_fullness(queue, f"fraction_{over}_full", capacity, reserve)
        take = queue.dequeue_up_to if smaller_final else queue.dequeue_many
        taken = take(batch_size, name=scope)
        if sparse:
            parts = as_sparse([taken] if len(types) == 1 else list(taken), listed, enqueue_many)
            taken = parts[0] if len(types) == 1 else parts
    if not isinstance(sources[0], Mapping):
        return taken
    return dict(zip(sorted(sources[0], key=str), [taken] if len(types) == 1 else taken, strict=True))


def _listed(tensors: Tensors) -> list[TensorLike]:
    tensor_list = [tensors[key] for key in sorted(tensors, key=str)] if isinstance(tensors, Mapping) else list(tensors)
    if not tensor_list:
        raise ValueError("Expected at least one tensor in batch().")
    return tensor_list


def _shapes(
    examples: Sequence[Sequence[Tensor]], specified: Sequence[ShapeLike] | None, enqueue_many: bool
) -> list[Shape]:
    """The shape of each component of an example: what all sources agree on."""
    if specified is not None:
        return [as_shape(shape) for shape in specified]
    inferred: list[Shape] = []
    for several in zip(*examples, strict=True):
        static_shapes = [t.static_shape for t in several]
        for tensor, sizes in zip(several, static_shapes):
            if sizes is None or enqueue_many and not sizes:
                raise ValueError(
                    describe(
                        f"Cannot infer Tensor's rank: {tensor!r}." if sizes is None else
                        f"enqueue_many takes rows of its tensors, but {tensor.name} is a scalar.",
                        where=user_line(),
                        hint="Give batch the shapes of an example: shapes=[...].",
                    )
                )  # fmt: skip
        rows = [sizes[1:] if enqueue_many else sizes for sizes in static_shapes if sizes is not None]
        if any(len(row) != len(rows[0]) for row in rows):
            raise ValueError(f"Shapes of one component have different ranks: {', '.join(map(show, rows))}.")
        inferred.append(
            tuple(sizes.pop() if len(sizes := set(column)) == 1 else None for column in zip(*rows, strict=True))
        )
    return inferred


def _enqueue(queue: QueueBase, tensors: Sequence[Tensor], keep_input: TensorLike, many: bool) -> Operation:
    """Adds an example, or many, as far as they are to be kept."""
    if keep_input is True:
        return queue.enqueue_many(list(tensors)) if many else queue.enqueue(list(tensors))
    keep = convert_to_tensor(keep_input, bool_dtype)
    if keep.static_shape is None or len(keep.static_shape) > 1:
        raise ValueError("`keep_input` must be of rank 0 or 1, which is known as the graph is built.")
    if not many:
        if keep.static_shape:
            raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
        return queue.enqueue_many([boolean_mask(expand_dims(t, 0), reshape(keep, [1])) for t in tensors])
    rows = keep if keep.static_shape else fill(shape(tensors[0])[:1], keep)
    return queue.enqueue_many([boolean_mask(t, rows) for t in tensors])
