"""Sessions: what a run executes, what it takes and gives, plans that are made once, opening and closing."""

from __future__ import annotations

import asyncio
import collections
import gc
import os
import subprocess
import sys
import tracemalloc
import warnings
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio
import numpy as np
import probes
import pytest
import virtual
from probes import probe as probe

import actorflow as af
from actorflow import errors
from actorflow.engine.passes import compile as compile_module
from actorflow.engine.session.planning import planner as planner_module


def in_a_process(script: str, **environment: str) -> str:
    """The output of a script in a Python of its own, which finds the helpers of the tests."""
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=os.environ | {"PYTHONPATH": paths} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- plans


async def test_f16_passes_run_once(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(*args: Any, **options: Any) -> Any:
        made.append(args)
        return compile_module.divide(*args, **options)

    monkeypatch.setattr(planner_module, "divide", counted)
    x = af.placeholder(af.float32)
    y = x + 1.0
    async with af.Session(graph=graph) as session:
        assert (session.statistics().plans, len(made)) == (0, 0)
        assert await session.run(y, {x: 1}) == 2.0
        assert (session.statistics().plans, len(made)) == (1, 1)
        assert await session.run(y, {x: 2}) == 3.0
        assert (session.statistics().plans, len(made)) == (1, 1)


@pytest.mark.real_memory
async def test_f23_ten_thousand_runs_make_one_plan(graph: af.Graph) -> None:
    x, y = af.placeholder(af.float32, []), af.placeholder(af.float32, [None])
    z = af.reduce_sum(x * y) + 1.0
    array = np.ones(3, np.float32)
    async with af.Session(graph=graph) as session:

        async def runs(count: int) -> int:
            for i in range(count):
                assert await session.run(z, {x: float(i), y: array} if i % 2 else {y: array, x: float(i)}) == 3 * i + 1
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        await runs(200)
        plans = session.statistics().plans
        tracemalloc.start()
        try:
            before = await runs(2_000)
            after = await runs(8_000)
        finally:
            tracemalloc.stop()
        statistics = session.statistics()
    assert statistics.plans == plans and statistics.steps == 10_200
    assert after - before < 20_000, f"memory grew by {after - before} bytes in 8000 runs"


async def test_f22_signatures_share_a_plan_in_any_order_and_spelling(graph: af.Graph) -> None:
    x, y = af.placeholder(af.float32, name="x"), af.placeholder(af.float32, name="y")
    z = af.subtract(x, y, name="z")
    ways: list[Any] = [
        (z, {x: 5, y: 3}),
        (z, {y: 3, x: 5}),
        ("z:0", {"x:0": 5, "y:0": 3}),
        ("z:0", {y: 3, "x:0": 5}),
        ([z], {x: 5, y: 3}),
        ({"k": (z, z)}, {x: 5, y: 3}),
    ]
    async with af.Session(graph=graph) as session:
        for _ in range(3):
            for fetches, feeds in ways:
                found = await session.run(fetches, feeds)
                while not np.isscalar(found):
                    found = next(iter(found.values())) if isinstance(found, dict) else found[0]
                assert found == 2.0
        assert session.statistics().plans == 1
        await session.run([z, x], {x: 5, y: 3})
        assert session.statistics().plans == 2


async def test_f92_a_graph_of_1000_ops_is_one_call(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [])
    y = x
    for _ in range(1000):
        y = y + x
    async with af.Session(graph=graph) as session:
        assert await session.run(y, {x: 1}) == 1001.0
        statistics = session.statistics()
    assert statistics.steps == 1 and statistics.nodes == 1000


# ---- the graph


async def test_f21_a_session_sees_what_is_added(graph: af.Graph) -> None:
    v = af.Variable(1.0, name="v")
    up = v.assign_add(1.0)
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        assert await session.run(up) == 2.0
        known, count = len(graph), await session.extend()
        assert known == count
        delta = af.Graph.from_bytes(graph.to_bytes())
        with delta.as_default():
            af.multiply(delta.get_tensor_by_name("v/read:0"), 10.0, name="tenfold")
        added = delta.to_bytes(since=known)
        assert len(added) < len(delta.to_bytes()) / 2
        assert await session.extend(added) == len(delta)
        assert await session.run("tenfold:0") == 20.0
        assert await session.run(up) == 3.0, "a variable lost its value"
        assert await session.run(v * 2.0) == 6.0
        with pytest.raises(ValueError, match="names already"):
            await session.extend(added)
        with pytest.raises(ValueError, match="one graph"):
            await session.extend(af.Graph())
        assert await session.run("tenfold:0") == 30.0


async def test_f28_only_variables_survive_a_run(graph: af.Graph, probe: probes.Probe) -> None:
    v = af.Variable(3.0)
    middle = probes.log(v * 2.0, tag="middle")
    end = middle + 1.0
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        assert await session.run(end) == 7.0
        assert await session.run(middle) == 6.0
        assert probe.ran["middle"] == 2, "an intermediate was kept"
        assert await session.run(v) == 3.0


async def test_f29_a_read_before_the_initializer_names_the_variable(graph: af.Graph) -> None:
    w, b = af.Variable([0.3], name="weights"), af.Variable([-0.3], name="bias")
    async with af.Session(graph=graph) as session:
        for variable in (w, b):
            with pytest.raises(
                errors.FailedPreconditionError, match=f"uninitialized value {variable.op.name}:"
            ) as caught:
                await session.run(variable)
            assert str(variable.op.where) in str(caught.value) and "initializer" in str(caught.value)
        await session.run(af.global_variables_initializer())
        found = await session.run([w, b])
    np.testing.assert_array_equal(found, np.float32([[0.3], [-0.3]]))


async def test_f27_concurrent_steps_share_variables(graph: af.Graph) -> None:
    v = af.Variable(0, name="v")
    up = v.assign_add(1, read_value=False)
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)

        async def client() -> None:
            for _ in range(1000):
                await session.run(up)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(16):
                tasks.create_task(client())
        assert await session.run(v) == 16_000


async def test_f35_containers(graph: af.Graph) -> None:
    def variable(container: str) -> af.Variable:
        with af.container(container):
            return af.Variable(0.0, name=f"in_{container or 'default'}")

    mine, one, two = variable(""), variable("test_one"), variable("test_two")
    other = af.Graph.from_bytes(graph.to_bytes())
    names = [f"{v.op.name}/read:0" for v in (mine, one, two)]
    async with af.Session(graph=graph) as first, af.Session(graph=other) as second:
        for v in (mine, one, two):
            await first.run(v.initializer)
            await first.run(v.assign_add(5.0))
        with pytest.raises(errors.FailedPreconditionError):
            await second.run(names[0])
        assert await second.run(names[1:]) == [5.0, 5.0]
        af.Session.reset(containers=["test_one"])
        for session in (first, second):
            with pytest.raises(errors.FailedPreconditionError):
                await session.run(names[1])
            assert await session.run(names[2]) == 5.0
        assert await first.run(mine) == 5.0
        af.Session.reset()
        with pytest.raises(errors.FailedPreconditionError):
            await first.run(two)
        assert await first.run(mine) == 5.0


def test_f34_equal_seeds_give_equal_numbers_in_every_process() -> None:
    script = """
import actorflow as af, numpy as np
af.set_random_seed(7)
shapes = [af.random_uniform([3]), af.random_normal([2, 2], seed=3), af.truncated_normal([2], seed=3)]
shapes += [af.random_shuffle(af.range_(9), seed=4), af.Variable(af.random_uniform([2])).initial_value]
with af.blocking.Session() as session:
    for _ in range(2):
        for value in session.run(shapes):
            print(value.tobytes().hex())
af.reset_default_graph()
unseeded = af.random_uniform([8])
with af.blocking.Session() as session:
    print("unseeded", session.run(unseeded).tobytes().hex())
"""
    first, second = (in_a_process(script, PYTHONHASHSEED=seed).split("unseeded") for seed in ("1", "2"))
    assert first[0] == second[0] and len(set(first[0].split())) == 10
    assert first[1] != second[1]


# ---- devices


async def test_f39_f52_three_devices_are_three_partitions_of_one_run(graph: af.Graph) -> None:
    parts = []
    total = af.placeholder(af.float32, [])
    for i in range(3):
        with af.device(f"/cpu:{i}"):
            total = total * 2.0
            parts.append(total)
    async with af.Session(graph=graph, devices={"CPU": 3}) as session:
        names = [d.name for d in session.list_devices()]
        assert names == [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3)]
        trace = af.Trace()
        feeds = {parts[0].op.inputs[0]: 1.0}
        assert await session.run(total, feeds, trace=trace) == 8.0
        assert {event.device for event in trace.events} == set(names)
        sends, receives = ([e.node for e in trace.events if e.op == kind] for kind in ("_Send", "_Recv"))
        assert len(sends) == len(receives) == 2
        assert await session.run(total, feeds) == 8.0
        assert [session.placement(p) for p in parts] == names
        statistics = session.statistics()
        assert statistics.steps == 2 and all(d.launches for d in statistics.devices.values())


async def test_a_node_that_no_device_takes_disturbs_no_other(graph: af.Graph) -> None:
    x = af.constant(1.0)
    with af.device("/device:GPU:7"):
        far = x + 1.0
    bare = probes.kernelless(x)
    async with af.Session(graph=graph) as session:
        assert await session.run(x * 2.0) == 2.0
        with pytest.raises(errors.InvalidArgumentError, match="/device:GPU:7") as caught:
            await session.run(far)
        assert str(far.where) in str(caught.value) and "CPU:0" in str(caught.value)
        with pytest.raises(errors.UnimplementedError, match="TestKernelless"):
            await session.run(bare)
        assert await session.run(x * 3.0) == 3.0
        assert await session.run(far, {far: 5.0}) == 5.0  # nothing of it runs
        with pytest.raises(errors.FailedPreconditionError, match="no device can take it") as caught_late:
            session.placement(far)
        assert str(far.where) in str(caught_late.value) and session.placement(x).endswith("CPU:0")


def test_f54_a_local_session_opens_no_socket() -> None:
    script = """
import asyncio, sys
import actorflow as af

seen = []
async def main():
    with af.device("/cpu:0"):
        x = af.placeholder(af.float32)
    with af.device("/cpu:1"):
        y = x * 2.0
    sys.addaudithook(lambda event, args: seen.append(event) if event.startswith("socket.") else None)
    async with af.Session(devices={"CPU": 2}) as session:
        assert await session.run(y + 1.0, {x: 3.0}) == 7.0
    assert not seen, seen

asyncio.run(main())
assert "zmq" not in sys.modules
print("none")
"""
    assert in_a_process(script) == "none\n"


async def test_bad_sessions(graph: af.Graph) -> None:
    for target in ("http://host:1", "tcp://host", "tcp://host:port"):
        with pytest.raises(errors.InvalidArgumentError, match=target):
            af.Session(target)
    with pytest.raises(errors.InvalidArgumentError, match=r"'TPU'.*CPU"):
        af.Session(devices={"TPU": 1})
    with pytest.raises(ValueError, match="at least one device"):
        af.Session(devices={"CPU": 0})
    with pytest.raises(ValueError, match="max_inflight_steps"):
        af.Session(limits=af.SessionLimits(max_inflight_steps=0))


# ---- fetches


class Pair(NamedTuple):
    left: Any
    right: Any


async def test_structures_of_fetches(graph: af.Graph) -> None:
    a, b = af.constant(1.0, name="a"), af.constant(2, name="b")
    nothing = af.no_op(name="nothing")
    v = af.Variable([3.0], name="v")
    default: collections.defaultdict[str, Any] = collections.defaultdict(list, a=a)
    cases: list[tuple[Any, Any]] = [
        (a, 1.0),
        ("a:0", 1.0),
        ("a", None),
        (a.op, None),
        (nothing, None),
        ([], []),
        ((), ()),
        ({}, {}),
        ([a], [1.0]),
        ((a, b), (1.0, 2)),
        ([a, a, "a:0", b, a], [1.0, 1.0, 1.0, 2, 1.0]),
        ([[a], (b, [nothing, {"x": a}])], [[1.0], (2, [None, {"x": 1.0}])]),
        (Pair(a, [b]), Pair(1.0, [2])),
        ({"a": a, "b": {"c": (b,)}, "n": nothing}, {"a": 1.0, "b": {"c": (2,)}, "n": None}),
        ({1: a, "1": b}, {1: 1.0, "1": 2}),
        (collections.OrderedDict(z=a, y=b), collections.OrderedDict(z=1.0, y=2)),
        (default, collections.defaultdict(list, a=1.0)),
    ]
    async with af.Session(graph=graph) as session:
        for _ in range(2):
            for fetches, expected in cases:
                found = await session.run(fetches)
                assert found == expected
                assert type(found) is type(expected) or np.isscalar(found)
        assert type(await session.run(Pair(a, b))) is Pair
        found = await session.run(default)
        assert type(found) is collections.defaultdict and found["missing"] == []
        assert list((await session.run({"z": a, "a": b})).items()) == [("z", 1.0), ("a", 2)]
        await session.run(v.initializer)
        assert (await session.run([v, "v/read:0", v.op]))[0].tolist() == [3.0]
        assert await session.run(v.initializer) is None


async def test_fetched_slices_keep_their_parts(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [4, 2])
    (slices,) = af.gradients(af.reduce_sum(af.gather(x, [1, 3])), [x])
    assert isinstance(slices, af.IndexedSlices)
    async with af.Session(graph=graph) as session:
        found, twice = await session.run([slices, {"again": slices}], {x: np.zeros((4, 2))})
    assert found.indices.tolist() == [1, 3] == twice["again"].indices.tolist()
    assert found.values.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("fetches", "error", "says"),
    [
        (None, TypeError, "None can't be fetched"),
        ([None], TypeError, "None can't be fetched"),
        (3, TypeError, "3 .*int.* can't be fetched"),
        ([[object()]], TypeError, "object.* can't be fetched"),
        ({1, 2}, TypeError, "set"),
        ("nothing", KeyError, "no operation 'nothing'"),
        ("nothing:0", ValueError, "no operation 'nothing'"),
        ("a:1", ValueError, "a:0"),
        ("", KeyError, "no operation ''"),
        (":0", KeyError, "no operation ''"),
    ],
)
async def test_what_can_not_be_fetched(graph: af.Graph, fetches: Any, error: type[Exception], says: str) -> None:
    a = af.constant(1.0, name="a")
    async with af.Session(graph=graph) as session:
        with pytest.raises(error, match=says):
            await session.run(fetches)
        assert await session.run(a) == 1.0


async def test_a_structure_is_read_when_run_is_called(graph: af.Graph) -> None:
    """A list that its owner changes afterwards is another fetch."""
    a, b = af.constant(1.0), af.constant(2.0)
    fetches, named = [a], {"x": [a]}
    async with af.Session(graph=graph) as session:
        assert await session.run(fetches) == [1.0] and await session.run(named) == {"x": [1.0]}
        fetches.append(b)
        named["x"].append(b)
        assert await session.run(fetches) == [1.0, 2.0] and await session.run(named) == {"x": [1.0, 2.0]}
        del fetches[0]
        assert await session.run(fetches) == [2.0]


# ---- feeds


async def test_f25_feeding_an_intermediate_cuts_the_graph(graph: af.Graph, probe: probes.Probe) -> None:
    x = af.placeholder(af.float32)
    middle = probes.log(probes.log(x, tag="above") * 2.0, tag="middle", name="middle")
    end = probes.log(middle, tag="below") + 1.0
    async with af.Session(graph=graph) as session:
        for key in (middle, "middle:0"):
            assert await session.run(end, {key: 10}) == 11.0
        assert probe.ran == {"below": 2}
        assert await session.run(end, {x: 10}) == 21.0
        assert probe.ran == {"above": 1, "middle": 1, "below": 3}


async def test_f25_feeding_one_output_leaves_the_others(graph: af.Graph, probe: probes.Probe) -> None:
    plus, minus = probes.two(af.constant(3.0), tag="two")
    async with af.Session(graph=graph) as session:
        assert await session.run([plus + 0.0, minus + 0.0], {plus: 50}) == [50.0, -3.0]
        assert probe.ran["two"] == 1
        assert await session.run([plus, minus], {plus: 50, minus: 60}) == [50.0, 60.0]
        assert probe.ran["two"] == 1


async def test_f25_fed_and_fetched(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, name="x")
    y = x * 2.0
    async with af.Session(graph=graph) as session:
        assert await session.run(x, {x: 3}) == 3.0
        assert await session.run([x, y, x, "x:0"], {x: 3}) == [3.0, 6.0, 3.0, 3.0]
        assert await session.run([y, y + 1.0], {y: 5}) == [5.0, 6.0]
        assert (await session.run(y, {y: [1, 2], x: 7})).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("optimize", [True, False])
async def test_a_feed_beats_folding_and_merging(graph: af.Graph, optimize: bool) -> None:
    a, b = af.constant(1.0), af.constant(2.0)
    total = a + b
    twin = a + b
    other = b + a
    ends = [t * 10.0 for t in (total, twin, other)]
    async with af.Session(graph=graph, options=af.PlanOptions(optimize=optimize)) as session:
        assert await session.run(ends) == [30.0, 30.0, 30.0]
        assert await session.run(ends, {total: 5}) == [50.0, 30.0, 30.0]
        assert await session.run(ends, {a: 5}) == [70.0, 70.0, 70.0]
        assert await session.run([*ends, total], {twin: 1, other: 2}) == [30.0, 10.0, 20.0, 3.0]


async def test_feeding_variables_and_constants(graph: af.Graph) -> None:
    v = af.Variable([1.0, 2.0])
    y = v * 2.0
    async with af.Session(graph=graph) as session:
        assert (await session.run(y, {v: [5, 6]})).tolist() == [10.0, 12.0]  # needs no initial value
        await session.run(v.initializer)
        assert (await session.run([y, v], {v: [5, 6]}))[1].tolist() == [5.0, 6.0]
        assert (await session.run(v)).tolist() == [1.0, 2.0]
        assert (await session.run(y, {v.name: [5, 6]})).tolist() == [10.0, 12.0]  # the name of its reference
        assert (await session.run(v.name)).tolist() == [1.0, 2.0]


async def test_a_fed_placeholder_counts_as_done_for_control_edges(graph: af.Graph, probe: probes.Probe) -> None:
    x = af.placeholder(af.float32)
    with af.control_dependencies([x]):
        after = probes.target(tag="after")
    async with af.Session(graph=graph) as session:
        await session.run(after, {x: 1})
        assert probe.ran == {"after": 1}
        with pytest.raises(errors.InvalidArgumentError, match="does not feed it"):
            await session.run(after)


def scalar(dtype: Any, value: Any) -> Any:
    return dtype.numpy_dtype.type(value)


@pytest.mark.parametrize("dtype", [af.int8, af.int64, af.uint8, af.float16, af.float32, af.float64], ids=str)
async def test_values_are_converted_where_nothing_is_lost(graph: af.Graph, dtype: Any) -> None:
    x = af.placeholder(dtype)
    ways: list[Any] = [7, np.int16(7), scalar(dtype, 7), np.array(7), [7], (7,), np.array([[7]], ">i4"), range(7, 8)]
    ways += [np.float64(7), 7.0] if dtype.is_floating else []
    ways += [True] if dtype.is_integer else []
    async with af.Session(graph=graph) as session:
        for way in ways:
            found = await session.run(x, {x: way})
            assert found.dtype == dtype.numpy_dtype and found.shape == np.shape(way)
            assert np.all(found == (1 if way is True else 7)), way
        assert (await session.run(x, {x: []})).shape == (0,)
        assert (await session.run(x, {x: [[], []]})).shape == (2, 0)


@pytest.mark.parametrize(
    ("dtype", "shape", "value", "says"),
    [
        (af.float32, None, "abc", "is text"),
        (af.float32, None, b"abc", "is bytes"),
        (af.float32, None, None, "holds a NoneType"),
        (af.float32, None, object(), "holds a object"),
        (af.float32, None, {"a": 1}, "holds a dict"),
        (af.float32, None, [[1], [1, 2]], "can't become an array"),
        (af.float32, None, 1j, "complex128"),
        (af.int32, None, 1.5, "float64, which does not convert to int32"),
        (af.int32, None, 2**31, "don't fit int32"),
        (af.int8, None, [127, 128], "don't fit int8"),
        (af.uint8, None, -1, "int64"),
        (af.bool, None, 1, "does not convert to bool"),
        (af.string, None, 3, "holds a int"),
        (af.string, None, [b"a", None], "holds a NoneType"),
        (af.float32, [2], [1.0], r"Cannot feed value of shape \(1,\) for Tensor images:0, which has shape \(2,\)"),
        (af.float32, [None, 3], np.zeros((3,)), r"of shape \(3,\) for Tensor images:0, which has shape \(\?, 3\)"),
        (af.float32, [], [1.0], r"of shape \(1,\) for Tensor images:0, which has shape \(\)"),
        (af.float32, [1], 1.0, r"of shape \(\) for Tensor images:0, which has shape \(1,\)"),
    ],
)
async def test_values_that_do_not_fit(graph: af.Graph, dtype: Any, shape: Any, value: Any, says: str) -> None:
    x = af.placeholder(dtype, shape, name="images")
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.InvalidArgumentError, match=says) as caught:
            await session.run(x, {x: value})
        assert isinstance(caught.value, ValueError) and caught.value.node == "images"
        assert str(x.where) in str(caught.value) and "x = af.placeholder" in str(caught.value)
        assert await session.run(x, {x: example(dtype, shape)}) is not None


def example(dtype: Any, shape: Any) -> Any:
    sizes = [2 if size is None else size for size in shape or ()]
    return np.full(sizes, b"x", object) if dtype is af.string else np.ones(sizes, dtype.numpy_dtype)


async def test_what_can_not_be_fed(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, name="x")
    y = x + 1.0
    with af.Graph().as_default():
        other = af.placeholder(af.float32, name="far")
    async with af.Session(graph=graph) as session:
        for feeds, error, says in [
            ({x: 1, y: y}, errors.InvalidArgumentError, "A tensor can't be fed"),
            ({x.op: 1}, errors.InvalidArgumentError, "such as x:0"),
            ({"x": 1}, errors.InvalidArgumentError, "such as x:0"),
            ({"nope:0": 1}, KeyError, "nope"),
            ({3: 1}, TypeError, "of type int"),
            ({None: 1}, TypeError, "NoneType"),
            ({other: 1}, ValueError, "far:0 belongs to another graph"),
            ({x: 1, "x:0": 2}, errors.InvalidArgumentError, "x:0 is fed twice"),
            ([(x, 1)], TypeError, "feeds is a dict"),
        ]:
            with pytest.raises(error, match=says):
                await session.run(y, feeds)
            assert await session.run(y, {x: 1}) == 2.0


# ---- results


VIEWS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "identity": af.identity,
    "reshape": lambda x: af.reshape(x, [-1]),
    "transpose": af.transpose,
    "slice": lambda x: x[1:, ::-1],
    "expand": lambda x: af.expand_dims(x, 0),
    "stop": af.stop_gradient,
    "split": lambda x: af.split(x, 2, 1)[1],
    "far": lambda x: _elsewhere(x),
}


def _elsewhere(x: Any) -> Any:
    with af.device("/cpu:1"):
        return af.identity(x)


def _readonly(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


FED: dict[str, Callable[[Any], Any]] = {
    "array": lambda a: a,
    "part": lambda a: a[:2],
    "turned": lambda a: a.T,
    "backwards": lambda a: a[::-1],
    "read-only": _readonly,
    "broadcast": lambda a: np.broadcast_to(a[0], a.shape),
    "buffer": lambda a: np.frombuffer(memoryview(a).cast("B"), np.float32).reshape(a.shape),
}


@pytest.mark.parametrize("size", [1, 100], ids=["small", "large"])
@pytest.mark.parametrize("fed", FED)
@pytest.mark.parametrize("view", VIEWS)
async def test_results_are_the_callers_alone(graph: af.Graph, view: str, fed: str, size: int) -> None:
    """Results can't be written, feeds can, and neither shows in the other or in a variable."""
    owned = np.arange(16.0, dtype=np.float32).reshape(4, 4)
    owned = np.tile(owned, (size, size))
    given = FED[fed](owned)
    x = af.placeholder(af.float32, [None, None])
    v = af.Variable(x, validate_shape=False)
    y = VIEWS[view](x)
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        kept = given.copy()
        before = given.flags.writeable
        _, result, again = await session.run([v.initializer, y, [y]], {x: given})
        (expected,) = await session.run([y], {x: kept})
        held = await session.run(v)
        assert given.flags.writeable == before and (given == kept).all()
        for found in (result, again[0], held):
            assert not found.flags.writeable
            with pytest.raises(ValueError):
                found[...] = 0
        owned[...] = -1
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(held, kept)
        np.testing.assert_array_equal(await session.run(v), kept)


async def test_a_result_outlives_updates_and_the_session(graph: af.Graph) -> None:
    v = af.Variable(np.zeros((200, 200), np.float32))
    up = v.assign_add(af.ones([200, 200]))
    session = af.Session(graph=graph)
    await session.run(v.initializer)
    first, second = await session.run(v), await session.run(up)
    third = await session.run(up)
    await session.close()
    del session
    gc.collect()
    assert (
        [float(r.min()) for r in (first, second, third)]
        == [float(r.max()) for r in (first, second, third)]
        == [0, 1, 2]
    )


async def test_kinds_of_results(graph: af.Graph) -> None:
    async with af.Session(graph=graph) as session:
        one = await session.run(af.constant(1.5, af.float64))
        assert type(one) is np.float64
        assert type(await session.run(af.constant(b"x"))) is bytes
        assert type(await session.run(af.constant([b"x"]))) is np.ndarray
        assert type(await session.run(af.reduce_sum(af.constant([1, 2])))) is np.int32
        fed = af.placeholder(af.float32, [])
        assert type(await session.run(fed, {fed: np.array(1.0)})) is np.float32


# ---- the minimal subgraph


@pytest.mark.parametrize("coalesce", [True, False])
async def test_f26_exactly_the_needed_nodes_run(seed: int, probe: probes.Probe, coalesce: bool) -> None:
    """On random graphs with random fetches and feeds: the nodes that run are those that a search by hand finds."""
    rng = np.random.default_rng(seed)
    for trial in range(25):
        graph = af.Graph()
        nodes: list[Any] = []
        with graph.as_default():
            for i in range(int(rng.integers(5, 40))):
                above = [nodes[j] for j in sorted({int(k) for k in rng.integers(0, i, min(i, 3))})] if i else []
                waits = [nodes[int(rng.integers(i))]] if i and rng.random() < 0.2 else []
                with af.control_dependencies(waits):
                    value = af.add_n(above) if above else af.constant(float(i))
                    nodes.append(probes.log(value, tag=str(i)))
        fetches = [nodes[int(k)] for k in rng.integers(0, len(nodes), 2)]
        fed = {nodes[int(k)]: float(k) for k in rng.integers(0, len(nodes), int(rng.integers(0, 4)))}
        expected: set[str] = set()
        stack = [t.op for t in fetches if t not in fed]
        seen = set()
        while stack:
            op = stack.pop()
            if op in seen:
                continue
            seen.add(op)
            if op.type == "TestLog":
                expected.add(op.get_attr("tag"))
            stack += [t.op for t in op.inputs if t not in fed] + list(op.control_inputs)
        async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
            probe.ran.clear()
            await session.run(fetches, fed)
        assert probe.ran == dict.fromkeys(expected, 1), f"trial {trial} of seed {seed}:\n{graph}"


# ---- callables and warming up


async def test_make_callable(graph: af.Graph) -> None:
    x, y = af.placeholder(af.float32), af.placeholder(af.float32, [])
    z = x - y
    async with af.Session(graph=graph) as session:
        call = await session.make_callable({"z": [z, z.op]}, [x, y])
        plans = session.statistics().plans
        assert await call(5, 3) == {"z": [2.0, None]}
        assert await session.run(z, {y: 1, x: 2}) == 1.0
        first = await call([5, 6], 3)
        assert first["z"][0].tolist() == [2.0, 3.0] and not first["z"][0].flags.writeable
        assert session.statistics().plans == plans + 1  # `run` fetched no operation
        with pytest.raises(TypeError, match="takes 2 values, but 1 were given"):
            await call(5)
        with pytest.raises(errors.InvalidArgumentError, match=r"shape [(\[]1,?[)\]]"):
            await call(5, [3])
        with pytest.raises(errors.InvalidArgumentError, match="fed twice"):
            await session.make_callable(z, [x, x])
        assert await (await session.make_callable(af.constant(4.0)))() == 4.0
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        await call(5, 3)
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        await session.make_callable(z, [x, y])


async def test_warmup_runs_nothing(graph: af.Graph, probe: probes.Probe) -> None:
    x = af.placeholder(af.float32)
    y = probes.log(x, tag="y") + 1.0
    async with af.Session(graph=graph) as session:
        await session.warmup([y], [x])
        assert not probe.ran and session.statistics().steps == 0
        plans = session.statistics().plans
        assert plans == 1
        assert await session.run([y], {x: 1}) == [2.0]
        await session.warmup([y], {x: None})
        assert session.statistics().plans == plans and probe.ran == {"y": 1}


# ---- deadlines and cancellation


def slow(graph: af.Graph) -> tuple[Any, Any]:
    with graph.as_default():
        x = af.constant(1.0)
        return probes.wait(x, tag="gate", name="slow"), x


def test_timeout(probe: probes.Probe) -> None:
    graph = af.Graph()
    gated, x = slow(graph)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with af.Session(graph=graph) as session:
            with pytest.raises(errors.DeadlineExceededError, match=r"not done after 5 s") as caught:
                await session.run(gated, timeout=5)
            assert loop.time() == 5 and isinstance(caught.value, TimeoutError)
            assert f"slow (TestWait, {gated.where}) waits in its asynchronous kernel" in str(caught.value)
            assert await session.run(x, timeout=5) == 1.0 and loop.time() == 5
            probe.gate("gate").set()
            assert await session.run(gated, timeout=5) == 1.0
            assert loop.time() == 5
            statistics = session.statistics()
            assert (statistics.failed, statistics.inflight, session.pending()) == (1, 0, "no step is in flight")

    virtual.run(main)


@pytest.mark.parametrize("scope", ["fail_after", "move_on_after", "asyncio"])
def test_deadlines_of_the_caller(probe: probes.Probe, scope: str) -> None:
    graph = af.Graph()
    gated, _ = slow(graph)

    async def bounded(session: af.Session) -> bool:
        if scope == "move_on_after":
            with anyio.move_on_after(3) as moved:
                await session.run(gated)
            return moved.cancelled_caught
        with pytest.raises(TimeoutError):
            if scope == "fail_after":
                with anyio.fail_after(3):
                    await session.run(gated)
            else:
                async with asyncio.timeout(3):
                    await session.run(gated)
        return True

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with af.Session(graph=graph) as session:
            assert await bounded(session) and loop.time() == 3
            statistics = session.statistics()
            assert (statistics.cancelled, statistics.inflight) == (1, 0)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            probe.gate("gate").set()
            assert await session.run(gated) == 1.0

    virtual.run(main)


async def test_cancelling_the_caller(graph: af.Graph, probe: probes.Probe) -> None:
    gated, x = slow(graph)
    async with af.Session(graph=graph) as session:
        tasks = [asyncio.create_task(session.run(gated)) for _ in range(3)]
        await probe.arrived("gate").wait()
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        assert await session.run(x) == 1.0
        probe.gate("gate").set()
        assert await asyncio.gather(tasks[0], tasks[2]) == [1.0, 1.0]
        statistics = session.statistics()
        assert (statistics.cancelled, statistics.failed, statistics.inflight) == (1, 0, 0)


async def test_an_error_stops_the_step(graph: af.Graph, probe: probes.Probe) -> None:
    """The first error wins, what waits is woken, and nothing of the step is left."""
    gated, _ = slow(graph)
    bad = probes.log(af.constant(1.0), tag="bad", name="bad")
    probe.does["bad"] = lambda x: 1 // 0
    never = probes.log(gated + bad, tag="never")
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.InvalidArgumentError, match="ZeroDivisionError") as caught:
            await session.run(never)
        assert caught.value.node == "bad" and isinstance(caught.value.__cause__, ZeroDivisionError)
        assert probe.ran["never"] == 0 and session.statistics().inflight == 0
        assert len(asyncio.all_tasks()) == 1


# ---- opening and closing


async def test_f20_sessions_leave_nothing(graph: af.Graph, probe: probes.Probe) -> None:
    probe.release.set()
    x = af.placeholder(af.float32)
    v = af.Variable(np.zeros((300, 300), np.float32))
    y = af.reduce_sum(probes.hold(v + x))
    probe.gate("gate").set()
    gated = probes.wait(y, tag="gate")
    fds, kept = len(os.listdir("/proc/self/fd")), []
    for _ in range(10):
        async with af.Session(graph=graph, devices={"CPU": 2, "SIM": 1}) as session:
            await session.run(v.initializer)
            assert await session.run(gated, {x: 1}) == 90_000
        kept.append(weakref.ref(session))
        del session
    gc.collect()
    assert [ref() for ref in kept] == [None] * 10
    assert len(os.listdir("/proc/self/fd")) == fds
    assert len(asyncio.all_tasks()) == 1


async def test_a_session_opens_at_its_first_run(graph: af.Graph) -> None:
    """As in a notebook: each step in a task of its own, entered in one and left in another."""
    x = af.Variable(1.0)
    session = af.Session(graph=graph)

    async def in_a_task(awaitable: Awaitable[Any]) -> Any:
        async def cell() -> Any:
            return await awaitable

        return await asyncio.create_task(cell())

    await in_a_task(session.run(x.initializer))
    assert await in_a_task(session.run(x.assign_add(1.0))) == 2.0
    assert await in_a_task(session.__aenter__()) is session
    assert await in_a_task(session.run(x * 10.0)) == 20.0
    await in_a_task(session.__aexit__(None, None, None))
    with pytest.raises(errors.FailedPreconditionError):
        await in_a_task(session.run(x))


async def test_a_closed_session(graph: af.Graph) -> None:
    x = af.placeholder(af.float32)
    session = af.Session(graph=graph)
    assert await session.run(x, {x: 1}) == 1.0
    await session.close()
    await session.close()
    for attempt in (
        lambda: session.run(x, {x: 1}),
        lambda: session.warmup(x),
        lambda: session.partial_run_setup(x, [x]),
        lambda: session.extend(),
        lambda: session.__aenter__(),
    ):
        with pytest.raises(errors.FailedPreconditionError, match="closed"):
            await attempt()
    assert "closed" in repr(session) and session.statistics().steps == 1 and session.pending() == "no step is in flight"
    async with af.Session(graph=graph) as another:
        assert await another.run(x, {x: 2}) == 2.0


async def test_closing_stops_what_runs_and_what_waits(graph: af.Graph, probe: probes.Probe) -> None:
    held = probes.hold(af.constant(1.0))
    gated = probes.wait(af.constant(1.0), tag="gate")
    session = af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1))
    waiting = asyncio.create_task(session.run(gated))
    await probe.arrived("gate").wait()
    running = asyncio.create_task(session.run(held))
    await asyncio.to_thread(probe.held.wait, 30)
    queued = [asyncio.create_task(session.run(gated)) for _ in range(3)]
    await asyncio.sleep(0)
    assert session.statistics().queued == 3
    closing = asyncio.create_task(session.close())
    for task in (waiting, *queued):
        with pytest.raises(errors.CancelledError, match="closed"):
            await task
    probe.release.set()
    with pytest.raises(errors.CancelledError, match="closed"):
        await running
    await closing
    assert probe.ran == {"gate": 1, "hold": 1}
    statistics = session.statistics()
    assert (statistics.inflight, statistics.queued) == (0, 0)


async def test_what_a_session_is_closed_with(graph: af.Graph, probe: probes.Probe) -> None:
    """An error in the block, and a cancellation, close it as well."""
    gated = probes.wait(af.constant(1.0), tag="gate")
    with pytest.raises(ZeroDivisionError):
        async with af.Session(graph=graph) as session:
            task = asyncio.create_task(session.run(gated))
            await probe.arrived("gate").wait()
            raise ZeroDivisionError
    with pytest.raises(errors.CancelledError):
        await task

    async def block() -> None:
        async with af.Session(graph=graph) as session:
            probe.reached.clear()
            await session.run(gated)

    task = asyncio.create_task(block())
    await asyncio.sleep(0)
    await probe.arrived("gate").wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asyncio.all_tasks()) == 1


async def test_a_session_that_is_never_closed_says_so(graph: af.Graph, probe: probes.Probe) -> None:
    probe.release.set()
    x = af.constant(1.0)
    session = af.Session(graph=graph)
    await session.run(probes.hold(x))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del session
        gc.collect()
    assert [w.category for w in caught] == [ResourceWarning] and "was never closed" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        af.Session(graph=graph)  # never used: nothing to close
        gc.collect()


async def test_sessions_on_one_loop_are_apart(graph: af.Graph) -> None:
    v = af.Variable(0.0)
    up = v.assign_add(1.0)
    async with af.Session(graph=graph) as one, af.Session(graph=graph) as two:
        await asyncio.gather(one.run(v.initializer), two.run(v.initializer))
        await asyncio.gather(*(one.run(up) for _ in range(10)), *(two.run(up) for _ in range(5)))
        assert (await one.run(v), await two.run(v)) == (10.0, 5.0)
        await two.close()
        assert await one.run(up) == 11.0


def test_a_session_belongs_to_its_loop(probe: probes.Probe) -> None:
    graph = af.Graph()
    gated, x = slow(graph)
    session = af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1))

    async def first() -> None:
        assert await session.run(x) == 1.0
        call = await session.make_callable(x)
        probe.does["call"] = call

    async def second() -> None:
        for attempt in (session.run(x), session.run(x, timeout=1), session.run(gated), probe.does["call"]()):
            with pytest.raises(errors.FailedPreconditionError, match="another event loop"):
                await attempt
        assert session.statistics().inflight == 0

    with asyncio.Runner() as one, asyncio.Runner() as other:
        one.run(first())
        other.run(second())

        async def busy() -> None:
            task = asyncio.create_task(session.run(gated))
            await probe.arrived("gate").wait()
            probe.does["task"] = task  # type: ignore[assignment]

        one.run(busy())
        with pytest.raises(errors.FailedPreconditionError, match="another event loop"):
            other.run(session.close())
        one.run(session.close())

        async def ended() -> None:
            with pytest.raises(errors.CancelledError):
                await probe.does["task"]  # type: ignore[misc]

        one.run(ended())


def test_a_session_whose_loop_is_gone_can_be_closed() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.constant(1.0)
    session = af.Session(graph=graph)
    assert asyncio.run(session.run(x)) == 1.0
    asyncio.run(session.close())


# ---- looking in from outside


async def test_pending_and_statistics(graph: af.Graph, probe: probes.Probe) -> None:
    gated, x = slow(graph)
    after = gated + 1.0
    async with af.Session(graph=graph) as session:
        zero = session.statistics()
        assert (zero.steps, zero.failed, zero.cancelled, zero.abandoned, zero.plans, zero.nodes) == (0, 0, 0, 0, 0, 0)
        task = asyncio.create_task(session.run([after, x]))
        await probe.arrived("gate").wait()
        report = session.pending()
        assert (
            report.startswith("step 1:")
            and f"slow (TestWait, {gated.where}) waits in its asynchronous kernel" in report
        )
        assert f"({after.op.type}, {after.where}) waits for input slow:0" in report
        probe.gate("gate").set()
        await task
        assert session.pending() == "no step is in flight"
        done = session.statistics()
        assert (done.steps, done.inflight, done.queued, done.plans, done.nodes) == (
            1,
            0,
            0,
            1,
            3,
        )  # both constants are 1.0
        assert list(done.devices) == [d.name for d in session.list_devices()]
        assert "0 steps in flight" in repr(session)


@pytest.mark.parametrize("workers", [1, 3])
def test_f102_concurrent_steps_fill_the_gaps(probe: probes.Probe, workers: int) -> None:
    """12 steps that each wait a second for something outside take 12 s one by one, and 4 s three at a time."""
    graph = af.Graph()
    with graph.as_default():
        io = probes.nap(af.constant(1.0), seconds=1.0)
        y = probes.log(io, tag="compute") * 2.0

    async def main() -> None:
        async with af.Session(graph=graph) as session:

            async def client() -> None:
                for _ in range(12 // workers):
                    assert await session.run(y) == 2.0

            async with asyncio.TaskGroup() as tasks:
                for _ in range(workers):
                    tasks.create_task(client())

    _, seconds = virtual.run(main)
    assert seconds == 12 / workers and probe.ran["compute"] == 12
