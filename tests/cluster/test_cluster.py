"""Sessions on a cluster: the same program on several tasks, over each transport."""

from __future__ import annotations

import gc
import random
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Any

import anyio
import msgpack
import numpy as np
import probes
import pytest
import pytest_asyncio
from anyio.lowlevel import checkpoint
from channels import start_zmq_collector, until
from clusters import free_port, make_spec, servers
from probes import Probe, probe

import actorflow as af
from actorflow.cluster.client.inquiries import query_pending, query_status, reset
from actorflow.cluster.master.session import MasterSession
from actorflow.cluster.server import Server
from actorflow.cluster.wire.signatures import decode_signature, encode_signature
from actorflow.cluster.worker.remote_rendezvous import RunnablePartition
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.runtime.codegen.background import background
from actorflow.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    Overloaded,
    UnavailableError,
)
from actorflow.graph.node import Node, TensorId

__all__ = ["probe"]
TRANSPORTS = ("local", "zmq", "shm")


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


@pytest_asyncio.fixture(params=TRANSPORTS)
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[list[Server]]:
    """Three tasks: ps:0, worker:0 and worker:1."""
    async with servers({"ps": 1, "worker": 2}, request.param) as found:
        yield found


@pytest_asyncio.fixture
async def nearby() -> AsyncIterator[list[Server]]:
    """The same in-process only."""
    async with servers({"ps": 1, "worker": 2}) as found:
        yield found


def on(task: str) -> AbstractContextManager[Any]:
    return af.device(f"/job:{task.partition(':')[0]}/task:{task.partition(':')[2]}")


def device(task: str) -> str:
    job, _, index = task.partition(":")
    return f"/job:{job}/replica:0/task:{index}/device:CPU:0"


# ---- steps over several tasks


async def test_f50_f53_f58_a_step_runs_on_all_tasks(cluster: list[Server], graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None])
    with on("ps:0"):
        doubled = x * 2.0
    with on("worker:0"):
        more = doubled + 1.0
    with on("worker:1"):
        product = more * doubled
    async with af.Session(cluster[0].target, graph) as session:
        values = await session.run([doubled, more, product], {x: np.arange(3)})
        assert [value.tolist() for value in values] == [[0, 2, 4], [1, 3, 5], [0, 6, 20]]
        assert [session.placement(t) for t in (doubled, more, product)] == list(
            map(device, ("ps:0", "worker:0", "worker:1"))
        )
    assert [server.worker.steps.count for server in cluster] == [1, 1, 1]


async def test_f57_a_job_is_a_name_and_no_role(cluster: list[Server], graph: af.Graph) -> None:
    with on("worker:1"):
        weights = af.get_variable("weights", [2, 2], initializer=af.ones_initializer())
    with on("ps:0"):
        product = af.matmul(weights, af.placeholder_with_default([[1.0], [2.0]], [2, 1]))
    async with af.Session(cluster[0].target, graph) as session:
        await session.run(af.global_variables_initializer())
        assert (await session.run(product)).tolist() == [[3], [3]]
        assert [session.placement(t) for t in (weights, product)] == [device("worker:1"), device("ps:0")]


async def test_f58_any_server_is_a_target(cluster: list[Server], graph: af.Graph) -> None:
    with on("worker:1"):
        value = af.constant(3.0) + af.placeholder_with_default(1.0, [])
    for server in cluster:
        async with af.Session(server.target, graph) as session:
            assert await session.run(value) == 4.0
            assert session.list_devices()[0].name.startswith(server.task.replace("/task", "/replica:0/task"))


async def test_variables_of_a_task_are_frozen_until_one_is_written(nearby: list[Server], graph: af.Graph) -> None:
    """By the task that has them, in the part of each session."""
    x = af.placeholder(af.float32, [1, 2])
    with on("ps:0"):
        weights = af.Variable(np.ones((2, 2), np.float32))
        product = af.matmul(x, weights)
        write = weights.assign(np.full((2, 2), 5.0, np.float32))
    with on("worker:0"):
        more = product + 1.0

    def frozen() -> bool:
        plans = [part.compiled.freezing for part in nearby[0].worker._parts.values()]
        return any(plan is not None and plan.is_frozen for plan in plans)

    async with af.Session(nearby[1].target, graph) as session:
        await session.run(weights.initializer)
        with anyio.fail_after(30):
            while not frozen():
                assert (await session.run(more, {x: [[1.0, 1.0]]})).tolist() == [[3.0, 3.0]]
                await anyio.to_thread.run_sync(background.wait)
        assert (await session.run(more, {x: [[1.0, 1.0]]})).tolist() == [[3.0, 3.0]]
        await session.run(write)
        assert not frozen()
        assert (await session.run(more, {x: [[1.0, 1.0]]})).tolist() == [[11.0, 11.0]]


async def test_a_plan_of_tasks_is_made_for_each_value_of_a_predicate(nearby: list[Server], graph: af.Graph) -> None:
    p, x = af.placeholder(af.bool), af.placeholder(af.float32, [])
    with on("ps:0"):
        y = af.cond(p, lambda: x * 2.0, lambda: x + 5.0)
    with on("worker:1"):
        z = af.cond(p, lambda: y + 1.0, lambda: -y)
    async with af.Session(nearby[1].target, graph) as session:
        for value in (True, False, True):
            assert await session.run([y, z], {p: value, x: 3.0}) == ([6.0, 7.0] if value else [8.0, -8.0])
        assert session.statistics().plans == 2
        assert await session.run([p, y], {p: False, x: 3.0}) == [False, 8.0]


GIVEN = [[["p", 0, "bool", []]], [["x", 0]], []]


def test_values_that_are_given_come_with_their_signature() -> None:
    p, nodes = TensorId("p", 0), {name: Node(name, "Identity", dtypes=(af.bool,), shapes=((),)) for name in ("p", "x")}
    signature = RunSignature({p: (af.bool, ())}, (TensorId("x", 0),), (), given={p: True})
    found = decode_signature(encode_signature(signature), nodes)
    assert (found.feeds, found.fetches, found.given, found.partial) == (
        {p: (af.bool, ())},
        signature.fetches,
        {p: True},
        False,
    )


@pytest.mark.parametrize(
    "more",
    [[1], [True, [["p", 0, True]]], [False, [["p", 0, 1]]], [False, [["x", 0, True]]], [False, 5], [False, [], 0]],
    ids=str,
)
def test_a_signature_whose_values_do_not_fit_is_refused(more: list[Any]) -> None:
    nodes = {name: Node(name, "Identity", dtypes=(af.bool,), shapes=((),)) for name in ("p", "x")}
    with pytest.raises(InvalidArgumentError, match="no signature"):
        decode_signature(msgpack.packb([*GIVEN, *more]), nodes)


def test_a_value_is_given_for_a_predicate_only() -> None:
    nodes = {"p": Node("p", "Identity", dtypes=(af.float32,), shapes=((),))}
    packed = msgpack.packb([[["p", 0, "float32", []]], [["p", 0]], [], False, [["p", 0, True]]])
    with pytest.raises(InvalidArgumentError, match="no predicate"):
        decode_signature(packed, nodes)


async def test_f59_every_kind_of_value_comes_through(cluster: list[Server], graph: af.Graph) -> None:
    fed = {
        af.placeholder(af.int64, []): 5,
        af.placeholder(af.string, [2]): [b"a\0", "ü"],
        af.placeholder(af.bool, [1]): [True],
        af.placeholder(af.complex64, [2]): [1j, 2],
        af.placeholder(af.float64, [0, 3]): np.zeros((0, 3)),
    }
    with on("worker:1"):
        there = [af.identity(x) for x in fed]
    async with af.Session(cluster[0].target, graph) as session:
        here = await session.run(there, fed)
    async with af.Session(graph=graph, devices=None) as local:
        expected = await local.run(list(fed), fed)
    for value, wanted in zip(here, expected, strict=True):
        assert type(value) is type(wanted) and np.array_equal(value, wanted)
        assert not isinstance(value, np.ndarray) or (value.dtype == wanted.dtype and not value.flags.writeable)


async def test_f49_f60_a_large_tensor_goes_once_to_each_task(cluster: list[Server], graph: af.Graph) -> None:
    big = np.arange(300_000, dtype=np.float32)
    with on("ps:0"):
        v = af.Variable(big, name="v")
    with on("worker:0"):
        sums = [af.reduce_sum(v * float(k)) for k in range(3)]
    async with af.Session(cluster[0].target, graph) as session:
        await session.run(af.global_variables_initializer())
        assert np.array_equal(await session.run(v), big)
        before = sum(edge.tokens for edge in await session.channels())
        await session.run(sums)
        after = await session.channels()
    assert sum(edge.tokens for edge in after) - before == 1
    assert {edge.transport for edge in after} <= set(TRANSPORTS)


async def test_f60_channels_tell_how_long_a_token_was_waited_for(cluster: list[Server], graph: af.Graph) -> None:
    with on("ps:0"):
        late = af.FIFOQueue(1, [af.float32], [[]])
        element = late.dequeue()
        put = late.enqueue(1.0)
    with on("worker:0"):
        more = element + 1.0
    async with af.Session(cluster[0].target, graph) as session:
        for round in range(3):

            async def wait() -> None:
                assert await session.run(more) == 2.0

            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                await until(lambda: "Add" in cluster[1].worker.pending())
                await anyio.sleep(0.01)
                await session.run(put)
            (edge,) = (one for one in await session.channels() if one.tensor.startswith(element.op.name))
            assert (edge.source, edge.destination) == (device("ps:0"), device("worker:0"))
            assert edge.tokens == edge.waits == round + 1
            assert 0.01 * (round + 1) <= edge.wait_seconds


# ---- state


async def test_f60_f104_clients_share_variables_by_name(cluster: list[Server]) -> None:
    def build() -> tuple[af.Graph, af.Operation, af.Tensor]:
        graph = af.Graph()
        with graph.as_default(), on("ps:0"):
            v = af.Variable(np.zeros(2, np.int64), name="shared")
            return graph, v.initializer, v.assign_add([1, 2])

    first, init, add = build()
    second, _, again = build()
    async with af.Session(cluster[1].target, first) as one, af.Session(cluster[2].target, second) as other:
        await one.run(init)
        for _ in range(5):
            await one.run(add)
            await other.run(again)
        assert (await other.run(again)).tolist() == [11, 22]
    async with af.Session(cluster[0].target, first) as third:
        assert (await third.run(add)).tolist() == [12, 24]


async def test_f60_concurrent_clients_lose_no_update(cluster: list[Server]) -> None:
    graph = af.Graph()
    with graph.as_default(), on("ps:0"):
        v = af.Variable(0, name="count")
        add = v.assign_add(1).op
        init = v.initializer

    async def work(target: str) -> None:
        async with af.Session(target, graph) as session:
            for _ in range(25):
                await session.run(add)

    async with af.Session(cluster[0].target, graph) as session:
        await session.run(init)
        async with anyio.create_task_group() as group:
            for server in cluster * 2:
                group.start_soon(work, server.target)
        assert await session.run(v) == 150


async def test_f104_reset_drops_containers_everywhere(cluster: list[Server], graph: af.Graph) -> None:
    with af.container("mine"):
        with on("ps:0"):
            kept = af.Variable(1.0)
        with on("worker:1"):
            other = af.Variable(2.0)
    async with af.Session(cluster[0].target, graph) as session:
        await session.run(af.global_variables_initializer())
        assert await session.run([kept, other]) == [1.0, 2.0]
        await reset(cluster[2].target, ["mine"])
        for v in (kept, other):
            with pytest.raises(FailedPreconditionError, match="has no value yet"):
                await session.run(v)


async def test_f96_one_trace_shows_all_tasks(cluster: list[Server], graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [])
    with on("ps:0"):
        one = af.add(x, 1.0, name="one")
    with on("worker:1"):
        two = af.multiply(one, 2.0, name="two")
    trace = af.Trace()
    async with af.Session(cluster[1].target, graph) as session:
        assert await session.run(two, {x: 1.0}, trace=trace) == 4.0
    events = {event.node: event for event in trace.events}
    assert (events["one"].device, events["two"].device) == (device("ps:0"), device("worker:1"))
    assert events["one"].begun <= events["one"].ended <= events["two"].begun
    assert {"_Send", "_Recv"} <= {event.op for event in trace.events}


async def test_f21_f61_extending_sends_only_new_nodes(nearby: list[Server], graph: af.Graph) -> None:
    with on("worker:1"):
        v = af.Variable(np.ones(100_000), name="v")
        total = af.reduce_sum(v)
    async with af.Session(nearby[0].target, graph) as session:
        await session.run(v.initializer)
        (channel,) = [
            c for c in nearby[0].links.endpoints.control.channels if c.peer.identity.task.startswith("/client")
        ]
        before = channel.statistics().bytes_received
        assert await session.run(total + 1.0) == 100_001
        assert channel.statistics().bytes_received - before < 5_000
        assert await session.extend() == len(graph)


# ---- ends


async def test_f65_the_first_error_stops_the_step_everywhere(cluster: list[Server], graph: af.Graph) -> None:
    queue = af.FIFOQueue(1, [af.float32], [[]], name="never")
    with on("worker:0"):
        waits = af.identity(queue.dequeue())
    x = af.placeholder(af.float32, [])
    with on("worker:1"):
        fails = af.check_numerics(x, "not a number here")
        joined = fails + waits
    async with af.Session(cluster[0].target, graph) as session:
        with pytest.raises(InvalidArgumentError, match="not a number here") as caught:
            await session.run(joined, {x: float("nan")})
        assert caught.value.node == fails.op.name and caught.value.device == device("worker:1")
        assert caught.value.where is not None and caught.value.where.file == __file__
        assert not any(server.worker.steps.running for server in cluster)
        with on("worker:1"):
            assert await session.run(af.constant(2.0) * x, {x: 4.0}) == 8.0


@pytest.mark.parametrize("fails_on", ["ps:0", "worker:0", "worker:1"])
async def test_f65_an_error_on_one_task_ends_the_waits_on_each_other(
    fails_on: str, nearby: list[Server], graph: af.Graph
) -> None:
    tasks = ["ps:0", "worker:0", "worker:1"]
    x = af.placeholder(af.float32, [])
    made = []
    for task in tasks:
        with on(task):
            if task == fails_on:
                made.append(af.check_numerics(x, "not a number here"))
            else:
                made.append(af.FIFOQueue(1, [af.float32], [[]], name=f"never_on_{task[:-2]}").dequeue())
    async with af.Session(nearby[0].target, graph) as session:
        await session.warmup(made)
        with pytest.raises(InvalidArgumentError, match="not a number here"):
            await session.run(made, {x: float("nan")})
        assert not any(server.worker.steps.running for server in nearby)


async def test_cancellation_reaches_every_task(cluster: list[Server], graph: af.Graph) -> None:
    queue = af.FIFOQueue(1, [af.float32], [[]])
    with on("worker:0"):
        waits = queue.dequeue() + 1.0
    with on("worker:1"):
        result = waits * 2.0
    async with af.Session(cluster[0].target, graph) as session:
        await session.run(af.no_op())
        await session.warmup(result)
        with anyio.move_on_after(0.05) as scope:
            await session.run(result)
        assert scope.cancelled_caught
        assert not any(server.worker.steps.running for server in cluster)
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, queue.enqueue(3.0))
            assert await session.run(result) == 8.0


async def test_a_deadline_says_what_waits_on_which_task(cluster: list[Server], graph: af.Graph) -> None:
    with on("ps:0"):
        queue = af.FIFOQueue(1, [af.float32], [[]], name="empty")
    with on("worker:1"):
        result = queue.dequeue(name="starving") * 2.0
    async with af.Session(cluster[0].target, graph) as session:
        await session.warmup(result)
        with pytest.raises(DeadlineExceededError) as caught:
            await session.run(result, timeout=0.5)
        assert "starving" in str(caught.value) or "recv" in str(caught.value)
        assert not any(server.worker.steps.running for server in cluster)


async def test_f63_a_lost_task_ends_its_steps_and_comes_back_empty(graph: af.Graph) -> None:
    async with servers({"ps": 1, "worker": 1}, "zmq") as found:
        with on("worker:0"):
            v = af.Variable(7.0, name="v")
            queue = af.FIFOQueue(1, [af.float32], [[]])
            waits = queue.dequeue()
        async with af.Session(found[0].target, graph) as session:
            await session.run(v.initializer)
            async with anyio.create_task_group() as group:

                async def wait() -> None:
                    with pytest.raises(UnavailableError, match="/job:worker/task:0"):
                        await session.run(waits)

                group.start_soon(wait)
                await until(lambda: found[1].worker.steps.running)
                found[1].links.close()
            await found[1].__aexit__(None, None, None)
            again = Server(found[0].cluster, "worker", 0, transport="zmq")
            async with again:
                with pytest.raises(FailedPreconditionError, match="has no value yet"):
                    await session.run(v)
                await session.run(v.initializer)
                assert await session.run(v) == 7.0
            await found[1].__aenter__()


async def test_f61_a_client_that_goes_away_leaves_nothing(nearby: list[Server], graph: af.Graph) -> None:
    with on("worker:1"):
        queue = af.FIFOQueue(1, [af.float32], [[]])
        waits = queue.dequeue() + 1.0
    session = af.Session(nearby[0].target, graph)
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            with pytest.raises((UnavailableError, AbortedError)):
                await session.run(waits)

        group.start_soon(wait)
        await until(lambda: nearby[2].worker.steps.running)
        session._engine.abandon()
    await until(lambda: not nearby[2].worker.steps.running and not nearby[0].status()["sessions"])
    await session.close()


async def test_f64_status_and_pending_tell_of_a_task(nearby: list[Server], graph: af.Graph) -> None:
    with on("worker:1"):
        queue = af.FIFOQueue(1, [af.float32], [[]])
        waits = queue.dequeue(name="patient")
    async with af.Session(nearby[0].target, graph) as session:
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, waits)
            await until(lambda: nearby[2].worker.steps.running)
            status = await query_status(nearby[2].target)
            assert (status["task"], status["steps_in_flight"], status["state"]) == ("/job:worker/task:1", 1, "live")
            assert "patient" in await query_pending(nearby[2].target)
            group.cancel_scope.cancel()


async def test_f61_a_draining_server_refuses_new_steps(nearby: list[Server], graph: af.Graph) -> None:
    async with af.Session(nearby[0].target, graph) as session:
        assert await session.run(af.constant(1.0)) == 1.0
        await nearby[0].drain(1.0)
        with pytest.raises(UnavailableError, match="about to end"):
            await session.run(af.constant(2.0))


@pytest.mark.parametrize("drained", [0, 2])
async def test_f61_a_drain_waits_for_steps_that_are_under_way_and_lets_none_of_any_master_begin(
    nearby: list[Server], graph: af.Graph, probe: Probe, drained: int
) -> None:
    """The server that drains is the master, with no part of the step, or has a part of another master's."""
    with af.device("/job:worker/task:1"):
        y = probes.wait(af.constant(3.0), tag="y")
        z = af.constant(1.0) + 1.0
    results: list[Any] = []

    async def step() -> None:
        results.append(await session.run(y))

    async def drain() -> None:
        await nearby[drained].drain(60.0)
        results.append("drained")

    async with af.Session(nearby[0].target, graph) as session:
        await session.warmup(z)
        async with anyio.create_task_group() as group:
            group.start_soon(step)
            await probe.arrived("y").wait()
            group.start_soon(drain)
            await until(lambda: nearby[drained].draining)
            with pytest.raises(UnavailableError, match="about to end"):
                await session.run(z)
            assert not results
            probe.gate("y").set()
        assert results == [3.0, "drained"] or results == ["drained", 3.0]


# ---- bad set-ups


async def test_f61_missing_tasks_are_listed(graph: af.Graph) -> None:
    spec = make_spec({"ps": 1, "worker": 2}, "local")
    async with Server(spec, "ps", 0, transport="local") as server:
        with pytest.raises(UnavailableError) as caught:
            async with af.Session(server.target, graph, connect_timeout=0.2) as session:
                await session.run(af.no_op())
    assert "/job:worker/task:0" in str(caught.value) and "1 of 3 tasks" in str(caught.value)


async def test_f61_a_target_takes_no_devices_of_ones_own(graph: af.Graph) -> None:
    with pytest.raises(ValueError, match="takes no devices"):
        af.Session("tcp://127.0.0.1:1", graph, devices={"CPU": 2})


async def test_f61_a_target_that_nobody_listens_at(graph: af.Graph) -> None:
    async with af.Session(f"tcp://127.0.0.1:{free_port()}", graph, connect_timeout=0.3) as session:
        with pytest.raises(UnavailableError, match="got as far as: resolved"):
            await session.run(af.no_op())


async def test_f61_bad_input_is_refused_as_in_a_local_session(nearby: list[Server], graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2], name="x")
    with on("worker:1"):
        y = x + 1.0
    async with af.Session(
        nearby[0].target, graph, limits=af.SessionLimits(max_inflight_steps=1, max_queued_steps=0)
    ) as session:
        with pytest.raises(InvalidArgumentError, match="You must feed a value") as caught:
            await session.run(y)
        assert caught.value.node == "x" and caught.value.where is not None
        with pytest.raises(InvalidArgumentError, match="does not fit"):
            await session.run(y, {x: [1, 2, 3]})
        with pytest.raises(InvalidArgumentError, match="/job:nowhere"), af.device("/job:nowhere/task:0"):
            await session.run(af.identity(y), {x: [1, 2]})
        assert (await session.run(y, {x: [1, 2]})).tolist() == [2, 3]
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, y, {x: [1, 2]})
            await checkpoint()
            with pytest.raises(Overloaded):
                await session.run(y, {x: [1, 2]})


async def test_ten_cancellations_at_random_instants(nearby: list[Server], graph: af.Graph, seed: int) -> None:
    draw = random.Random(seed)
    x = af.placeholder(af.float32, [4])
    value: af.Tensor = x
    for turn in range(6):
        with on(("ps:0", "worker:0", "worker:1")[turn % 3]):
            value = value * 2.0 + 1.0
    async with af.Session(nearby[0].target, graph) as session:
        expected = await session.run(value, {x: np.ones(4)})
        for _ in range(100):
            with anyio.move_on_after(draw.uniform(0, 0.004)):
                await session.run(value, {x: np.ones(4)})
            assert not any(server.worker.steps.running for server in nearby)
        assert np.array_equal(await session.run(value, {x: np.ones(4)}), expected)


# ---- without await


@pytest.mark.timeout(30)
def test_f58_f104_scripts_without_await() -> None:
    import actorflow.compat.v1 as tf

    spec = tf.train.ClusterSpec({"ps": [f"127.0.0.1:{free_port()}"], "worker": [f"127.0.0.1:{free_port()}"]})
    with tf.train.Server(spec, "ps", 0) as ps, tf.train.Server(spec, "worker", 0) as worker:
        assert ps.server_def.job_name == "ps" and ps.server_def.task_index == 0
        assert tf.train.ClusterSpec(ps.server_def.cluster) == spec
        with tf.Graph().as_default():
            with tf.device("/job:ps"):
                v = tf.Variable(1.0)
            with tf.device("/job:worker"):
                y = v * 3.0
            with tf.Session(worker.target, config=tf.ConfigProto(device_count={"CPU": 1})) as session:
                session.run(tf.global_variables_initializer())
                assert session.run(y) == 3.0
                assert session.placement(y) == device("worker:0")


@pytest.mark.timeout(30)
def test_a_local_server_and_a_reset_of_its_state() -> None:
    import actorflow.compat.v1 as tf

    with tf.train.Server.create_local_server(start=False) as server, tf.Graph().as_default():
        assert server.server_def.job_name == "local" and str(server.target).startswith("tcp://127.0.0.1:")
        with tf.container("kept"):
            v = tf.Variable(1.0)
        with tf.Session(server.target) as session:
            session.run(v.initializer)
        with tf.Session(server.target) as session:
            assert session.run(v) == 1.0, "it outlives the session"
        tf.Session.reset(server.target, ["other"])
        with tf.Session(server.target) as session:
            assert session.run(v) == 1.0
        tf.Session.reset(str(server.target).replace("tcp://", "grpc://"), ["kept"])
        with tf.Session(server.target) as session, pytest.raises(FailedPreconditionError, match="uninitialized"):
            session.run(v)


def test_a_server_that_is_one_of_one_needs_no_name() -> None:
    import actorflow.compat.v1 as tf

    one = {"worker": [f"127.0.0.1:{free_port()}"]}
    made = tf.train.Server(one, start=False)
    assert (made.server_def.job_name, made.server_def.task_index) == ("worker", 0)
    assert tf.train.Server(made.server_def, start=False).server_def == made.server_def
    two = {"ps": [f"127.0.0.1:{free_port()}"], "worker": [f"127.0.0.1:{free_port()}" for _ in range(2)]}
    with pytest.raises(ValueError, match="Must specify an explicit job_name"):
        tf.train.Server(two, start=False)
    with pytest.raises(ValueError, match="Must specify an explicit task_index"):
        tf.train.Server(two, "worker", start=False)
    with pytest.raises(ValueError, match="'grpc' or 'tcp'"):
        tf.train.Server(one, protocol="smoke", start=False)
    with pytest.raises(TypeError, match="A cluster is"):
        tf.train.Server("worker", start=False)  # type: ignore[arg-type]


async def test_f58_sessions_that_have_ended_leave_nothing_with_links_that_stay(
    nearby: list[Server], graph: af.Graph
) -> None:
    """Links between tasks outlive sessions, and must not hold their plans."""
    given = af.placeholder(af.float32, [])
    with on("ps:0"):
        x = given * 3.0
    with on("worker:1"):
        y = x + 1.0
    for _ in range(3):
        async with af.Session(nearby[1].target, graph) as session:
            assert await session.run(y, {given: 2.0}) == 7.0
    await until(lambda: not any(server.worker._parts for server in nearby))
    gc.collect()
    kept = [thing for thing in gc.get_objects() if isinstance(thing, (MasterSession, RunnablePartition))]
    assert not kept, kept


async def test_f65_an_abort_that_is_read_after_its_link_has_ended_is_forgotten(nearby: list[Server]) -> None:
    class Gone:
        alive = False

    worker = nearby[0].worker
    worker.abort(5, AbortedError("it is over"), Gone())
    assert not worker._aborted
