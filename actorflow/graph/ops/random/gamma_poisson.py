"""Random numbers of the gamma and Poisson distributions (`tf.random_gamma`, `tf.random_poisson`)."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import FLOATING, INDEX, REAL, DTypeLike, as_dtype, float32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.flow.control import sum_to
from actorflow.graph.ops.math.arithmetic import maximum
from actorflow.graph.ops.random.distributions import seeds
from actorflow.graph.ops.shape_rules import elementwise, from_value
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _drawn_for_each(c: Inference) -> Shape:
    """The sizes that input 0 spells, then the shape of input 1."""
    first, parameters = from_value(0)(c), c.shapes[1]
    return None if first is None or parameters is None else (*first, *parameters)


@op(
    "RandomGamma",
    shape=_drawn_for_each,
    dtypes=FLOATING,
    types={"shape": INDEX},
    stateful=True,
    work=200,
)
def random_gamma_op(
    shape: TensorLike, alpha: TensorLike, *, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor:
    """Samples of Gamma(alpha, 1), of shape `shape` for each element of `alpha`. See `random_gamma`."""


@op("RandomGammaGrad", shape=elementwise, dtypes=FLOATING, gradient=None, broadcasts=True, work=1000)
def random_gamma_grad(alpha: TensorLike, sample: TensorLike, *, name: str | None = None) -> Tensor:
    """The derivative of a sample of Gamma(alpha, 1) with respect to alpha: how the sample moves while its rank in the
    distribution stays (Figurnov et al. 2018, Implicit Reparameterization Gradients)."""


@random_gamma_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    alpha = node.inputs[1]
    return [None, sum_to(dy * random_gamma_grad(alpha, node.outputs[0]), shape_of(alpha))]


@op(
    "RandomPoissonV2",
    shape=_drawn_for_each,
    dtypes=REAL,
    types={"shape": INDEX},
    result="dtype",
    gradient=None,
    stateful=True,
    work=100,
)
def random_poisson_op(
    shape: TensorLike,
    rate: TensorLike,
    *,
    dtype: DTypeLike,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Tensor:
    """Samples of the Poisson distribution, of shape `shape` for each element of `rate`. See `random_poisson`."""


@public("af", "tf.random:gamma")
def random_gamma(
    shape: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples of gamma distributions, others in each run (`tf.random_gamma`).

    Example:
        >>> drawn = af.random_gamma([10000], alpha=3.0, beta=2.0)
        >>> af.abs(af.reduce_mean(drawn) - 1.5) < 0.1
        True

    Args:
        shape: of the samples to draw for each pair of parameters.
        alpha: shape parameters, positive; other parameters give samples of NaN.
        beta: inverse scales, which broadcast with `alpha`; 1 by default.
        dtype: float16, bfloat16, float32 or float64.
        seed: makes the samples the same in every session; see `get_seed`.

    Returns:
        Of the shape of `shape`, then that of alpha + beta; always positive. It has gradients to `alpha` and `beta`, by
        implicit reparameterization.
    """
    with composite(name, "random_gamma", shape, alpha, beta) as scope:
        graph = graph_of([shape, alpha, beta])
        kind = as_dtype(dtype)
        shapes = convert_to_tensor(alpha, kind, graph=graph)
        if beta is None:
            return random_gamma_op(shape, shapes, **seeds(seed, graph), name=scope)
        scales = convert_to_tensor(beta, kind, graph=graph)
        together = shapes + 0 * scales
        drawn = random_gamma_op(shape, together, **seeds(seed, graph))
        tiny = {"float16": 2.0**-14}.get(kind.name, 2.0**-1022 if kind.size == 8 else 2.0**-126)
        return maximum(drawn / scales, convert_to_tensor(tiny, kind, graph=graph), name=scope)


@public("af", "tf.random:poisson")
def random_poisson(
    lam: TensorLike,
    shape: TensorLike,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples of Poisson distributions, others in each run (`tf.random_poisson`).

    Example:
        >>> drawn = af.random_poisson([2.0, 50.0], [10000])
        >>> af.abs(af.reduce_mean(drawn, axis=0) - [2.0, 50.0]) < [0.1, 0.5]
        [ True  True]

    Args:
        lam: rates, zero or more. With a negative or infinite one the samples are NaN (0 for integers).
        shape: of the samples to draw for each rate.
        dtype: a floating type, int32 or int64.
        seed: makes the samples the same in every session; see `get_seed`.

    Returns:
        Of the shape of `shape`, then that of `lam`. There is no gradient.
    """
    rates = convert_to_tensor(lam, graph=graph_of([lam, shape]))
    return random_poisson_op(shape, rates, dtype=as_dtype(dtype), **seeds(seed, rates.graph), name=name)
