"""`QueueBase`: what all queues of a graph can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, int32
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, ShapeLike, TensorShape, as_shape, compatible, is_static, show
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.building import composite, outputs_of
from actorflow.graph.ops.io import queues as queue_ops
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

Components = Any  # a tensor, a sequence of them, or with names a dict


@public("af", "tf.io", "tf.queue")
class QueueBase:
    """A queue of a graph, whose elements are tuples of tensors. It outlives runs, and steps meet at it.

    An operation that can't be done yet waits, and holds no thread: an enqueue while the queue is full, a dequeue while too
    little is in it. Enqueues stand in one line and dequeues in another; only the first of each is tried. `close` stands in
    the line of the enqueues; afterwards enqueues raise `CancelledError`, and dequeues drain what is there and then raise
    `OutOfRangeError`. A step that is stopped while its dequeue waits leaves all elements in the queue.

    Example:
        >>> queue = af.FIFOQueue(10, af.int32, [[]])
        >>> fill = queue.enqueue_many([[1, 2, 3]])
        >>> await session.run(fill)
        >>> await session.run(queue.dequeue_many(2)), await session.run(queue.size())
        ([1 2], 1)
    """

    def __init__(
        self,
        dtypes: Sequence[DTypeLike] | DTypeLike,
        shapes: Sequence[ShapeLike] | None,
        names: Sequence[str] | str | None,
        queue_ref: Tensor,
    ) -> None:
        """
        Args:
            dtypes: the type of each component, or a single type.
            shapes: the shape of each component, or None for unknown shapes.
            names: a name for each component, or None where elements are tuples.
            queue_ref: the handle of the queue, the output of the node that makes it.
        """
        self._dtypes = component_types(dtypes)
        self._shapes = component_shapes(shapes, self._dtypes)
        self._names = component_names(names, self._dtypes)
        self._queue_ref = queue_ref

    @staticmethod
    def from_list(index: TensorLike, queues: Sequence[QueueBase]) -> QueueBase:
        """The queue `queues[index]`, which each run chooses again; `index` is an int32 scalar.

        Example:
            >>> odd, even = (af.FIFOQueue(5, af.int32, [[]]) for _ in range(2))
            >>> await session.run([odd.enqueue(1), even.enqueue(2)])
            [None, None]
            >>> which = af.placeholder(af.int32, [])
            >>> await session.run(af.QueueBase.from_list(which, [odd, even]).dequeue(), {which: 1})
            2

        Raises:
            TypeError: these are no queues, or their components have other types or names.
        """
        if not isinstance(queues, (list, tuple)) or not queues or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected.")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes: list[Shape] | None = None
        if all(q._shapes for q in queues):
            shapes = [reduce(_common, several) for several in zip(*(q._shapes for q in queues))]
        graph = first._queue_ref.graph
        with graph.as_default():
            at = convert_to_tensor(index, int32)
            selected = first._queue_ref
            for position, queue in enumerate(queues):
                selected = queue_ops.select_queue(
                    selected, queue._queue_ref, at, position=position, count=len(queues), name="SelectQueue"
                )
        return QueueBase(first.dtypes, shapes, first.names, selected)

    @property
    def queue_ref(self) -> Tensor:
        """The handle that the ops take."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the node of the queue."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """The types of the components."""
        return list(self._dtypes)

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the components, of unknown rank where the queue was given none."""
        return [TensorShape(s) for s in self._shapes or (None,) * len(self._dtypes)]

    @property
    def names(self) -> list[str] | None:
        """The names of the components, or None."""
        return list(self._names) if self._names else None

    def enqueue(self, vals: Components, name: str | None = None) -> Operation:
        """Adds one element; waits while the queue is full.

        Example:
            >>> queue = af.FIFOQueue(10, [af.string, af.float32], [[], []], names=["name", "size"])
            >>> await session.run(queue.enqueue({"name": "pear", "size": 2.5}))
            >>> await session.run(queue.dequeue())
            {'name': b'pear', 'size': 2.5}

        Args:
            vals: the components: a tensor, a sequence of tensors, or for components with names a dict.

        Raises:
            ValueError: a shape is not that of the component, or the names are not those of the queue.
            TypeError: a value has another type.
        """
        return self._put("enqueue", queue_ops.queue_enqueue, vals, name, 0)

    def enqueue_many(self, vals: Components, name: str | None = None) -> Operation:
        """Adds the slices of `vals` along dimension 0, as there is room; waits until all are in the queue.

        If the step stops meanwhile, those added stay."""
        return self._put("EnqueueMany", queue_ops.queue_enqueue_many, vals, name, 1)

    def dequeue(self, name: str | None = None) -> Any:
        """Takes one element; waits while there is none. Gives a tensor, a list of them, or a dict by their names.

        Example:
            >>> queue = af.FIFOQueue(10, af.int32, [[]])
            >>> value = queue.dequeue()
            >>> await session.run(queue.enqueue(7))
            >>> await session.run(value)
            7
        """
        return self._take("Dequeue", queue_ops.queue_dequeue, (), name)

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Any:
        """Takes `n` elements, as they come, stacked along a new dimension 0.

        If the queue is closed with fewer in it they stay there, and the run raises OutOfRangeError."""
        return self._take("DequeueMany", queue_ops.queue_dequeue_many, (n,), name)

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Any:
        """As `dequeue_many`, but a closed queue gives what is left, as long as that is one element at least.

        Example:
            >>> queue = af.FIFOQueue(10, af.int32, [[]])
            >>> await session.run(queue.enqueue_many([[1, 2, 3]]))
            >>> await session.run(queue.close())
            >>> await session.run(queue.dequeue_up_to(5))
            [1 2 3]
        """
        return self._take("DequeueUpTo", queue_ops.queue_dequeue_up_to, (n,), name)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Closes the queue, after the enqueues that wait, or at once, which cancels them. Dequeues drain it.

        A second close raises CancelledError in its run, unless the second close cancels.

        Example:
            >>> queue = af.FIFOQueue(10, af.int32, [[]])
            >>> await session.run(queue.close())
            >>> await session.run(queue.dequeue())
            Traceback (most recent call last):
                ...
            actorflow.errors.OutOfRangeError: Queue 'fifo_queue' is closed and has insufficient elements ...
        """
        return queue_ops.queue_close(
            self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=self._called(name, "Close")
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed, a boolean scalar.

        Example:
            >>> queue = af.FIFOQueue(10, af.int32, [[]])
            >>> await session.run(queue.is_closed())
            False
        """
        return queue_ops.queue_is_closed(self._queue_ref, name=self._called(name, "is_closed"))

    def size(self, name: str | None = None) -> Tensor:
        """How many elements are in the queue, an int32 scalar."""
        return queue_ops.queue_size(self._queue_ref, name=self._called(name, "Size"))

    def _called(self, name: str | None, default: str) -> str:
        return name or f"{self.name.rpartition('/')[2]}_{default}"

    def _put(self, what: str, build: Any, vals: Components, name: str | None, skip: int) -> Operation:
        with composite(name, self._called(None, what), self._queue_ref) as scope:
            values = self._components(vals)
            tensors = [
                _component(value, dtype, i) for i, (value, dtype) in enumerate(zip(values, self._dtypes, strict=True))
            ]
            for i, (tensor, shape) in enumerate(zip(tensors, self._shapes)):
                static_shape = tensor.static_shape
                expected = shape if not skip or shape is None else (None, *shape)
                if not compatible(static_shape, expected):
                    raise ValueError(
                        describe(
                            f"Component {i} of {self.name} has shape {show(expected)}, but {tensor.name} has "
                            f"{show(static_shape)}.",
                            where=user_line(),
                        )
                    )
            counts = {n for tensor in tensors for n in (tensor.static_shape or ())[:1] if n is not None}
            if skip and len(counts) > 1:
                raise ValueError(
                    describe(
                        f"All input tensors must have the same size in the 0th dimension, but have {sorted(counts)}.",
                        where=user_line(),
                    )
                )
            operation: Operation = build(self._queue_ref, tensors, name=scope)
            return operation

    def _components(self, vals: Components) -> list[Any]:
        if self._names:
            if not isinstance(vals, Mapping):
                raise ValueError(f"You must enqueue a dictionary in a queue with names: {self.name} has {self._names}.")
            if set(vals) != set(self._names):
                raise ValueError(
                    f"Keys in dictionary to enqueue do not match names of Queue {self.name}: {sorted(vals)} and "
                    f"{sorted(self._names)}."
                )
            return [vals[key] for key in self._names]
        if isinstance(vals, Mapping):
            raise ValueError(f"The queue {self.name} must have names to enqueue a dictionary.")
        values = list(vals) if isinstance(vals, (list, tuple)) else [vals]
        if len(self._dtypes) == 1 and isinstance(vals, (list, tuple)) and len(values) != 1:
            values = [vals]  # a value written as a list
        if len(values) != len(self._dtypes):
            raise ValueError(
                f"An element of {self.name} has {len(self._dtypes)} components, but {len(values)} were given."
            )
        return values

    def _take(self, what: str, build: Any, inputs: tuple[Any, ...], name: str | None) -> Any:
        taken = outputs_of(
            build(
                self._queue_ref,
                *inputs,
                component_types=self._dtypes,
                shapes=self._shapes,
                name=self._called(name, what),
            )
        )
        if self._names:
            return dict(zip(self._names, taken, strict=True))
        return taken[0] if len(taken) == 1 else taken

    def __repr__(self) -> str:
        return f"<actorflow.{type(self).__name__} {self.name!r} of {', '.join(map(str, self._dtypes))}>"


def component_types(dtypes: Sequence[DTypeLike] | DTypeLike) -> tuple[DType, ...]:
    """The types of a queue's components, at least one type."""
    types = tuple(map(as_dtype, dtypes)) if isinstance(dtypes, (list, tuple)) else (as_dtype(dtypes),)  # type: ignore[arg-type]
    if not types:
        raise ValueError("A queue's elements have one component or more, but no type was given.")
    return types


def component_shapes(
    shapes: Sequence[ShapeLike] | None, dtypes: Sequence[DType], *, partial: bool = True
) -> tuple[Shape, ...]:
    """The shapes of a queue's components; empty where none are given.

    Raises:
        ValueError: there is not a shape for each type, or a shape has unknown sizes and may not.
    """
    if shapes is None:
        return ()
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (list, tuple)):
        raise ValueError(f"shapes is a list of shapes, one for each component, but {shapes!r:.60} was given.")
    if len(dtypes) == 1 and all(isinstance(s, int) or s is None for s in shapes) and len(shapes) != 1:
        shapes = [shapes]  # the shape of the only component
    shape_list = tuple(map(as_shape, shapes))
    if len(shape_list) != len(dtypes):
        raise ValueError(
            f"Queue shapes must have the same length as dtypes, received {len(shape_list)} shapes and {len(dtypes)} types."
        )
    if not partial and not all(map(is_static, shape_list)):
        raise ValueError(f"All shapes must be fully defined: {', '.join(map(show, shape_list))}.")
    return shape_list


def component_names(names: Sequence[str] | str | None, dtypes: Sequence[DType]) -> tuple[str, ...]:
    """The names of a queue's components; empty where none are given. Raises ValueError for another number of names."""
    if not names:
        return ()
    name_list = (names,) if isinstance(names, str) else tuple(names)
    if len(name_list) != len(dtypes):
        raise ValueError(
            f"List of names must have the same length as the list of dtypes: {len(name_list)} names and {len(dtypes)} types."
        )
    if len(set(name_list)) != len(name_list) or not all(isinstance(n, str) for n in name_list):
        raise ValueError(f"The names of components are strings that differ, not {list(name_list)}.")
    return name_list


def _common(left: Shape, right: Shape) -> Shape:
    """The sure part of a shape that is one of two."""
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(a if a == b else None for a, b in zip(left, right, strict=True))


def _component(value: Any, dtype: DType, number: int) -> Tensor:
    """A component as a tensor. Raises ValueError for a tensor of another type, as TensorFlow's queues do."""
    if isinstance(value, Tensor) and value.dtype.base_dtype is not dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for {value.name}, which has type {value.dtype}."
        )
    return convert_to_tensor(value, dtype, f"component_{number}")
