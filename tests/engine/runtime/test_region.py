"""Regions: generated code for many shapes, which does what its members would have done one by one."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import probes
import pytest
from probes import Probe, probe

import actorflow as af
from actorflow import errors
from actorflow.engine.runtime.codegen.region import Region
from actorflow.graph.tensor import TensorLike

__all__ = ["probe"]

typed: list[str] = []


@af.op("TestTyped", shape=lambda c: [], result=None, gradient=None, stateful=True)
def note_type(x: TensorLike, *, name: str | None = None) -> af.Operation:
    """Notes which kernel it got: there is one for floats and one for whole numbers."""


@af.kernel("TestTyped", dtypes=frozenset((af.float32,)))
def _note_float(xp: Any, x: Any) -> None:
    typed.append("float")


@af.kernel("TestTyped", dtypes=frozenset((af.int32,)))
def _note_int(xp: Any, x: Any) -> None:
    typed.append("int")


def regions(session: af.Session) -> list[Region]:
    plans = [plan for compiled in session._engine.planner._plans.values() for plan in compiled.plans]
    return [node.region for plan in plans for node in plan.nodes if node.region is not None]


async def both_ways(graph: af.Graph, fetches: Sequence[Any], feeds: Sequence[dict[Any, Any]]) -> list[list[Any]]:
    """The results of runs with regions, which are bit for bit those without."""
    async with (
        af.Session(graph=graph) as session,
        af.Session(graph=graph, options=af.PlanOptions(coalesce=False)) as plain,
    ):
        for variable in graph.get_collection(af.GraphKeys.GLOBAL_VARIABLES):
            await session.run(variable.initializer)
            await plain.run(variable.initializer)
        found = []
        for feed in feeds:
            one, other = await session.run(fetches, feed), await plain.run(fetches, feed)
            for x, y in zip(one, other, strict=True):
                assert (np.asarray(x).tobytes(), np.shape(x)) == (np.asarray(y).tobytes(), np.shape(y))
            found.append(one)
        assert regions(session) and not regions(plain)
    return found


async def test_each_shape_has_its_code_up_to_a_limit(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None, 3])
    w = af.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    y = af.nn.relu(af.matmul(x, w) - 4.0)
    total = af.reduce_sum(y, 0) + af.cast(af.shape(x)[0], af.float32)
    arrays = [np.arange(3 * n, dtype=np.float32).reshape(n, 3) for n in [*range(1, 40), *range(1, 40)]]
    found = await both_ways(graph, [y, total], [{x: a} for a in arrays])
    for a, (given, _) in zip(arrays, found):
        np.testing.assert_allclose(given, np.maximum(a @ np.arange(6.0).reshape(3, 2) - 4, 0))
    async with af.Session(graph=graph) as session:
        for a in arrays:
            await session.run([y, total], {x: a})
        assert max(len(region._versions) for region in regions(session)) == 17


async def test_what_follows_from_the_sizes_of_a_feed_is_computed_once(graph: af.Graph) -> None:
    """A mean's gradient is a constant for each size of a batch, and what it is multiplied by 1 with is itself."""
    x, w = af.placeholder(af.float32, [None, 3]), af.Variable([1.0, 2.0, 4.0])
    rows = af.reshape(x, af.stack([af.shape(x)[0], 3]))
    (gradient,) = af.gradients(af.reduce_sum(af.square(rows * w)) * 1.0, [w])
    sizes = af.shape(x)
    arrays = [np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32) for n in (0, 1, 5, 1, 5)]
    found = await both_ways(graph, [gradient, sizes], [{x: a} for a in arrays])
    assert [size.tolist() for _, size in found] == [[len(a), 3] for a in arrays]
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        await session.run([gradient, sizes], {x: arrays[2]})
        (region,) = [one for one in regions(session) if one._open]
        ops = [member.op for member in region._with_shapes([(5, 3)])]
        assert "Reshape" not in ops and "Pack" not in ops and ops.count("Shape") == 1, (
            "what is fetched is made in each run"
        )


async def test_unknown_ranks_and_kinds_of_scalars(graph: af.Graph) -> None:
    x, n = af.placeholder(af.float64), af.placeholder(af.int32)
    z = (x * 2.0 + 1.0) / 3.0
    whole = n * 7 // 2 - af.size(x)
    fetches = [z, af.reduce_sum(z), whole, af.cast(whole, af.float64) + z, af.where(z > 1.0, z, -z)]
    feeds = [{x: 1.5, n: 3}, {x: [1.5], n: [3]}, {x: np.ones((2, 3)), n: np.int32(9)}, {x: [[2.0]], n: 5}]
    await both_ways(graph, fetches, feeds)


@pytest.mark.parametrize("coalesce", [True, False])
async def test_an_error_names_the_member_at_fault(graph: af.Graph, coalesce: bool) -> None:
    x, y = af.placeholder(af.float32, [None]), af.placeholder(af.float32, [None])
    sums = [x + 1.0, af.square(y)]
    bad = af.add(*sums, name="bad")
    after = af.negative(bad)
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        assert (await session.run(after, {x: [1.0, 2.0], y: [1.0, 2.0]})).tolist() == [-3.0, -7.0]
        for sizes in ((2, 3), (2, 3), (30, 40)):
            with pytest.raises(errors.InvalidArgumentError, match="made at") as caught:
                await session.run(after, {x: np.ones(sizes[0]), y: np.ones(sizes[1])})
            assert caught.value.node == "bad" and caught.value.where == bad.where
        assert (await session.run(after, {x: [1.0], y: [2.0]})).tolist() == [-6.0]


async def test_a_kernel_is_chosen_by_the_types_of_its_inputs(graph: af.Graph) -> None:
    """An op without outputs has no other types to go by."""
    x = af.placeholder(af.int32, [2])
    y = af.cast(x, af.float32) + 1.0
    both = [note_type(x + 1), note_type(y)]
    typed.clear()
    async with af.Session(graph=graph) as session:
        await session.run([*both, y], {x: [1, 2]})
    assert sorted(typed) == ["float", "int"]


async def test_values_are_let_go_at_their_last_use(graph: af.Graph, probe: Probe) -> None:
    """While a region runs: what its later members can't use does not wait for its end."""
    x = af.placeholder(af.float32, [100])
    watched: list[weakref.ref[Any]] = []
    alive: list[bool] = []

    def watch(value: Any) -> Any:
        made = value + 1.0
        watched.append(weakref.ref(made))
        return made

    probe.does["watch"] = watch
    probe.does["look"] = lambda value: alive.append(watched[-1]() is not None) or value  # type: ignore[func-returns-value]
    first = probes.log(x, tag="watch")
    then = probes.log(af.reduce_sum(first), tag="look") * 2.0
    async with af.Session(graph=graph) as session:
        for _ in range(3):
            await session.run(then, {x: np.ones(100)})
        assert len(regions(session)) == 1
    assert alive == [False] * 3


async def test_updates_come_after_reads(graph: af.Graph) -> None:
    """Of what is unordered, a region reads first, so that the update can go in place; an order that is given stays."""
    v = af.Variable(np.ones(100, np.float32))
    update = v.assign_add(np.ones(100, np.float32), read_value=False)
    before = af.reduce_sum(v)
    with af.control_dependencies([update]):
        after = af.reduce_sum(v.read_value())
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        for i in range(1, 5):
            assert await session.run([before, after]) == [100.0 * i, 100.0 * (i + 1)]


async def test_what_enters_generated_code_is_no_source(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [2], name="x.y/z-1")
    nasty = "'); raise SystemExit('"
    y = probes.log(probes.log(x, tag=nasty) + 1.0, tag='"""\n#')
    async with af.Session(graph=graph) as session:
        await session.run(y, {x: [1.0, 2.0]})
        assert len(regions(session)) == 1
    assert probe.order == [nasty, '"""\n#']


async def test_a_kernel_is_not_changed_by_being_written_out(graph: af.Graph) -> None:
    """A kernel's globals, defaults, conditional expressions and repeated parameters mean the same in the line."""
    x = af.placeholder(af.float32, [None])
    i = af.placeholder(af.int32, [None])
    fetches = [
        af.sigmoid(x),
        af.nn.softmax(x),
        af.nn.elu(x),
        af.squared_difference(x, 2.0),
        af.clip_by_value(x, -1.0, 1.0),
        af.floordiv(i, 3),
        af.mod(i, 3),
        af.truediv(i, 3),
        af.one_hot(i, 5),
        af.pow(x, 2.0),
        af.reciprocal(x),
        af.rsqrt(af.abs(x)),
        af.cumsum(x),
        af.pad(x, [[1, 2]]),
        af.concat([x, x], 0),
        af.stack([x, x], 1),
        af.gather(x, i),
        af.range_(af.size(x)),
    ]
    values = np.float32([-2.5, 0.5, 3.0])
    await both_ways(graph, fetches, [{x: values[:n], i: np.arange(n) % n} for n in (3, 2, 3)])


async def test_a_fed_identity_of_a_constant_has_the_value_that_was_fed(graph: af.Graph) -> None:
    a, passed = af.placeholder(af.float32, ()), af.identity(af.constant(1.0))
    with af.control_dependencies([passed.op]):
        result = a + passed * 3.0
    async with af.Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        assert await session.run(result, {passed: 5.0, a: 2.0}) == 17.0
        assert await session.run(result, {a: 2.0}) == 5.0
