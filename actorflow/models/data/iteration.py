"""How a dataset is gone through: `async for` and `for` on a client, and the iterators that graphs have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.base.reports.user_line import user_line
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.eager.functions.concrete import shared_loop
from actorflow.engine.eager.scope import executing_eagerly
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.errors import OutOfRangeError, describe
from actorflow.graph.tensor import Tensor
from actorflow.models.data.node import DatasetNode, array, bound_arrays
from actorflow.models.data.resource import Pulling
from actorflow.models.data.spec import DatasetSpec, Spec, shapes_of, types_of
from actorflow.models.data.stage import EndOfSequence
from actorflow.models.data.statistics import IteratorStatistics
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.models.data.iterator import Iterator as GraphIterator


class Iterable:
    """The part of `Dataset` that goes through its elements."""

    __slots__ = ()
    node: DatasetNode

    @property
    def element_spec(self) -> Any:
        """The type and shape of each component, in the structure of the elements."""
        return self.node.spec.structure

    @property
    def output_types(self) -> Any:
        """The element types, in the structure of the elements."""
        return types_of(self.node.spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes, in the structure of the elements."""
        return shapes_of(self.node.spec)

    @property
    def output_classes(self) -> Any:
        """`Tensor` for each component."""
        return self.node.spec.rebuild([Tensor for _ in self.node.spec.leaves])

    def iterate(self, state: bytes | None = None) -> DatasetIterator:
        """An iterator for `async for`, whose state can be asked for, which can be closed, and which has statistics.

        Example:
            >>> async with af.data.Dataset.range(3).iterate() as numbers:
            ...     first, state = await anext(numbers), numbers.state()
            ...     print(int(first), [int(x) async for x in numbers])
            ...     print([int(x) async for x in af.data.Dataset.range(3).iterate(state)])
            0 [1, 2]
            [1, 2]

        Args:
            state: what `state()` of an iterator of the same dataset gave: this one goes on there.

        Raises:
            RuntimeError: the dataset has tensors of a graph.
            InvalidArgumentError: the state is that of another dataset.
        """
        return DatasetIterator(self, state)

    def __aiter__(self) -> DatasetIterator:
        return DatasetIterator(self)

    def __iter__(self) -> Iterator[Any]:
        return _Blocking(DatasetIterator(self))

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements as arrays and numpy scalars, for `for`.

        Example:
            >>> list(af.data.Dataset.range(3).as_numpy_iterator())
            [0, 1, 2]
        """
        return _Blocking(DatasetIterator(self, tensors=False))

    def make_one_shot_iterator(self) -> GraphIterator | _Blocking:
        """An iterator of the default graph that needs no initializer, and goes through the elements once in each session. Under
        eager execution, `iter(dataset)`.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.data.Dataset.range(2).make_one_shot_iterator().get_next()
            >>> async with af.Session(graph=graph) as session:
            ...     print(await session.run(x), await session.run(x))
            0 1

        Raises:
            ValueError: the dataset uses a placeholder or a variable.
        """
        from actorflow.models.data.iterator import one_shot

        if executing_eagerly():
            return _Blocking(DatasetIterator(self))
        return one_shot(self.node)

    def make_initializable_iterator(self, shared_name: str | None = None) -> GraphIterator:
        """An iterator of the default graph, which begins whenever its `initializer` runs.

        Example:
            >>> limit = af.placeholder(af.int64, [])
            >>> iterator = af.data.Dataset.range(limit).make_initializable_iterator()
            >>> x = iterator.get_next()
            >>> await session.run(iterator.initializer, {limit: 2})
            >>> await session.run(x), await session.run(x)
            (0, 1)

        Args:
            shared_name: sessions that share a container find the same iterator under this name.

        Raises:
            RuntimeError: under eager execution, where `iter(dataset)` begins.
        """
        from actorflow.models.data.iterator import initializable

        if executing_eagerly():
            raise RuntimeError(
                describe(
                    "dataset.make_initializable_iterator is not supported when eager execution is enabled.",
                    where=user_line(),
                    hint="Use `for element in dataset` instead.",
                )
            )

        return initializable(self.node, shared_name)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """One value of all elements: `reduce_func(state, element)` gives the next state.

        Example:
            >>> af.data.Dataset.range(5).reduce(af.constant(0, af.int64), lambda total, x: total + x)
            10

        Args:
            initial_state: the first state: a tensor or a structure.
            reduce_func: a function of the state and an element.
            name: accepted for compatibility, without effect.

        Returns:
            The last state: at once under eager execution, else a tensor of the graph.

        Raises:
            TypeError: the function gives another structure or other types than the state has.
        """
        return self._reduced(initial_state, reduce_func).get_single_element()

    async def reduce_async(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """`reduce` for coroutines.

        Example:
            >>> await af.data.Dataset.range(5).reduce_async(np.int64(0), lambda total, x: total + x)
            10

        Args:
            initial_state: the first state: a tensor or a structure.
            reduce_func: a function of the state and an element.

        Raises:
            TypeError: see `reduce`.
        """
        async with self._reduced(initial_state, reduce_func).iterate() as iterator:
            return await iterator.__anext__()

    def _reduced(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        from actorflow.models.data.dataset import Dataset
        from actorflow.models.data.functions.tracing import trace
        from actorflow.models.data.sources import Sources

        first = Sources.from_tensors(initial_state).node
        function, captured = trace(reduce_func, self.node.spec, "reduce", first.spec)
        if types_of(function.spec) != types_of(first.spec):
            raise TypeError(
                f"The element types for the new state must match the initial state. Expected {types_of(first.spec)}; got "
                f"{types_of(function.spec)}."
            )
        return Dataset(DatasetNode("reduce", function.spec, (self.node, first), tuple(captured), function=function))

    def get_single_element(self, name: str | None = None) -> Any:
        """The one element: at once under eager execution, else tensors of the graph.

        Example:
            >>> af.data.Dataset.range(3).batch(3).get_single_element()
            [0 1 2]

        Args:
            name: accepted for compatibility, without effect.

        Raises in a run:
            InvalidArgumentError: the dataset has no element, or several.
        """
        from actorflow.models.data.iterator import single_element

        if executing_eagerly():
            elements = list(iter(self))
            return single_element(self.node, elements)
        return single_element(self.node, None)


@public("af.data")
class DatasetIterator(AsyncIterator[Any]):
    """Goes through a dataset on a client (`Dataset.iterate`, `async for`).

    Elements are arrays, numpy scalars and `bytes`; under `af.eager()` they are tensors. A pull that is cancelled takes nothing
    away: the next one gives the element. Of pulls at the same time each gives another element.

    Example:
        >>> numbers = af.data.Dataset.range(3)
        >>> iterator = numbers.iterate()
        >>> [int(x) async for x in iterator]
        [0, 1, 2]
    """

    _checkpoint_resumes = True  # see `Checkpoint`
    __reduce_ex__ = unpicklable(
        "An iterator is not pickled: hand over the bytes of its state(), for dataset.iterate(state)."
    )

    def __init__(self, dataset: Iterable, state: bytes | None = None, tensors: bool | None = None) -> None:
        """Made by `Dataset.iterate`.

        Args:
            dataset: what it goes through.
            state: the place at which it begins.
            tensors: whether elements are tensors; so under eager execution unless given.
        """
        bound_arrays(dataset.node)
        self._spec = dataset.node.spec
        self._pulling = Pulling(dataset.node)
        if state is not None:
            self._pulling.restore(state)
        self._tensors = executing_eagerly() if tensors is None else tensors
        self._plain = not self._tensors and not any(isinstance(leaf, DatasetSpec) for leaf in self._spec.leaves)

    async def __anext__(self) -> Any:
        try:
            element = await self._pulling.pull()
        except EndOfSequence:
            raise StopAsyncIteration from None
        return self._spec.rebuild(element if self._plain else [self._shown(value) for value in element])

    def _shown(self, value: Any) -> Any:
        from actorflow.models.data.dataset import Dataset

        if isinstance(value, DatasetNode):
            return Dataset(value)
        return _tensor(value) if self._tensors else value

    def state(self) -> bytes:
        """The place of the iterator, with all that its stages hold. It may be asked for at any moment.

        Example:
            >>> numbers = af.data.Dataset.range(4)
            >>> first = numbers.iterate()
            >>> await anext(first)
            0
            >>> [x async for x in numbers.iterate(first.state())]
            [1, 2, 3]
        """
        return self._pulling.state()

    def restore(self, state: bytes) -> None:
        """Goes to where an iterator of the same dataset was that gave `state`, or to the beginning for empty bytes.

        Example:
            >>> numbers = af.data.Dataset.range(3).iterate()
            >>> state = numbers.state()
            >>> [x async for x in numbers]
            [0, 1, 2]
            >>> numbers.restore(state)
            >>> await anext(numbers)
            0

        Args:
            state: what `state()` gave.

        Raises:
            InvalidArgumentError: it is no state.
        """
        self._pulling.restore(state)

    def statistics(self) -> IteratorStatistics:
        """The work of each stage so far, and what it waits for.

        Example:
            >>> numbers = af.data.Dataset.range(3).iterate()
            >>> await anext(numbers)
            0
            >>> [(stage.kind, stage.elements) for stage in numbers.statistics().stages]
            [('range', 1)]
        """
        return self._pulling.statistics()

    def __repr__(self) -> str:
        return f"<iterator of {self._pulling.node}>\n{self.statistics()}"

    @property
    def is_busy(self) -> bool:
        """Whether it has tasks, which end when it is closed."""
        return self._pulling.is_busy

    async def aclose(self) -> None:
        """Ends all its tasks, and waits for that. There are no more elements then.

        Example:
            >>> numbers = af.data.Dataset.range(3).prefetch(1).iterate()
            >>> await anext(numbers)
            0
            >>> await numbers.aclose()
            >>> [x async for x in numbers]
            []
        """
        await self._pulling.close()

    async def __aenter__(self) -> DatasetIterator:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        pulling = self.__dict__.get("_pulling")
        if pulling is not None:
            pulling.abort()


class _Blocking(Iterator[Any]):
    """An iterator for `for`, which drives an event loop while it waits."""

    _checkpoint_resumes = True

    def __init__(self, elements: DatasetIterator) -> None:
        self._elements = elements
        self._loop = shared_loop()

    def __next__(self) -> Any:
        try:
            return self._loop.driver.call(self._next)
        except _Ended:
            raise StopIteration from None

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """The next element. Raises OutOfRangeError at the end."""
        try:
            return self.__next__()
        except StopIteration:
            raise OutOfRangeError("End of sequence.") from None

    def state(self) -> bytes:
        """See `DatasetIterator.state`."""
        return self._elements.state()

    def restore(self, state: bytes) -> None:
        """See `DatasetIterator.restore`."""

        async def go() -> None:
            self._elements.restore(state)

        self._loop.driver.call(go)

    def statistics(self) -> IteratorStatistics:
        """See `DatasetIterator.statistics`."""
        return self._elements.statistics()

    def __del__(self) -> None:
        if self._elements.is_busy:
            try:
                self._loop.driver.call(self._elements.aclose)
            except Exception:  # the loop is closed, or the loop itself collects this
                self._elements._pulling.abort()

    async def _next(self) -> Any:
        try:
            return await self._elements.__anext__()
        except StopAsyncIteration:
            raise _Ended from None


class _Ended(Exception):
    """StopAsyncIteration can't leave a task."""


def _tensor(value: Any) -> EagerTensor:
    plain: Any = array(value) if isinstance(value, bytes) else value
    from actorflow.base.dtypes import as_dtype

    return EagerTensor(np.asarray(plain, object) if isinstance(value, bytes) else plain, as_dtype(array(plain).dtype))


def as_tensors(element: Any, spec: Spec) -> Any:
    """An element of arrays as tensors that have values."""
    return spec.rebuild([_tensor(value) for value in element])
