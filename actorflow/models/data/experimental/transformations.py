"""Names that TensorFlow 1.15 keeps in `tf.data.experimental`: functions for `Dataset.apply`, most of which are methods by now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from actorflow.base.dtypes import DTypeLike, as_dtype, int64
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import fill
from actorflow.graph.ops.array.shape import reshape, shape
from actorflow.graph.ops.io.parsing import parse_example
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import where
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.models.data.dataset import AUTOTUNE, Dataset

Transformation: TypeAlias = Callable[[Dataset], Dataset]

__all__ = [
    "AUTOTUNE", "Counter", "copy_to_device", "dense_to_sparse_batch", "enumerate_dataset", "get_single_element",
    "get_structure", "ignore_errors", "map_and_batch", "parallel_interleave", "parse_example_dataset",
    "prefetch_to_device", "shuffle_and_repeat", "take_while", "unbatch",
]  # fmt: skip


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: int | None = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """`map`, then `batch`."""
    calls = num_parallel_calls if num_parallel_batches is None else num_parallel_batches * batch_size
    return lambda dataset: dataset.map(map_func, calls).batch(batch_size, drop_remainder)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """`shuffle`, then `repeat`."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """`interleave` whose datasets are pulled ahead. The order is always the same, also with `sloppy`."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, num_parallel_calls=cycle_length)


def unbatch() -> Transformation:
    """`Dataset.unbatch`."""
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start: Any = 0) -> Transformation:
    """`Dataset.enumerate`."""
    return lambda dataset: dataset.enumerate(start)


def ignore_errors() -> Transformation:
    """`Dataset.ignore_errors`."""
    return lambda dataset: dataset.ignore_errors()


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """`Dataset.take_while`."""
    return lambda dataset: dataset.take_while(predicate)


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    """`Dataset.prefetch`. A step brings elements to the device that uses them."""
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """The same dataset: a step brings elements to the device that uses them."""
    return lambda dataset: dataset


def Counter(start: int = 0, step: int = 1, dtype: DTypeLike = int64) -> Dataset:
    """Numbers from `start` on, by `step`, without end."""
    rounds = Dataset.from_tensors(0).repeat().enumerate()
    return rounds.map(lambda number, _: cast(number * step + start, as_dtype(dtype)))


def get_single_element(dataset: Dataset) -> Any:
    """`Dataset.get_single_element`."""
    return dataset.get_single_element()


def dense_to_sparse_batch(batch_size: int, row_shape: Any) -> Transformation:
    """A transformation of tensors of several shapes into batches as sparse tensors.

    Args:
        batch_size: how many elements a batch has.
        row_shape: the shape of an element in the sparse tensor, at least that of each.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> rows = af.data.Dataset.range(1, 3).map(lambda n: af.fill([n], n))
        >>> batch = rows.apply(tf.data.experimental.dense_to_sparse_batch(2, [3])).make_one_shot_iterator().get_next()
        >>> af.sparse_tensor_to_dense(batch)
        [[1 0 0]
         [2 2 0]]
    """

    def sparse(element: Any) -> Any:
        places = where(fill(shape(element), True))
        return SparseTensor(places, reshape(element, [-1]), convert_to_tensor(row_shape, int64))

    return lambda dataset: dataset.map(sparse).batch(batch_size)


def parse_example_dataset(features: Mapping[str, Any], num_parallel_calls: int = 1) -> Transformation:
    """A transformation of batches of Example messages into batches of their features. Raises ValueError without features.

    Args:
        features: as `tf.io.parse_example` takes them.
        num_parallel_calls: how many batches are parsed at once.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> record = af.train.Example()
        >>> record.features.feature["age"].int64_list.value.append(7)
        >>> records = af.data.Dataset.from_tensors([record.SerializeToString()])
        >>> parse = tf.data.experimental.parse_example_dataset({"age": af.FixedLenFeature([], af.int64)})
        >>> records.apply(parse).make_one_shot_iterator().get_next()
        {'age': [7]}
    """
    if not features:
        raise ValueError("Missing: features was None or empty.")
    return lambda dataset: dataset.map(lambda records: parse_example(records, features), num_parallel_calls)


def get_structure(dataset_or_iterator: Any) -> Any:
    """The type and shape of each component of the elements of a dataset or an iterator.

    Raises TypeError for another object.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.data.experimental.get_structure(af.data.Dataset.range(3)).dtype
        actorflow.int64
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            f"`dataset_or_iterator` must be a Dataset or Iterator object, but got {type(dataset_or_iterator)}."
        ) from None
