"""Ways to train on several tasks: between graphs and in one, without waiting, cut by layers, and around a ring.

The tasks are devices of this process that carry other tasks' names.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow.base.registry import plugins

Cpu = plugins.load("devices", "CPU")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error", "PYTHONUNBUFFERED": "1"}
names = (f"test_distributed_examples_{number}" for number in count())


def devices(*tasks: str) -> list[Any]:
    return [Cpu(f"/job:{job}/replica:0/task:{task}/device:CPU:0") for job, task in (t.split(":") for t in tasks)]


def sent(trace: af.Trace) -> list[tuple[str, str]]:
    """(from, what) of each tensor that a traced run sent to another device; tokens that only order are left out."""
    found = []
    for event in trace.events:
        if event.op == "_Send" and "_control_" not in event.node:
            found.append(
                (event.device.split("/replica")[0] + ":" + event.device.split("/task:")[1].split("/")[0], event.node)
            )
    return found


def run(name: str, *arguments: str) -> str:
    """The output of an example; warnings are errors in it."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert not done.stderr, done.stderr
    return done.stdout


def load(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


# ---- examples


async def test_f112_one_script_trains_in_three_ways(capsys: pytest.CaptureFixture[str]) -> None:
    """One switch. Synchronous training gives the same bits each time, and those of one graph with a tower for each worker."""
    ends, met = {}, 0
    for mode, changes in (*[("async", 45)] * 5, ("sync", 15), ("in-graph", 15)):
        if mode == "async" and met:
            continue
        if mode == "sync":
            printed = run("parameter_server.py", "--mode", mode, "--steps", "15")
        else:
            await load("parameter_server").main("", mode, None, 15)
            printed = capsys.readouterr().out
        assert f"45 steps of workers, {changes} changes of the parameters" in printed
        assert "halved where they are: True" in printed
        assert len(re.findall(r"/job:ps/task:[01]  (first|second|bias)", printed)) == 3
        (loss, bits) = re.findall(r"loss on all data ([\d.]+), parameters (\S+)", printed)[0]
        assert float(loss) < 0.55
        ends[mode] = bits
        if mode == "async":
            stale = {int(n): int(times) for times, n in re.findall(r"(\d+) x (\d+)", printed)}
            assert sum(stale.values()) == 45
            met = sum(times for number, times in stale.items() if number)
    assert met > 0, "in five runs no step found the parameters changed by another"
    assert ends["sync"] == ends["in-graph"] != ends["async"]


def test_f105_the_ring_example() -> None:
    printed = run("ring_all_reduce.py", "--devices", "3", "--steps", "8")
    assert "2 (k - 1) / k = 1.33" in printed and "a worker sends 1.33 of that in a step, the server 0.00" in printed
    assert "all devices have the same parameters: True" in printed
    assert "a worker sends 1.00 of that in a step, the server 3.00" in printed
    assert float(re.findall(r"differ by (\S+) at most", printed)[0]) < 1e-14


def test_f101_the_model_parallel_example() -> None:
    printed = run("model_parallel_lstm.py", "--layers", "2", "--steps", "5")
    assert "the weights are the same, bit by bit: True" in printed
    # An output of [16, 32] float32 for each of 10 times, and its gradient; the rest are the labels.
    crossing = int(re.findall(r"2 layers on 2 devices; in a step ([\d,]+) bytes", printed)[0].replace(",", ""))
    assert 2 * 10 * 16 * 32 * 4 <= crossing < 2 * 10 * 16 * 32 * 4 + 1000
    assert "2 layers on 1 devices; in a step 0 bytes" in printed


def test_f63_f68_the_supervised_example() -> None:
    printed = run("supervised.py", "--steps", "25", "--kills", "2", "--every", "5")
    assert printed.count(": kill /job:") == printed.count("was ended by SIGKILL") == 2
    assert printed.count("begins with the initial values") >= 2 and "epoch 3 begins with the " in printed
    assert "the same weights, bit by bit: True" in printed


# ---- between graphs


def replica(container: str, worker: int, rate: float = 0.25, sync: bool = False) -> Any:
    """A worker's own graph: (graph, placeholder of what it wants, training, variable, step, initialiser, optimizer)."""
    graph = af.Graph()
    place = af.train.replica_device_setter(1, worker_device=f"/job:worker/task:{worker}")
    with graph.as_default(), graph.container(container), graph.device(place):
        step = af.train.get_or_create_global_step()
        target = af.placeholder(af.float64, [], name="target")
        v = af.get_variable("v", [], af.float64, initializer=af.zeros_initializer())
        gradient = af.identity(v - target, name="gradient")
        optimizer: Any = af.train.GradientDescentOptimizer(rate)
        if sync:
            optimizer = af.train.SyncReplicasOptimizer(optimizer, 2)
        train = optimizer.apply_gradients([(gradient, v)], step)
        return graph, target, train, v, step, af.global_variables_initializer(), optimizer


async def test_f104_workers_with_graphs_of_their_own_share_variables_by_name() -> None:
    container = next(names)
    tasks = ("ps:0", "worker:0", "worker:1")
    first, second = replica(container, 0), replica(container, 1)
    async with (
        af.Session(graph=first[0], devices=devices(*tasks)) as one,
        af.Session(graph=second[0], devices=devices(*tasks)) as two,
    ):
        await one.run(first[5])

        async def work(session: af.Session, part: Any, steps: int) -> None:
            for _ in range(steps):
                await session.run(part[2], {part[1]: 1.0})

        async with anyio.create_task_group() as group:
            group.start_soon(work, one, first, 7)
            group.start_soon(work, two, second, 5)
        assert await one.run(first[4]) == await two.run(second[4]) == 12, "the steps of both"
        assert await one.run(first[3]) == await two.run(second[3]) > 0.9
        await one.run(first[3].assign(5.0))
        assert await two.run(second[3]) == 5.0


async def test_f98_a_slow_worker_holds_up_nobody_and_applies_what_it_computed_from_old_values() -> None:
    container = next(names)
    tasks = ("ps:0", "worker:0", "worker:1")
    fast, slow = replica(container, 0), replica(container, 1)
    async with (
        af.Session(graph=fast[0], devices=devices(*tasks)) as one,
        af.Session(graph=slow[0], devices=devices(*tasks)) as two,
    ):
        await one.run(fast[5])
        # The slow worker has its gradient at v = 0, and is about to apply it.
        gradient = await two.run("gradient:0", {slow[1]: 8.0})
        before = await two.run(slow[4])
        for _ in range(10):
            await one.run(fast[2], {fast[1]: 1.0})
        (value, step) = await one.run([fast[3], fast[4]])
        assert step == 10 and before == 0, "the fast one went on"
        await two.run(slow[2], {"gradient:0": gradient})
        assert await one.run(fast[4]) == 11
        assert await one.run(fast[3]) == value + 0.25 * 8.0, "the old gradient, on the new value"


async def test_f99_waiting_costs_time_and_not_waiting_costs_steps() -> None:
    """Both ways to the same error, in units of time: a quick worker takes one for a step, a slow one four."""
    takes, figures = (1, 4), {}
    for mode in ("sync", "async"):
        container = next(names)
        parts = [replica(container, worker, 0.5, mode == "sync") for worker in (0, 1)]
        async with (
            af.Session(graph=parts[0][0], devices=devices("ps:0", "worker:0", "worker:1")) as one,
            af.Session(graph=parts[1][0], devices=devices("ps:0", "worker:0", "worker:1")) as two,
            af.train.Coordinator() as coordinator,
        ):
            sessions, now, due = (one, two), 0, list(takes)
            await one.run(parts[0][5])
            if mode == "sync":
                await one.run(parts[0][6].chief_init_op)
                await two.run(parts[1][6].local_step_init_op)
                parts[0][6].get_chief_queue_runner().start(one, coordinator)
            waiting = [await s.run("gradient:0", {p[1]: 1.0}) for s, p in zip(sessions, parts)]
            while abs(await one.run(parts[0][3]) - 1) > 1e-3:
                if mode == "sync":
                    now += max(takes)
                    async with anyio.create_task_group() as group:
                        for session, part in zip(sessions, parts):
                            group.start_soon(session.run, part[2], {part[1]: 1.0})
                    continue
                now = min(due)
                for worker, (session, part) in enumerate(zip(sessions, parts)):
                    if due[worker] == now:  # applies the gradient of the value that it read when it began
                        await session.run(part[2], {"gradient:0": waiting[worker]})
                        waiting[worker] = await session.run("gradient:0", {part[1]: 1.0})
                        due[worker] = now + takes[worker]
            figures[mode] = now, int(await one.run(parts[0][4]))
            coordinator.request_stop()
    assert figures["sync"] == (40, 10)
    assert figures["async"][0] < 40 and figures["async"][1] > 10, figures


def edges(graph: af.Graph, *targets: af.Operation) -> set[tuple[str, str]]:
    """(from, to) of the jobs between which tensors travel for the sake of `targets`, by what nodes ask for."""
    needed, waiting = set(), list(targets)
    while waiting:
        operation = waiting.pop()
        if operation not in needed:
            needed.add(operation)
            waiting += [*operation.control_inputs, *(tensor.op for tensor in operation.inputs)]
    return {
        (tensor.op.device, operation.device)
        for operation in needed
        for tensor in operation.inputs
        if tensor.op.device and operation.device and tensor.op.device != operation.device
    }


def test_f108_workers_exchange_tensors_with_servers_only() -> None:
    for worker in (0, 1):
        graph, _, train, *_ = replica(next(names), worker)
        pairs = edges(graph, train)
        assert pairs and all("/job:ps" in source or "/job:ps" in target for source, target in pairs)
        assert f"/job:worker/task:{1 - worker}" not in {device for pair in pairs for device in pair}


# ---- in one graph


async def test_f103_one_graph_has_a_tower_for_each_worker(graph: af.Graph) -> None:
    """The mean of three towers' gradients is the gradient of the whole batch."""
    rng = np.random.default_rng(0)
    data, wanted = rng.normal(size=(12, 4)), rng.normal(size=12)

    def model(x: Any, y: Any) -> tuple[Any, Any]:
        w = af.get_variable("w", [4], af.float64, initializer=af.ones_initializer())
        return w, af.gradients(af.reduce_mean(af.square(af.reduce_sum(x * w, 1) - y)), w)[0]

    x, y = af.placeholder(af.float64, [12, 4]), af.placeholder(af.float64, [12])
    slopes = []
    for i, (part, its) in enumerate(zip(af.split(x, 3), af.split(y, 3))):
        reuse = af.variable_scope(af.get_variable_scope(), reuse=af.AUTO_REUSE)
        with af.device(af.train.replica_device_setter(1, worker_device=f"/job:worker/task:{i}")), reuse:
            with af.name_scope(f"tower_{i}"):
                w, slope = model(part, its)
                slopes.append(slope)
    assert {o.name.split("/")[0] for o in graph.get_operations() if o.name.startswith("tower")} == {
        "tower_0",
        "tower_1",
        "tower_2",
    }
    assert len(af.trainable_variables()) == 1
    mean = af.add_n(slopes) / 3.0
    with af.variable_scope("", reuse=True):
        whole = model(x, y)[1]
    trace = af.Trace()
    async with af.Session(graph=graph, devices=devices("ps:0", "worker:0", "worker:1", "worker:2")) as session:
        await session.run(w.initializer)
        found, expected = await session.run([mean, whole], {x: data, y: wanted})
        await session.run(mean, {x: data, y: wanted}, trace=trace)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len({e.device for e in trace.events}) == 4, "one session runs them all"


async def test_f109_parameters_are_halved_where_they_live(graph: af.Graph) -> None:
    """Only tokens cross to the servers; computed on the worker, all values would go there and back."""
    with af.device(af.train.replica_device_setter(2, worker_device="/job:worker/task:0")):
        made = [af.get_variable(f"v{i}", [1000, 100], initializer=af.ones_initializer()) for i in range(2)]
        there = []
        for v in made:
            with af.colocate_with(v):
                there.append(v.assign(v / 2, read_value=False))
        here = [v.assign(v / 2, read_value=False) for v in made]
        at_home, by_worker, start = af.group(*there), af.group(*here), af.global_variables_initializer()
    counts = []
    async with af.Session(graph=graph, devices=devices("worker:0", "ps:0", "ps:1")) as session:
        await session.run(start)
        for fetch in (at_home, by_worker):
            trace = af.Trace()
            await session.run(fetch, trace=trace)
            counts.append(Counter(source for source, _ in sent(trace)))
        assert np.unique(await session.run(made)).tolist() == [0.25]
    assert not counts[0]
    assert counts[1] == {"/job:ps:0": 1, "/job:ps:1": 1, "/job:worker:0": 2}


async def test_f110_any_op_runs_on_any_task(graph: af.Graph) -> None:
    """State on a worker and a model's arithmetic on a server: there is no fixed division of labour."""
    with af.device("/job:worker/task:0"):
        v = af.get_variable("v", [4], initializer=af.ones_initializer())
    with af.device("/job:ps/task:0"):
        loss = af.reduce_sum(af.square(v) * 3.0)
        gradient = af.gradients(loss, v)[0]
    train = af.train.MomentumOptimizer(0.01, 0.9).apply_gradients([(gradient, v)])
    trace = af.Trace()
    async with af.Session(graph=graph, devices=devices("worker:0", "ps:0")) as session:
        await session.run(af.global_variables_initializer())
        await session.run([train, loss], trace=trace)
        np.testing.assert_allclose(await session.run(v), np.full(4, 0.94), rtol=1e-6)
    places = {e.op: e.device.split("/")[1] for e in trace.events}
    assert places["Square"] == "job:ps" and places["ApplyMomentum"] == "job:worker"


@pytest.mark.parametrize("unrolled", [True, False])
async def test_f101_an_lstm_cut_by_layers_gives_what_one_device_gives(unrolled: bool) -> None:
    """Unrolled, the same bits. A loop on one device adds gradients up otherwise than one that is cut."""
    ends = []
    for workers in (3, 1):
        with af.Graph().as_default() as graph:
            af.set_random_seed(1)
            cells = [
                af.nn.rnn_cell.DeviceWrapper(af.nn.rnn_cell.BasicLSTMCell(5), f"/job:worker/task:{layer % workers}")
                for layer in range(3)
            ]
            x = af.placeholder(af.float32, [2, 4, 3])
            stack = af.nn.rnn_cell.MultiRNNCell(cells)
            if unrolled:
                steps, _ = af.nn.static_rnn(stack, af.unstack(x, axis=1), dtype=af.float32)
                outputs = af.stack(steps, axis=1)
            else:
                outputs, _ = af.nn.dynamic_rnn(stack, x, dtype=af.float32)
            loss = af.reduce_sum(af.square(outputs))
            optimizer = af.train.AdamOptimizer(0.1)
            train = optimizer.apply_gradients(optimizer.compute_gradients(loss, colocate_gradients_with_ops=True))
            start = af.global_variables_initializer()
            tasks = devices(*(f"worker:{i}" for i in range(3)))
            async with af.Session(graph=graph, devices=tasks) as session:
                await session.run(start)
                for step in range(4):
                    await session.run(train, {x: np.random.default_rng(step).normal(size=(2, 4, 3))})
                ends.append(await session.run([*af.trainable_variables(), loss], {x: np.ones((2, 4, 3))}))
    for one, other in zip(*ends):
        np.testing.assert_allclose(one, other, rtol=0 if unrolled else 1e-4, atol=0 if unrolled else 1e-5)


# ---- the ring


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
async def test_f105_the_ring_gives_the_sum_to_all(graph: af.Graph, workers: int) -> None:
    """Integers sum exactly; others have the same bits on all devices, and little error. Sizes that don't divide, too."""
    seed = np.random.SeedSequence().entropy
    rng = np.random.default_rng(seed)
    places = [f"/job:worker/task:{i}" for i in range(workers)]
    cases: list[Any] = []
    for shape in ([4, 5], [3], [], [2, 0]):
        inputs = []
        for place in places:
            with af.device(place):
                inputs.append(af.placeholder(af.float32, shape))
        cases.append((shape, inputs, af.train.ring_all_reduce(inputs)))
    async with af.Session(graph=graph, devices=devices(*(f"worker:{i}" for i in range(workers)))) as session:
        for exact in (True, False):
            for shape, inputs, sums in cases:
                assert [s.device for s in sums] == places and all(s.shape.as_list() == shape for s in sums)
                values = [rng.integers(-9, 9, shape) if exact else rng.normal(size=shape) for _ in places]
                found = await session.run(sums, dict(zip(inputs, values)))
                again = await session.run(sums, dict(zip(inputs, values)))
                for one, other in zip(found, again):
                    np.testing.assert_array_equal(one, found[0], err_msg=f"seed {seed}")
                    np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}")
                np.testing.assert_allclose(
                    found[0], np.sum(values, 0), 1e-6, 0 if exact else 1e-5, err_msg=f"seed {seed}"
                )


async def test_f105_each_device_sends_to_its_neighbour_only(graph: af.Graph) -> None:
    inputs = []
    for i in range(4):
        with af.device(f"/job:worker/task:{i}"):
            inputs.append(af.placeholder(af.float64, [103], name=f"x{i}"))
    sums = af.train.ring_all_reduce(inputs)
    done = af.group(*[s.op for s in sums])
    trace = af.Trace()
    async with af.Session(graph=graph, devices=devices(*(f"worker:{i}" for i in range(4)))) as session:
        await session.run(done, dict(zip(inputs, np.ones((4, 103)))), trace=trace)
    counts = Counter(source for source, _ in sent(trace))
    assert counts == {f"/job:worker:{i}": 2 * 3 for i in range(4)}
    task = {f"/job:worker/task:{i}": i for i in range(4)}
    assert all(task[target] == (task[source] + 1) % 4 for source, target in edges(graph, *[s.op for s in sums]))


def test_rings_that_can_not_be(graph: af.Graph) -> None:
    with pytest.raises(ValueError, match="one tensor or more"):
        af.train.ring_all_reduce([])
    with pytest.raises(ValueError, match="needs to know the shape"):
        af.train.ring_all_reduce([af.placeholder(af.float32, [None])] * 2)
    with pytest.raises(ValueError, match="not compatible"):
        af.train.ring_all_reduce([af.constant([1.0]), af.constant([1.0, 2.0])])
    with pytest.raises(TypeError, match="float32 is needed"):
        af.train.ring_all_reduce([af.constant(1.0), af.constant(1)])
    with pytest.raises(ValueError, match="2 tensors, but 1 devices"):
        af.train.ring_all_reduce([af.constant(1.0), af.constant(1.0)], ["/cpu:0"])


# ---- data


async def test_f111_workers_see_each_example_once_in_an_epoch(graph: af.Graph) -> None:
    """Each worker reads every third example; together they are the data, and no two have one in common."""
    data = af.constant(np.arange(20))
    shares = []
    for worker in range(3):
        with af.device(f"/job:worker/task:{worker}"):
            shares.append(
                af.train.input_producer(data[worker::3], num_epochs=2, shuffle=True, shared_name=None).dequeue()
            )
    start = af.local_variables_initializer()
    async with af.Session(graph=graph, devices=devices(*(f"worker:{i}" for i in range(3)))) as session:
        await session.run(start)
        async with af.train.Coordinator() as coordinator:
            af.train.start_queue_runners(session, coordinator)
            seen: list[list[int]] = [[], [], []]
            for worker, share in enumerate(shares):
                while len(seen[worker]) < 2 * len(range(worker, 20, 3)):
                    seen[worker].append(int(await session.run(share)))
                with pytest.raises(af.errors.OutOfRangeError):
                    await session.run(share)
            coordinator.request_stop()
    assert [Counter(s) for s in seen] == [Counter({n: 2 for n in range(w, 20, 3)}) for w in range(3)]


def test_a_training_that_grows_and_shrinks_has_the_bits_of_one_that_does_not() -> None:
    printed = run("elastic.py", "--steps", "8")
    assert "from 1 to 3 workers" in printed and "from 3 to 2 workers" in printed, printed
    assert "the same weights, bit by bit: True" in printed, printed


def test_a_file_says_how_many_workers_a_training_has(tmp_path: Path) -> None:
    """A file that is not there, or that has no number, changes nothing."""
    control = tmp_path / "workers.txt"
    control.write_text("2\n")
    assert "from 1 to 2 workers" in run("elastic.py", "--steps", "4", "--control", control)
    control.write_text("many")
    assert "from 1" not in run("elastic.py", "--steps", "2", "--control", control)
