"""Random tensors. Equal seeds give equal numbers, in every process and session, however a run is scheduled.

Each random node draws from its own counter-based generator, Philox (Salmon et al., Parallel Random Numbers: As Easy as
1, 2, 3), whose key is the node's two seeds and whose counter is the number of the node's run in this session. The module
`actorflow.kernels.philox` says which numbers come of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import ANY, FLOATING, INDEX, REAL, DTypeLike, as_dtype, float32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.errors import UnimplementedError
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.index import slice_
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.flow.control import Assert, with_dependencies
from actorflow.graph.ops.math.logic import greater_equal
from actorflow.graph.ops.math.reduction import reduce_all
from actorflow.graph.ops.shape_rules import from_value, require_rank, unchanged
from actorflow.graph.scopes import of
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

DEFAULT_GRAPH_SEED = 87654321


_LARGEST_SEED = 2**31 - 1


# ---- seeds


@public("af", "tf.random")
def set_random_seed(seed: int | None) -> None:
    """Sets the seed of the default graph (`tf.set_random_seed`): all its random nodes made from here on draw the same
    numbers in each program that builds the graph in the same order. None takes it back.

    Example:
        >>> af.set_random_seed(7)
        >>> x = af.random_uniform([])
        >>> async with af.Session() as session, af.Session() as other:
        ...     print(await session.run(x) == await other.run(x))
        True
    """
    get_default_graph().seed = seed


@public("tf", "tf.random")
def get_seed(op_seed: int | None, graph: Graph | None = None) -> tuple[int, int]:
    """The two seeds of a node, by TensorFlow 1's rule; (0, 0) stands for fresh randomness.

    With a seed of the graph alone, the second is the number of nodes made so far, so that nodes differ; with a seed of
    the op alone, the first is a fixed number.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.get_seed(5) == tf.get_seed(5), tf.get_seed(5) == tf.get_seed(6)
        (True, False)
    """
    graph = get_default_graph() if graph is None else graph
    if graph.seed is None and op_seed is None:
        return 0, 0
    if graph.seed is None:
        seeds = DEFAULT_GRAPH_SEED, int(op_seed or 0)
    else:
        seeds = int(graph.seed), len(graph) if op_seed is None else int(op_seed)
    first, second = (s % _LARGEST_SEED for s in seeds)
    return (first, second) if (first, second) != (0, 0) else (0, _LARGEST_SEED)


# ---- ops


@op("RandomUniform", shape=from_value(0), types={"shape": INDEX}, result="dtype", gradient=None, stateful=True, work=20)
def random_uniform_op(
    shape: TensorLike, *, dtype: DTypeLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor:
    """Floats drawn uniformly from [0, 1). See `random_uniform`."""


def uniform_integers_shape(c: Inference, first: int = 1, last: int = 2) -> Shape:
    """The shape that input 0 spells, where the inputs `first` and `last` bound the numbers."""
    require_rank(c, first, 0)
    require_rank(c, last, 0)
    low, high = c.value(first), c.value(last)
    if low is not None and high is not None and low >= high:
        raise ValueError(f"random_uniform needs minval < maxval, but they are {int(low)} and {int(high)}.")
    return from_value(0)(c)


@op(
    "RandomUniformInt",
    shape=uniform_integers_shape,
    dtypes=INDEX,
    types={"shape": INDEX},
    result=T,
    gradient=None,
    stateful=True,
    work=20,
)
def random_uniform_int_op(
    shape: TensorLike, minval: TensorLike, maxval: TensorLike, *, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor:
    """Integers drawn uniformly from [minval, maxval). See `random_uniform`."""


@op(
    "RandomStandardNormal",
    shape=from_value(0),
    types={"shape": INDEX},
    result="dtype",
    gradient=None,
    stateful=True,
    work=50,
)
def random_normal_op(
    shape: TensorLike, *, dtype: DTypeLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor:
    """Floats from the normal distribution of mean 0 and standard deviation 1. See `random_normal`."""


@op(
    "TruncatedNormal",
    shape=from_value(0),
    types={"shape": INDEX},
    result="dtype",
    gradient=None,
    stateful=True,
    work=80,
)
def truncated_normal_op(
    shape: TensorLike, *, dtype: DTypeLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor:
    """Floats from the standard normal distribution within (-2, 2). See `truncated_normal`."""


@op("RandomShuffle", shape=unchanged, dtypes=ANY, gradient=None, stateful=True, work=20)
def random_shuffle_op(value: TensorLike, *, seed: int = 0, seed2: int = 0, name: str | None = None) -> Tensor:
    """The rows of `value` in random order. See `random_shuffle`."""


def samples_shape(c: Inference) -> Shape:
    """[batch, input 1] for logits [batch, classes]."""
    logits, count = require_rank(c, 0, 2), c.value(1)
    require_rank(c, 1, 0)
    if count is not None and count < 0:
        raise ValueError(f"multinomial draws zero samples or more, not {int(count)}.")
    return (None if logits is None else logits[0], None if count is None else int(count))


@op(
    "Multinomial",
    shape=samples_shape,
    dtypes=REAL,
    types={"num_samples": dt.int32},
    result="output_dtype",
    gradient=None,
    stateful=True,
    work=50,
)
def multinomial_op(
    logits: TensorLike,
    num_samples: TensorLike,
    *,
    seed: int = 0,
    seed2: int = 0,
    output_dtype: DTypeLike = dt.int64,
    name: str | None = None,
) -> Tensor:
    """Numbers of classes drawn with probabilities softmax(logits). See `multinomial`."""


# ---- functions


@public("af", "tf.random:uniform")
def random_uniform(
    shape: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Values drawn uniformly from [minval, maxval), others in each run (`tf.random_uniform`).

    Example:
        >>> drawn = af.random_uniform([1000], 1, 7, af.int32)
        >>> af.unique(af.sort(drawn)).y
        [1 2 3 4 5 6]

    Args:
        shape: of the result; may be a tensor.
        minval: the least value, a number or a tensor that broadcasts to `shape`; 0 by default.
        maxval: the bound above, likewise; 1 by default. It has to be given for integers.
        dtype: float16, bfloat16, float32, float64, int32 or int64.
        seed: makes the numbers the same in every session; see `get_seed`.

    Raises:
        ValueError: integers without `maxval`, another type, or minval >= maxval for integers.
    """
    kind = as_dtype(dtype)
    if kind not in FLOATING and kind not in INDEX:
        raise ValueError(f"random_uniform draws floats, int32 or int64, not {kind}.")
    if maxval is None:
        if kind.is_integer:
            raise ValueError("random_uniform of integers needs `maxval`.")
        maxval = 1
    if (drawn := of_tower("random_uniform", seed, [shape, minval, maxval])) is not None:
        from actorflow.graph.ops.random.stateless import stateless_random_uniform

        return stateless_random_uniform(shape, drawn, minval, maxval, kind, name or "random_uniform")
    with composite(name, "random_uniform", shape, minval, maxval) as scope:
        graph = graph_of([shape, minval, maxval])
        low, high = (convert_to_tensor(v, kind, graph=graph) for v in (minval, maxval))
        pair = seeds(seed, graph)
        if kind.is_integer:
            return random_uniform_int_op(shape, low, high, **pair, name=scope)
        if (_is_plain(minval), _is_plain(maxval)) == (0, 1):
            return random_uniform_op(shape, dtype=kind, **pair, name=scope)
        from actorflow.graph.ops.math.arithmetic import add

        return add(random_uniform_op(shape, dtype=kind, **pair) * (high - low), low, name=scope)


def _is_plain(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else None


@public("af", "tf.random:normal")
def random_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Values from a normal distribution, others in each run (`tf.random_normal`).

    Example:
        >>> drawn = af.random_normal([10000], mean=5.0, stddev=2.0)
        >>> af.abs(af.reduce_mean(drawn) - 5.0) < 0.1
        True

    Args:
        shape: of the result; a list, or a vector of integers.
        mean, stddev: of the distribution, numbers or tensors that broadcast to `shape`; 0 and 1 by default.
        dtype: float16, bfloat16, float32 or float64.
        seed: makes the numbers the same in every session; see `get_seed`.
    """
    if (drawn := of_tower("random_normal", seed, [shape, mean, stddev])) is not None:
        from actorflow.graph.ops.random.stateless import stateless_random_normal

        return stateless_random_normal(shape, drawn, mean, stddev, dtype, name or "random_normal")
    return _scaled(random_normal_op, "random_normal", shape, mean, stddev, dtype, seed, name)


@public("af", "tf.random")
def truncated_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Values from a normal distribution, others in each run; those further than two `stddev` from `mean` are drawn
    again (`tf.truncated_normal`).

    Example:
        >>> af.reduce_max(af.abs(af.truncated_normal([10000]))) <= 2.0
        True

    Args:
        shape: of the result; a list, or a vector of integers.
        mean, stddev: of the distribution, numbers or tensors that broadcast to `shape`; 0 and 1 by default.
        dtype: float16, bfloat16, float32 or float64.
        seed: makes the numbers the same in every session; see `get_seed`.
    """
    if (drawn := of_tower("truncated_normal", seed, [shape, mean, stddev])) is not None:
        from actorflow.graph.ops.random.stateless import stateless_truncated_normal

        return stateless_truncated_normal(shape, drawn, mean, stddev, dtype, name or "truncated_normal")
    return _scaled(truncated_normal_op, "truncated_normal", shape, mean, stddev, dtype, seed, name)


def _scaled(
    draw: Any, default: str, shape: Any, mean: Any, stddev: Any, dtype: DTypeLike, seed: int | None, name: str | None
) -> Tensor:
    from actorflow.graph.ops.math.arithmetic import add

    kind = as_dtype(dtype)
    with composite(name, default, shape, mean, stddev) as scope:
        graph = graph_of([shape, mean, stddev])
        pair = seeds(seed, graph)
        if (_is_plain(mean), _is_plain(stddev)) == (0, 1):
            return draw(shape, dtype=kind, **pair, name=scope)  # type: ignore[no-any-return]
        centre, width = (convert_to_tensor(v, kind, graph=graph) for v in (mean, stddev))
        return add(draw(shape, dtype=kind, **pair) * width, centre, name=scope)


@public("af", "tf.random:shuffle")
def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` (along dimension 0) in random order, another in each run (`tf.random_shuffle`).

    Example:
        >>> af.sort(af.random_shuffle([1, 2, 3, 4]))
        [1 2 3 4]
    """
    if (drawn := of_tower("random_shuffle", seed, [value])) is not None:
        from actorflow.graph.ops.array.gather import gather
        from actorflow.graph.ops.array.sort import argsort
        from actorflow.graph.ops.random.stateless import stateless_random_uniform

        with composite(name, "random_shuffle", value) as scope:
            rows = convert_to_tensor(value)
            ranks = stateless_random_uniform(shape(rows)[:1], drawn, dtype=dt.float64)
            return gather(rows, argsort(ranks, stable=True), name=scope)
    return random_shuffle_op(value, **seeds(seed, graph_of([value])), name=name)


@public("af", "tf.random")
def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Draws `num_samples` class numbers for each row of `logits` (`tf.multinomial`).

    Example:
        >>> drawn = af.multinomial(af.log([[0.5, 0.5, 0.0]]), 1000)
        >>> af.unique(af.sort(drawn[0])).y
        [0 1]

    Args:
        logits: [batch, classes], unnormalized log-probabilities.
        num_samples: how many to draw for each row, an int or a scalar.
        seed: makes the numbers the same in every session; see `get_seed`.
        output_dtype: int64 (the default) or int32.

    Returns:
        [batch, num_samples].
    """
    if (drawn := of_tower("multinomial", seed, [logits, num_samples])) is not None:
        from actorflow.graph.ops.random.stateless import stateless_multinomial

        return stateless_multinomial(logits, num_samples, drawn, output_dtype or dt.int64, name or "multinomial")
    pair = seeds(seed, graph_of([logits, num_samples]))
    kind = dt.int64 if output_dtype is None else as_dtype(output_dtype)
    return multinomial_op(logits, num_samples, **pair, output_dtype=kind, name=name or "multinomial")


def seeds(seed: int | None, graph: Graph) -> dict[str, Any]:
    """The seeds as attributes of a random op. Raises UnimplementedError within a logical worker: the op counts its runs."""
    if of(graph).tower is not None:
        raise UnimplementedError(
            "This random op counts its runs, and a logical worker keeps nothing between two steps.",
            hint="Draw with random_uniform, random_normal, truncated_normal, random_shuffle or multinomial there, or draw "
            "before the logical workers and hand them their shares.",
        )
    first, second = get_seed(seed, graph)
    return {"seed": first, "seed2": second}


def of_tower(what: str, seed: int | None, values: Sequence[Any]) -> Tensor | None:
    """Within a logical worker the two integers that decide a random node's numbers; None elsewhere."""
    tower = of(graph_of(values)).tower
    return None if tower is None else tower.seed(seed, what)


# ---- Random parts of a tensor.


@public("af", "af.image")
def random_crop(value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """A part of `value` at a place drawn uniformly in each run (`tf.random_crop`).

    Example:
        >>> crop = af.random_crop([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [2, 2])
        >>> crop[0, 1] - crop[0, 0], crop[1, 0] - crop[0, 0]
        (1, 3)

    Args:
        value: a tensor of any type.
        size: a vector of int32 or int64, the part's size in each dimension.
        seed: makes the places the same in every session; see `get_seed`.

    Raises:
        InvalidArgumentError: a size is larger than the tensor's, in the run.
    """
    with composite(name, "random_crop", value, size) as scope:
        source = convert_to_tensor(value)
        target = convert_to_tensor(size, preferred_dtype="int32", graph=source.graph)
        whole = shape(source, out_type=target.dtype)
        fits = Assert(reduce_all(greater_equal(whole, target)), ["Need value.shape >= size, got", whole, target])
        room = with_dependencies([fits], whole) - target + 1
        drawn = random_uniform(shape(whole), dtype=target.dtype, maxval=target.dtype.max, seed=seed)
        return slice_(source, drawn % room, target, name=scope)
