"""Placement: groups, constraints and kernels, and the simulated execution that chooses among devices (paper 3.2.1, 4.3)."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from logged import capture_logs
from patience import PATIENCE
from random_graphs import random_graph

import actorflow as af
from actorflow import errors
from actorflow.base.registry import kernel, plugins
from actorflow.engine.device.base import Device
from actorflow.engine.placement import place as placing
from actorflow.engine.placement.choose import Reason
from actorflow.engine.placement.cost_model import Measurements
from actorflow.engine.placement.explain import explain
from actorflow.engine.placement.groups import UnionFind, required
from actorflow.engine.placement.place import place
from actorflow.engine.placement.simulation.link_costs import DEFAULT_LINKS, LinkCost, LinkCosts
from actorflow.engine.placement.simulation.makespan import makespan
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike

LOCAL = "/job:localhost/replica:0/task:0/device:"


@dataclass(frozen=True)
class Record:
    """A device as a master knows it: no memory, no threads."""

    name: str
    type: str = "CPU"
    speed: float = 1.0
    budget: int | None = None
    host: str | None = None
    asynchronous: bool = False

    @property
    def spec(self) -> DeviceSpec:
        return DeviceSpec.parse(self.name)


def tasks(count: int, job: str = "worker", **facts: Any) -> list[Record]:
    """One CPU in each of `count` tasks of one host."""
    return [Record(f"/job:{job}/replica:0/task:{i}/device:CPU:0", host="one", **facts) for i in range(count)]


def cpus(count: int, **facts: Any) -> list[Record]:
    """`count` CPUs of one process."""
    return [Record(f"{LOCAL}CPU:{i}", **facts) for i in range(count)]


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    plugins.load_kernels()
    made = af.Graph()
    with made.as_default():
        yield made


@af.op("TestHostOnly", shape=unchanged, gradient=None)
def host_only(x: TensorLike, *, name: str | None = None) -> Tensor:
    """`x` itself, which only a CPU computes."""


@af.kernel("TestHostOnly", device="CPU")
def _host_only(xp: Any, x: Any) -> Any:
    return x


@af.op("TestSleep", shape=unchanged, gradient=None, work=lambda c: 1e9)
def sleep(x: TensorLike, *, seconds: float, name: str | None = None) -> Tensor:
    """`x` itself after some seconds of a thread's time; from its expected work, it is nothing for the event loop."""


@af.kernel("TestSleep")
def _sleep(xp: Any, x: Any, *, seconds: float) -> Any:
    time.sleep(seconds)
    return x + 0


# ---- graphs


def chains(width: int = 4, length: int = 5, size: int = 300) -> None:
    """Independent chains of heavy products."""
    x = af.placeholder(af.float32, [size, size], name="x")
    for i in range(width):
        y = x
        for j in range(length):
            y = af.matmul(y, y, bool(i >> 2 * j & 1), bool(i >> 2 * j & 2), name=f"chain{i}_{j}")  # no two are equal


def chain(length: int = 20, size: int = 300) -> None:
    """One product after the other."""
    y = af.placeholder(af.float32, [size, size], name="x")
    for i in range(length):
        y = af.matmul(y, y, name=f"link{i}")


def towers(count: int = 2, batch: int = 512, width: int = 512) -> None:
    """Dense layers on inputs of their own, a join, and a step of training."""
    tops = []
    for tower in range(count):
        y = af.placeholder(af.float32, [batch, width], name=f"x{tower}")
        for layer in range(3):
            w = af.Variable(af.random_normal([width, width]), name=f"w{tower}{layer}")
            y = af.nn.relu(af.matmul(y, w), name=f"y{tower}{layer}")
        tops.append(y)
    loss = af.reduce_mean(af.square(af.add_n(tops)), name="loss")
    af.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")


KINDS: list[Callable[[], None]] = [chains, chain, towers]


def round_robin(nodes: Mapping[str, Node], devices: Sequence[Record]) -> dict[str, str]:
    """Each group on the next device."""
    groups = UnionFind()
    for name, other, _ in required(nodes, nodes.values()):
        groups.join(name, other)
    turn: dict[str, str] = {}
    return {n: turn.setdefault(groups.find(n), devices[len(turn) % len(devices)].name) for n in nodes}


# ---- the simulated execution


@pytest.mark.parametrize("build", KINDS)
@pytest.mark.parametrize(
    "devices",
    [cpus(2), cpus(4), tasks(2), [replace(d, speed=s) for d, s in zip(cpus(3), (1.0, 4.0, 2.0))]],
    ids=["2 cpus", "4 cpus", "2 tasks", "3 speeds"],
)
def test_f43_greedy_is_no_slower_than_one_device_or_turns(
    graph: af.Graph, build: Callable[[], None], devices: list[Record]
) -> None:
    build()
    step = makespan(graph.nodes, place(graph.nodes, devices, {}), devices).seconds
    for device in devices:
        alone = dict.fromkeys(graph.nodes, device.name)
        assert step <= makespan(graph.nodes, alone, devices).seconds * (1 + 1e-9), f"all on {device.name} is faster"
    assert step <= makespan(graph.nodes, round_robin(graph.nodes, devices), devices).seconds * (1 + 1e-9)


def test_f43_independent_chains_share_the_work(graph: af.Graph) -> None:
    chains(width=4, size=500)
    devices = cpus(4)
    placed = place(graph.nodes, devices, {})
    for i in range(4):
        assert len({placed[f"chain{i}_{j}"] for j in range(5)}) == 1, "a chain stays together"
    assert len({placed[f"chain{i}_0"] for i in range(4)}) == 4
    alone = makespan(graph.nodes, dict.fromkeys(graph.nodes, devices[0].name), devices).seconds
    assert makespan(graph.nodes, placed, devices).seconds < 0.3 * alone


def test_f43_a_chain_goes_to_the_fast_device_as_a_whole(graph: af.Graph) -> None:
    """Also where no single node of it is worth the way."""
    chain(length=50, size=100)
    slow, fast = Record(f"{LOCAL}CPU:0"), Record(f"{LOCAL}SIM:0", "SIM", speed=3.0)
    placed = place(graph.nodes, [slow, fast], {})
    assert {placed[f"link{i}"] for i in range(50)} == {fast.name}
    assert placed["x"] == slow.name, "what is fed comes in where the step begins"


def test_f43_towers_take_their_variables_along(graph: af.Graph) -> None:
    towers()
    placed = place(graph.nodes, cpus(2), {})
    homes = [{placed[f"w{tower}{layer}"] for layer in range(3)} for tower in range(2)]
    assert [len(home) for home in homes] == [1, 1] and homes[0] != homes[1], homes
    for tower in range(2):
        for layer in range(3):
            assert placed[f"y{tower}{layer}"] == placed[f"w{tower}{layer}"]


def test_f43_an_expensive_edge_keeps_its_nodes_together(graph: af.Graph) -> None:
    """Two heavy users of a large tensor: apart over a fast link, together over a slow one."""
    x = af.matmul(af.placeholder(af.float32, [2000, 2000]), af.ones([2000, 2000]), name="x")
    af.matmul(x, x, name="one")
    af.matmul(x, x, transpose_b=True, name="two")
    devices = tasks(2)
    for bandwidth, together in ((1e10, False), (1e7, True)):
        placed = place(graph.nodes, devices, {}, links=LinkCosts(host=LinkCost(1e-4, bandwidth)))
        assert (placed["one"] == placed["two"]) == together, bandwidth


def test_f43_what_is_cheap_stays_on_the_first_device(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [10])
    for i in range(500):
        af.square(x + float(i))
    v = af.Variable(af.zeros([10]))
    v.assign_add(x)
    for devices in (cpus(3), tasks(3)):
        assert set(place(graph.nodes, devices, {}).values()) == {devices[0].name}


def test_f43_links_may_be_given_for_pairs(graph: af.Graph) -> None:
    chains(width=3, size=500)
    devices = tasks(3)
    slow = {(a.name, b.name): LinkCost(10.0) for a in devices for b in devices if a is not b and devices[2] in (a, b)}
    placed = place(graph.nodes, devices, {}, links=LinkCosts(between=slow))
    assert set(placed.values()) == {devices[0].name, devices[1].name}


def test_f42_costs_are_for_each_node_and_device(graph: af.Graph) -> None:
    """Twice the speed is half the time; what was measured replaces the estimate; transfers cost latency and bytes."""
    x = af.placeholder(af.float32, [500, 500], name="x")
    y = af.matmul(x, x, name="y")
    af.matmul(y, y, name="z")
    one, two = Record(f"{LOCAL}CPU:0"), Record("/job:w/task:1/device:CPU:0", speed=2.0)

    def step(y_on: Record, z_on: Record, measured: Measurements, links: LinkCosts = DEFAULT_LINKS) -> float:
        placed = {"x": one.name, "y": y_on.name, "z": z_on.name}
        return makespan(graph.nodes, placed, [one, two], measured=measured, links=links).seconds

    seconds = {"y": 3e-3, "z": 1e-3}
    measured = Measurements(seconds)
    assert step(one, one, measured) == pytest.approx(4e-3)
    free = LinkCosts(network=LinkCost(0.0))
    assert step(two, two, measured, free) == pytest.approx(2e-3)
    assert step(two, two, Measurements(seconds, devices=dict.fromkeys("yz", two.name)), free) == pytest.approx(4e-3)
    link = LinkCosts(network=LinkCost(1e-3, 1e9))
    assert step(one, two, measured, link) == pytest.approx(3e-3 + 0.5e-3 + 2 * (1e-3 + 1e-3))
    few = Measurements(seconds, {"y": [1000], "z": [2000]})
    assert step(one, two, few, link) == pytest.approx(3e-3 + 0.5e-3 + 2e-3 + 1e-6 + 2e-6)


def test_f42_a_measured_time_decides(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [10])
    for k, name in enumerate("abc"):
        af.multiply(x, float(k), name=name)  # equal nodes would be one
    devices = cpus(3)
    assert set(place(graph.nodes, devices, {}).values()) == {devices[0].name}
    placed = place(graph.nodes, devices, {}, measured=Measurements(dict.fromkeys("abc", 0.01)))
    assert [placed[name] for name in "abc"] == [d.name for d in devices], "ties go to the device named first"


def test_f43_equal_nodes_share_a_device_and_cost_once(graph: af.Graph) -> None:
    """A pass lets only the first of them run there."""
    x = af.placeholder(af.float32, [500, 500], name="x")
    for name, turned in (("a", False), ("b", False), ("c", True)):
        af.matmul(x, x, transpose_b=turned, name=name)
    devices = tasks(2)
    measured = Measurements(dict.fromkeys("abc", 0.02))
    placed = place(graph.nodes, devices, {}, measured=measured)
    assert placed["a"] == placed["b"] != placed["c"]
    assert makespan(graph.nodes, placed, devices, measured=measured).seconds < 0.03
    on_one = dict.fromkeys(graph.nodes, devices[0].name)
    assert makespan(graph.nodes, on_one, devices, measured=measured).seconds == pytest.approx(0.04)
    apart = on_one | {"b": devices[1].name}
    assert makespan(graph.nodes, apart, devices, measured=measured).seconds == pytest.approx(0.04), "and b beside them"
    cheap = place(graph.nodes, devices, {}, measured=Measurements(dict.fromkeys("abc", 1e-5)))
    assert set(cheap.values()) == {devices[0].name}


def test_f43_short_kernels_of_a_process_share_its_loop(graph: af.Graph) -> None:
    """Two CPUs of one process don't run them twice as fast; two tasks, or a device that only launches them, do."""
    x = af.placeholder(af.float32, [])
    seconds = {af.multiply(x, float(i), name=f"n{i}").op.name: 5e-4 for i in range(40)}
    for devices, faster in (
        (cpus(2), False),
        (tasks(2), True),
        ([*cpus(1), Record(f"{LOCAL}GPU:0", "GPU", asynchronous=True)], True),
    ):
        placed = place(graph.nodes, devices, {}, measured=Measurements(seconds))
        assert (len(set(placed.values())) == 2) == faster


async def test_f42_f43_the_simulation_agrees_with_real_runs() -> None:
    """Kernels that take a thread's time on two devices: measured, placed, simulated, and run."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [4])
        a = sleep(sleep(x, seconds=0.02, name="a0"), seconds=0.03, name="a1")
        b = sleep(x, seconds=0.05, name="b")
        c, d = sleep(a + b, seconds=0.03, name="c"), sleep(a * b, seconds=0.02, name="d")
        total = af.add(c, d)
    devices = [plugins.load("devices", "CPU")(f"{LOCAL}CPU:{i}") for i in range(2)]
    traces = [af.Trace() for _ in range(4)]
    async with af.Session(graph=graph, devices=devices[:1]) as session:
        for trace in traces:
            await session.run(total, {x: np.ones(4)}, trace=trace)
    seconds: dict[str, float] = {}
    for event in (
        event for trace in traces for event in trace.events
    ):  # the shortest: a machine may stand still meanwhile
        seconds[event.node] = min(seconds.get(event.node, 1.0), (event.ended - event.begun) * 1e-9)
    measured = Measurements(seconds)
    placed = place(graph.nodes, devices, {}, measured=measured)
    expected = makespan(graph.nodes, placed, devices, measured=measured).seconds
    on_one = makespan(graph.nodes, dict.fromkeys(placed, devices[0].name), devices, measured=measured).seconds
    assert expected < 0.7 * on_one, "80 ms of 150"
    told = af.Graph()
    for node in graph.nodes.values():
        told.add_node(replace(node, device=placed[node.name]))
    found = []
    devices = [plugins.load("devices", "CPU")(f"{LOCAL}CPU:{i}") for i in range(2)]
    async with af.Session(graph=told, devices=devices, options=af.PlanOptions(coalesce=False)) as session:
        await session.warmup(total.name, [x.name])
        for _ in range(300):  # another process may take the machine from any of them
            begun = time.perf_counter()
            await session.run(total.name, {x.name: np.ones(4)})
            found.append(time.perf_counter() - begun)
            if abs(min(found) - expected) < 0.1 * expected:
                return
            await asyncio.sleep(0)
    raise AssertionError(f"expected {expected}, took {found}")


# ---- memory


def test_variables_go_where_they_fit(graph: af.Graph) -> None:
    for name in "abc":
        af.Variable(af.zeros([1000]), name=name)
    devices = [replace(d, budget=5000) for d in cpus(3)]
    placed = place(graph.nodes, devices, {})
    assert sorted(placed[name] for name in "abc") == [d.name for d in devices]
    for name in "abc":
        assert placed[name] == placed[f"{name}/Assign"] == placed[f"{name}/read"]
    roomy = [replace(devices[0], budget=8000), *devices[1:]]
    placed = place(graph.nodes, roomy, {})
    assert [placed[name][-1] for name in "abc"] == ["0", "0", "1"]


def test_a_budget_counts_what_is_there_already(graph: af.Graph) -> None:
    af.Variable(af.zeros([1000]), name="a")
    devices = [replace(d, budget=5000) for d in cpus(2)]
    known = place(graph.nodes, devices, {})
    assert set(known.values()) == {devices[0].name}
    af.Variable(af.zeros([1000]), name="b")
    assert place(graph.nodes, devices, known)["b"] == devices[1].name


def test_a_real_devices_budget_is_its_allocators(graph: af.Graph) -> None:
    af.Variable(af.zeros([1000]), name="a")
    devices = [
        plugins.load("devices", "SIM")(f"{LOCAL}SIM:0", memory_budget=1000),
        plugins.load("devices", "CPU")(f"{LOCAL}CPU:0"),
    ]
    placed = place(graph.nodes, devices, {})
    assert placed["a"] == devices[1].name


# ---- groups


def test_f46_state_and_what_refers_to_it_stay_together(graph: af.Graph) -> None:
    with af.device("/device:CPU:1"):
        queue = af.FIFOQueue(3, [af.float32], [[2]], name="queue")
        v = af.Variable([1.0, 2.0], name="v")
    with af.device(None):
        enqueue, got = queue.enqueue([af.constant([1.0, 2.0])]), queue.dequeue()
        update = v.assign_add(got)
    placed = place(graph.nodes, cpus(3), {})
    names = ["queue", enqueue.name, got.op.name, "v", update.op.name]
    assert [placed[name][-1] for name in names] == ["1"] * 5


def test_state_that_asks_for_no_task_is_in_the_first(graph: af.Graph) -> None:
    """Which process keeps a variable is for the user to say: a save looks for them in one."""
    for i in range(6):
        x = af.placeholder(af.float32, [500, 500])
        af.matmul(x, af.Variable(af.zeros([500, 500]), name=f"v{i}"), name=f"y{i}")
    with af.device("/job:ps"):
        free = [af.Variable(af.zeros([500, 500]), name=f"p{i}") for i in range(2)]
    devices = [*tasks(3), *tasks(2, "ps")]
    placed = place(graph.nodes, devices, {})
    assert {placed[f"v{i}"] for i in range(6)} == {devices[0].name}
    assert {placed[f"y{i}"] for i in range(6)} > {devices[0].name}, "what computes with them may go elsewhere"
    assert {placed[v.op.name] for v in free} == {devices[3].name}


def test_initial_values_are_made_with_their_variables(graph: af.Graph) -> None:
    """However long that takes: it happens once, and says nothing of where steps want the variable."""
    x = af.placeholder(af.float32, [500, 500])
    for i in range(3):
        x = af.matmul(x, af.Variable(af.truncated_normal([500, 500]), name=f"w{i}"), name=f"y{i}")
    placed = place(graph.nodes, cpus(3), {})
    assert set(placed.values()) == {f"{LOCAL}CPU:0"}
    with af.device("/device:CPU:2"):
        v = af.Variable(lambda: af.truncated_normal([500, 500]), name="v")
    with af.device(None):
        w = af.Variable(af.random_uniform([500, 500]) * 3.0, name="w")
        product = af.matmul(v, w, name="product")
    placed = place(graph.nodes, cpus(3), {})
    assert placed["w"] == placed[product.op.name] == placed["v"]
    made = [name for name in ("random_uniform", "mul", "Mul", "w/Assign") if name in placed]
    assert len(made) == 3 and {placed[name] for name in made} == {placed["w"]}, placed


def test_views_and_questions_for_shapes_go_with_their_tensor(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None, 4])
    with af.device("/device:CPU:1"):
        y = af.matmul(x, af.ones([4, 4]), name="y")
    rows = af.identity(af.reshape(y, [-1]), name="rows")
    names = [rows.op.name, af.shape(y).op.name, af.size(y).op.name]
    with af.device("/device:CPU:2"):
        elsewhere = af.identity(y, name="elsewhere")
    placed = place(graph.nodes, cpus(3), {})
    assert {placed[name] for name in names} == {placed["y"]} == {f"{LOCAL}CPU:1"}
    assert placed[elsewhere.op.name] == f"{LOCAL}CPU:2", "unless it asks for another"


def test_a_source_goes_with_its_only_user(graph: af.Graph) -> None:
    with af.device("/device:CPU:1"):
        other = af.negative(af.placeholder(af.float32, [3]))
    c, often = af.constant([1.0, 2.0, 3.0], name="c"), af.constant([1.0, 2.0, 3.0], name="often")
    noise = af.random_normal([3], name="noise")
    with af.device("/device:CPU:1"):
        af.add_n([other, c, often, noise])
    af.negative(often)
    placed = place(graph.nodes, cpus(2), {})
    assert [placed[name][-1] for name in ("c", "noise", "often")] == ["1", "1", "0"]


def inside(graph: af.Graph, prefix: str) -> set[str]:
    return {name for name in graph.nodes if name.startswith(prefix)}


def test_a_loop_stays_on_one_device(graph: af.Graph) -> None:
    """Nested ones too, and the loop of the gradient, which takes lists of tensors from it."""
    devices = tasks(3)
    x = af.placeholder(af.float32, [300, 300])
    loops = []
    for i in range(3):

        def body(k: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            inner = af.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, af.matmul(z, z)), [0, y])[1]
            return k + 1, inner

        loops.append(af.while_loop(lambda k, y: k < 3, body, [0, x], name=f"loop{i}")[1])
    af.gradients(af.reduce_sum(loops[0]), [x])
    placed = place(graph.nodes, devices, {})
    control = ("Enter", "Exit", "Merge", "Switch", "NextIteration", "LoopCond", "MatMul")
    for i in range(3):
        members = {name for name in inside(graph, f"loop{i}/") if graph.nodes[name].op in control}
        assert len(members) > 10 and len({placed[name] for name in members}) == 1, i
    assert len({placed[loop.op.name] for loop in loops}) == 3, "but different loops may be apart"
    back = {n.name for n in graph.nodes.values() if n.op in control and not n.name.startswith("loop")}
    assert len(back) > 10 and {placed[name] for name in back} == {placed[loops[0].op.name]}


def test_a_loop_goes_where_one_of_its_nodes_has_to_be(graph: af.Graph) -> None:
    with af.device("/device:CPU:2"):
        v = af.Variable(0.0, name="v")

    def body(k: Tensor) -> Tensor:
        with af.control_dependencies([v.assign_add(1.0)]):
            return k + 1

    af.while_loop(lambda k: k < 3, body, [0], name="loop")
    placed = place(graph.nodes, cpus(3), {})
    assert {placed[n] for n in inside(graph, "loop/") if graph.nodes[n].op != "Const"} == {f"{LOCAL}CPU:2"}


def test_a_loop_between_two_devices_is_divided_where_it_has_to_be(graph: af.Graph) -> None:
    def body(y: Tensor) -> Tensor:
        with af.device("/device:CPU:1"):
            y = af.square(y, name="one")
        with af.device("/device:CPU:2"):
            return af.sqrt(y, name="two")

    af.while_loop(lambda y: y < 3.0, body, [af.placeholder(af.float32, [])], name="loop")
    placed = place(graph.nodes, cpus(3), {})
    assert placed["loop/one"] == f"{LOCAL}CPU:1" and placed["loop/two"] == f"{LOCAL}CPU:2"
    free = inside(graph, "loop/") - {"loop/two"}
    assert {placed[n] for n in free if graph.nodes[n].op != "Const"} == {f"{LOCAL}CPU:1"}


# ---- constraints, kernels, kinds of devices


def test_f45_partial_constraints_are_kept(graph: af.Graph) -> None:
    made = {}
    for name, scope in {
        "any_ps": "/job:ps",
        "ps_one": "/job:ps/task:1",
        "gpu": "/device:GPU:*",
        "worker_gpu": "/job:worker/task:1/gpu:0",
    }.items():
        with af.device(scope):
            made[name] = af.Variable(1.0, name=name)
    with af.colocate_with(made["ps_one"].op), af.device(None):
        af.constant(1.0, name="beside")
    gpus = [Record(f"/job:worker/replica:0/task:{i}/device:GPU:0", "GPU") for i in range(2)]
    placed = place(graph.nodes, [*tasks(2), *gpus, *tasks(2, "ps")], {})
    assert {n: placed[n] for n in [*made, "beside"]} == {
        "any_ps": "/job:ps/replica:0/task:0/device:CPU:0",
        "ps_one": "/job:ps/replica:0/task:1/device:CPU:0",
        "gpu": "/job:worker/replica:0/task:0/device:GPU:0",
        "worker_gpu": "/job:worker/replica:0/task:1/device:GPU:0",
        "beside": "/job:ps/replica:0/task:1/device:CPU:0",
    }


def test_f44_a_node_goes_only_where_it_has_a_kernel(graph: af.Graph) -> None:
    """Though the GPU is first, and faster."""
    gpu, cpu = Record(f"{LOCAL}GPU:0", "GPU", speed=100.0), Record(f"{LOCAL}CPU:0")
    x = af.placeholder(af.float32, [500, 500])
    y = af.matmul(x, x, name="before")
    y = host_only(y, name="host")
    af.matmul(y, y, name="after")
    placed = place(graph.nodes, [gpu, cpu], {})
    assert [placed[n] for n in ("before", "host", "after")] == [gpu.name, cpu.name, gpu.name]
    with af.colocate_with(graph.get_operation_by_name("host")):
        af.constant(1.0, name="beside")
    assert place(graph.nodes, [gpu, cpu], {})["beside"] == cpu.name


async def test_f121_one_program_over_several_kinds_of_devices() -> None:
    """A CPU, an emulated GPU and the CPU of another task: each node where its kernels, its user and its cost put it."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [300, 300], name="x")
        y = x
        for i in range(8):
            y = af.matmul(y, y, name=f"heavy{i}") / 300.0
        host = host_only(y, name="host")
        with af.device("/job:other"):
            v = af.Variable(af.ones([300]), name="v")
            far = host[0] + v
        result = af.reduce_sum(far, name="result")
    gpu = plugins.load("devices", "SIM")(f"{LOCAL}GPU:0", kind="GPU")
    gpu.speed = 20.0
    cpu, other = (
        plugins.load("devices", "CPU")(name) for name in (f"{LOCAL}CPU:0", "/job:other/replica:0/task:0/device:CPU:0")
    )
    async with af.Session(graph=graph, devices=[cpu, gpu, other]) as session:
        await session.run(v.initializer)
        assert await session.run(result, {x: np.full((300, 300), 1.0)}) == 600.0
        assert {session.placement(f"heavy{i}:0") for i in range(8)} == {gpu.name}
        assert session.placement("host:0") == cpu.name
        assert session.placement("v:0") == session.placement(far) == other.name
        launches = {name: found.launches for name, found in session.statistics().devices.items()}
        assert min(launches.values()) > 0, launches


def test_a_missing_task_is_found_in_a_cluster_and_a_missing_device_in_the_own_process(graph: af.Graph) -> None:
    with af.device("/job:worker/task:3"):
        elsewhere = af.constant(1.0)
    with af.device("/device:CPU:7"):
        here = af.constant(1.0)
    with af.blocking.Session(graph=graph) as session:
        with pytest.raises(
            errors.InvalidArgumentError, match=r"connect the session to the cluster .* Session\(target\)"
        ):
            session.run(elsewhere)
        with pytest.raises(errors.InvalidArgumentError, match=r"open the session with more devices: Session\(devices="):
            session.run(here)


# ---- soft placement


def test_f45_soft_placement_falls_back_to_the_task_then_to_any(graph: af.Graph) -> None:
    with af.device("/job:worker/task:1/device:GPU:0"):
        a = af.constant(1.0, name="a")
    with af.device("/job:ps/task:7/device:CPU:0"):
        b = af.constant(1.0, name="b")
    with af.device("/job:worker/task:1/device:CPU:0"):
        af.constant(1.0, name="fits")
    devices = tasks(2)
    with pytest.raises(errors.InvalidArgumentError, match="No device fits"):
        place(graph.nodes, devices, {})
    with capture_logs() as logs:
        placed = place(graph.nodes, devices, {}, soft=True)
    assert placed == {"a": devices[1].name, "b": devices[0].name, "fits": devices[1].name}
    assert [(log["log_level"], log["node"], log["asked"], log["device"], log["where"]) for log in logs] == [
        ("info", "a", "/job:worker/task:1/device:GPU:0", devices[1].name, str(a.op.where)),
        ("info", "b", "/job:ps/task:7/device:CPU:0", devices[0].name, str(b.op.where)),
    ]


def test_f44_soft_placement_goes_where_there_is_a_kernel(graph: af.Graph) -> None:
    with af.device("/device:GPU:0"):
        host_only(af.constant(1.0), name="host")
    devices = [Record(f"{LOCAL}GPU:0", "GPU"), Record(f"{LOCAL}CPU:0")]
    with pytest.raises(errors.UnimplementedError, match="TestHostOnly has no kernel for GPU"):
        place(graph.nodes, devices, {})
    with capture_logs() as logs:
        assert place(graph.nodes, devices, {}, soft=True)["host"] == devices[1].name
    assert len(logs) == 1
    lonely = [devices[0]]
    with pytest.raises(errors.UnimplementedError, match="no kernel"):
        place(graph.nodes, lonely, {}, soft=True)


def test_f45_soft_placement_leaves_state_where_it_is(graph: af.Graph) -> None:
    v = af.Variable(1.0, name="v")
    known = place(graph.nodes, cpus(2), {})
    with af.device("/device:CPU:1"):
        update = v.assign_add(1.0)
    with pytest.raises(errors.InvalidArgumentError, match="lives on"):
        place(graph.nodes, cpus(2), known)
    with capture_logs() as logs:
        assert place(graph.nodes, cpus(2), known, soft=True)[update.op.name] == f"{LOCAL}CPU:0"
    assert [log["node"] for log in logs] == [update.op.name]


# ---- explain


def told(name: str, graph: af.Graph, devices: Sequence[Record], **options: Any) -> str:
    reasons: dict[str, Reason] = {}
    placed = place(graph.nodes, devices, {}, reasons=reasons, **options)
    return explain(name, graph.nodes, placed, devices, reasons=reasons)


def test_f45_explain_tells_the_group_its_joints_and_its_constraint(graph: af.Graph) -> None:
    with af.device("/device:CPU:1"):
        v = af.Variable(1.0, name="v")
    with af.colocate_with(v.op), af.device(None):
        c = af.constant(2.0, name="c")
    text = told("c", graph, cpus(2))
    assert text.startswith(f"c ({c.op.where}) is on {LOCAL}CPU:1.\nIt shares the device with ")
    assert f"\n  c ({c.op.where}) is colocated with v ({v.op.where})\n" in text
    assert f"v/read ({graph.nodes['v/read'].where}) refers to v ({v.op.where})" in text
    assert f"v ({v.op.where}) asks for /device:CPU:1" in text
    assert f"\n  {LOCAL}CPU:0: not what c asks for\n  {LOCAL}CPU:1: chosen" in text


def test_f43_explain_tells_what_each_device_would_cost(graph: af.Graph) -> None:
    chains(width=2, size=500)
    host_only(graph.get_tensor_by_name("x:0"), name="host")
    devices = [*cpus(2), Record(f"{LOCAL}GPU:0", "GPU", budget=1000)]
    for i in range(2):
        lines = told(f"chain{i}_0", graph, devices).splitlines()
        at = lines.index("The devices:") + 1
        found = [line.split(": ", 1)[1] for line in lines[at:]]
        assert [line.startswith("chosen; ") for line in found] == [i == 0, i == 1, False], lines
        assert all(" ms after the step begins" in line for line in found[:2])
        assert found[2] == "its memory has no room"
    assert f"{LOCAL}GPU:0: TestHostOnly (host) has no kernel for GPU" in told("host", graph, devices)


def test_f43_explain_tells_what_came_along_and_what_stayed_together(graph: af.Graph) -> None:
    chain(length=50, size=100)
    v = af.Variable(af.zeros([100, 100]), name="v")
    af.matmul(graph.get_tensor_by_name("link49:0"), v, name="last")
    fast = Record(f"{LOCAL}SIM:0", "SIM", speed=3.0)
    text = told("link7", graph, [*cpus(1), fast])
    assert f"link7 ({graph.nodes['link7'].where}) is on {fast.name}." in text
    assert "with all that is free on one device, and " in text
    y = af.matmul(af.placeholder(af.float32, [None, 100]), af.zeros([100, 100]), name="y")
    af.shape(y, name="shape")
    assert "only asks for the shape of y (" in told("shape", graph, cpus(2))


def test_explain_tells_why_other_devices_were_left_out(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [500, 500], name="x")
    af.matmul(x, af.Variable(af.zeros([500, 500]), name="v"), name="y")
    text = told("v", graph, cpus(2))
    assert f"went where y ({graph.nodes['y'].where}) uses it" in text
    assert f"{LOCAL}CPU:1: possible, but not where its user went" in text
    text = told("v", graph, tasks(2))
    assert f"{tasks(2)[1].name}: in another task; state goes to the first task that fits" in text
    assert "what is fed comes in where a step begins" in told("x", graph, cpus(2))
    v = af.Variable(1.0, name="w")
    with af.device("/device:CPU:1"):
        v.assign_add(1.0, name="update")
    for name in ("w", "w/read"):
        assert f"{LOCAL}CPU:0: not what update asks for" in told(name, graph, cpus(2))
    placed = place(graph.nodes, cpus(2), {})
    text = explain("y", graph.nodes, placed, cpus(2))
    assert text.count("chosen") == 1 and "since its group has a device already" in text


def test_explain_tells_of_soft_placement_and_of_what_has_no_device(graph: af.Graph) -> None:
    with af.device("/device:GPU:0"):
        af.constant(1.0, name="a")
    assert "No device meets /device:GPU:0, so by soft placement" in told("a", graph, cpus(2), soft=True)
    refused: dict[str, errors.OpError] = {}
    placed = place(graph.nodes, cpus(2), {}, refused)
    text = explain("a", graph.nodes, placed, cpus(2), refused=refused)
    assert "has no device: " in text and "asks for /device:GPU:0" in text
    with pytest.raises(KeyError):
        explain("nothing", graph.nodes, placed, cpus(2))


async def test_f43_a_session_explains_where_its_nodes_are() -> None:
    graph = af.Graph()
    with graph.as_default():
        chains(width=2, size=500)
        v = af.Variable(1.0, name="v")
        with af.device("/device:CPU:9"):
            nowhere = af.constant(1.0, name="nowhere")
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        assert await session.explain_placement("v") == "v has no device; it was not placed yet."
        await session.run(v.initializer)
        text = await session.explain_placement("chain1_0:0")
        assert f"is on {session.placement('chain1_0:0')}." in text and text.count(" after the step begins") == 2
        with graph.as_default():
            y = af.square(v, name="later")
        await session.run(y)
        assert await session.explain_placement("chain1_0:0") == text, "it remembers its reasons"
        assert "later (" in await session.explain_placement(y)
        assert "has no device: No device fits what is asked for" in await session.explain_placement(nowhere)


# ---- properties


def random_devices(rng: random.Random) -> list[Record]:
    """Three CPUs, so that what random graphs ask for is there, and perhaps others."""
    others = [Record(f"{LOCAL}SIM:0", "SIM"), *tasks(2)]
    found = [*cpus(3), *rng.sample(others, rng.randrange(4))]
    return [replace(d, speed=rng.choice((0.5, 1.0, 4.0)), budget=rng.choice((None, 2000, 10**6))) for d in found]


def random_costs(rng: random.Random, names: Sequence[str]) -> Measurements:
    """Times that make a choice worth while."""
    return Measurements({name: rng.choice((1e-6, 1e-4, 1e-2)) for name in names if rng.random() < 0.8})


@pytest.mark.parametrize("seed", range(60))
def test_f41_f44_f45_f46_random_graphs_keep_every_rule(seed: int) -> None:
    """Constraints, kernels and groups hold; nothing placed moves; no order of nodes changes anything; and the result is no
    slower than all on one device, where that is allowed."""
    rng = random.Random(seed)
    nodes = random_graph(seed, size=rng.randint(5, 60), devices=rng.choice((1, 3))).graph.nodes
    devices, measured = random_devices(rng), random_costs(rng, list(nodes))
    of = {device.name: device for device in devices}
    placed = place(nodes, devices, {}, measured=measured)
    assert placed.keys() == nodes.keys(), f"seed {seed}"
    for node in nodes.values():
        device = of[placed[node.name]]
        assert DeviceSpec.parse(node.device).matches(device.spec), f"seed {seed}: {node}"
        assert {device.type, kernel.ANY_DEVICE} & {*kernel.devices_of(node.op)}, f"seed {seed}: {node}"
    for name, other, why in required(nodes, nodes.values()):
        assert placed[name] == placed[other], f"seed {seed}: {name} {why} {other}"
    shuffled = list(nodes.values())
    rng.shuffle(shuffled)
    again = place({node.name: node for node in shuffled}, devices, {}, measured=measured)
    assert again == placed, f"seed {seed}"
    early = {name: nodes[name] for name in list(nodes)[: rng.randrange(len(nodes))]}
    first = place(early, devices, {}, measured=measured)
    later = place(nodes, devices, first, measured=measured)
    assert first.items() <= later.items(), f"seed {seed}: something moved"
    if all(device.budget is None for device in devices):
        step = makespan(nodes, placed, devices, measured=measured).seconds
        for device in devices:
            if all(DeviceSpec.parse(node.device).matches(device.spec) for node in nodes.values()):
                alone = dict.fromkeys(nodes, device.name)
                assert step <= makespan(nodes, alone, devices, measured=measured).seconds * 1.0001, f"seed {seed}"


def digest() -> str:
    """Of the placements of some random graphs."""
    plugins.load_kernels()
    found = hashlib.sha256()
    for seed in range(20):
        rng = random.Random(seed)
        nodes = random_graph(seed, 60, 3).graph.nodes
        placed = place(nodes, random_devices(rng), {}, measured=random_costs(rng, list(nodes)))
        found.update(repr(sorted(placed.items())).encode())
    return found.hexdigest()


def test_f43_processes_agree_whatever_their_hash_seed() -> None:
    code = "import sys; sys.path[:0] = sys.argv[1:]; import test_placement; print(test_placement.digest())"
    arguments = [sys.executable, "-c", code, *sys.path]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    found = subprocess.run(arguments, capture_output=True, text=True, env=environment, timeout=PATIENCE)
    assert found.stdout.strip() == digest(), found.stderr


def test_many_sessions_worth_of_growth_moves_nothing(graph: af.Graph) -> None:
    """A graph that grows between runs: each time only what is new is placed."""
    rng = random.Random(3)
    devices, placed = cpus(3), dict[str, str]()
    y = af.placeholder(af.float32, [400, 400])
    for _ in range(10):
        for _ in range(rng.randrange(1, 4)):
            y = af.matmul(y, y) if rng.random() < 0.5 else y + 1.0
        before, placed = placed, place(graph.nodes, devices, placed)
        assert before.items() <= placed.items() and placed.keys() == graph.nodes.keys()


def test_what_is_with_a_lost_device_stays_with_it(graph: af.Graph) -> None:
    """A task may come back; where its variables are is not for the next plan to change."""
    v = af.Variable(1.0, name="v")
    known = dict.fromkeys(graph.nodes, "/job:gone/replica:0/task:0/device:CPU:0")
    update = v.assign_add(1.0)
    af.square(v, name="free")
    placed = place(graph.nodes, cpus(2), known)
    assert placed[update.op.name] == known["v"] and placed["free"] == f"{LOCAL}CPU:0"


# ---- what it costs


def large(count: int) -> None:
    rng = random.Random(0)
    values = [af.placeholder(af.float32, [50, 50]) for _ in range(8)]
    for _ in range(count):
        x, y = rng.choice(values[-50:]), rng.choice(values[-50:])
        values.append(rng.choice((af.add, af.multiply, af.matmul))(x, y))


def test_f43_nothing_is_simulated_where_there_is_no_choice(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: object) -> dict[str, str]:
        raise AssertionError("there is nothing to choose")

    monkeypatch.setattr(placing, "choose", never)
    large(300)
    assert set(place(graph.nodes, cpus(1), {}).values()) == {f"{LOCAL}CPU:0"}
    told = {name: replace(n, device=f"/device:CPU:{i % 3}") for i, (name, n) in enumerate(graph.nodes.items())}
    assert len(set(place(told, cpus(3), {}).values())) == 3


def test_f43_the_time_of_a_placement_grows_as_its_nodes_do(graph: af.Graph) -> None:
    """Five times as many take some five times as long, not twenty-five times. A benchmark says how long that is."""
    devices = tasks(4)
    took: dict[int, list[float]] = {2_000: [], 10_000: []}
    large(2_000)
    few = dict(graph.nodes)
    large(8_000)
    for _ in range(10):
        for count, nodes in zip(took, (few, graph.nodes)):
            gc.collect()
            gc.disable()  # a collection takes as long as this process has objects
            begun = time.thread_time()
            place(nodes, devices, {})
            took[count].append(time.thread_time() - begun)
            gc.enable()
        if min(took[10_000]) < 12 * min(took[2_000]):
            return
    raise AssertionError(f"{took} s")


def test_a_device_of_this_process_is_a_candidate(graph: af.Graph) -> None:
    devices: list[Device] = [plugins.load("devices", "CPU")(f"{LOCAL}CPU:{i}") for i in range(2)]
    chains(width=2, size=500)
    placed = place(graph.nodes, devices, {})
    assert {placed["chain0_0"], placed["chain1_0"]} == {device.name for device in devices}
