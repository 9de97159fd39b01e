"""`BatchShares`: a batch divided among logical workers, and the mean of what they compute, by a tree over their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import int32
from actorflow.errors import InvalidArgumentError
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.join import concat, split, stack
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.flow.control import Assert, with_dependencies
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.math.arithmetic import add
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import greater_equal
from actorflow.graph.ops.sparse.join import sparse_split
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor

Weights = Sequence[Any] | None
"""What the result of each worker counts relative to its even share; None where the shares are even."""


def share_sizes(rows: int, count: int) -> list[int]:
    """How many examples each worker gets: the first get one more where they can't be even. Raises InvalidArgumentError where
    some would get none."""
    if rows < count:
        raise InvalidArgumentError(
            f"A batch of {rows} examples is too small for {count} logical workers, each of which needs one.",
            hint="Make batches larger, or train with fewer replicas.",
        )
    return [rows // count + (number < rows % count) for number in range(count)]


@dataclass(frozen=True, slots=True)
class BatchShares:
    """The shares of a batch by worker, and what each counts."""

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
        known = next((s[0] for leaf in dense if (s := leaf.static_shape) and s[0] is not None), None)
        sizes: list[int] | Tensor | None = None
        weights: Weights = None
        if count == 1 or not leaves:
            return BatchShares(batch, [[leaf] * count for leaf in leaves], None)
        if known is not None:
            sizes = share_sizes(known, count)
            if known % count:
                weights = [size * count / known for size in sizes]
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
    """The sizes of the shares where only the run knows them, and what each counts: exactly 1 where they are even."""
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


def half(count: int) -> int:
    """How many of `count` neighbours are in the left part of the tree: the greatest power of two below."""
    return int(1 << (count - 1).bit_length() - 1)


def tree_sum(graph: Graph, values: Sequence[Any], device: Callable[[int], Any]) -> Any:
    """The sum of the workers' tensors or slices, by a fixed tree over their numbers. An inner node is computed where the first of
    its workers is; the last sum is made where scopes want it."""

    def part(first: int, last: int) -> Any:
        if last - first == 1:
            return values[first]
        middle = first + half(last - first)
        left, right = part(first, middle), part(middle, last)
        if last - first == len(values):
            return _plus(left, right)
        with graph.device(None), graph.device(device(first)):
            return _plus(left, right)

    return part(0, len(values))


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, IndexedSlices):  # in the order of the numbers; the update adds them in that order
        return IndexedSlices(
            concat([left.values, right.values], 0), concat([left.indices, right.indices], 0), left.dense_shape
        )
    return add(left, right)


def tree_mean(graph: Graph, values: Sequence[Any], weights: Weights, device: Callable[[int], Any]) -> Any:
    """The mean of the workers' tensors or slices, each by its weight."""
    if any(isinstance(value, IndexedSlices) for value in values):
        if not all(isinstance(value, IndexedSlices) for value in values):
            raise InvalidArgumentError("Gradients of logical workers are all dense, or all slices of a variable.")
    scaled = []
    for number, value in enumerate(values):
        if weights is None:
            scaled.append(value)
            continue
        with graph.device(None), graph.device(device(number)):
            scaled.append(_times(value, weights[number]))
    total = tree_sum(graph, scaled, device)
    return total if len(values) == 1 else _times(total, 1.0 / len(values))


def _times(value: Any, factor: Any) -> Any:
    if isinstance(value, IndexedSlices):
        return IndexedSlices(_times(value.values, factor), value.indices, value.dense_shape)
    return value * (cast(factor, value.dtype.base_dtype) if isinstance(factor, Tensor) else factor)
