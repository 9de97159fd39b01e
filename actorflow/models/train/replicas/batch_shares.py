"""`BatchShares`: a batch divided among logical workers, and the mean of what they compute, by a tree over their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import int32
from actorflow.errors import InvalidArgumentError
from actorflow.graph import scopes
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.join import concat, split, stack
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.flow.control import Assert, with_dependencies
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.math.arithmetic import add_n
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import greater_equal
from actorflow.graph.ops.sparse.join import sparse_split
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor

Weights = Sequence[Any] | None
"""The weight of each worker's result, relative to an even share; None if the shares are even."""


def share_sizes(rows: int, count: int) -> list[int]:
    """How many examples each worker gets; the shares differ by an example at most. Raises InvalidArgumentError if a worker would
    get nothing."""
    if rows < count:
        raise InvalidArgumentError(
            f"A batch of {rows} examples is too small for {count} logical workers, each of which needs an example.",
            hint="Make batches larger, or train with fewer replicas.",
        )
    return [rows // count + (number < rows % count) for number in range(count)]


@dataclass(frozen=True, slots=True)
class BatchShares:
    """The shares of a batch by worker, and their weights."""

    structure: Any
    parts: Sequence[Sequence[Any]]
    """For each leaf of the batch the shares of all workers."""
    weights: Weights

    def of(self, number: int) -> tuple[Any, ...]:
        """The share of a worker, a structure as the batch."""
        share: tuple[Any, ...] = nest.pack_sequence_as(
            self.structure, [parts[number] for parts in self.parts], expand_composites=False
        )
        return share

    @staticmethod
    def divide(graph: Graph, batch: Any, count: int) -> BatchShares:
        """Cuts all leaves of `batch` along their first dimension. Raises InvalidArgumentError for what can't be cut."""
        leaves = [_leaf(graph, leaf) for leaf in nest.flatten(batch, expand_composites=False)]
        dense = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        examples = next((s[0] for leaf in dense if (s := leaf.static_shape) and s[0] is not None), None)
        sizes: list[int] | Tensor | None = None
        weights: Weights = None
        if count == 1 or not leaves:
            return BatchShares(batch, [[leaf] * count for leaf in leaves], None)
        if examples is not None:
            sizes = share_sizes(examples, count)
            if examples % count:
                weights = [size * count / examples for size in sizes]
        else:
            source = next((leaf for leaf in dense), None)
            rows = shape(source)[0] if source is not None else cast(leaves[0].dense_shape[0], int32)
            sizes, weights = _sizes_in_run(graph, rows, count)
        return BatchShares(batch, [_cut(graph, leaf, sizes, count) for leaf in leaves], weights)


def _leaf(graph: Graph, leaf: Any) -> Any:
    if leaf is None or isinstance(leaf, SparseTensor):
        return leaf
    tensor = convert_to_tensor(leaf, graph=graph)
    if tensor.static_shape == ():
        raise InvalidArgumentError(
            f"{tensor.name} is a scalar, and a batch has a first dimension, along which it is divided.",
            hint="Let the function of the workers take such a value from outside.",
        )
    return tensor


def _sizes_in_run(graph: Graph, rows: Tensor, count: int) -> tuple[Tensor, Weights]:
    """The sizes of the shares if only the run knows them, and their weights: exactly 1 for even shares."""
    enough = Assert(
        greater_equal(rows, count), [f"A batch is too small for {count} logical workers; its examples:", rows]
    )
    rows = with_dependencies([enough], rows)
    sizes = stack([rows // count + cast(rows % count > number, int32) for number in range(count)])
    scaled = cast(sizes, "float64") * float(count) / cast(rows, "float64")
    return sizes, [scaled[number] for number in range(count)]


def _cut(graph: Graph, leaf: Any, sizes: Any, count: int) -> Sequence[Any]:
    """The shares of a leaf, cut where the leaf is, so that each task gets its own."""
    if leaf is None:
        return [None] * count
    if isinstance(leaf, SparseTensor):
        return sparse_split(sp_input=leaf, num_split=count, axis=0)
    with graph.colocate_with(leaf.op):
        return (
            split(leaf, sizes, num=count) if not isinstance(sizes, list) or len(set(sizes)) > 1 else split(leaf, count)
        )


# ---- sums


_BRANCHES = 4
"""The tree has this number of branches at each node: few nodes, and still most of the sum is made within tasks."""


def tree_sum(graph: Graph, values: Sequence[Any], device: Callable[[int], Any]) -> Any:
    """The sum of the workers' tensors or slices, by a fixed tree over their numbers: of four neighbours each, then of four such
    sums, and so on. An inner node is computed where the first of its workers is; the last sum is made where scopes want it."""
    level = [(number, value) for number, value in enumerate(values)]
    while len(level) > _BRANCHES:
        parts = [level[begin : begin + _BRANCHES] for begin in range(0, len(level), _BRANCHES)]
        level = []
        for part in parts:
            first = part[0][0]
            with _on(graph, device(first)):
                level.append((first, _sum([value for _, value in part])))
    return _sum([value for _, value in level])


@contextmanager
def _on(graph: Graph, device: str) -> Iterator[None]:
    """Nodes made inside the block are on a device, whatever the scopes around want."""
    with scopes.changed(graph, colocate=()), graph.device(None), graph.device(device):
        yield


def _sum(values: Sequence[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    first = values[0]
    if isinstance(first, IndexedSlices):  # in the order of the numbers; the update adds them in that order
        parts = [value.values for value in values], [value.indices for value in values]
        return IndexedSlices(concat(parts[0], 0), concat(parts[1], 0), first.dense_shape)
    return add_n(list(values))


def tree_mean(graph: Graph, values: Sequence[Any], weights: Weights, device: Callable[[int], Any]) -> Any:
    """The mean of the workers' tensors or slices, each by its weight."""
    if any(isinstance(value, IndexedSlices) for value in values):
        if not all(isinstance(value, IndexedSlices) for value in values):
            raise InvalidArgumentError(
                "Gradients of logical workers are all dense, or all slices of a variable, but these are mixed.",
                hint="Let the function of the workers read the variable in the same way each time.",
            )
    scaled = []
    for number, value in enumerate(values):
        if weights is None:
            scaled.append(value)
            continue
        with _on(graph, device(number)):
            scaled.append(_times(value, weights[number]))
    total = tree_sum(graph, scaled, device)
    return total if len(values) == 1 else _times(total, 1.0 / len(values))


def _times(value: Any, factor: Any) -> Any:
    if isinstance(value, IndexedSlices):
        return IndexedSlices(_times(value.values, factor), value.indices, value.dense_shape)
    return value * (cast(factor, value.dtype.base_dtype) if isinstance(factor, Tensor) else factor)
