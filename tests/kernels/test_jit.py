"""Generated loops: the same bits as numpy's kernels, compiled aside, swapped in while steps run, and left out on request.

NaNs are equal to each other whatever their bits; everything else is compared bit by bit.
"""

from __future__ import annotations

import asyncio
import pickle
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from compiled_loops import assert_same, both_ways, loops, regions, run_hot
from kernel_loops import kernel_loops
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.base.registry import kernel, opdef
from actorflow.base.registry.traits import Loop
from actorflow.engine.runtime.codegen import jit
from actorflow.engine.runtime.codegen.jit_recipe import CALLED, TYPES, RecipeWriter
from actorflow.graph.control_flow.cond import cond
from actorflow.graph.control_flow.while_loop import while_loop
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.ops.state import training
from actorflow.graph.tensor import Tensor, TensorLike

pytest.importorskip("llvmlite", reason="the extra `jit` is not installed")

from actorflow.engine.runtime.codegen import llvm
from actorflow.engine.runtime.codegen.background import background
from actorflow.kernels.jit import compiler, ufuncs, updates
from actorflow.kernels.native.library import loaded
from actorflow.kernels.shared import threads
from actorflow.kernels.state.update_program import recipe_of

nn = af.nn
N = 2003  # no multiple of a vector's width


@pytest.fixture(autouse=True)
def small_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops are made for few elements too."""
    monkeypatch.setattr(compiler.LlvmCompiler, "pays", lambda self, recipe, elements, calls: _several(calls))
    monkeypatch.setattr(updates, "_least", lambda row: 2000)


def _several(calls: jit.ReplacedCalls) -> bool:
    return calls.prepared + calls.functions > 1


def values(dtype: Any, shape: Sequence[int], seed: int) -> np.ndarray[Any, Any]:
    """Random values, among them all that is special."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        special: list[Any] = [low, high, low + 1, high - 1, 0, 1]
        made = rng.integers(-9 if low else 0, 10, shape).astype(dtype)
    else:
        tiny = np.finfo(dtype).tiny
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -1.5, 2.5, tiny, -tiny / 4, np.finfo(dtype).max, 1e30, -3e9]
        made = (rng.normal(size=shape) * 4).astype(dtype)
    flat = made.reshape(-1)
    with np.errstate(over="ignore"):
        flat[rng.random(flat.size) < 0.3] = 0
        at = rng.random(flat.size) < 0.4
        flat[at] = np.array(special, dtype)[rng.integers(0, len(special), at.sum())]
    return made


# ---- each rule

ATTRS: dict[str, dict[str, Any]] = {
    "LeakyRelu": {"alpha": 0.2},
    "LeakyReluGrad": {"alpha": 0.2},
    "BiasAdd": {"data_format": "NHWC"},
}
SHAPES = {"BiasAdd": [(N, 3), (3,)]}
CONDITIONED = ("Select", "SelectV2")
FEW = (af.float32, af.float64, af.int32, af.uint8, af.bool)
ALL = ("Abs", "Add", "Less", "Maximum", "Sign")  # these take every type


def _cases() -> Iterator[Any]:
    for op, loop in kernel_loops().items():
        allowed = opdef.lookup(op).inputs[0].allowed
        for dtype in TYPES:
            wanted = dtype in FEW or op in ALL
            if op != "Cast" and wanted and dtype in loop.types and (allowed is None or dtype in allowed):
                yield pytest.param(op, dtype, id=f"{op}-{dtype.name}")


@pytest.mark.parametrize(("op", "dtype"), list(_cases()))
async def test_each_rule_gives_the_bits_of_its_kernel(graph: af.Graph, op: str, dtype: af.DType) -> None:
    inputs = opdef.lookup(op).inputs
    shapes = SHAPES.get(op, [(N,)] * (3 if inputs[0].kind == "list" else len(inputs)))
    types = [dtype] + [af.float32 if op in CONDITIONED else dtype] * (len(shapes) - 1)
    fed = [af.placeholder(d, shape) for d, shape in zip(types, shapes)]
    y = graph.create_op(op, fed, ATTRS.get(op, {})).outputs[0]
    again = af.where(af.equal(y, y), y, y)  # a rule of one instruction makes no loop alone
    feeds = {x: values(d.numpy_dtype, s, i) for i, (x, d, s) in enumerate(zip(fed, types, shapes))}
    assert await both_ways(graph, [y, again], feeds) == 1


@pytest.mark.parametrize("source", list(TYPES), ids=lambda d: d.name)
async def test_casts(graph: af.Graph, source: af.DType) -> None:
    x = af.placeholder(source, [N])
    narrow = (af.int8, af.int16, af.uint8, af.uint16, af.uint32, af.uint64)  # what C leaves open, numpy decides
    targets = [t for t in TYPES if t is not source and not (source.is_floating and t in narrow)]
    assert await both_ways(graph, [af.cast(x, t) for t in targets], {x: values(source.numpy_dtype, N, 1)}) == 0
    ones = af.placeholder(source, [N])
    same = af.equal(x, ones)
    casts = [af.where(same, af.cast(x, t), af.cast(ones, t)) for t in targets]
    feeds = {p: values(source.numpy_dtype, N, seed) for p, seed in ((x, 1), (ones, 2))}
    assert await both_ways(graph, casts, feeds) >= 1


async def test_casts_that_c_leaves_open_stay_with_numpy(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [N])
    y = af.cast(x * 2.0 + 1.0, af.uint8)
    z = af.cast(y, af.float32) * 2.0 + 1.0
    assert await both_ways(graph, [z], {x: np.linspace(-500, 500, N, dtype=np.float32)}) == 2


# ---- shapes


@pytest.mark.parametrize(
    "shapes", [[(40, 60), (60,)], [(40, 60), (40, 1)], [(7, 20, 30), (20, 30)], [(40, 60), (1, 1)]]
)
@pytest.mark.parametrize("dtype", [af.float32, af.int64])
async def test_rows_columns_and_scalars_are_broadcast(graph: af.Graph, shapes: Any, dtype: af.DType) -> None:
    x, y = (af.placeholder(dtype, shape) for shape in shapes)
    s = af.placeholder(dtype, [])
    z = af.maximum(x * y - s, y + 3) * 2 - x
    feeds = {p: values(dtype.numpy_dtype, p.shape.as_list(), i) for i, p in enumerate((x, y, s))}
    assert await both_ways(graph, [z, y - x], feeds) == 1


async def test_rows_and_columns_of_an_outer_product_make_one_loop(graph: af.Graph) -> None:
    row, column = af.placeholder(af.float32, [60]), af.placeholder(af.float32, [50, 1])
    z = af.square(row - column) + row * column
    assert await both_ways(graph, [z], {row: values("f4", 60, 1), column: values("f4", (50, 1), 2)}) == 1


async def test_a_middle_dimension_that_is_broadcast_is_left_to_numpy(graph: af.Graph) -> None:
    x, y = af.placeholder(af.float32, [20, 30, 5]), af.placeholder(af.float32, [20, 1, 5])
    z = af.square(x * y) - x
    assert await both_ways(graph, [z], {x: values("f4", (20, 30, 5), 1), y: values("f4", (20, 1, 5), 2)}) == 1


async def test_small_tensors_have_no_loops(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [100])
    assert await both_ways(graph, [x * 2.0 + x * x], {x: values("f4", 100, 0)}) == 0


async def test_f91_each_size_that_is_fed_has_its_loop(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None])
    y = x * 2.0 + x * x
    async with af.Session(graph=graph) as session:
        for n in (2000, 10, 70_000, 3001):
            a = np.linspace(-1, 1, n, dtype=np.float32)
            assert_same(await run_hot(session, y, {x: a}), a * np.float32(2) + a * a)
        (region,) = regions(session)
        assert [isinstance(v, jit.TierCounter) for v in region._versions.values()] == [False] * 4


@pytest.mark.parametrize(
    "made",
    [
        lambda a: a[::-1],
        lambda a: np.repeat(a, 2)[::2],
        lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.float32),
        lambda a: pickle.loads(pickle.dumps(a)),
        lambda a: a.astype(">f4"),
        np.ma.asarray,
    ],
    ids=["backwards", "strided", "unaligned", "unpickled", "swapped", "subclass"],
)
async def test_arrays_that_are_not_in_order(graph: af.Graph, made: Any) -> None:
    x = af.placeholder(af.float32, [N])
    a = np.linspace(-1, 1, N, dtype=np.float32)
    assert await both_ways(graph, [x * 2.0 + x * x], {x: made(a)}) == 1


async def test_views_made_inside_a_region(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [50, 60])
    y = af.transpose(x) * 2.0 + af.reverse(af.transpose(x), [0])
    assert await both_ways(graph, [y], {x: values("f4", (50, 60), 0)}) == 1


@pytest.mark.parametrize("shape", [(50, 60), (3, 40, 30), (7, 1200)])
async def test_pieces_of_rows_are_read_where_they_are(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    fitted = compiler.CompiledLoop.fitted
    copied = []

    def noted(self: Any, *arguments: Any) -> None:
        copied.append(arguments)
        fitted(self, *arguments)

    monkeypatch.setattr(compiler.CompiledLoop, "fitted", noted)
    x = af.placeholder(af.float32, (*shape[:-1], 3 * shape[-1]))
    a, b, c = af.split(x, 3, -1)
    y = af.sigmoid(a) * af.tanh(b) + c
    z = x[..., 1::2]
    feeds = {x: values("f4", x.shape.as_list(), 0)}
    assert await both_ways(graph, [y], feeds) == 1
    assert not copied
    assert await both_ways(graph, [z * z + 1.0], feeds) == 1
    assert copied  # steps between the elements of a row


async def test_what_an_identity_passes_on_is_not_copied(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [N])
    y = af.identity(x * 2.0 + 1.0)
    z = af.tanh(y) * af.identity(y) - x
    assert await both_ways(graph, [z, y], {x: values("f4", N, 0)}) == 1


# ---- functions of numpy


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(CALLED))
def test_f91_numpys_inner_loops_give_its_bits_for_any_piece(name: str, dtype: str) -> None:
    assert ufuncs.inner_loop(name, dtype) is not None
    for rows, columns in ((1, 1), (1, 4099), (5, 511), (513, 3), (2, 512), (7, 1500)):
        block = RecipeWriter()
        x = block.operand(dtype)
        wide = block.unary(name, x) * 2.0
        loop = compiler.compiled(block.finish([(wide, None), (block.unary(name, wide), None)]))
        given = values(dtype, (rows, 2 * columns), rows)
        for piece in (given[:, :columns], given[:, :columns].copy()):
            found = np.empty((rows, columns), dtype), np.empty((rows, columns), dtype)
            with np.errstate(all="ignore"):
                assert loop.held(rows, columns, piece, *found) == 0
                wanted = getattr(np, name)(piece) * given.dtype.type(2)
                assert_same(found[0], wanted)
                assert_same(found[1], getattr(np, name)(wanted))


def test_no_other_function_passes_for_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ufuncs.inner_loop("exp", "f4")
    assert found is not None and not ufuncs.is_it(np.tanh, np.dtype("f4"), *found)
    monkeypatch.setattr(np, "exp", lambda x: x)
    assert ufuncs.inner_loop.__wrapped__("exp", "f4") is None


# ---- loops of iterations


def recurrent(steps: int, x: Any) -> list[Any]:
    """A loop of elementwise members, its sum over all iterations, and the gradient of both."""

    def body(i: Any, state: Any, total: Any) -> Any:
        state = af.tanh(state * 0.5 + x) * af.sigmoid(state - x)
        return i + 1, state, total + af.matmul(state, state, transpose_b=True)

    zeros = af.zeros([50, 50])
    _, state, total = while_loop(lambda i, *_: i < steps, body, [0, x * 0.1, zeros])
    y = af.reduce_sum(state) + af.reduce_sum(af.square(total))
    return [state, total, *af.gradients(y, [x])]


async def test_f91_members_of_a_while_loop_are_compiled(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [50, 60])
    feeds = {x: np.random.default_rng(0).normal(size=(50, 60)).astype(np.float32)}
    assert await both_ways(graph, recurrent(7, x), feeds) >= 2


async def test_f91_branches_in_a_while_loop_have_loops_of_their_own(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [N])

    def body(i: Any, state: Any) -> Any:
        even = af.equal(i % 2, 0)
        state = state * 0.5 + 1.0
        return i + 1, cond(even, lambda: af.tanh(state) * x - state, lambda: af.exp(-state) + x * x)

    _, state = while_loop(lambda i, _: i < 5, body, [0, x])
    feeds = {x: np.linspace(-2, 2, N, dtype=np.float32)}
    assert await both_ways(graph, [state, *af.gradients(state, [x])], feeds) >= 3


# ---- groups


async def test_what_numpy_computes_between_splits_a_loop(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [N])
    a = x * 2.0 - 1.0
    b = a * 3.0 + af.sin(a)  # b is no part of a's loop, because sin waits for a
    c = af.square(b) - a
    assert await both_ways(graph, [c], {x: values("f4", N, 0)}) == 2


async def test_two_loops_never_wait_for_each_other(graph: af.Graph) -> None:
    x, y = af.placeholder(af.float32, [N]), af.placeholder(af.float32, [N])
    a, b = x * 2.0 - 1.0, y * 3.0 + 1.0
    c, d = af.sin(a) * b + b, af.sin(b) * a - a
    assert await both_ways(graph, [c, d, a], {x: values("f4", N, 0), y: values("f4", N, 1)}) >= 2


async def test_values_of_a_loop_are_outputs_too(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [N])
    a = x * 2.0
    b = a - 1.0
    c = b > a
    d = af.identity(x)
    e = af.where(c, d, b)
    assert await both_ways(graph, [a, b, c, d, e, af.reduce_sum(a), af.reduce_any(c)], {x: values("f4", N, 3)}) == 1


async def test_a_member_that_is_fed_keeps_what_is_fed(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [N])
    a = x * 2.0
    b = a * a - 1.0
    c = b + x
    feeds = {x: values("f4", N, 0), b: values("f4", N, 1)}
    assert await both_ways(graph, [c * 2.0, a + 1.0], feeds) >= 1


async def test_more_members_and_arrays_than_one_loop_takes(graph: af.Graph) -> None:
    fed = [af.placeholder(af.float32, [N]) for _ in range(40)]
    total = fed[0]
    for i, x in enumerate(fed[1:]):
        total = total * 0.5 + x - float(i)
    feeds = {x: values("f4", N, i) for i, x in enumerate(fed)}
    assert await both_ways(graph, [total, af.add_n(fed)], feeds) >= 2


@pytest.mark.parametrize("extreme", [af.maximum, af.minimum])
@pytest.mark.parametrize("size", [N, 100_003], ids=["short", "long"])
@pytest.mark.parametrize("number_is_first", [False, True])
async def test_an_extreme_of_zeros_is_the_second_one(
    graph: af.Graph, extreme: Any, size: int, number_is_first: bool
) -> None:
    """With a loop and without, into new memory and into that of the device."""
    x, number = af.placeholder(af.float32, [size]), af.placeholder(af.float32, [])
    y = extreme(number, x) if number_is_first else extreme(x, number)
    again = y * 1.0
    for sign in (1.0, -1.0):
        feeds = {x: np.full(size, -0.0 * sign, np.float32), number: np.float32(0.0 * sign)}
        await both_ways(graph, [y, again], feeds)
        async with af.Session(graph=graph, options=af.PlanOptions(jit=False)) as session:
            assert (np.signbit(await session.run(y, feeds)) == (number_is_first == (sign > 0))).all()


async def test_f91_random_programs_give_the_same_bits(seed: int) -> None:
    for round_ in range(12):
        draw = random.Random(f"{seed} {round_}")
        made = af.Graph()
        with made.as_default():
            shape = draw.choice([(N,), (40, 60), (4, 25, 30)])
            fed = [af.placeholder(af.float32, s) for s in (shape, shape, shape[-1:], (), (*shape[:-1], 1))]
            pool: list[Tensor] = list(fed)
            tests: list[Tensor] = [fed[0] > fed[1]]
            binary = (af.add, af.subtract, af.multiply, af.maximum, af.minimum, af.realdiv, af.squared_difference)
            single = (af.negative, af.abs, nn.relu, af.square, af.sign, af.tanh, af.floor, nn.leaky_relu)
            single = (*single, af.sigmoid, af.exp, af.log1p, nn.elu)
            for _ in range(25):
                kind = draw.random()
                if kind < 0.55:
                    pool.append(draw.choice(binary)(draw.choice(pool), draw.choice([*pool, *pool, af.constant(1.5)])))
                elif kind < 0.8:
                    pool.append(draw.choice(single)(draw.choice(pool)))
                elif kind < 0.9:
                    x, y = (p + fed[0] for p in draw.sample(pool, 2))
                    tests.append(draw.choice((af.less, af.greater_equal, af.equal))(x, y))
                else:
                    test = draw.choice(tests)
                    x, y = (p + fed[0] for p in draw.sample(pool, 2))
                    pool.append(af.where(test, x, y))
            fetches = draw.sample(pool[5:], 4) + [pool[-1], af.cast(tests[-1], af.int32)]
        await both_ways(made, fetches, {x: values("f4", x.shape.as_list(), i) for i, x in enumerate(fed)})


# ---- memory and errors


@pytest.mark.real_memory
async def test_f91_what_stays_in_a_loop_takes_no_memory(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [100_000])
    y = x
    for _ in range(6):
        y = y * 0.5 + 1.0
    counted = []
    for options in (af.PlanOptions(), af.PlanOptions(jit=False)):
        async with af.Session(graph=graph, options=options) as session:
            feeds = {x: np.ones(100_000, np.float32)}
            await run_hot(session, y, feeds)
            before = session.statistics().devices[session.list_devices()[0].name].memory.allocations
            await session.run(y, feeds)
            counted.append(session.statistics().devices[session.list_devices()[0].name].memory.allocations - before)
    assert counted[0] == counted[1] - 11


async def test_a_budget_that_is_too_small_names_a_member(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None])
    y = af.add(x * 2.0, x, name="the_sum")
    async with af.Session(graph=graph, limits=af.SessionLimits(memory_budget=1_500_000)) as session:
        few, many = np.ones(50_000, np.float32), np.ones(200_000, np.float32)
        await run_hot(session, y, {x: few})
        kept = [await session.run(y, {x: few}) for _ in range(6)]
        with pytest.raises(errors.ResourceExhaustedError) as raised:
            kept.append(await session.run(y, {x: few}))
            kept.append(await session.run(y, {x: many}))
        assert raised.value.node in ("the_sum", "mul", "Mul")


async def test_divisions_of_whole_numbers_still_fail(graph: af.Graph) -> None:
    x = af.placeholder(af.int32, [N])
    y = (x * 2 + 1) // (x - 1) * 3 - x
    async with af.Session(graph=graph) as session:
        await run_hot(session, y, {x: np.full(N, 5, np.int32)})
        assert loops(session) == 2
        for _ in range(3):
            with pytest.raises(errors.InvalidArgumentError, match="division by zero"):
                await session.run(y, {x: np.ones(N, np.int32)})


@af.op("TestLies", shape=unchanged, gradient=None)
def lies(x: TensorLike, *, what: str, name: str | None = None) -> Tensor:
    """Gives another type or size than it promises."""


@af.kernel("TestLies")
def _lies(xp: Any, x: Any, *, what: str) -> Any:
    return {"type": x.astype(np.float64), "size": x[:-1], "kind": np.float32(3)}[what]


@pytest.mark.parametrize("what", ["type", "size", "kind"])
async def test_a_kernel_that_breaks_its_promise_is_found_out(graph: af.Graph, what: str) -> None:
    x = af.placeholder(af.float32, [N])
    y = lies(x, what=what) * 2.0 + x
    async with af.Session(graph=graph) as session:
        for _ in range(jit.RUNS):
            try:
                await session.run(y, {x: np.ones(N, np.float32)})
            except errors.OpError:
                pass  # numpy notices the wrong size as well
        assert background.wait(PATIENCE)
        assert loops(session) == 1
        with pytest.raises(errors.InternalError, match="were promised"):
            await session.run(y, {x: np.ones(N, np.float32)})


@af.op("TestOwn", shape=unchanged, gradient=None)
def own(x: TensorLike, *, name: str | None = None) -> Tensor:
    """An op of another package: x + 100."""


@af.kernel("TestOwn", loop=Loop(lambda attrs, x: x + 100, frozenset((af.float32,))))
def _own(xp: Any, x: Any) -> Any:
    return x + 100


@pytest.mark.parametrize("has_loop", [True, False])
async def test_a_kernel_from_elsewhere_brings_its_loop(
    graph: af.Graph, has_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It joins the loop of its neighbours; without the trait there is one loop before it and one behind it."""
    if not has_loop:
        (entry,) = kernel.registered()["TestOwn"]
        monkeypatch.setitem(kernel._KERNELS, "TestOwn", [replace(entry, loop=None)])
    x = af.placeholder(af.float32, [N])
    made = await both_ways(graph, [own(x * 2.0 + 1.0) * 3.0 - x], {x: values("f4", N, 0)})
    assert made == (1 if has_loop else 2)


# ---- when loops are compiled


def polynomial(graph: af.Graph, factor: float) -> tuple[Tensor, Tensor]:
    x = af.placeholder(af.float32, [N])
    return x, (x * factor + 1.0) * x - 2.0


class Held:
    """LLVM, held up until the test lets it go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.threads: list[str] = []
        self._compiled = llvm.compiled
        monkeypatch.setattr(llvm, "compiled", self)

    def __call__(self, text: str) -> Any:
        self.threads.append(threading.current_thread().name)
        self.begun.set()
        assert self.go.wait(PATIENCE)
        return self._compiled(text)


async def test_steps_go_on_while_a_loop_is_compiled_and_when_it_comes(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    x, y = polynomial(graph, 0.640625)
    arrays = [np.full(N, i, np.float32) for i in range(8)]
    wanted = [(a * np.float32(0.640625) + 1) * a - 2 for a in arrays]

    async def user(a: Any, b: Any) -> None:
        for _ in range(10):
            assert_same(await session.run(y, {x: a}), b)

    async with af.Session(graph=graph) as session:
        await asyncio.gather(*map(user, arrays, wanted))
        assert held.begun.wait(PATIENCE) and loops(session) == 0
        await asyncio.gather(*map(user, arrays, wanted))
        held.go.set()
        while loops(session) == 0:
            await asyncio.gather(*map(user, arrays, wanted))
        await asyncio.gather(*map(user, arrays, wanted))
    assert background.wait(PATIENCE)
    assert held.threads == ["actorflow compiler"]


async def test_a_session_that_closes_meanwhile(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    x, y = polynomial(graph, 0.641)
    async with af.Session(graph=graph) as session:
        for _ in range(jit.RUNS):
            await session.run(y, {x: np.ones(N, np.float32)})
        assert held.begun.wait(PATIENCE)
    held.go.set()
    assert background.wait(PATIENCE)


async def test_f91_sessions_share_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    compiled = llvm.compiled
    monkeypatch.setattr(llvm, "compiled", lambda text: (texts.append(text), compiled(text))[1])
    for n in (N, 3 * N):
        for _ in range(2):
            made = af.Graph()
            with made.as_default():
                x = af.placeholder(af.float32, [n])
                y = (x * 0.642 + 1.0) * x - 2.0
            assert await both_ways(made, [y], {x: values("f4", n, 0)}) == 1
    assert len(texts) == 1


async def test_without_jit_nothing_is_compiled(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "compiled", lambda text: pytest.fail("something was compiled"))
    x, y = polynomial(graph, 0.643)
    v = af.Variable(np.zeros(N, np.float32))
    step = af.train.GradientDescentOptimizer(0.5).apply_gradients([(x, v)])
    init = af.global_variables_initializer()

    async def check(**options: Any) -> None:
        async with af.Session(graph=graph, **options) as session:
            await session.run(init)
            for _ in range(2 * jit.RUNS):
                await session.run([y, step], {x: np.ones(N, np.float32)})
            assert loops(session) == 0
            np.testing.assert_array_equal(await session.run(v), np.full(N, -0.5 * 2 * jit.RUNS, np.float32))

    updates.loop_of.cache_clear()
    await check(options=af.PlanOptions(jit=False))
    await check(devices={"SIM": 1})
    with monkeypatch.context() as patch:
        patch.setenv("ACTORFLOW_KERNELS", "numpy")
        await check()
    with monkeypatch.context() as patch:
        patch.setattr(llvm, "available", lambda: False)
        patch.setattr(updates, "_least", lambda row: None)
        jit._installed.cache_clear()
        await check()
    jit._installed.cache_clear()
    assert background.wait(PATIENCE)


def test_the_blocking_session_has_the_option(graph: af.Graph) -> None:
    x, y = polynomial(graph, 0.644)
    for wanted in (True, False):
        with af.blocking.Session(graph=graph, options=af.PlanOptions(jit=wanted)) as session:
            for _ in range(jit.RUNS):
                session.run(y, {x: np.ones(N, np.float32)})
            assert background.wait(PATIENCE)
            assert loops(session._inner) == wanted


async def test_what_can_not_be_compiled_is_reported_and_goes_on(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(text: str) -> Any:
        raise RuntimeError("LLVM ERROR: no such instruction")

    monkeypatch.setattr(llvm, "compiled", fail)
    x, y = polynomial(graph, 0.645)
    async with af.Session(graph=graph) as session:
        given = await run_hot(session, y, {x: np.ones(N, np.float32)})
        assert loops(session) == 0
        np.testing.assert_allclose(given, 0.645 + 1 - 2, rtol=1e-6)
    assert "no such instruction" in caplog.text


def test_llvm_gives_no_loop_for_a_text_with_a_mistake() -> None:
    with pytest.raises(RuntimeError):
        llvm.compiled("define i32 @loop() { ret i64 0 }")


# ---- updates of variables

train = af.train
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: train.GradientDescentOptimizer(0.1),
    "momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: train.AdagradOptimizer(0.1),
    "rmsprop": lambda: train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered": lambda: train.RMSPropOptimizer(0.1, centered=True),
    "adam": lambda: train.AdamOptimizer(0.01),
    "adadelta": lambda: train.AdadeltaOptimizer(0.1),
    "proximal": lambda: train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02),
    "proximal adagrad": lambda: train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.02),
    "dual averaging": lambda: train.AdagradDAOptimizer(0.1, np.int64(3), 0.1, 0.01, 0.02),
    "ftrl": lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
    "ftrl with shrinkage": lambda: train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.02),
}
SIZES = (N, threads.WORTH_DIVIDING + 12_345)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMIZERS)
async def test_updates_give_the_bits_of_their_kernels(
    graph: af.Graph, name: str, dtype: str, n: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_threads_of_pool", lambda: 2)
    by_loops, in_place = [], compiler.CompiledLoop.in_place
    monkeypatch.setattr(compiler.CompiledLoop, "in_place", lambda *args: (by_loops.append(1), in_place(*args))[1])
    rng = np.random.default_rng(seed)
    v = af.Variable(rng.normal(size=n).astype(dtype))
    g = af.placeholder(dtype, [n])
    step = OPTIMIZERS[name]().apply_gradients([(g, v)])
    init = af.global_variables_initializer()
    variables = af.global_variables()
    async with af.Session(graph=graph) as session, af.Session(graph=graph, options=af.PlanOptions(jit=False)) as plain:
        for one in (session, plain):
            await one.run(init)
        for i in range(jit.RUNS + 3):
            given = rng.normal(size=n).astype(dtype)
            given[:3] = np.nan, np.inf, 0.0
            before = await session.run(v)
            copy = before.copy()
            for one in (session, plain):
                await one.run(step, {g: given[:: (-1 if i % 2 else 1)]})
            assert background.wait(PATIENCE)
            np.testing.assert_array_equal(before, copy)
        for one, other in zip(await session.run(variables), await plain.run(variables), strict=True):
            assert_same(one, other)
    assert len(by_loops) >= 3


async def test_a_wrong_gradient_is_refused_as_without_loops(graph: af.Graph) -> None:
    v = af.Variable(np.zeros(N, np.float32), validate_shape=False)
    g = af.placeholder(af.float32, [None])
    step = train.MomentumOptimizer(0.1, 0.9).apply_gradients([(g, v)])
    init = af.global_variables_initializer()
    messages = []
    for option in (True, False):
        async with af.Session(graph=graph, options=af.PlanOptions(jit=option)) as session:
            await session.run(init)
            await run_hot(session, step, {g: np.ones(N, np.float32)})
            with pytest.raises(errors.InvalidArgumentError) as raised:
                await session.run(step, {g: np.ones(2 * N, np.float32)})
            messages.append(raised.value.message)
    assert messages[0] == messages[1]


def large_update() -> tuple[Any, list[Any], np.ndarray[Any, Any]]:
    loop = compiler.compiled(recipe_of(training.gradient_descent, False, "f4"))
    n = threads.WORTH_DIVIDING + 7
    w, g = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    return loop, [w, g, np.asarray(np.float32(0.5))], w - np.float32(0.5)


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_an_update_is_the_same_on_any_number_of_threads(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "threaded", lambda key, work: work(count if loaded() is not None else 1))
    loop, arrays, wanted = large_update()
    loop.in_place(wanted.size, arrays)
    np.testing.assert_array_equal(arrays[0], wanted)


@pytest.mark.parametrize("count", [1, 2])
def test_a_buffer_that_would_have_to_be_copied_is_refused(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "threaded", lambda key, work: work(count))
    loop, arrays, _ = large_update()
    arrays[0] = np.repeat(arrays[0], 2)[::2]
    with pytest.raises(errors.InternalError, match="not in order"):
        loop.in_place(arrays[0].size, arrays)


def test_several_callers_share_the_pool() -> None:
    cases = [large_update() for _ in range(4)]

    def work(loop: Any, arrays: list[Any], wanted: Any) -> None:
        for i in range(1, 20):
            loop.in_place(wanted.size, arrays)
            np.testing.assert_array_equal(arrays[0][::1000], (wanted - np.float32(0.5) * (i - 1))[::1000])

    callers = [threading.Thread(target=partial(work, *case)) for case in cases]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    for _, arrays, wanted in cases:
        np.testing.assert_array_equal(arrays[0], wanted - np.float32(0.5) * 18)


# ---- costly nodes, which are merged only to become a loop


async def test_large_tensors_have_loops_too(graph: af.Graph) -> None:
    n = 1_200_000
    x, y = af.placeholder(af.float32, [n]), af.placeholder(af.float32, [n])
    a = x * y + 1.0
    z = af.maximum(a, y) - x
    total = af.reduce_sum(af.tanh(z))
    assert await both_ways(graph, [z, total], {x: values("f4", n, 0), y: values("f4", n, 1)}) == 1
    async with af.Session(graph=graph, options=af.PlanOptions(jit=False)) as plain:
        await plain.run([z], {x: np.ones(n, np.float32), y: np.ones(n, np.float32)})
        assert not regions(plain)
