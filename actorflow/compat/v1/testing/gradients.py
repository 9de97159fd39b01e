"""`tf.test.compute_gradient`: the slopes that a graph computes beside those of small differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.compat.v1.sessions import Session, get_default_session
from actorflow.graph.autodiff.gradients import gradients
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.tensor import Tensor
from actorflow.public import public


@public("tf.test")
def compute_gradient(
    x: Tensor | Sequence[Tensor],
    x_shape: Sequence[Any],
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """The matrix of all slopes of `y` by `x`, computed by the graph's gradients and by differences, in the default session.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session():
        ...     x = tf.constant([1.0, 2.0])
        ...     computed, measured = tf.test.compute_gradient(x, [2], x * x, [2], x_init_value=np.array([1.0, 2.0]))
        ...     print(np.diag(computed))
        [2. 4.]

    Args:
        x: a tensor that can be fed, or a list of them. A complex number counts as two real numbers.
        x_shape: its shape, or theirs.
        y: a tensor of real or complex numbers.
        y_shape: its shape.
        x_init_value: where the slopes are looked at; between -1 and 1 at random unless given.
        delta: the step of the differences.
        init_targets: operations that are run first.
        extra_feed_dict: values for other tensors.

    Returns:
        Two arrays `[elements of x, elements of y]`, or a pair for each `x` of a list.

    Raises:
        ValueError: there is no default session, or `y` does not depend on `x`.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: with tf.Session(): ...")
    if init_targets is not None:
        session.run(init_targets)
    several = isinstance(x, (list, tuple))
    sources: list[Any] = list(x) if isinstance(x, (list, tuple)) else [x]
    shapes = [tuple(shape) for shape in (x_shape if several else [x_shape])]
    starts = x_init_value if several else None if x_init_value is None else [x_init_value]
    rng = np.random.default_rng()
    values = [
        np.array(rng.uniform(-1, 1, shape) if starts is None else starts[i], source.dtype.numpy_dtype, order="C")
        for i, (source, shape) in enumerate(zip(sources, shapes))
    ]
    with y.graph.as_default():
        slope = placeholder(y.dtype, tuple(y_shape))
        slopes_of = [None if each is None else convert_to_tensor(each) for each in gradients(y, sources, slope)]
    feeds = {**(extra_feed_dict or {}), **dict(zip(sources, values))}
    count = math.prod(y_shape) * (2 if y.dtype.is_complex else 1)
    pairs = []
    for source, value, slopes in zip(sources, values, slopes_of):
        if slopes is None:
            raise ValueError(f"{y.name} has no gradient for {source.name}.")
        pairs.append(
            (
                _of_graph(session, slopes, slope, value, y_shape, feeds),
                np.array(_of_steps(session, y, source, value, delta, feeds)).reshape(_numbers(value).size, count),
            )
        )
    return pairs if several else pairs[0]


@public("tf.test")
def compute_gradient_error(
    x: Tensor | Sequence[Tensor],
    x_shape: Sequence[Any],
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> float:
    """The largest difference between the slopes of `compute_gradient`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session():
        ...     x = tf.constant([1.0, 2.0])
        ...     print(tf.test.compute_gradient_error(x, [2], x * x, [2], delta=0.01) < 0.001)
        True

    Args:
        x, x_shape, y, y_shape, x_init_value: see `compute_gradient`.
        delta, init_targets, extra_feed_dict: see `compute_gradient`.
    """
    jacobian = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = [jacobian] if isinstance(jacobian, tuple) else jacobian
    return max((float(np.abs(analytic - other).max(initial=0)) for analytic, other in pairs), default=0.0)


def _of_graph(session: Session, slopes: Any, slope: Tensor, value: Any, shape: Sequence[int], feeds: Any) -> Any:
    columns = []
    basis = np.zeros(tuple(shape), slope.dtype.numpy_dtype)
    for place in range(_numbers(basis).size):
        _numbers(basis)[place] = 1
        columns.append(_numbers(np.array(session.run(slopes, {**feeds, slope: basis}), order="C")))
        _numbers(basis)[place] = 0
    return np.stack(columns, 1) if columns else np.zeros((_numbers(value).size, 0), _numbers(value).dtype)


def _of_steps(session: Session, y: Tensor, source: Tensor, value: Any, delta: float, feeds: Any) -> Any:
    rows = []
    for place in range(_numbers(value).size):
        ends = []
        for step in (delta, -delta):
            moved = value.copy()
            _numbers(moved)[place] += step
            ends.append(_numbers(np.array(session.run(y, {**feeds, source: moved}), order="C")).astype(np.float64))
        rows.append((ends[0] - ends[1]) / (2 * delta))
    return rows


def _numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numbers of an array in a row, which shares its memory: two for each complex number."""
    flat = array.reshape(-1)
    return flat.view(flat.real.dtype) if array.dtype.kind == "c" else flat
