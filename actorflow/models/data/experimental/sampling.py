"""Datasets that are drawn from others, and how many elements there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.dtypes import float32, int64
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.one_hot import one_hot
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import log
from actorflow.graph.ops.math.reduction import reduce_max, reduce_sum
from actorflow.graph.ops.random.distributions import multinomial, random_uniform
from actorflow.graph.tensor import Tensor
from actorflow.models.data.dataset import Dataset
from actorflow.models.data.experimental.grouping import element_of, scan
from actorflow.models.data.node import DatasetNode
from actorflow.models.data.spec import most_specific

Transformation: TypeAlias = Callable[[Dataset], Dataset]

__all__ = [
    "INFINITE_CARDINALITY", "RandomDataset", "UNKNOWN_CARDINALITY", "assert_cardinality", "cardinality",
    "choose_from_datasets", "rejection_resample", "sample_from_datasets",
]  # fmt: skip

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """The next element of the dataset whose number `choice_dataset` gives."""
    if choice_dataset.node.spec.structure != TensorSpec((), int64):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    if not datasets:
        raise ValueError("There are no datasets to choose from.")
    nodes = [dataset.node for dataset in datasets]
    spec = reduce(lambda joined, node: most_specific(joined, node.spec, "the first"), nodes[1:], nodes[0].spec)
    return Dataset(DatasetNode("choose", spec, (choice_dataset.node, *nodes), options={"stops": stop_on_empty_dataset}))


def sample_from_datasets(
    datasets: Sequence[Dataset], weights: Any = None, seed: int | None = None, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Elements of datasets drawn at random, with these probabilities."""
    count = len(datasets)
    if isinstance(weights, Dataset):
        rows = weights
    else:
        if weights is None:
            weights = np.full(count, 1.0 / max(1, count), np.float32)
        elif not isinstance(weights, Tensor) and len(weights) != count:
            raise ValueError(f"`weights` must have the length of `datasets`, {count}, but it has {len(weights)}.")
        if not isinstance(weights, Tensor):  # a dataset that is never drawn has no end
            datasets = [dataset for dataset, weight in zip(datasets, weights) if weight > 0]
            weights = [weight for weight in weights if weight > 0]
        rows = Dataset.from_tensors(convert_to_tensor(weights, float32)).repeat()
    choices = rows.map(lambda row: multinomial(log(row)[None], 1, seed=seed)[0, 0])
    return choose_from_datasets(datasets, choices, stop_on_empty_dataset)


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: int | None = None
) -> Transformation:
    """Pairs of a class and an element, of which some are left out, so that the classes have the distribution `target_dist`."""
    target = np.asarray(target_dist, np.float32)

    def apply(dataset: Dataset) -> Dataset:
        def classified(*arguments: Any) -> Any:
            kind = convert_to_tensor(class_func(*arguments))
            if not kind.dtype.is_integer:
                raise TypeError(f"`class_func` must return an integer, but it gave {kind.dtype}.")
            return cast(kind, int64), element_of(dataset, arguments)

        def counted(counts: Any, pair: Any, element: Any) -> Any:
            counts = counts + one_hot(pair, len(target))
            return counts, (pair, _kept(target, counts / reduce_sum(counts)), element)

        pairs = dataset.map(classified)
        if initial_dist is None:
            rated = pairs.apply(scan(np.ones(len(target), np.float32), counted))
        else:
            initial = np.asarray(initial_dist, np.float32)
            rated = pairs.map(lambda kind, element: (kind, _kept(constant(target), constant(initial)), element))
        drawn = rated.filter(lambda kind, kept, _: random_uniform([], seed=seed) < gather(kept, kind))
        return drawn.map(lambda kind, _, element: (kind, element))

    return apply


def _kept(target: Any, initial: Any) -> Tensor:
    """The share of each class that is kept."""
    share: Tensor = target / (initial + np.float32(np.finfo(np.float32).tiny))
    return share / reduce_max(share)


def RandomDataset(seed: int | None = None) -> Dataset:
    """Numbers of 32 bits at random, without end."""
    numbers = Dataset.from_tensors(np.int64(0)).repeat()
    return numbers.map(lambda _: random_uniform([], 0, 2**32, int64, seed=seed))


def cardinality(dataset: Dataset) -> Tensor:
    """How many elements a dataset has: `INFINITE_CARDINALITY` without end, `UNKNOWN_CARDINALITY` where only a run tells."""
    return constant(_count(dataset.node), int64)


def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """The same dataset, which is an error if it has another number of elements."""

    def apply(dataset: Dataset) -> Dataset:
        return dataset._then("counted", options={"count": int(expected_cardinality)})

    return apply


_SAME = {"map", "parallel_map", "prefetch", "shuffle", "cache", "enumerate", "scan"}


def _count(node: DatasetNode) -> int:
    numbers = [None if isinstance(tensor, Tensor) else tensor for tensor in node.tensors]
    below = [_count(source) for source in node.inputs]
    if node.kind == "counted":
        return int(node.options["count"])
    if node.kind in ("tensors", "reduce"):
        return 1
    if node.kind == "zip":
        finite = [count for count in below if count != INFINITE_CARDINALITY]
        return INFINITE_CARDINALITY if not finite else min(finite)
    if node.kind in _SAME:
        return below[0]
    if node.kind in ("slices", "sparse_slices"):
        sparse = 0 in node.options.get("sparse", ())
        first = numbers[2] if sparse else numbers[0]
        if first is None:
            return UNKNOWN_CARDINALITY
        return int(first[0]) if sparse else len(first)
    if node.kind in ("batch", "padded_batch"):
        numbers = numbers[:2]
    if any(number is None for number in numbers) or UNKNOWN_CARDINALITY in below:
        return UNKNOWN_CARDINALITY
    if node.kind == "range":
        return len(range(*(int(number) for number in numbers)))  # type: ignore[arg-type]
    if node.kind == "concatenate":
        return INFINITE_CARDINALITY if INFINITE_CARDINALITY in below else sum(below)
    counted = _OF_ONE.get(node.kind)
    return UNKNOWN_CARDINALITY if counted is None else counted(below[0], *(int(number) for number in numbers))  # type: ignore[arg-type]


def _repeated(count: int, times: int) -> int:
    if count == 0 or times == 0:
        return 0
    return INFINITE_CARDINALITY if count < 0 or times < 0 else count * times


def _batches(count: int, size: int, drops: int) -> int:
    if count < 0:
        return count
    return count // size if drops else -(-count // size)


def _taken(count: int, most: int) -> int:
    if most < 0:
        return count
    return most if count < 0 else min(count, most)


def _skipped(count: int, first: int) -> int:
    if first < 0:
        return 0
    return count if count < 0 else max(0, count - first)


def _shard(count: int, shards: int, index: int) -> int:
    return count if count < 0 else len(range(index, count, shards))


_OF_ONE: dict[str, Callable[..., int]] = {
    "repeat": _repeated,
    "batch": _batches,
    "padded_batch": _batches,
    "take": _taken,
    "skip": _skipped,
    "shard": _shard,
}
