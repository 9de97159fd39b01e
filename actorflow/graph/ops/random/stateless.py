"""Random tensors that are functions of a seed: the same numbers in each run, session and process (`tf.random.stateless_*`).

`seed` is a tensor of two integers. The numbers are those that `actorflow.kernels.random.philox` defines, not TensorFlow's.
"""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import FLOATING, INDEX, REAL, DTypeLike, as_dtype, float32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, show
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.math.arithmetic import add
from actorflow.graph.ops.random.distributions import samples_shape, uniform_integers_shape
from actorflow.graph.ops.shape_rules import from_value
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

_SEEDED = {"shape": INDEX, "seed": INDEX}


def _check_seed(c: Inference, index: int) -> None:
    if not compatible(c.shapes[index], (2,)):
        raise ValueError(f"A seed is a vector of two integers, but its shape is {show(c.shapes[index])}.")


def _drawn(c: Inference) -> Shape:
    _check_seed(c, 1)
    return from_value(0)(c)


def _integers(c: Inference) -> Shape:
    _check_seed(c, 1)
    return uniform_integers_shape(c, 2, 3)


def _samples(c: Inference) -> Shape:
    _check_seed(c, 2)
    return samples_shape(c)


@op("StatelessRandomUniform", shape=_drawn, types=_SEEDED, result="dtype", gradient=None, work=20)
def stateless_random_uniform_op(
    shape: TensorLike, seed: TensorLike, *, dtype: DTypeLike, name: str | None = None
) -> Tensor:
    """Floats drawn uniformly from [0, 1). See `stateless_random_uniform`."""


@op("StatelessRandomUniformInt", shape=_integers, dtypes=INDEX, types=_SEEDED, result=T, gradient=None, work=20)
def stateless_random_uniform_int_op(
    shape: TensorLike, seed: TensorLike, minval: TensorLike, maxval: TensorLike, *, name: str | None = None
) -> Tensor:
    """Integers drawn uniformly from [minval, maxval). See `stateless_random_uniform`."""


@op("StatelessRandomNormal", shape=_drawn, types=_SEEDED, result="dtype", gradient=None, work=50)
def stateless_random_normal_op(
    shape: TensorLike, seed: TensorLike, *, dtype: DTypeLike, name: str | None = None
) -> Tensor:
    """Floats from the normal distribution of mean 0 and standard deviation 1. See `stateless_random_normal`."""


@op("StatelessTruncatedNormal", shape=_drawn, types=_SEEDED, result="dtype", gradient=None, work=80)
def stateless_truncated_normal_op(
    shape: TensorLike, seed: TensorLike, *, dtype: DTypeLike, name: str | None = None
) -> Tensor:
    """Floats from the standard normal distribution within (-2, 2). See `stateless_truncated_normal`."""


@op(
    "StatelessMultinomial",
    shape=_samples,
    dtypes=REAL,
    types={"num_samples": dt.int32, "seed": INDEX},
    result="output_dtype",
    gradient=None,
    work=50,
)
def stateless_multinomial_op(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    *,
    output_dtype: DTypeLike = dt.int64,
    name: str | None = None,
) -> Tensor:
    """Numbers of classes drawn with probabilities softmax(logits). See `stateless_multinomial`."""


@public("af", "tf.random:stateless_uniform")
def stateless_random_uniform(
    shape: TensorLike,
    seed: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Values in [minval, maxval) that `seed` decides (`tf.random.stateless_uniform`).

    Example:
        >>> af.stateless_random_uniform([3], seed=[1, 2])
        [0.6037 0.5753 0.2694]
        >>> af.stateless_random_uniform([3], seed=[1, 2])
        [0.6037 0.5753 0.2694]

    Args:
        shape: of the result; a list or a vector of integers.
        seed: two integers.
        minval: the least value, a number or a tensor that broadcasts to `shape`; 0 by default.
        maxval: the bound above, likewise; 1 by default. It has to be given for integers.
        dtype: float16, bfloat16, float32, float64, int32 or int64.

    Raises:
        ValueError: another type, integers without `maxval`, or a seed of another shape.
    """
    kind = as_dtype(dtype)
    if kind not in FLOATING and kind not in INDEX:
        raise ValueError(f"stateless_random_uniform draws floats, int32 or int64, not {kind}.")
    if maxval is None:
        if kind.is_integer:
            raise ValueError("stateless_random_uniform of integers needs `maxval`.")
        maxval = 1
    with composite(name, "stateless_random_uniform", shape, seed, minval, maxval) as scope:
        graph = graph_of([shape, seed, minval, maxval])
        low, high = (convert_to_tensor(v, kind, graph=graph) for v in (minval, maxval))
        if kind.is_integer:
            return stateless_random_uniform_int_op(shape, seed, low, high, name=scope)
        return add(stateless_random_uniform_op(shape, seed, dtype=kind) * (high - low), low, name=scope)


@public("af", "tf.random:stateless_normal")
def stateless_random_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Values of a normal distribution that `seed` decides (`tf.random.stateless_normal`).

    Example:
        >>> af.stateless_random_normal([3], seed=[1, 2])
        [-0.8943 -0.4578 -1.4264]

    Args:
        shape: of the result; a list or a vector of integers.
        seed: two integers.
        mean, stddev: of the distribution, numbers or tensors that broadcast to `shape`; 0 and 1 by default.
        dtype: float16, bfloat16, float32 or float64.
    """
    return _scaled(
        stateless_random_normal_op, name or "stateless_random_normal", shape, seed, mean, stddev, as_dtype(dtype)
    )


@public("af", "tf.random")
def stateless_truncated_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Values of a normal distribution within two `stddev` of `mean`, that `seed` decides
    (`tf.random.stateless_truncated_normal`).

    Example:
        >>> af.stateless_truncated_normal([3], seed=[1, 2])
        [ 0.2508  0.1811 -0.5832]

    Args:
        shape: of the result; a list or a vector of integers.
        seed: two integers.
        mean, stddev: of the distribution, numbers or tensors that broadcast to `shape`; 0 and 1 by default.
        dtype: float16, bfloat16, float32 or float64.
    """
    return _scaled(
        stateless_truncated_normal_op, name or "stateless_truncated_normal", shape, seed, mean, stddev, as_dtype(dtype)
    )


def _scaled(draw: Any, name: str, shape: Any, seed: Any, mean: Any, stddev: Any, kind: dt.DType) -> Tensor:
    with composite(name, name, shape, seed, mean, stddev) as scope:
        graph = graph_of([shape, seed, mean, stddev])
        centre, width = (convert_to_tensor(v, kind, graph=graph) for v in (mean, stddev))
        return add(draw(shape, seed, dtype=kind) * width, centre, name=scope)


@public("af", "tf.random")
def stateless_multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    output_dtype: DTypeLike = dt.int64,
    name: str | None = None,
) -> Tensor:
    """Draws `num_samples` class numbers for each row of `logits`, as `seed` decides
    (`tf.random.stateless_multinomial`).

    Example:
        >>> af.stateless_multinomial(af.log([[0.5, 0.5, 0.0]]), 8, seed=[1, 2])
        [[1 0 1 1 0 0 0 0]]

    Args:
        logits: [batch, classes], unnormalized log-probabilities.
        num_samples: how many to draw for each row, an int or a scalar.
        seed: two integers.
        output_dtype: int64 (the default) or int32.

    Returns:
        [batch, num_samples].
    """
    return stateless_multinomial_op(logits, num_samples, seed, output_dtype=as_dtype(output_dtype), name=name)
