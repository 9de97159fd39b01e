"""The pass that leaves out branches that are never taken: from the canonical text of a graph to another, and in runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.registry import plugins
from actorflow.blocking import Session
from actorflow.engine.passes.branches import fold_branches
from actorflow.engine.passes.fold import fold
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    plugins.load_kernels()
    made = af.Graph()
    with made.as_default():
        yield made


def folded(graph: af.Graph, fetches: Sequence[af.Tensor], feeds: Sequence[af.Tensor] = ()) -> str:
    """The canonical text of what a run of `fetches` needs, without its dead branches; constants left out."""
    fed = {t.tensor_id: (t.dtype, t.static_shape) for t in feeds}
    part = prune(Subgraph(graph.nodes, fed, tuple(f.tensor_id for f in fetches)))
    evaluate = Session(graph=graph)._inner._engine.builder.evaluate  # type: ignore[attr-defined]
    made = fold_branches(fold(part, evaluate))
    lines = [str(n) for n in prune(made).nodes.values() if n.op != "Const"]
    return "\n".join([*lines, "fetches " + " ".join(map(str, made.fetches))])


def number(name: str) -> af.Tensor:
    return af.placeholder(af.float32, [], name=name)


def test_the_branch_that_is_taken_becomes_a_straight_line(graph: af.Graph) -> None:
    x = number("x")
    for taken, op in ((True, "Mul"), (False, "Add")):
        y = af.cond(af.constant(taken), lambda: af.multiply(x, x), lambda: af.add(x, x))
        text = folded(graph, [af.negative(y)], [x])
        assert "Switch" not in text and "Merge" not in text and f"= {op}(x, x" in text


def test_a_cond_in_a_cond_goes_too(graph: af.Graph) -> None:
    x, yes = number("x"), af.constant(True)
    y = af.cond(yes, lambda: af.cond(yes, lambda: x * x, lambda: x + 1.0), lambda: x - 1.0)
    text = folded(graph, [af.negative(y)], [x])
    assert "Mul" in text and not any(op in text for op in ("Switch", "Merge", "Add", "Sub"))


def test_other_predicates_stay(graph: af.Graph) -> None:
    x, p = number("x"), af.placeholder(af.bool, [], name="p")
    y = af.cond(p, lambda: x * x, lambda: af.cond(af.constant(True), lambda: x + 1.0, lambda: x - 1.0))
    text = folded(graph, [y], [x, p])
    assert text.count("= Merge(") == 1 and "Sub" not in text


def test_what_is_fetched_by_its_own_name_is_what_stands_for_it(graph: af.Graph) -> None:
    x = number("x")
    y = af.cond(af.constant(True), lambda: af.multiply(x, x, name="square"), lambda: x)
    assert folded(graph, [y], [x]).endswith("square:0")


CASES: dict[str, Callable[[af.Tensor, af.Tensor], Any]] = {
    "one value": lambda p, x: af.cond(p, lambda: x * 2.0, lambda: x + 5.0),
    "several values": lambda p, x: af.cond(p, lambda: [x, x * 3.0], lambda: [x + 1.0, x]),
    "what is captured": lambda p, x: af.cond(p, lambda: x, lambda: x * x) * x,
    "a cond in a cond": lambda p, x: af.cond(p, lambda: af.cond(p, lambda: x + 1.0, lambda: x), lambda: -x),
    "not": lambda p, x: af.cond(af.logical_not(p), lambda: x * 2.0, lambda: x + 5.0),
    "and": lambda p, x: af.cond(af.logical_and(p, x > 0.0), lambda: x * 2.0, lambda: x + 5.0),
    "a gradient": lambda p, x: af.gradients(af.cond(p, lambda: x * x, lambda: 5.0 * x), x)[0],
    "a loop in a branch": lambda p, x: af.cond(
        p, lambda: af.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1], lambda: x
    ),
    "a branch in a loop": lambda p, x: af.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, af.cond(p, lambda: a * 2.0, lambda: a + 1.0)), [0, x]
    )[1],
    "a case": lambda p, x: af.case([(p, lambda: x * 2.0), (x > 0.0, lambda: x * 3.0)], default=lambda: x),
    "the predicate too": lambda p, x: [p, af.cond(p, lambda: x, lambda: -x)],
}


@pytest.mark.parametrize("case", CASES)
async def test_values_are_those_of_whole_graphs(graph: af.Graph, case: str) -> None:
    p, x = af.placeholder(af.bool, name="p"), number("x")
    y = CASES[case](p, x)
    async with (
        af.Session(graph=graph) as session,
        af.Session(graph=graph, options=af.PlanOptions(optimize=False)) as plain,
    ):
        for value in (True, False, True):
            for given in (2.0, -3.0):
                found = await session.run(y, {p: value, x: given})
                for ours, theirs in zip(
                    np.ravel(found), np.ravel(await plain.run(y, {p: value, x: given})), strict=True
                ):
                    assert ours == theirs, f"{case} of {value}, {given}"


async def test_a_plan_is_made_for_each_value_of_a_predicate(graph: af.Graph) -> None:
    p, q, x = af.placeholder(af.bool), af.placeholder(af.bool, []), number("x")
    y = af.cond(p, lambda: x * 2.0, lambda: x + 5.0)
    async with af.Session(graph=graph) as session:
        for value in (True, False, True, np.bool_(False), np.array(True)):
            assert await session.run(y, {p: value, x: 1.0}) == (2.0 if value else 6.0)
        assert session.statistics().plans == 2
        z = af.logical_not(q)
        assert [await session.run(z, {q: value}) for value in (True, False)] == [False, True]
        assert session.statistics().plans == 3, "q steers nothing"


async def test_of_many_predicates_some_values_share_a_plan(graph: af.Graph) -> None:
    flags, x = [af.placeholder(af.bool, []) for _ in range(5)], number("x")
    y = x
    for flag in flags:
        y = af.cond(flag, lambda y=y: y * 2.0, lambda y=y: y + 1.0)  # type: ignore[misc]
    rng = np.random.default_rng(3)
    async with af.Session(graph=graph) as session:
        for values in rng.integers(0, 2, (40, 5)).astype(bool):
            expected = 1.0
            for value in values:
                expected = expected * 2.0 if value else expected + 1.0
            assert await session.run(y, {x: 1.0, **dict(zip(flags, values, strict=True))}) == expected
        assert session.statistics().plans <= 9


async def test_callables_and_warm_plans_know_both_values(graph: af.Graph) -> None:
    p, x = af.placeholder(af.bool), number("x")
    y = af.cond(p, lambda: x * 2.0, lambda: x + 5.0)
    async with af.Session(graph=graph) as session:
        call = await session.make_callable(y, [p, x])
        assert [await call(value, 1.0) for value in (True, False)] == [2.0, 6.0]
        await session.warmup(y, [p, x])
        before = session.statistics().plans
        assert [await session.run(y, {p: value, x: 1.0}) for value in (True, False)] == [2.0, 6.0]
        assert session.statistics().plans == before


async def test_a_predicate_that_is_no_scalar_is_refused(graph: af.Graph) -> None:
    p, x = af.placeholder(af.bool), number("x")
    y = af.cond(p, lambda: x * 2.0, lambda: x + 5.0)
    async with af.Session(graph=graph) as session:
        assert await session.run(y, {p: True, x: 1.0}) == 2.0
        with pytest.raises(errors.InvalidArgumentError):
            await session.run(y, {p: [True, False], x: 1.0})


async def test_a_write_in_the_branch_that_is_not_taken_does_not_happen(graph: af.Graph) -> None:
    p, v = af.placeholder(af.bool), af.Variable(0.0)
    y = af.cond(p, lambda: v.assign_add(1.0), lambda: v.read_value())
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        assert [await session.run(y, {p: value}) for value in (True, False, False, True, False)] == [1, 1, 1, 2, 2]
