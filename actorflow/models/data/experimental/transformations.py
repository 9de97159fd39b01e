"""Names that TensorFlow 1.15 keeps in `tf.data.experimental`: functions for `Dataset.apply`, most of which are methods by now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from actorflow.base.dtypes import DTypeLike, as_dtype, int64
from actorflow.graph.ops.math.cast import cast
from actorflow.models.data.dataset import AUTOTUNE, Dataset

Transformation: TypeAlias = Callable[[Dataset], Dataset]

__all__ = [
    "AUTOTUNE", "Counter", "copy_to_device", "enumerate_dataset", "get_single_element", "ignore_errors", "map_and_batch",
    "parallel_interleave", "prefetch_to_device", "shuffle_and_repeat", "take_while", "unbatch",
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
