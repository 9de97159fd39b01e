"""Training on several workers with the parameters on servers, in three ways (paper section 7).

python examples/parameter_server.py --mode sync --steps 40

Each worker has its part of the data. With `--mode async` it changes the parameters by its own gradients when it has them, and
waits for no one. With `sync` all gradients of a step are added, and one change is made of them: the result is, bit by bit, the
same in each run. Both are replicated between graphs: a worker builds its own graph with its own session, and the variables are
the same because their names are. With `in-graph` one graph has a tower for each worker, and one session runs it.

All tasks are devices of this process unless a cluster is named. There, one process runs all workers, or each its own:

actorflow run --jobs ps=2,worker=3 examples/parameter_server.py
python examples/parameter_server.py --target tcp://10.0.0.1:2222 --job worker --task 0 --mode sync
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.base.registry import plugins

SERVERS, WORKERS, BATCH, INPUTS, HIDDEN = 2, 3, 20, 10, 16


def dataset() -> tuple[np.ndarray, np.ndarray]:
    """Points, and on which side of a curved surface they are."""
    points = np.random.default_rng(0).normal(size=(600, INPUTS))
    return points, (np.sin(2 * points[:, 0]) + points[:, 1] > 0).astype(np.float64)


@dataclass(frozen=True)
class Model:
    """A graph and what is run of it. `points` and `sides` are those of one worker, or of each tower."""

    graph: af.Graph
    points: list[af.Tensor]
    sides: list[af.Tensor]
    loss: af.Tensor
    train: af.Operation
    before: af.Tensor
    after: af.Tensor
    initialize: af.Operation
    missing: af.Tensor
    variables: list[af.Variable]
    halve: af.Operation
    sync: Any


def tower(points: af.Tensor, sides: af.Tensor) -> af.Tensor:
    """The loss of a network with one hidden layer."""
    first = af.get_variable("first", [INPUTS, HIDDEN], af.float64, initializer=af.glorot_normal_initializer(seed=1))
    second = af.get_variable("second", [HIDDEN, 1], af.float64, initializer=af.glorot_normal_initializer(seed=2))
    bias = af.get_variable("bias", [HIDDEN], af.float64, initializer=af.zeros_initializer())
    logits = af.squeeze(af.matmul(af.tanh(af.matmul(points, first) + bias), second), [1])
    return af.reduce_mean(af.nn.sigmoid_cross_entropy_with_logits(labels=sides, logits=logits))


def build(mode: str, worker: int) -> Model:
    """The graph of a worker, or with the mode "in-graph" of all."""
    graph = af.Graph()
    towers = range(WORKERS) if mode == "in-graph" else [worker]
    # Sessions of one process share what is in a container that has a name. Servers share what is in any.
    with graph.as_default(), af.container(f"parameter_server_{mode}"):
        points, sides, losses, pairs = [], [], [], []
        servers = af.train.GreedyLoadBalancingStrategy(SERVERS, af.train.byte_size_load_fn)
        for i in towers:
            place = af.train.replica_device_setter(SERVERS, worker_device=f"/job:worker/task:{i}", ps_strategy=servers)
            scope = af.variable_scope(af.get_variable_scope(), reuse=af.AUTO_REUSE)
            with af.device(place), af.name_scope(f"tower_{i}"), scope:
                step = af.train.get_or_create_global_step()
                points.append(af.placeholder(af.float64, [None, INPUTS]))
                sides.append(af.placeholder(af.float64, [None]))
                losses.append(tower(points[-1], sides[-1]))
                optimizer: Any = af.train.GradientDescentOptimizer(0.5)
                if mode == "sync":
                    optimizer = af.train.SyncReplicasOptimizer(optimizer, WORKERS)
                pairs.append(optimizer.compute_gradients(losses[-1]))
        with af.device(af.train.replica_device_setter(SERVERS, worker_device=f"/job:worker/task:{worker}")):
            variables = af.trainable_variables()
            means = [af.add_n([gradient for gradient, _ in several]) / len(several) for several in zip(*pairs)]
            before = step.read_value()
            train = optimizer.apply_gradients(zip(means, variables), step)
            with af.control_dependencies([train]):
                after = step.read_value()
            halves = []
            for variable in variables:
                with af.colocate_with(variable):  # computed on the server: only the order to do so travels
                    halves.append(variable.assign(variable * 0.5, read_value=False))
            return Model(
                graph, points, sides, af.add_n(losses) / len(losses), train, before, after,
                af.global_variables_initializer(), af.report_uninitialized_variables(af.global_variables()),
                variables, af.group(*halves), optimizer if mode == "sync" else None,
            )  # fmt: skip


def open_session(target: str, graph: af.Graph) -> af.Session:
    """A session of the cluster, or of this process with devices that are named as the cluster's."""
    if target:
        return af.Session(target, graph=graph)
    make = plugins.load("devices", "CPU")
    tasks = [
        *(f"ps/replica:0/task:{i}" for i in range(SERVERS)),
        *(f"worker/replica:0/task:{i}" for i in range(WORKERS)),
    ]
    return af.Session(graph=graph, devices=[make(f"/job:{task}/device:CPU:0") for task in tasks])


async def work(target: str, mode: str, worker: int, steps: int) -> Counter[int]:
    """The program of a worker. Worker 0 is the chief: it gives variables their first values, and others wait for that.

    Counts the steps by how often the parameters changed while they computed their gradients."""
    model = build(mode, worker)
    chief = worker == 0
    points, sides = dataset()
    # A worker draws its batches from its own part of the data, whether it is a process or a tower.
    mine = [worker] if mode != "in-graph" else list(range(WORKERS))
    parts = [(np.random.default_rng(i), np.arange(i, len(points), WORKERS)) for i in mine]
    stale: Counter[int] = Counter()
    async with open_session(target, model.graph) as session, af.train.Coordinator() as coordinator:
        if chief:
            await session.run(model.initialize)
        while len(await session.run(model.missing)):  # noqa: ASYNC110  (the chief may be another process)
            await anyio.sleep(0.01)
        if model.sync is not None:
            await session.run(model.sync.chief_init_op if chief else model.sync.local_step_init_op)
            if chief:
                model.sync.get_chief_queue_runner().start(session, coordinator)
        if chief:
            for variable in model.variables:
                print(f"  {variable.device}  {variable.op.name} {variable.shape}")
        for _ in range(steps):
            feeds: dict[Any, Any] = {}
            for (rng, part), its_points, its_sides in zip(parts, model.points, model.sides):
                rows = rng.choice(part, BATCH, replace=False)
                feeds |= {its_points: points[rows], its_sides: sides[rows]}
            before, after, _ = await session.run([model.before, model.after, model.train], feeds)
            stale[max(0, int(after - before) - 1)] += len(mine)
        coordinator.request_stop()
    return stale


async def main(target: str, mode: str, task: int | None, steps: int) -> None:
    workers = [0] if mode == "in-graph" else range(WORKERS) if task is None else [task]
    stale: Counter[int] = Counter()
    begun = time.perf_counter()
    print(f"{mode}: {WORKERS} workers, {SERVERS} parameter servers")

    async def run(worker: int) -> None:
        stale.update(await work(target, mode, worker, steps))

    async with anyio.create_task_group() as tasks:
        for worker in workers:
            tasks.start_soon(run, worker)
    seconds = time.perf_counter() - begun
    model = build(mode, workers[0])
    points, sides = dataset()
    feeds = {key: points for key in model.points} | {key: sides for key in model.sides}
    async with open_session(target, model.graph) as session:
        count, loss, values = await session.run([model.before, model.loss, model.variables], feeds)
        print(f"  {sum(stale.values())} steps of workers, {count} changes of the parameters, {seconds:.1f} s")
        if mode == "async":
            shown = ", ".join(f"{times} x {number}" for number, times in sorted(stale.items()))
            print(f"  changes by others while a step computed: {shown}")
        print(f"  loss on all data {loss:.6f}, parameters {math.fsum(float(np.abs(v).sum()) for v in values).hex()}")
        if task in (None, 0):
            await session.run(model.halve)
            halved = await session.run(model.variables)
            print(f"  halved where they are: {all((half == v / 2).all() for half, v in zip(halved, values))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Trains on several workers with parameters on servers.")
    parser.add_argument("--mode", choices=["async", "sync", "in-graph"], default="sync", help="the way (sync)")
    target = os.environ.get("ACTORFLOW_TARGET", "")  # that of `actorflow run`
    parser.add_argument("--target", default=target, help="a cluster; devices of this process unless given")
    parser.add_argument(
        "--job", choices=["worker"], default="worker", help="what this process is: servers run no script"
    )
    parser.add_argument("--task", type=int, help="which worker this process is; all of them unless given")
    parser.add_argument("--steps", type=int, default=40, help="of each worker (40)")
    options = parser.parse_args()
    anyio.run(main, options.target, options.mode, options.task, options.steps)
