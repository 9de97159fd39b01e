"""Names of graphs and conversions that TensorFlow 1.15 has beside those of actorflow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import actorflow as af
from actorflow.public import public


@public("tf")
@contextlib.contextmanager
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """`tf.name_scope` with its arguments in a former order (`tf.op_scope`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.op_scope([], None, "part") as scope:
        ...     print(scope)
        part/
    """
    with af.name_scope(name, default_name, values) as scope:
        yield scope


@public("tf")
def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A tensor of `value`, or `value` itself if it is `IndexedSlices` or a `SparseTensor`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.convert_to_tensor_or_indexed_slices([1.0]).dtype
        actorflow.float32
    """
    if isinstance(value, af.IndexedSlices | af.SparseTensor):
        return value
    return af.convert_to_tensor(value, dtype, name=name)


@public("tf")
def recompute_grad(f: Any, *args: Any, **kwargs: Any) -> Any:
    """`f` itself: a session that has a limit of memory computes values again if they do not fit (`tf.recompute_grad`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.recompute_grad(tf.square)(3.0)
        9.0

    Args:
        f: the function.
        args, kwargs: arguments of TensorFlow, which change nothing.
    """
    return f
