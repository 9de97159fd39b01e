"""Data sets and iterators of replicas: a batch is divided among them, or each takes a batch of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from functools import wraps
from typing import Any

import actorflow as af
from actorflow.compat.distribute.values import PerReplica, together
from actorflow.graph.default_graph import get_default_graph
from actorflow.models.train.replicas.batch_shares import BatchShares


class InputReplicationMode(Enum):
    """How often an input function is called (`tf.distribute.InputReplicationMode`)."""

    PER_WORKER = "PER_WORKER"


class InputContext:
    """The facts for an input function (`tf.distribute.InputContext`).

    Args:
        num_input_pipelines: how many programs read.
        input_pipeline_id: the number of this program.
        num_replicas_in_sync: how many replicas there are.
    """

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self._pipelines, self._number, self._replicas = num_input_pipelines, input_pipeline_id, num_replicas_in_sync

    @property
    def num_input_pipelines(self) -> int:
        """How many programs read."""
        return self._pipelines

    @property
    def input_pipeline_id(self) -> int:
        """The number of this program."""
        return self._number

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._replicas

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """A replica's share of a batch. Raises ValueError if the replicas do not divide it."""
        if global_batch_size % self._replicas:
            raise ValueError(
                f"The global_batch_size {global_batch_size!r} is not divisible by num_replicas_in_sync {self._replicas!r}."
            )
        return global_batch_size // self._replicas


class DistributedIterator:
    """An iterator whose elements are those of all replicas.

    Args:
        iterator: the iterator of the data set.
        count: how many replicas there are.
        divides: whether replicas share an element; else each takes an element of its own.
    """

    def __init__(self, iterator: Any, count: int, divides: bool) -> None:
        self._iterator, self._count, self._divides = iterator, count, divides

    @property
    def initializer(self) -> Any:
        """The operation that begins it."""
        return self._iterator.initializer

    def initialize(self) -> Any:
        """The operation that begins it, in a list; nothing is to be done eagerly."""
        return [] if af.executing_eagerly() else [self._iterator.initializer]

    def get_next(self, name: str | None = None) -> Any:
        """The next element, with a `PerReplica` for each tensor if the replicas are several."""
        if self._divides:
            return divided(self._iterator.get_next(), self._count)
        elements: list[Any] = []
        for _ in range(self._count):  # in the order of the replicas
            before = [leaf.op for leaf in af.nest.flatten(elements[-1:])]
            with get_default_graph().control_dependencies(before):
                elements.append(self._iterator.get_next())
        return together(elements) if self._count > 1 else elements[0]

    @property
    def output_types(self) -> Any:
        """The types of an element."""
        return self._iterator.output_types

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element."""
        return self._iterator.output_shapes

    @property
    def output_classes(self) -> Any:
        """The kinds of tensors of an element."""
        return self._iterator.output_classes


def divided(batch: Any, count: int) -> Any:
    """A batch with a `PerReplica` of shares for each tensor. Raises InvalidArgumentError if it has too few examples."""
    if count == 1:
        return batch
    shares = BatchShares.divide(get_default_graph(), (batch,), count)
    return af.nest.pack_sequence_as(
        (batch,), [PerReplica(tuple(parts)) for parts in shares.parts], expand_composites=False
    )[0]


class DistributedDataset:
    """A data set of replicas, which programs iterate over (`Strategy.experimental_distribute_dataset`).

    Args:
        dataset: the data set.
        count: how many replicas there are.
        divides: whether replicas share an element; else each takes an element of its own.
    """

    def __init__(self, dataset: Any, count: int, divides: bool) -> None:
        self._dataset, self._count, self._divides = dataset, count, divides

    @property
    def element_spec(self) -> Any:
        """The form of the data set's elements, before they are divided."""
        return self._dataset.element_spec

    def make_one_shot_iterator(self) -> DistributedIterator:
        """An iterator that needs no initializer."""
        return DistributedIterator(self._dataset.make_one_shot_iterator(), self._count, self._divides)

    def make_initializable_iterator(self, shared_name: str | None = None) -> DistributedIterator:
        """An iterator whose initializer a session runs."""
        return DistributedIterator(self._dataset.make_initializable_iterator(shared_name), self._count, self._divides)

    def __iter__(self) -> Iterator[Any]:
        if self._count == 1:
            return iter(self._dataset)
        if not self._divides:
            raise NotImplementedError(
                "Replicas that take elements of their own are fed by make_initializable_iterator()."
            )
        return (
            af.nest.map_structure(lambda leaf: PerReplica(tuple(_shares(leaf, self._count))), element)
            for element in self._dataset
        )


def _shares(leaf: Any, count: int) -> list[Any]:
    from actorflow.models.train.replicas.batch_shares import share_sizes

    return list(af.split(leaf, share_sizes(int(leaf.shape[0]), count)))


def from_function(dataset_fn: Callable[[InputContext], Any], count: int) -> Any:
    """The data set that an input function gives."""
    return dataset_fn(InputContext(num_replicas_in_sync=count))


def batches_of_replicas(input_fn: Any, count: int) -> Any:
    """An input function whose batches have the rows of `count` batches.

    Args:
        input_fn: gives a data set.
        count: how many replicas there are.

    Raises:
        ValueError: when it is called: it gives no data set.
    """
    if count == 1 or not callable(input_fn):
        return input_fn

    @wraps(input_fn)
    def joined(*args: Any, **kwargs: Any) -> Any:
        dataset = input_fn(*args, **kwargs)
        if not isinstance(dataset, af.data.Dataset):
            raise ValueError(
                f"dataset_fn() must return a tf.data.Dataset when {count} replicas train, not {dataset!r:.80}."
            )
        return dataset.batch(count, drop_remainder=True).map(_rows_together)

    return joined


def _rows_together(*element: Any) -> Any:
    def rows(tensor: Any) -> Any:
        shape = tensor.static_shape
        size = None if shape is None or None in shape[:2] else shape[0] * shape[1]
        joined = af.reshape(tensor, af.concat([[-1], af.shape(tensor)[2:]], 0))
        if shape is not None:
            joined.set_shape([size, *shape[2:]])
        return joined

    structure = af.nest.map_structure(rows, element)
    return structure if len(structure) > 1 else structure[0]
