"""`Session(options=af.PlanOptions(check_numerics=True))`: which node made the first NaN or infinity."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from clusters import servers

import actorflow as af
from actorflow import blocking, errors
from actorflow.errors import Where
from actorflow.graph.tensor import Tensor


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


def here(offset: int = 0) -> Where:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return Where(__file__, frame.f_back.f_lineno + offset)


async def failure(fetches: Any, feeds: Any = None, *before: Any, target: str = "") -> errors.InvalidArgumentError:
    """The error of a run with the setting. Without it the run gives something that is not finite."""
    async with af.Session(target, options=af.PlanOptions(check_numerics=True)) as session:
        for one in before:
            await session.run(one)
        with pytest.raises(errors.InvalidArgumentError) as caught:
            await session.run(fetches, feeds)
    return caught.value


async def test_the_first_node_is_named_and_not_what_follows_it() -> None:
    x = af.placeholder(af.float32, [None], name="x")
    y = af.log(x - 1.0)
    line = here(-1)
    loss = af.reduce_sum(af.square(y) + af.exp(y), name="loss")
    error = await failure(loss, {x: [0.5, 1.0, 3.0, 0.0]})
    assert (error.node, error.op, error.where) == (y.op.name, "Log", line)
    for said in ("2 NaN and 1 Inf in output 0", "float32 (4,)", "from -1 to 2", str(line)):
        assert said in str(error)
    assert len(str(error).splitlines()) <= 12


async def test_without_it_nothing_is_said_and_a_finite_run_is_the_same() -> None:
    x = af.placeholder(af.float32, [None])
    y = af.log(x) * 2.0
    async with af.Session() as plain, af.Session(options=af.PlanOptions(check_numerics=True)) as session:
        assert np.isnan(await plain.run(y, {x: [-1.0]}))
        assert await session.run(y, {x: [2.0]}) == await plain.run(y, {x: [2.0]})


@af.op(
    "TestSecondOverflows",
    shape=lambda c: [c.shapes[0]] * 2,
    result=(lambda c: c.dtypes[0], lambda c: c.dtypes[0]),
    gradient=None,
    work=1,
)
def second_overflows(x: af.TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """x, and x times infinity."""


@af.kernel("TestSecondOverflows")
def _second_overflows(xp: Any, x: Any) -> Any:
    return x, x * np.float32(np.inf)


MAKERS: dict[str, tuple[Callable[[Tensor], Any], str]] = {
    "overflow": (lambda x: af.exp(x * 1000.0), "1 Inf"),
    "division": (lambda x: af.constant([1.0]) / (x - x), "1 Inf"),
    "a cast that overflows": (lambda x: af.cast(x * 1e10, af.float16), "1 Inf"),
    "no number": (lambda x: af.sqrt(-x), "1 NaN"),
    "constants": (lambda x: x + af.log(af.constant([-1.0])), "1 NaN"),
    "a branch": (lambda x: af.cond(af.less(x[0], 5.0), lambda: af.log(-x), lambda: x), "1 NaN"),
    "a loop": (lambda x: af.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, af.log(y - 0.5)), [0, x])[1], "1 NaN"),
    "a function": (lambda x: af.Defun(af.float32)(lambda y: af.log(-y))(x), "1 NaN"),
    "Python": (lambda x: af.py_func(lambda v: v * np.float32(np.nan), [x], af.float32), "1 NaN"),
    "a second output": (lambda x: second_overflows(x)[0], "1 Inf in output 1"),
    "complex numbers": (lambda x: af.exp(af.complex(x * 1000.0, x)), "Inf"),
}


@pytest.mark.parametrize("name", MAKERS)
async def test_what_makes_one(name: str) -> None:
    build, said = MAKERS[name]
    x = af.placeholder(af.float32, [1])
    with np.errstate(all="ignore"):
        error = await failure(build(x), {x: [1.0]})
    assert said in str(error) and "from finite inputs" in str(error)
    assert error.where is not None and error.where.file == __file__


async def test_what_only_brings_one_in_is_not_named() -> None:
    """A feed, a constant, a variable, a queue; the first node after them has no finite inputs."""
    x = af.placeholder(af.float32, [1])
    v = af.Variable([np.nan], name="v")
    queue = af.FIFOQueue(2, [af.float32], shapes=[[1]])
    fill = queue.enqueue([x])
    mask = af.constant([-np.inf])
    total = (x + 1.0) + v + queue.dequeue() + af.maximum(mask, x)
    async with af.Session(options=af.PlanOptions(check_numerics=True)) as session:
        await session.run(v.initializer)
        await session.run(fill, {x: [np.inf]})
        assert np.isnan(await session.run(total, {x: [np.nan]}))


@pytest.mark.parametrize("optimizer", ["GradientDescent", "Adam", "Momentum"])
async def test_an_update_that_overflows(optimizer: str) -> None:
    v = af.Variable([1e30], name="v")
    rate = 1e38 if optimizer == "Adam" else 1e9
    make = {
        "GradientDescent": lambda: af.train.GradientDescentOptimizer(rate),
        "Adam": lambda: af.train.AdamOptimizer(rate),
        "Momentum": lambda: af.train.MomentumOptimizer(rate, 0.9),
    }[optimizer]
    factor = 1.0 if optimizer == "Adam" else 1e30
    train = make().minimize(af.reduce_sum(v * factor))
    line = here(-1)
    init = af.global_variables_initializer()
    runs: Any = [init] if optimizer != "Adam" else [init, *[train] * 3]
    async with af.Session(options=af.PlanOptions(check_numerics=True)) as session:
        for one in runs:
            await session.run(one)
        with pytest.raises(errors.InvalidArgumentError) as caught:
            for _ in range(2):
                await session.run(train)
    assert "1 Inf in the variable v" in str(caught.value) and caught.value.where == line


async def test_on_a_cluster() -> None:
    async with servers({"ps": 1, "worker": 1}) as tasks:
        with af.device("/job:ps"):
            v = af.Variable([0.0, 4.0], name="v")
        with af.device("/job:worker"):
            y = af.log(v.value())
            line = here(-1)
        with af.device("/job:ps"):
            end = y * 2.0
        error = await failure(end, None, v.initializer, target=tasks[0].target)
        assert (error.node, error.where) == (y.op.name, line) and "job:worker" in str(error.device)
        assert "1 Inf in output 0" in str(error)


def test_blocking() -> None:
    x = af.placeholder(af.float32, [])
    y = af.sqrt(x)
    with blocking.Session(options=af.PlanOptions(check_numerics=True)) as session:
        assert session.run(y, {x: 4.0}) == 2.0
        with pytest.raises(errors.InvalidArgumentError, match="Sqrt gave 1 NaN in output 0"):
            session.run(y, {x: -1.0})


def test_a_plan_without_it_has_the_kernels_themselves() -> None:
    x = af.placeholder(af.float32, [3])
    y = af.sqrt(x)
    names = []
    for check in (False, True):
        with blocking.Session(options=af.PlanOptions(check_numerics=check, coalesce=False, optimize=False)) as session:
            session.run(y, {x: [1.0, 2.0, 3.0]})
            (compiled,) = session._inner._engine.planner._plans.values()  # type: ignore[union-attr]
            (node,) = [n for plan in compiled.plans for n in plan.nodes if n.node.op == "Sqrt"]
            names.append(getattr(node.launch, "__name__", ""))
    assert names[0] != "look" and names[1] == "look"
