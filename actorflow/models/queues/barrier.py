"""`Barrier`: elements whose components come from several places, joined by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from actorflow.base.dtypes import DType, DTypeLike, string
from actorflow.base.shapes import ShapeLike, TensorShape, show
from actorflow.graph import scopes
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.io import queues as queue_ops
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.models.queues.base import component_shapes, component_types
from actorflow.public import public


class Taken(NamedTuple):
    """The result of `take_many`: when the keys were first seen (a count from the smallest int64 on), the keys, and the
    components."""

    indices: Tensor
    keys: Tensor
    values: list[Tensor]


@public("af")
class Barrier:
    """A map from keys to tuples of tensors that are inserted one component at a time, and taken when they are complete.

    Complete elements are taken in the order in which their keys were first seen. TensorFlow's `data_flow_ops.Barrier`.

    Example:
        >>> barrier = af.Barrier([af.string, af.float32])
        >>> names = barrier.insert_many(0, keys=["a", "b"], values=["apple", "pear"])
        >>> sizes = barrier.insert_many(1, keys=["b"], values=[2.5])
        >>> await session.run([names, sizes])
        [None, None]
        >>> taken = barrier.take_many(1)
        >>> await session.run([taken[1], *taken[2]])
        [[b'b'], [b'pear'], [2.5]]
    """

    def __init__(
        self,
        types: Sequence[DTypeLike] | DTypeLike,
        shapes: Sequence[ShapeLike] | None = None,
        shared_name: str | None = None,
        name: str = "barrier",
    ) -> None:
        """Adds a barrier to the default graph.

        Args:
            types: the type of each component, or a single type.
            shapes: the shape of each component, fully known and not empty; unknown unless given.
            shared_name: sessions that share a container (`af.container`) find the same barrier under this name.

        Raises:
            ValueError: shapes do not match the types, are unknown, or hold no elements.
        """
        self._types = component_types(types)
        self._shapes = component_shapes(shapes, self._types, partial=False)
        for index, shape in enumerate(self._shapes):
            if shape is not None and 0 in shape:
                raise ValueError(
                    f"Empty tensors are not supported, but received shape '{show(shape)}' at index {index}."
                )
        self._barrier_ref = queue_ops.barrier_handle(
            component_types=self._types,
            shapes=self._shapes,
            container=scopes.of(get_default_graph()).container,
            shared_name=shared_name or "",
            name=name,
        )

    @property
    def barrier_ref(self) -> Tensor:
        """The handle that the ops take."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the node of the barrier."""
        return self._barrier_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """The types of the components."""
        return list(self._types)

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the components."""
        return [TensorShape(s) for s in self._shapes or (None,) * len(self._types)]

    def insert_many(
        self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Operation:
        """Inserts one component of several elements.

        The run raises InvalidArgumentError where a key has that component already, and CancelledError where the barrier
        is closed and the key is new.

        Args:
            component_index: the number of the component, from 0 on.
            keys: a vector of strings, the keys of the elements.
            values: the component for each key, one row each, of shape [len(keys), ...].

        Raises:
            ValueError: the barrier does not have a component of this number.
        """
        if not 0 <= component_index < len(self._types):
            raise ValueError(f"{self.name} has {len(self._types)} components, but no number {component_index}.")
        with composite(name, self._called("BarrierInsertMany"), self._barrier_ref) as scope:
            return queue_ops.barrier_insert_many(
                self._barrier_ref,
                convert_to_tensor(keys, string),
                convert_to_tensor(values, self._types[component_index]),
                component_index=component_index,
                name=scope,
            )

    def take_many(
        self, num_elements: TensorLike, allow_small_batch: bool = False, timeout: None = None, name: str | None = None
    ) -> Taken:
        """Takes `num_elements` complete elements, and waits until they are there.

        The run raises OutOfRangeError where the barrier is closed and not enough elements can be completed.

        Args:
            num_elements: an int32 scalar.
            allow_small_batch: whether a closed barrier gives the elements that are complete, if any is.
            timeout: has to be None; give `session.run` a timeout instead.

        Returns:
            `(indices, keys, values)`: when each key was first seen (int64), the keys (string), and a list of the
            components.

        Raises:
            ValueError: `timeout` is not None.
        """
        if timeout is not None:
            raise ValueError("take_many has no timeout of its own: pass one to session.run.")
        indices, keys, *values = queue_ops.barrier_take_many(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            shapes=self._shapes,
            allow_small_batch=allow_small_batch,
            name=name or self._called("BarrierTakeMany"),
        )
        return Taken(indices, keys, values)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Refuses new keys. Elements that miss components may still get them, or with `cancel_pending_enqueues` are
        dropped. A second close raises CancelledError in its run, unless only that one cancels.

        Example:
            >>> barrier = af.Barrier([af.int32])
            >>> await session.run(barrier.close())
            >>> await session.run(barrier.insert_many(0, keys=["a"], values=[1]))
            Traceback (most recent call last):
                ...
            actorflow.errors.CancelledError: Barrier 'barrier' is closed, but attempted to insert a brand new ...
        """
        return queue_ops.barrier_close(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or self._called("BarrierClose"),
        )

    def ready_size(self, name: str | None = None) -> Tensor:
        """How many elements are complete, an int32 scalar.

        Example:
            >>> barrier = af.Barrier([af.int32])
            >>> await session.run(barrier.insert_many(0, keys=["a"], values=[1]))
            >>> await session.run(barrier.ready_size())
            1
        """
        return queue_ops.barrier_ready_size(self._barrier_ref, name=name or self._called("BarrierReadySize"))

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many elements miss a component, an int32 scalar.

        Example:
            >>> barrier = af.Barrier([af.int32, af.float32])
            >>> await session.run(barrier.insert_many(0, keys=["a"], values=[1]))
            >>> await session.run(barrier.incomplete_size())
            1
        """
        return queue_ops.barrier_incomplete_size(self._barrier_ref, name=name or self._called("BarrierIncompleteSize"))

    def _called(self, what: str) -> str:
        return f"{self.name.rpartition('/')[2]}_{what}"

    def __repr__(self) -> str:
        return f"<actorflow.Barrier {self.name!r} of {', '.join(map(str, self._types))}>"
