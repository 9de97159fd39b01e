"""`tf.contrib.layers.utils` (`slim.utils`): names of outputs, sizes of shapes, and conditions that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.layers.outputs import append_tensor_alias as append_tensor_alias
from actorflow.compat.contrib.layers.outputs import collect_named_outputs as collect_named_outputs
from actorflow.compat.contrib.layers.outputs import convert_collection_to_dict as convert_collection_to_dict
from actorflow.compat.contrib.layers.outputs import get_tensor_aliases as get_tensor_aliases
from actorflow.compat.door import standins


def gather_tensors_aliases(tensors: Sequence[Any]) -> list[str]:
    """The further names of several tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """A value that is known while the graph is built; None for others.

    Args:
        value_or_tensor_or_var: a value, a tensor or a variable.
        dtype: the type that a tensor has to have.

    Raises:
        ValueError: None, or a tensor of another type.
    """
    value = value_or_tensor_or_var
    if value is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    if not isinstance(value, (tf.Tensor, tf.Variable)):
        return value
    if dtype and value.dtype.base_dtype != tf.as_dtype(dtype):
        raise ValueError(f"It has the wrong type {value.dtype} instead of {dtype}")
    return None if isinstance(value, tf.Variable) else standins.constant_value(value)


def static_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """The result of `fn1` if `pred` is true, and else of `fn2`. Raises TypeError if they can't be called.

    Args:
        pred: a value of Python.
        fn1, fn2: functions without arguments.
    """
    for name, function in (("fn1", fn1), ("fn2", fn2)):
        if not callable(function):
            raise TypeError(f"{name} must be callable.")
    return fn1() if pred else fn2()


def smart_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None) -> Any:
    """`static_cond` if the condition is known, and else `tf.cond`.

    Args:
        pred: a scalar.
        fn1, fn2: functions without arguments.
        name: a scope.
    """
    value = constant_value(pred)
    return tf.cond(pred, fn1, fn2, name=name) if value is None else static_cond(value, fn1, fn2)


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections of a variable: of a dictionary those of its name.

    Args:
        variables_collections: collections, or a dictionary of them.
        name: such as `weights`.
    """
    return variables_collections.get(name) if isinstance(variables_collections, Mapping) else variables_collections


def _dimension(shape: Any, place: int, min_rank: int) -> int:
    sizes = tf.TensorShape(shape).as_list() if shape.ndims is not None else None
    if sizes is None:
        raise ValueError("dims of shape must be known but is None")
    if len(sizes) < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {len(sizes)}")
    size = sizes[place]
    if size is None:
        raise ValueError(f"dimension {place} of shape must be known but is None: {shape}")
    return size


def first_dimension(shape: Any, min_rank: int = 1) -> int:
    """The first size of a shape. Raises ValueError if it is not known, or the rank is below `min_rank`."""
    return _dimension(shape, 0, min_rank)


def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """The last size of a shape. Raises ValueError if it is not known, or the rank is below `min_rank`."""
    return _dimension(shape, -1, min_rank)


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int:
    """The number of channels of a shape. Raises ValueError if it is not known, or the rank is below `min_rank`.

    Args:
        shape: a shape.
        data_format: `channels_first` or `channels_last`.
        min_rank: the least rank.
    """
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """`value` for each of `n` dimensions.

    Args:
        n: how many.
        value: a positive integer, or `n` of them, also as a shape.

    Raises:
        ValueError: others.
    """
    listed = list(value) if isinstance(value, Iterable) else [value] * n
    if n < 1 or len(listed) != n:
        raise ValueError(f"The value must be {n} positive integers, or an integer, but it is {value!r:.60}.")
    sizes = tuple(int(each) for each in listed)
    if min(sizes) < 1:
        raise ValueError(f"The value must have positive integers, but it is {value!r:.60}.")
    return sizes


def two_element_tuple(int_or_tuple: Any) -> tuple[int, ...]:
    """A pair: of a single integer it twice. Raises ValueError for what is no integer and no pair."""
    return n_positive_integers(2, int_or_tuple)
