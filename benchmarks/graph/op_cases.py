"""The forty ops that models use most, each at three sizes: about 1e2, 1e4 to 1e5, and 1e6 elements, in natural shapes.

Inputs are variables, so that neither side can fold them. One call runs an op many times, each time after the time before.
A backward pass is built by `gradients` on its forward pass, and runs with it, as in every model: the peer's optimizer
chooses other kernels for a gradient that stands alone. A transposition or a slice of ours is a view, which costs whoever
reads it; so these two are timed with a reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchmarks.graph.graphs import SEED
from benchmarks.harness.definitions import Build, Case, Work

SIZES = ("small", "medium", "large")
COPIES = (200, 40, 6)

# Of the library and the inputs: one output, or several.
Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Input:
    """A variable: its shape, and what makes its value of a generator of numpy and that shape."""

    shape: tuple[int, ...]
    make: Callable[[Any, tuple[int, ...]], Any]


@dataclass(frozen=True, slots=True)
class Op:
    """An op and the inputs of its three sizes."""

    function: Function
    inputs: tuple[tuple[Input, ...], ...]
    copies: tuple[int, int, int] = COPIES
    random: bool = False
    also: str = ""

    def build(self, size: int) -> Build:
        return lambda lib: _work(lib, self, size)

    def shown(self, size: int) -> str:
        return ", ".join("×".join(map(str, one.shape)) for one in self.inputs[size]) + self.also


def _work(lib: Any, op: Op, size: int) -> Work:
    import numpy as np

    rng = np.random.default_rng(SEED)
    graph = lib.Graph()
    with graph.as_default():
        inputs = [lib.identity(lib.Variable(one.make(rng, one.shape), trainable=False)) for one in op.inputs[size]]
        ends: list[Any] = []
        answer: Any = None
        for _ in range(op.copies[size]):
            with graph.control_dependencies(ends[-1:]):
                made = op.function(lib, *inputs)
            outputs = list(made) if isinstance(made, (list, tuple)) else [made]
            ends.append(outputs[-1].op)
            if answer is None:
                answer = [lib.shape(o) for o in outputs] if op.random else outputs
        init = lib.global_variables_initializer()
    return Work(graph, ends[-1], init=init, answer=answer, copies=ends)


def normal(*shape: int) -> Input:
    return Input(shape, lambda rng, shape: rng.normal(size=shape).astype("float32"))


def positive(*shape: int) -> Input:
    return Input(shape, lambda rng, shape: rng.uniform(0.5, 2, shape).astype("float32"))


def flags(*shape: int) -> Input:
    return Input(shape, lambda rng, shape: rng.uniform(size=shape) < 0.5)


def below(high: int, *shape: int) -> Input:
    return Input(shape, lambda rng, shape: rng.integers(0, high, shape).astype("int32"))


def ascending(high: int, count: int) -> Input:
    def make(rng: Any, shape: tuple[int, ...]) -> Any:
        ids = rng.integers(0, high, shape).astype("int32")
        ids.sort()
        return ids

    return Input((count,), make)


SQUARES = ((10, 10), (300, 300), (1000, 1000))
ROWS = ((10, 10), (128, 1000), (1000, 1000))
IMAGES = ((2, 6, 6, 2), (32, 14, 14, 16), (32, 28, 28, 32))
HEAVY = (100, 12, 2)
_READ = ", read by `negative`"


def _same(
    function: Function,
    *kinds: Callable[..., Input],
    shapes: tuple[tuple[int, ...], ...] = SQUARES,
    also: str = "",
) -> Op:
    """All inputs of one shape, of these kinds."""
    return Op(function, tuple(tuple(kind(*shape) for kind in kinds) for shape in shapes), also=also)


def _gradient(function: Function) -> Function:
    """The forward pass, and the gradients of the sum of its output with regard to its inputs."""

    def both(lib: Any, *inputs: Any) -> Any:
        return [g for g in lib.gradients(function(lib, *inputs), list(inputs)) if g is not None]

    return both


def _conv(lib: Any, x: Any, kernel: Any) -> Any:
    return lib.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")


def _depthwise(lib: Any, x: Any, kernel: Any) -> Any:
    return lib.nn.depthwise_conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")


def _max_pool(lib: Any, x: Any) -> Any:
    return lib.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


def _batch_norm(lib: Any, x: Any, scale: Any, offset: Any) -> Any:
    return lib.nn.fused_batch_norm(x, scale, offset, is_training=True)[0]


def _losses(lib: Any, logits: Any, labels: Any) -> Any:
    losses = lib.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return lib.gradients(losses, [logits])[0]


def _random_uniform(lib: Any, like: Any) -> Any:
    return lib.random_uniform(like.shape.as_list())


_CONVOLUTIONS = (
    (normal(1, 6, 6, 3), normal(3, 3, 3, 4)),
    (normal(32, 14, 14, 32), normal(5, 5, 32, 64)),
    (normal(8, 56, 56, 64), normal(3, 3, 64, 64)),
)

OPS: Mapping[str, Op] = {
    # Elementwise
    "add": _same(lambda lib, x, y: lib.add(x, y), normal, normal),
    "subtract": _same(lambda lib, x, y: lib.subtract(x, y), normal, normal),
    "multiply": _same(lambda lib, x, y: lib.multiply(x, y), normal, normal),
    "divide": _same(lambda lib, x, y: lib.truediv(x, y), normal, positive),
    "maximum": _same(lambda lib, x, y: lib.maximum(x, y), normal, normal),
    "add_n": _same(lambda lib, x, y, z: lib.add_n([x, y, z]), normal, normal, normal),
    "bias_add": Op(
        lambda lib, x, b: lib.nn.bias_add(x, b),
        tuple((normal(*shape), normal(shape[1])) for shape in SQUARES),
    ),
    "square": _same(lambda lib, x: lib.square(x), normal),
    "rsqrt": _same(lambda lib, x: lib.rsqrt(x), positive),
    "exp": _same(lambda lib, x: lib.exp(x), normal),
    "log": _same(lambda lib, x: lib.log(x), positive),
    "tanh": _same(lambda lib, x: lib.tanh(x), normal),
    "sigmoid": _same(lambda lib, x: lib.sigmoid(x), normal),
    "relu": _same(lambda lib, x: lib.nn.relu(x), normal),
    "cast": _same(lambda lib, x: lib.cast(x, lib.float32), lambda *shape: below(100, *shape)),
    "where": _same(lambda lib, c, x, y: lib.where(c, x, y), flags, normal, normal),
    "clip_by_value": _same(lambda lib, x: lib.clip_by_value(x, -1.0, 1.0), normal),
    # Matrices
    "matmul": Op(
        lambda lib, a, b: lib.matmul(a, b),
        (
            (normal(10, 10), normal(10, 10)),
            (normal(32, 784), normal(784, 128)),
            (normal(128, 3136), normal(3136, 512)),
        ),
        (200, 40, 4),
    ),
    "batch_matmul": Op(
        lambda lib, a, b: lib.matmul(a, b),
        (
            (normal(4, 5, 5), normal(4, 5, 5)),
            (normal(32, 50, 64), normal(32, 64, 50)),
            (normal(64, 128, 128), normal(64, 128, 128)),
        ),
        (200, 40, 4),
    ),
    # Networks
    "conv2d": Op(_conv, _CONVOLUTIONS, HEAVY),
    "conv2d_gradient": Op(_gradient(_conv), _CONVOLUTIONS, HEAVY),
    "depthwise_conv2d": Op(
        _depthwise,
        (
            (normal(1, 6, 6, 3), normal(3, 3, 3, 1)),
            (normal(8, 14, 14, 32), normal(3, 3, 32, 1)),
            (normal(8, 56, 56, 64), normal(3, 3, 64, 1)),
        ),
        HEAVY,
    ),
    "max_pool": Op(_max_pool, tuple((normal(*shape),) for shape in IMAGES), HEAVY),
    "max_pool_gradient": Op(_gradient(_max_pool), tuple((normal(*shape),) for shape in IMAGES), HEAVY),
    "batch_norm": Op(
        _batch_norm, tuple((normal(*shape), positive(shape[3]), normal(shape[3])) for shape in IMAGES), HEAVY
    ),
    "softmax": _same(lambda lib, x: lib.nn.softmax(x), normal, shapes=ROWS),
    "cross_entropy_gradient": Op(_losses, tuple((normal(*shape), below(shape[1], shape[0])) for shape in ROWS)),
    # Reductions
    "reduce_sum": _same(lambda lib, x: lib.reduce_sum(x), positive),
    "reduce_mean": _same(lambda lib, x: lib.reduce_mean(x, 0), positive),
    "reduce_max": _same(lambda lib, x: lib.reduce_max(x, -1), normal),
    "argmax": _same(lambda lib, x: lib.argmax(x, -1), normal, shapes=ROWS),
    "top_k": _same(lambda lib, x: lib.nn.top_k(x, 5), normal, shapes=ROWS),
    "cumsum": _same(lambda lib, x: lib.cumsum(x, 1), positive),
    "segment_sum": Op(
        lambda lib, data, ids: lib.segment_sum(data, ids),
        (
            (positive(10, 10), ascending(5, 10)),
            (positive(1000, 64), ascending(100, 1000)),
            (positive(16_000, 64), ascending(1000, 16_000)),
        ),
    ),
    # Arrays
    "gather": Op(
        lambda lib, table, ids: lib.gather(table, ids),
        (
            (normal(100, 4), below(100, 25)),
            (normal(10_000, 64), below(10_000, 1000)),
            (normal(50_000, 64), below(50_000, 16_000)),
        ),
    ),
    "concat": Op(
        lambda lib, x, y: lib.concat([x, y], 1),
        tuple((normal(n, n // 2), normal(n, n // 2)) for n, _ in SQUARES),
    ),
    "transpose": _same(lambda lib, x: lib.negative(lib.transpose(x, [1, 0])), normal, also=_READ),
    "strided_slice": _same(lambda lib, x: lib.negative(x[1:-1, ::2]), normal, also=_READ),
    "one_hot": Op(
        lambda lib, ids: lib.one_hot(ids, int(ids.shape[0])),
        tuple((below(n, n),) for n, _ in SQUARES),
    ),
    "random_uniform": Op(_random_uniform, tuple((normal(*shape),) for shape in SQUARES), random=True),
}


def cases() -> tuple[Case, ...]:
    """All of them, op by op."""
    return tuple(
        Case(f"{name}_{SIZES[size]}", f"`{name}`, {op.shown(size)}", op.build(size))
        for name, op in OPS.items()
        for size in range(len(SIZES))
    )
