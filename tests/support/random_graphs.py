"""Random graphs of public ops, and random requests to run parts of them. A seed decides everything.

In any order of the nodes the values are the same bits: accesses to one variable that don't commute are ordered by
control edges, and sums of floats are of small whole numbers. The order is left free, and a runtime has to get it right:
a snapshot may be used after the update that follows its read, and everything may run on any device, thread or turn.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

import actorflow as af
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike

Shape: TypeAlias = "tuple[int, ...]"
BATCH = -1
"""Stands in a shape for a size that only the request decides."""
BATCHES = (2, 3, 7)
SHAPES: Sequence[Shape] = ((), (), (3,), (2, 3), (8, 12), (BATCH,), (BATCH, 3), (BATCH, 12), (40, 24))
DTYPES = (af.float32, af.float32, af.float64, af.int32, af.int64)


@af.op("TestLater", shape=unchanged, gradient=None, asynchronous=True)
def later(x: TensorLike, *, turns: int, name: str | None = None) -> Tensor:
    """`x` itself, some turns of the event loop later."""


@af.kernel("TestLater")
async def _later(xp: Any, x: Any, *, turns: int) -> Any:
    for _ in range(turns):
        await asyncio.sleep(0)
    return x


@dataclass(frozen=True)
class Value:
    """A tensor and the shape that it has in a run."""

    tensor: Tensor
    shape: Shape

    @property
    def is_float(self) -> bool:
        return self.tensor.dtype in (af.float32, af.float64)


@dataclass(frozen=True)
class Request:
    """The fetches and feeds of one `run`, by name, so that it fits each graph of the same seed."""

    fetches: list[str]
    feeds: dict[str, Any]


@dataclass
class RandomGraph:
    """A graph, requests to run one after the other, and the names of its variables' reads."""

    seed: int
    graph: af.Graph
    requests: list[Request] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    initializer: str = ""

    def __str__(self) -> str:
        return f"seed {self.seed}\n{self.graph}"


@dataclass
class _Kept:
    """A variable, and the accesses that a further one has to wait for: the last updates (several, if they commute, which
    all wait for `before`), and the reads since."""

    variable: af.Variable
    shape: Shape
    before: list[Operation] = field(default_factory=list)
    writes: list[Operation] = field(default_factory=list)
    reads: list[Operation] = field(default_factory=list)
    commute: bool = False


def random_graph(seed: int, size: int = 30, devices: int = 1) -> RandomGraph:
    """A graph of about `size` nodes. With `devices` above 1 most nodes ask for one of them; nothing else changes."""
    made = RandomGraph(seed, af.Graph())
    with made.graph.as_default():
        builder = _Builder(seed, devices)
        for _ in range(size):
            builder.grow()
        made.initializer = af.global_variables_initializer().name
        made.variables = [kept.variable.value().name for kept in builder.kept]
        made.requests = [builder.request() for _ in range(3)]
    return made


class _Builder:
    def __init__(self, seed: int, devices: int) -> None:
        self.rng = random.Random(seed)
        self.places = random.Random(~seed)
        self.numbers = np.random.default_rng(seed)
        self.devices = devices
        self.values: list[Value] = []
        self.kept: list[_Kept] = []
        self.placeholders: dict[str, Value] = {}
        self.targets: list[Operation] = []
        for _ in range(3):
            self.add(self.placeholder())
            self.add(self.constant())
        for _ in range(self.rng.randint(0, 2)):
            self.variable()

    # Picking

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value | None:
        found = [value for value in self.values if fits(value)]
        # the younger half more often, so that graphs get deep
        return self.rng.choice(found[len(found) // 2 :] if self.rng.random() < 0.6 else found) if found else None

    def array(self, dtype: af.DType, shape: Shape, batch: int = 0) -> Any:
        sizes = [batch if size == BATCH else size for size in shape]
        whole = self.numbers.integers(-8, 9, sizes)
        if dtype.kind == "f" and self.rng.random() < 0.7:
            whole = whole + self.numbers.integers(0, 8, sizes) / 8
        return np.asarray(whole).astype(dtype.numpy_dtype)

    def device(self) -> Any:
        choice = self.places.randrange(self.devices + 1)
        return nullcontext() if self.devices == 1 or choice == self.devices else af.device(f"/device:CPU:{choice}")

    def add(self, value: Value) -> None:
        self.values.append(value)

    # Sources

    def placeholder(self) -> Value:
        shape, dtype = self.rng.choice(SHAPES), self.rng.choice(DTYPES)
        hidden: Any = [None if size == BATCH or self.rng.random() < 0.2 else size for size in shape]
        if self.rng.random() < 0.15:
            hidden = None
        value = Value(af.placeholder(dtype, hidden), shape)
        self.placeholders[value.tensor.name] = value
        return value

    def constant(self) -> Value:
        shape, dtype = self.rng.choice([s for s in SHAPES if BATCH not in s]), self.rng.choice(DTYPES)
        return Value(af.constant(self.array(dtype, shape)), shape)

    def variable(self) -> None:
        shape, dtype = self.rng.choice([s for s in SHAPES if BATCH not in s]), self.rng.choice(DTYPES)
        with self.device():
            made = af.Variable(self.array(dtype, shape))
        self.kept.append(_Kept(made, shape))

    # Growing

    def grow(self) -> None:
        steps: list[tuple[int, Callable[[], None]]] = [
            (8, self.elementwise),
            (3, self.unary),
            (2, self.reduction),
            (2, self.matmul),
            (2, self.reshaping),
            (2, self.indexing),
            (2, self.joining),
            (2, self.splitting),
            (2, self.casting),
            (1, self.choosing),
            (2, self.passing),
            (1, self.drawing),
            (1, self.duplicate),
            (1, lambda: self.add(self.constant())),
            (4, self.access),
            (1, self.target),
        ]
        choice = self.rng.choices([step for _, step in steps], [weight for weight, _ in steps])[0]
        before = [value.tensor.op for value in self.values] + self.targets
        before = [op for op in before if op.type != "Placeholder"]
        controls = self.rng.sample(before, min(len(before), 2)) if self.rng.random() < 0.15 else []
        with af.control_dependencies(controls):
            if choice in (self.access, self.target):
                choice()  # a variable has its own place
            else:
                with self.device():
                    choice()

    def elementwise(self) -> None:
        left = self.pick(lambda v: v.tensor.dtype is not af.bool)
        assert left is not None
        right = self.pick(lambda v: v.tensor.dtype is left.tensor.dtype and _broadcasts(left.shape, v.shape)) or left
        functions = [af.add, af.subtract, af.multiply, af.maximum, af.minimum, af.squared_difference]
        x, y = (left, right) if self.rng.random() < 0.5 else (right, left)
        made = self.rng.choice(functions)(x.tensor, y.tensor)
        self.add(Value(self.bounded(made), max(left.shape, right.shape, key=len)))

    def bounded(self, tensor: Tensor) -> Tensor:
        """Keeps floats finite, mostly."""
        return af.clip_by_value(tensor, -64.0, 64.0) if tensor.dtype.kind == "f" and self.rng.random() < 0.5 else tensor

    def unary(self) -> None:
        x = self.pick(lambda v: v.tensor.dtype is not af.bool)
        assert x is not None
        functions = [af.negative, af.abs, af.square, af.sign]
        if x.is_float:
            functions += [af.tanh, af.floor, lambda t: af.sqrt(af.abs(t)), lambda t: t / 4.0]
        self.add(Value(self.bounded(self.rng.choice(functions)(x.tensor)), x.shape))

    def whole(self, x: Value) -> Tensor:
        """Small whole numbers from `x`: their sums are exact in any order."""
        return af.clip_by_value(af.round(x.tensor), -8.0, 8.0) if x.is_float else x.tensor

    def reduction(self) -> None:
        x = self.pick(lambda v: len(v.shape) >= 1 and v.tensor.dtype is not af.bool)
        if x is None:
            return
        axis = self.rng.randrange(len(x.shape))
        rest = x.shape[:axis] + x.shape[axis + 1 :]
        kept = x.shape[:axis] + (1,) + x.shape[axis + 1 :]
        match self.rng.randrange(5):
            case 0:
                self.add(Value(af.reduce_sum(self.whole(x), axis), rest))
            case 1:
                self.add(Value(af.reduce_max(x.tensor, axis), rest))
            case 2:
                self.add(Value(af.reduce_min(x.tensor), ()))
            case 3:
                self.add(Value(af.argmax(x.tensor, axis), rest))
            case 4:
                self.add(Value(af.reduce_sum(self.whole(x), axis, keepdims=True), kept))

    def matmul(self) -> None:
        left = self.pick(lambda v: len(v.shape) == 2 and v.is_float)
        if left is None:
            return
        right = self.pick(
            lambda v: len(v.shape) == 2 and v.tensor.dtype is left.tensor.dtype and v.shape[0] == left.shape[1] != BATCH
        )
        a = self.whole(left)
        if right is not None:
            self.add(Value(af.matmul(a, self.whole(right)), (left.shape[0], right.shape[1])))
        elif BATCH not in left.shape:
            self.add(Value(af.matmul(a, a, transpose_b=True), (left.shape[0], left.shape[0])))

    def reshaping(self) -> None:
        x = self.pick()
        assert x is not None
        fixed = BATCH not in x.shape
        match self.rng.randrange(4):
            case 0 if fixed:
                self.add(Value(af.reshape(x.tensor, [-1]), (int(np.prod(x.shape)),)))
            case 1 if len(x.shape) == 2:
                self.add(Value(af.transpose(x.tensor), x.shape[::-1]))
            case 2 if len(x.shape) < 2:
                self.add(Value(af.expand_dims(x.tensor, 0), (1, *x.shape)))
            case _:
                self.add(Value(af.tile(x.tensor, [2] * len(x.shape)) if fixed and x.shape else x.tensor, _twice(x)))

    def indexing(self) -> None:
        x = self.pick(lambda v: len(v.shape) >= 1 and v.shape[0] != 1)
        if x is None:
            return
        match self.rng.randrange(3):
            case 0:
                self.add(Value(af.gather(x.tensor, [1, 0, 1]), (3, *x.shape[1:])))
            case 1:
                self.add(Value(x.tensor[1], x.shape[1:]))
            case 2:
                self.add(Value(x.tensor[0:2], (2, *x.shape[1:])))

    def joining(self) -> None:
        x = self.pick(lambda v: len(v.shape) >= 1 and BATCH not in v.shape)
        if x is None:
            return
        y = self.pick(lambda v: v.tensor.dtype is x.tensor.dtype and v.shape == x.shape) or x
        if self.rng.random() < 0.5:
            self.add(Value(af.concat([x.tensor, y.tensor, x.tensor], 0), (3 * x.shape[0], *x.shape[1:])))
        else:
            self.add(Value(af.stack([x.tensor, y.tensor]), (2, *x.shape)))

    def splitting(self) -> None:
        x = self.pick(lambda v: len(v.shape) >= 1 and v.shape[-1] > 1 and v.shape[-1] % 3 == 0)
        if x is None:
            return
        for part in af.split(x.tensor, 3, axis=len(x.shape) - 1):
            self.add(Value(part, (*x.shape[:-1], x.shape[-1] // 3)))

    def casting(self) -> None:
        x = self.pick()
        assert x is not None
        dtype = self.rng.choice(DTYPES)
        source = self.whole(x) if x.is_float else x.tensor
        self.add(Value(af.cast(source, dtype), x.shape))

    def choosing(self) -> None:
        x = self.pick(lambda v: v.tensor.dtype is not af.bool)
        assert x is not None
        y = self.pick(lambda v: v.tensor.dtype is x.tensor.dtype and v.shape == x.shape) or x
        condition = af.less(x.tensor, y.tensor)
        self.add(Value(condition, x.shape))
        self.add(Value(af.where(condition, y.tensor, x.tensor), x.shape))

    def passing(self) -> None:
        x = self.pick()
        assert x is not None
        match self.rng.randrange(4 if x.shape else 3):
            case 0:
                self.add(Value(af.identity(x.tensor), x.shape))
            case 1:
                self.add(Value(af.stop_gradient(x.tensor), x.shape))
            case 2:
                self.add(Value(later(x.tensor, turns=self.rng.randrange(4)), x.shape))
            case 3:
                self.add(Value(af.shape(x.tensor), (len(x.shape),)))

    def drawing(self) -> None:
        """Random numbers, the same ones for each runtime: a node's counter counts its runs."""
        self.add(Value(af.random_uniform([3, 4], seed=self.rng.randrange(1000)), (3, 4)))

    def duplicate(self) -> None:
        """A second node that computes the same."""
        x = self.pick(lambda v: v.tensor.op.type in ("Add", "AddV2", "Mul", "Maximum", "Tanh", "Neg"))
        if x is not None:
            op = x.tensor.op
            self.add(Value(af.get_default_graph().create_op(op.type, op.inputs, op.attrs).outputs[0], x.shape))

    def access(self) -> None:
        """A read or an update of a variable, after those accesses with which it does not commute."""
        if not self.kept:
            return
        kept = self.rng.choice(self.kept)
        dtype = kept.variable.dtype
        x = self.pick(lambda v: v.tensor.dtype is dtype and v.shape == kept.shape)
        kind = self.rng.choice(["read", "read", "assign", "add", "sub"])
        if kind == "read":
            with af.control_dependencies(kept.writes):
                read = kept.variable.read_value()
            kept.reads.append(read.op)
            self.add(Value(read, kept.shape))
            return
        x = x or Value(af.constant(self.array(dtype, kept.shape)), kept.shape)
        # whole numbers, of which additions commute
        delta = self.whole(x) if x.is_float else x.tensor
        commutes = kind in ("add", "sub")
        joins = commutes and kept.commute and not kept.reads
        if not joins:
            kept.before = kept.reads + kept.writes
        gives = self.rng.random() < 0.5 and not commutes
        with af.control_dependencies(kept.before):
            update = {
                "assign": kept.variable.assign,
                "add": kept.variable.assign_add,
                "sub": kept.variable.assign_sub,
            }[kind]
            made = update(delta if commutes else x.tensor, read_value=gives)
        op = made.op if gives else made
        kept.writes = [*kept.writes, op] if joins else [op]
        kept.commute = commutes
        kept.reads = []
        self.targets.append(op)
        if gives:
            self.add(Value(made, kept.shape))

    def target(self) -> None:
        some = self.rng.sample(self.values, min(3, len(self.values)))
        made = af.group(*[v.tensor for v in some if v.tensor.op.type != "Placeholder"])
        self.targets.append(made)

    # Requests

    def request(self) -> Request:
        batch = self.rng.choice(BATCHES)
        fetches = [value.tensor.name for value in self.rng.choices(self.values, k=self.rng.randint(1, 6))]
        if self.targets:
            fetches += [op.name for op in self.rng.sample(self.targets, min(len(self.targets), self.rng.randint(0, 2)))]
        fetches += self.rng.sample(fetches, self.rng.randint(0, min(2, len(fetches))))
        self.rng.shuffle(fetches)
        feeds = {name: self.array(v.tensor.dtype, v.shape, batch) for name, v in self.placeholders.items()}
        for value in self.rng.sample(self.values, 3):
            # where a read or an update is fed, what takes its value does not wait for it any more
            orders = any(tensor.dtype.is_ref for tensor in value.tensor.op.inputs)
            if self.rng.random() < 0.4 and value.tensor.dtype is not af.bool and not orders:
                feeds[value.tensor.name] = self.array(value.tensor.dtype, value.shape, batch)
        return Request(fetches, feeds)


def _broadcasts(x: Shape, y: Shape) -> bool:
    """Whether one of two shapes is the end of the other."""
    return x[len(x) - len(y) :] == y if len(x) >= len(y) else y[len(y) - len(x) :] == x


def _twice(x: Value) -> Shape:
    return tuple(2 * size for size in x.shape) if BATCH not in x.shape else x.shape
