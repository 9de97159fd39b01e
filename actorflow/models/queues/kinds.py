"""The four kinds of queues, by the order in which they give their elements."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from actorflow.base.dtypes import DTypeLike, int64
from actorflow.base.shapes import ShapeLike
from actorflow.graph import scopes
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.io import queues as queue_ops
from actorflow.graph.ops.random.distributions import get_seed
from actorflow.models.queues.base import QueueBase, component_names, component_shapes, component_types
from actorflow.public import public


@public("af", "tf.queue")
class FIFOQueue(QueueBase):
    """A queue that gives its elements in the order in which they came (`tf.FIFOQueue`).

    An element is a tuple of tensors, its components.

    Example:
        >>> queue = af.FIFOQueue(capacity=100, dtypes=[af.float32, af.int32], shapes=[[2], []])
        >>> image, label = queue.dequeue()
        >>> await session.run(queue.enqueue([[0.5, 0.25], 7]))
        >>> await session.run([image, label])
        [[0.5  0.25], 7]
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Sequence[DTypeLike] | DTypeLike,
        shapes: Sequence[ShapeLike] | None = None,
        names: Sequence[str] | str | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        """Adds a queue to the default graph.

        Args:
            capacity: the maximum number of elements; no limit if it is below 0.
            dtypes: the type of each component, or a single type.
            shapes: the shape of each component, fully known; `dequeue_many` needs them.
            names: a name for each component; `enqueue` then takes dicts, and `dequeue` gives them.
            shared_name: sessions that share a container (`af.container`) find the same queue under this name.

        Raises:
            ValueError: shapes or names do not match the types.
        """
        types = component_types(dtypes)
        kept = component_shapes(shapes, types, partial=False)
        component_names(names, types)
        handle = queue_ops.fifo_queue(
            component_types=types,
            shapes=kept,
            capacity=capacity,
            container=_container(),
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, kept or None, names, handle)


@public("af", "tf.io", "tf.queue")
class PaddingFIFOQueue(QueueBase):
    """A FIFO queue whose components vary in size: `dequeue_many` pads them to the largest, with zeros or empty strings
    (`tf.PaddingFIFOQueue`).

    Example:
        >>> queue = af.PaddingFIFOQueue(10, [af.int32], shapes=[[None]])
        >>> for words in [1, 2, 3], [4]:
        ...     await session.run(queue.enqueue([words]))
        >>> await session.run(queue.dequeue_many(2))
        [[1 2 3]
         [4 0 0]]
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Sequence[DTypeLike] | DTypeLike,
        shapes: Sequence[ShapeLike],
        names: Sequence[str] | str | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        """Adds a queue to the default graph.

        Args:
            capacity: the maximum number of elements; no limit if it is below 0.
            dtypes: the type of each component, or a single type.
            shapes: the shape of each component, of known rank; a size that is None varies from element to element.
            names: a name for each component; `enqueue` then takes dicts, and `dequeue` gives them.
            shared_name: sessions that share a container (`af.container`) find the same queue under this name.

        Raises:
            ValueError: a rank is unknown, or shapes or names do not match the types.
        """
        types = component_types(dtypes)
        kept = component_shapes(shapes, types)
        if not kept:
            raise ValueError("When providing partial shapes, a list of shapes must be provided.")
        if None in kept:
            raise ValueError("Each shape of a queue that pads must have a defined rank.")
        component_names(names, types)
        handle = queue_ops.padding_fifo_queue(
            component_types=types,
            shapes=kept,
            capacity=capacity,
            container=_container(),
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, kept, names, handle)


@public("af", "tf.io", "tf.queue")
class RandomShuffleQueue(QueueBase):
    """A queue that gives its elements in random order (`tf.RandomShuffleQueue`).

    Example:
        >>> queue = af.RandomShuffleQueue(capacity=10, min_after_dequeue=0, dtypes=[af.int32], shapes=[[]], seed=1)
        >>> await session.run(queue.enqueue_many([[1, 2, 3]]))
        >>> sorted(await session.run(queue.dequeue_many(3)))
        [1, 2, 3]
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Sequence[DTypeLike] | DTypeLike,
        shapes: Sequence[ShapeLike] | None = None,
        names: Sequence[str] | str | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        """Adds a queue to the default graph.

        Args:
            capacity: the maximum number of elements; no limit if it is below 0.
            min_after_dequeue: the number of elements that stay in the queue until it is closed, for a good mix.
            dtypes: the type of each component, or a single type.
            shapes: the shape of each component, fully known; `dequeue_many` needs them.
            names: a name for each component; `enqueue` then takes dicts, and `dequeue` gives them.
            seed: makes the order the same in every session, if elements come and go in the same order.
            shared_name: sessions that share a container (`af.container`) find the same queue under this name.

        Raises:
            ValueError: `min_after_dequeue` is below 0 or not below `capacity`, or shapes or names do not match the
                types.
        """
        if min_after_dequeue < 0 or 0 <= capacity <= min_after_dequeue:
            raise ValueError(
                f"min_after_dequeue is 0 or more and below the capacity of {capacity}, but {min_after_dequeue} was given."
            )
        types = component_types(dtypes)
        kept = component_shapes(shapes, types, partial=False)
        component_names(names, types)
        first, second = get_seed(seed)
        if seed is None and shared_name and (first or second):
            second = zlib.crc32(shared_name.encode())  # nodes that share the queue ask for the same
        handle = queue_ops.random_shuffle_queue(
            component_types=types,
            shapes=kept,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=first,
            seed2=second,
            container=_container(),
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, kept or None, names, handle)


@public("af", "tf.io", "tf.queue")
class PriorityQueue(QueueBase):
    """A queue whose elements begin with an int64 scalar, the priority; the smallest is given first, and of equal priorities the
    first that came (`tf.PriorityQueue`).

    Example:
        >>> queue = af.PriorityQueue(10, [af.string], shapes=[[]])
        >>> await session.run(queue.enqueue_many([[5, 1], ["later", "soon"]]))
        >>> await session.run(queue.dequeue())
        [1, b'soon']
    """

    def __init__(
        self,
        capacity: int,
        types: Sequence[DTypeLike] | DTypeLike,
        shapes: Sequence[ShapeLike] | None = None,
        names: Sequence[str] | str | None = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        """Adds a queue to the default graph.

        Args:
            capacity: the maximum number of elements; no limit if it is below 0.
            types: the type of each component after the priority, or a single type.
            shapes: the shape of each component after the priority, fully known; `dequeue_many` needs them.
            names: a name for each component, the priority included; `enqueue` then takes dicts, and `dequeue` gives
                them.
            shared_name: sessions that share a container (`af.container`) find the same queue under this name.

        Raises:
            ValueError: shapes or names do not match the types.
        """
        kinds = component_types(types) if types else ()
        others = component_shapes(shapes, kinds, partial=False)
        all_types = (int64, *kinds)
        kept = ((), *others) if others or not kinds else ()
        component_names(names, all_types)
        handle = queue_ops.priority_queue(
            component_types=all_types,
            shapes=kept,
            capacity=capacity,
            container=_container(),
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(all_types, kept or None, names, handle)


def _container() -> str:
    return scopes.of(get_default_graph()).container
