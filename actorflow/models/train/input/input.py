"""Producers: queues that give the rows of a tensor again and again (`tf.train.*_input_producer`), and `prefetch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import int64, string
from actorflow.base.shapes import ShapeLike, as_shape, is_static, merge, show
from actorflow.engine.session.prefetch import Prefetch
from actorflow.engine.session.session import Session
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.shape import shape, size
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.asserts import assert_greater
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.io.files import matching_files
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.random.distributions import random_shuffle
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.variable import Variable
from actorflow.models.queues import FIFOQueue
from actorflow.models.train.input.fullness import check_capacity, summarize_fullness
from actorflow.models.train.input.queue_runner import QueueRunner, add_queue_runner
from actorflow.public import public


@public("af.train")
def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Any:
    """`tensor`, for `num_epochs` runs; later runs raise OutOfRangeError (`tf.train.limit_epochs`).

    The count is a local variable, `epochs`, so `local_variables_initializer()` has to run first. Raises ValueError where
    `num_epochs` is not above 0.

    Example:
        >>> x = af.train.limit_epochs(af.constant(7), num_epochs=2)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(x), await session.run(x)
        (7, 7)
        >>> await session.run(x)
        Traceback (most recent call last):
            ...
        actorflow.errors.OutOfRangeError: Reached limit of 2: the variable 'limit_epochs/epochs' is not ...
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with composite(name, "limit_epochs", tensor) as scope:
        source = convert_to_tensor(tensor)
        epochs = Variable(constant(0, int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        with source.graph.control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(source, name=scope)


@public("af.train", "tf.io")
def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """The files that match a pattern, looked up once and kept (`tf.train.match_filenames_once`).

    It is a local variable, so `local_variables_initializer()` has to run first.

    Example:
        >>> open("a.csv", "w").close()
        >>> names = af.train.match_filenames_once("*.csv")
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(names)
        [b'./a.csv']

    Args:
        pattern: a pattern of file names, or a vector of them; see `af.matching_files`.

    Returns:
        A variable of strings, `[n]`.
    """
    with composite(name, "matching_filenames", pattern) as scope:
        return Variable(
            matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            name=scope,
        )


@public("af.train")
def input_producer(
    input_tensor: TensorLike,
    element_shape: ShapeLike = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> FIFOQueue:
    """A queue of the rows of `input_tensor`, with a runner that fills it (`tf.train.input_producer`).

    Example:
        >>> queue = af.train.input_producer([[1, 2], [3, 4]], num_epochs=1, shuffle=False)
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for row in af.train.prefetch(session, queue.dequeue()):
        ...         print(row)
        [1 2]
        [3 4]

    Args:
        input_tensor: a tensor of rank 1 or more; its rows along dimension 0 are the elements of the queue.
        element_shape: the shape of a row, where the tensor's static shape does not tell.
        num_epochs: how often each row comes before OutOfRangeError; without end unless given. A local variable counts,
            so run `local_variables_initializer()` first.
        shuffle: whether the rows of each epoch come in random order.
        seed: makes the random order the same in each session.
        capacity: the maximum number of rows in the queue; no limit if it is below 0.
        shared_name: sessions that share a container (`af.container`) find the same queue under this name.
        summary_name: the name of a summary of how full the queue is; no summary unless given.
        cancel_op: the operation that cancels waiting enqueues when the runner stops; closing the queue unless given.

    Raises:
        ValueError: the shape of a row is not known; or `capacity` is 0.
    """
    check_capacity(capacity)
    with composite(name, "input_producer", input_tensor):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        static_shape = None if rows.static_shape is None else rows.static_shape[1:]
        row_shape = merge(static_shape, as_shape(element_shape))
        if rows.static_shape == () or not is_static(row_shape):
            raise ValueError(
                f"Either `input_tensor` must have a fully defined shape or `element_shape` must be specified: "
                f"{rows.name} has shape {show(rows.static_shape)}."
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity, [rows.dtype], shapes=[row_shape], shared_name=shared_name, name=name or "fifo_queue"
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            summarize_fullness(queue, summary_name, capacity)
        return queue


@public("af.train")
def string_input_producer(
    string_tensor: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> FIFOQueue:
    """A queue of strings, such as file names (`tf.train.string_input_producer`).

    Example:
        >>> files = af.train.string_input_producer(["a.tfrecord", "b.tfrecord"], num_epochs=1, shuffle=False)
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for name in af.train.prefetch(session, files.dequeue()):
        ...         print(name)
        b'a.tfrecord'
        b'b.tfrecord'

    Args:
        string_tensor: a vector of strings, or a list of them.
        num_epochs, shuffle, seed, capacity, shared_name, cancel_op: see `input_producer`.

    Raises:
        ValueError: the list is empty. The run raises InvalidArgumentError where only a tensor's value can tell.
    """
    problem = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor) and not len(string_tensor):  # type: ignore[arg-type]
        raise ValueError(problem)
    with composite(name, "input_producer", string_tensor) as scope:
        strings = convert_to_tensor(string_tensor, string)
        with strings.graph.control_dependencies([assert_greater(size(strings), 0, message=problem)]):
            strings = identity(strings)
        summary = f"fraction_of_{capacity}_full"
        return input_producer(
            strings, (), num_epochs, shuffle, seed, capacity, shared_name, summary, name=scope, cancel_op=cancel_op
        )


@public("af.train")
def range_input_producer(
    limit: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """A queue of the integers from 0 to `limit` - 1 (`tf.train.range_input_producer`).

    Example:
        >>> number = af.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for value in af.train.prefetch(session, number):
        ...         print(value)
        0
        1
        2

    Args:
        limit: an int32 scalar.
        num_epochs, shuffle, seed, capacity, shared_name: see `input_producer`.
    """
    with composite(name, "input_producer", limit) as scope:
        summary = f"fraction_of_{capacity}_full"
        return input_producer(range_(limit), (), num_epochs, shuffle, seed, capacity, shared_name, summary, name=scope)


@public("af.train")
def slice_input_producer(
    tensor_list: Sequence[TensorLike],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """One row of each tensor, the same row of all, another row in each run (`tf.train.slice_input_producer`).

    Example:
        >>> image, label = af.train.slice_input_producer([[[1, 2], [3, 4]], ["a", "b"]], num_epochs=1, shuffle=False)
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for pair in af.train.prefetch(session, [image, label]):
        ...         print(*pair)
        [1 2] b'a'
        [3 4] b'b'

    Args:
        tensor_list: tensors with the same size in dimension 0.
        num_epochs, shuffle, seed, capacity, shared_name: see `input_producer`.

    Returns:
        A tensor for each of `tensor_list`, without its dimension 0.

    Raises:
        ValueError: the list is empty.
    """
    if not tensor_list:
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    with composite(name, "input_producer", *tensor_list):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        queue = range_input_producer(
            shape(tensors[0])[0],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        )
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]


@public("af.train")
def prefetch(session: Session, tensors: Any, depth: int = 2, parallel: int = 1) -> Prefetch:
    """An async iterator over the results of running `tensors` in `session`, which starts runs before the loop asks for
    them.

    It ends where a run raises OutOfRangeError, the end of the input. See `Prefetch` for other ways to end it.

    Example:
        >>> number = af.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for value in af.train.prefetch(session, number * 10):
        ...         print(value)
        0
        10
        20

    Args:
        session: an async session.
        tensors: fetches, in any structure that `session.run` takes.
        depth: the maximum number of results that are ready or under way before the loop takes them, 1 or more.
        parallel: the number of runs in flight at one time, between 1 and `depth`. More than one helps where runs wait,
            for a network for example. Results come in the order in which their runs began.

    Raises:
        TypeError: the session is not an async session.
        ValueError: `depth` is below 1, or `parallel` is not between 1 and `depth`.
    """
    return Prefetch(session, tensors, depth, parallel)
