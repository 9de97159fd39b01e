"""The parts of neural networks' layers, as compositions of other ops: moments, dropout."""

from __future__ import annotations

from typing import Any

from actorflow.base.shapes import as_shape
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.math.arithmetic import multiply
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import negative, sigmoid
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.nn.activation import bias_add, relu
from actorflow.graph.ops.random.distributions import random_uniform
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.nn")
def xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """matmul(x, weights) + biases (`tf.nn.xw_plus_b`).

    Example:
        >>> af.nn.xw_plus_b([[1.0, -2.0]], [[1.0], [1.0]], [0.5])
        [[-0.5]]

    Args:
        x: [batch, in], of a type that `matmul` takes.
        weights: [in, out], of the same type.
        biases: [out], of the same type.

    Returns:
        A tensor of shape [batch, out].
    """
    with composite(name, "xw_plus_b", x, weights, biases) as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


@public("af.nn")
def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """relu(matmul(x, weights) + biases) (`tf.nn.relu_layer`).

    Example:
        >>> af.nn.relu_layer([[1.0, -2.0]], [[1.0], [1.0]], [0.5])
        [[0.]]

    Args:
        x: [batch, in], of a type that `matmul` takes.
        weights: [in, out], of the same type.
        biases: [out], of the same type.

    Returns:
        A tensor of shape [batch, out].
    """
    with composite(name, "relu_layer", x, weights, biases) as scope:
        return relu(bias_add(matmul(x, weights), biases), name=scope)


@public("af.nn")
def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """The positive part of `features`, and after it along `axis` the negative part, both positive (`tf.nn.crelu`).

    Example:
        >>> af.nn.crelu([[-1.0, 2.0]])
        [[0. 2. 1. 0.]]
    """
    with composite(name, "CRelu", features) as scope:
        tensor = convert_to_tensor(features)
        return relu(concat([tensor, negative(tensor)], axis), name=scope)


@public("af.nn")
def swish(features: TensorLike, name: str | None = None) -> Tensor:
    """features · sigmoid(features), elementwise (`tf.nn.swish`).

    Example:
        >>> af.nn.swish([-100.0, 0.0, 1.0, 100.0])
        [  0.       0.       0.7311 100.    ]
    """
    with composite(name, "swish", features) as scope:
        tensor = convert_to_tensor(features)
        return multiply(tensor, sigmoid(tensor), name=scope)


@public("af.nn")
def dropout(
    x: TensorLike,
    keep_prob: TensorLike | None = None,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: TensorLike | None = None,
) -> Tensor:
    """`x` with each element set to 0 with probability `rate`, the others divided by 1 - rate (`tf.nn.dropout`).

    Example:
        >>> dropped = af.nn.dropout(af.ones([1000]), rate=0.25)
        >>> af.unique(af.sort(dropped)).y
        [0.     1.3333]

    Args:
        x: a floating tensor.
        keep_prob: 1 - rate, the older way to say it.
        noise_shape: the shape of the random choices, which is broadcast to x: sizes of 1 drop or keep together.
        seed: makes the choices the same in every session; see `get_seed`.
        rate: the probability that an element is dropped, a number or a scalar in [0, 1).

    Raises:
        ValueError: `rate` is outside [0, 1), neither or both were given, or `x` is not floating.
        TypeError: `rate` or `keep_prob` is no number.
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("dropout needs `rate` or `keep_prob`, and not both.")
    dropped: Any = rate
    if keep_prob is not None:
        dropped = 1 - (keep_prob if is_symbolic(keep_prob) else _number(keep_prob, "keep_prob"))  # type: ignore[operator]
    with composite(name, "dropout", x) as scope:
        tensor = convert_to_tensor(x)
        if not tensor.dtype.is_floating:
            raise ValueError(
                f"dropout scales its input, so that has to be floating, but {tensor.name} is {tensor.dtype}."
            )
        if not is_symbolic(dropped):
            if not 0 <= _number(dropped, "rate") < 1:
                raise ValueError(
                    f"`rate` must be a scalar tensor or a float in the range [0, 1), but {dropped!r:.60} was given."
                )
            if dropped == 0:
                return identity(tensor, name=scope)
        chance = convert_to_tensor(dropped, tensor.dtype)
        noise = random_uniform(_noise_shape(tensor, noise_shape), seed=seed, dtype=tensor.dtype)
        kept = multiply(tensor / (1 - chance), cast(noise >= chance, tensor.dtype), name=scope)
        # Neither a rate nor sizes of the noise that a run decides change the shape.
        kept.set_shape(tensor.static_shape)
        return kept


def _number(value: Any, argument: str) -> float:
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"dropout: `{argument}` is a number or a scalar tensor, not {value!r:.60}.")


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    if noise_shape is None:
        return shape(x)
    if is_symbolic(noise_shape):
        return noise_shape
    sizes = as_shape(noise_shape)
    if sizes is None:
        return shape(x)
    static = x.static_shape
    if None in sizes and static is not None and len(static) == len(sizes):
        sizes = tuple(s if n is None else n for n, s in zip(sizes, static))
    return [shape(x)[i] if n is None else n for i, n in enumerate(sizes)]
