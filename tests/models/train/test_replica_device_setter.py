"""Variables on parameter servers and all else on workers: TensorFlow's answers, and what runs there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow.base.registry import plugins

Cpu = plugins.load("devices", "CPU")
CLUSTER = {"ps": ["ps0:2222", "ps1:2222"], "worker": ["w0:2222", "w1:2222", "w2:2222"]}
setter = af.train.replica_device_setter


def devices(*tasks: str) -> list[Any]:
    return [Cpu(f"/job:{job}/replica:0/task:{task}/device:CPU:0") for job, task in (t.split(":") for t in tasks)]


def asked(*things: Any) -> list[str]:
    return [thing.device for thing in things]


# ---- TensorFlow's answers


def as_cluster_def() -> Any:
    jobs = [SimpleNamespace(name=name, tasks=dict(enumerate(tasks))) for name, tasks in CLUSTER.items()]
    return SimpleNamespace(as_cluster_def=lambda: SimpleNamespace(job=jobs))


@pytest.mark.parametrize("cluster", [CLUSTER, SimpleNamespace(as_dict=lambda: CLUSTER), as_cluster_def()])
def test_tensorflow_agrees_on_a_cluster(graph: af.Graph, cluster: Any) -> None:
    with af.device(setter(cluster=cluster)):
        with af.device("/cpu:0"):
            v = af.Variable([1, 2])
        w = af.Variable([2, 1])
        with af.device("/cpu:0"):
            a = v + w
    server = ["/job:ps/task:0/device:CPU:0", "/job:ps/task:0/device:CPU:0", "/job:ps/task:1", "/job:ps/task:1"]
    assert asked(v, v.initializer, w, w.initializer, a) == [*server, "/job:worker/device:CPU:0"]


def test_tensorflow_agrees_on_names(graph: af.Graph) -> None:
    with af.device(setter(ps_tasks=2, ps_device="/job:sun", worker_device="/job:moon")):
        v, w = af.Variable([1, 2]), af.Variable([2, 1])
        assert asked(v, w, v + w) == ["/job:sun/task:0", "/job:sun/task:1", "/job:moon"]
    with af.device(setter(ps_tasks=2, ps_device="/replica:0")):
        v, w = af.Variable(1.0), af.Variable(1.0)
        assert asked(v, w, v + w) == ["/replica:0", "/replica:0", "/job:worker"]
    with af.device(setter(ps_tasks=2, worker_device=None)):
        v = af.Variable(1.0)
        assert asked(v, v + 1.0) == ["/job:ps/task:0", ""]
    with af.device(setter(ps_tasks=2, ps_ops=["Const"])):
        assert asked(af.Variable(1.0), af.constant(2.0)) == ["/job:worker", "/job:ps/task:1"]


def test_tensorflow_agrees_on_inner_scopes(graph: af.Graph) -> None:
    with af.device(setter(ps_tasks=3, ps_device="/job:ps/cpu:0", worker_device="/job:worker/task:1/gpu:0")):
        v = af.Variable([1.0, 2])
        with af.device("/job:ps/task:2"):
            w, c = af.Variable([2, 1]), af.constant(1.0)
        with af.device("/job:other"):
            x = af.Variable([2, 1])
        y = af.Variable([2.0, 1])
        with af.device("/cpu:1"):
            e = af.constant(1.0)
        u, z = v.assign_add([1.0, 1.0]), v.assign(y)
        optimizer: Any = af.train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(af.reduce_sum(v * v + y))
    assert asked(v, w, c, x) == [
        "/job:ps/task:0/device:CPU:0",
        "/job:ps/task:2/device:CPU:0",
        "/job:ps/task:2/device:GPU:0",
        "/job:other/device:CPU:0",
    ]
    assert asked(y, e) == ["/job:ps/task:2/device:CPU:0", "/job:worker/task:1/device:CPU:1"]
    assert asked(u, z) == ["/job:ps/task:0/device:CPU:0"] * 2, "who takes a reference goes where it is"
    slots = optimizer.get_slot(v, "momentum"), optimizer.get_slot(y, "momentum")
    assert asked(*slots) == ["/job:ps/task:0/device:CPU:0", "/job:ps/task:2/device:CPU:0"]


def test_tensorflow_agrees_on_nodes_that_ask_for_a_device(graph: af.Graph) -> None:
    with af.device(setter(ps_tasks=3, merge_devices=False)):
        with af.device("/gpu:0"):
            v = af.Variable([1, 2])
        w, c = af.Variable([2, 1]), af.constant(1.0)
        with af.device("/job:other"):
            d = af.constant(1.0)
    assert asked(v, w, c, d) == ["/device:GPU:0", "/job:ps/task:0", "/job:worker", "/job:other"]


def test_without_servers_nothing_is_asked_for(graph: af.Graph) -> None:
    assert setter() is None and setter(ps_tasks=2, cluster={"worker": ["w0:2222"]}) is None
    with af.device(setter()):
        assert asked(af.Variable(1.0)) == [""]


def test_mistakes() -> None:
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        setter(ps_tasks=1, ps_strategy=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a ClusterSpec or a dict"):
        setter(cluster=3)
    with pytest.raises(ValueError, match="has to start with '/'"):
        setter(ps_tasks=1, worker_device="worker")
    with pytest.raises(ValueError, match="num_tasks is 0"):
        af.train.GreedyLoadBalancingStrategy(0, af.train.byte_size_load_fn)


def test_tensorflows_names() -> None:
    assert tf.train.replica_device_setter is setter
    assert tf.train.SyncReplicasOptimizer is af.train.SyncReplicasOptimizer


# ---- balance


def test_f106_the_greedy_strategy_balances_bytes(graph: af.Graph) -> None:
    rng = np.random.default_rng(0)
    strategy = af.train.GreedyLoadBalancingStrategy(3, af.train.byte_size_load_fn)
    with af.device(setter(ps_tasks=3, ps_strategy=strategy)):
        made = [af.Variable(af.zeros([rows, 64])) for rows in sorted(rng.integers(1, 200, 60).tolist(), reverse=True)]
    loads: dict[str, float] = {}
    for variable in made:
        loads[variable.device] = loads.get(variable.device, 0) + af.train.byte_size_load_fn(variable.op)
    assert sorted(loads) == [f"/job:ps/task:{task}" for task in range(3)]
    mean = sum(loads.values()) / 3
    assert all(abs(load - mean) < 0.1 * mean for load in loads.values()), loads
    with pytest.raises(ValueError, match="not fully known"):
        af.train.byte_size_load_fn(af.Variable(1.0, validate_shape=False).op)
    assert af.train.byte_size_load_fn(af.Variable([b"a", b"b"]).op) == 16


# ---- what runs where


async def test_f106_variables_live_on_servers_and_work_is_done_on_the_worker(graph: af.Graph) -> None:
    with af.device(setter(ps_tasks=2, worker_device="/job:worker/task:1")):
        v, w = af.get_variable("v", [3]), af.get_variable("w", [3])
        loss = af.reduce_sum(af.square(v) + w, name="loss")
        train = af.train.AdamOptimizer().minimize(loss, global_step=af.train.get_or_create_global_step())
        initialize = af.global_variables_initializer()
    tasks = devices("ps:0", "ps:1", "worker:0", "worker:1")
    async with af.Session(graph=graph, devices=tasks) as session:
        await session.run(initialize)
        trace = af.Trace()
        await session.run([train, loss], trace=trace)
    ran = {event.node: event.device.removesuffix("/device:CPU:0") for event in trace.events}
    ps, worker = [f"/job:ps/replica:0/task:{i}" for i in range(2)], "/job:worker/replica:0/task:1"
    updates = {name: device for name, device in ran.items() if name.endswith(("/ApplyAdam", "global_step"))}
    assert updates and set(updates.values()) <= set(ps)
    assert ran["Adam/update_v/ApplyAdam"] == ps[0] and ran["Adam/update_w/ApplyAdam"] == ps[1]
    assert ran["loss"] == worker and ran["Square"] == worker
    assert "/job:worker/replica:0/task:0" not in ran.values()


async def test_f106_initial_values_are_computed_where_the_variable_is(graph: af.Graph) -> None:
    with af.device(setter(ps_tasks=2, worker_device="/job:worker/task:0")):
        af.get_variable("v", [100, 100])
        af.Variable(np.zeros((100, 100)), name="w")
        initialize = af.global_variables_initializer()
    trace = af.Trace()
    async with af.Session(graph=graph, devices=devices("worker:0", "ps:0", "ps:1")) as session:
        await session.run(initialize, trace=trace)
    elsewhere = {e.op for e in trace.events if not e.device.startswith("/job:ps")}
    assert elsewhere <= {"_Recv", "NoOp"}, "the worker is told that it is done, and that is all"
    assert {e.device for e in trace.events if e.op == "RandomUniform"} == {"/job:ps/replica:0/task:0/device:CPU:0"}


def test_f45_a_device_function_sees_what_scopes_inside_ask_for(graph: af.Graph) -> None:
    seen = []

    def function(operation: af.Operation) -> str:
        seen.append((operation.type, operation.device))
        return "/job:outer/device:CPU:1"

    v = af.Variable(1.0)
    with af.device(function):
        with af.device("/job:inner"):
            made = af.constant(1.0)
        with af.colocate_with(v):
            af.constant(2.0)
    assert seen == [("Const", "/job:inner")] and made.device == "/job:inner/device:CPU:1"
