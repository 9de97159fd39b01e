"""A training with logical workers: how soon its rate is back after a change of the cluster, and their cost without changes.

The training is that of eight logical workers on local processes: a network of one hidden layer, whose parameters are on a
server. The rate is back when some steps in a row take not much longer than steps took before; pauses between them count. A killed
worker is started again by the supervisor, which restores the last checkpoint.
"""

from __future__ import annotations

import itertools
import math
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import numpy as np
from anyio.abc import Process

import actorflow as af
from actorflow.cluster.client.inquiries import ask
from actorflow.cluster.client.membership import query_view
from actorflow.cluster.config.credentials import Target, write_keys
from actorflow.cluster.membership.view import decode_view
from actorflow.cluster.wire.messages import AskView
from benchmarks.harness.definitions import Figure, Measurement, Options

REPLICAS, ROWS, INPUTS, HIDDEN = 8, 512, 64, 128
_STEPS_BETWEEN = 40
_WINDOW, _SLOWER = 10, 1.5
"""The rate is that of `_WINDOW` steps. It is below the former rate if they take `_SLOWER` times as long."""


BURST, _PROCESSES = 24, 3
_BURST_SECONDS = 60.0


class _Training:
    """The graph, with logical workers or with one shard a task as programs have it without them."""

    def __init__(self, logical: bool, tasks: int = 2) -> None:
        draw = np.random.default_rng(0)
        rows = draw.normal(size=(ROWS, INPUTS)).astype(np.float32)
        with af.Graph().as_default() as self.graph, af.device("/job:ps"):
            self.step = af.train.get_or_create_global_step()
            x, y = af.constant(rows), af.constant(np.sin(rows.sum(1, keepdims=True)))
            if logical:
                _, self.train = af.train.Replicas(REPLICAS).build(self._tower, x, y)
            else:
                self.train = self._by_hand(x, y, tasks)

    def _loss(self, x: Any, y: Any) -> Any:
        hidden = af.layers.dense(x, HIDDEN, activation=af.nn.relu, name="hidden")
        return af.reduce_mean(af.square(af.layers.dense(hidden, 1, name="out") - y))

    def _tower(self, x: Any, y: Any) -> Any:
        loss = self._loss(x, y)
        return loss, af.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=self.step)

    def _by_hand(self, x: Any, y: Any, tasks: int) -> Any:
        """The same eight shards, each with the task that it always has: the graph that a program writes without `Replicas`."""
        optimizer, pairs = af.train.GradientDescentOptimizer(0.01), []
        for number, (rows, answers) in enumerate(zip(af.split(x, REPLICAS), af.split(y, REPLICAS))):
            setter = af.train.replica_device_setter(1, worker_device=f"/job:worker/task:{number * tasks // REPLICAS}")
            scope = af.variable_scope(af.get_variable_scope(), reuse=True if number else None)
            with af.device(None), af.device(setter), scope:
                pairs.append(optimizer.compute_gradients(self._loss(rows, answers)))
        with af.device(None), af.device("/job:ps"):
            means = [(af.add_n([g for g, _ in row]) / REPLICAS, row[0][1]) for row in zip(*pairs)]
            return optimizer.apply_gradients(means, global_step=self.step)


class _Steps:
    """The ends of steps beside one change, from the moment at which it begins."""

    def __init__(self, former: float) -> None:
        self._former = former
        """The usual seconds of a step before the change."""
        self._ends: list[float] = [time.perf_counter()]

    @property
    def count(self) -> int:
        """The steps so far."""
        return len(self._ends) - 1

    def end(self) -> None:
        """A step has ended."""
        self._ends.append(time.perf_counter())

    def back(self) -> float:
        """The seconds from the change on until the rate of steps is that of before. If the last steps were slower, for other
        workers compute them, the rate is theirs."""
        last = [later - former for former, later in itertools.pairwise(self._ends[-_STEPS_BETWEEN // 2 :])]
        usual, seconds = max(self._former, statistics.median(last)), 0.0
        for place in range(1, len(self._ends)):
            steps = min(place, _WINDOW)
            if self._ends[place] - self._ends[place - steps] > _SLOWER * steps * usual:
                seconds = self._ends[place] - self._ends[0]
        return seconds


async def _returns(workers: int, change: Callable[[Any, int], Any], times: int) -> list[float]:
    """For each change the seconds until the rate of steps is the former rate. `change` is given the cluster, and which change it
    is; it goes on beside the steps."""
    training, returns = _Training(logical=True), []
    with tempfile.TemporaryDirectory() as folder:
        async with (
            af.LocalCluster({"ps": 1, "worker": workers}) as cluster,
            af.Supervisor(
                cluster, training.graph, checkpoint_dir=folder, save_steps=10, replicas=REPLICAS
            ) as supervisor,
            anyio.create_task_group() as group,
        ):
            seconds: list[float] = []
            steps, over = _Steps(math.inf), anyio.Event()
            over.set()

            async def changing(number: int, over: anyio.Event) -> None:
                await change(cluster, number)
                over.set()

            async for attempt in supervisor.steps():
                async with attempt:
                    begin = time.perf_counter()
                    await supervisor.run(training.train)
                    steps.end()
                    seconds.append(time.perf_counter() - begin)
                if steps.count < _STEPS_BETWEEN or not over.is_set():
                    continue
                returns.append(steps.back())
                if len(returns) > times:
                    break
                usual = statistics.median(seconds[-_STEPS_BETWEEN // 2 :])
                steps, over = _Steps(usual), anyio.Event()
                group.start_soon(changing, len(returns) - 1, over)
    return returns[1:]


async def _join_and_leave(cluster: Any, number: int) -> None:
    await cluster.scale(worker=3 if number % 2 == 0 else 2)


async def _kill(cluster: Any, number: int) -> None:
    cluster.processes[f"/job:worker/task:{number % 2}"].signal(signal.SIGKILL)


async def returns(options: Options) -> dict[str, float]:
    """The medians of the seconds until the former rate is back."""
    times = 2 if options.quick else 10
    both = await _returns(2, _join_and_leave, times)
    kills = await _returns(2, _kill, 2 if options.quick else 6)
    return {
        "join": statistics.median(both[0::2]),
        "drain": statistics.median(both[1::2]),
        "kill": statistics.median(kills),
    }


async def cost(options: Options) -> dict[str, float]:
    """A step of logical workers by a step of the same shards with fixed tasks: the median ratio of rounds in turns."""
    ratios = []
    async with af.LocalCluster({"ps": 1, "worker": 2}) as cluster:
        calls = []
        for logical in (True, False):
            training = _Training(logical)
            with training.graph.as_default():
                initialize = af.global_variables_initializer()
            session = af.Session(cluster.target, training.graph)
            await session.run(initialize)
            calls.append((session, await session.make_callable(training.train)))
        for number in range(10 if options.quick else 60):
            seconds = []
            for _, call in calls if number % 2 else reversed(calls):
                begin = time.perf_counter()
                for _ in range(10):
                    await call()
                seconds.append(time.perf_counter() - begin)
            ours, theirs = seconds if number % 2 else reversed(seconds)
            ratios.append(ours / theirs)
        for session, _ in calls:
            await session.close()
    return {"ratio": statistics.median(ratios[2:])}


async def burst(options: Options) -> dict[str, float]:
    """Tasks of a few processes that join a cluster at once: the seconds until all members have one view, and how many views that
    took."""
    seconds, views = [], []
    each = 4 if options.quick else BURST // _PROCESSES
    for _ in range(1 if options.quick else 3):
        async with af.LocalCluster({"worker": 1}) as cluster, AsyncExitStack() as stack:
            former = await query_view(cluster.target)
            joiners = [await stack.enter_async_context(_joiners(cluster, each)) for _ in range(_PROCESSES)]
            begin = time.perf_counter()
            for joiner in joiners:
                assert joiner.stdin is not None
                await joiner.stdin.send(b"go\n")
            view = former
            while len(view.tasks) < len(former.tasks) + _PROCESSES * each:
                view = await ask(cluster.target, cluster.credentials, _BURST_SECONDS, AskView(view.epoch + 1))
                view = decode_view(view)
            for address in view.members.values():
                assert await query_view(Target(address, cluster.credentials)) == view
            seconds.append(time.perf_counter() - begin)
            views.append(view.epoch - former.epoch)
    return {"burst": statistics.median(seconds), "burst_views": statistics.median(views)}


@asynccontextmanager
async def _joiners(cluster: Any, count: int) -> AsyncIterator[Process]:
    """A process with tasks that are about to join, and wait for a line."""
    with tempfile.TemporaryDirectory() as folder:
        keys = os.path.join(folder, "keys")
        write_keys(keys, cluster.credentials)
        command = [sys.executable, "-m", "benchmarks.cluster.elastic_joiners", cluster.target.address, str(count)]
        async with await anyio.open_process(command, env=os.environ | {"ACTORFLOW_KEYS": keys}, stderr=None) as process:
            assert process.stdout is not None and process.stdin is not None
            try:
                said = await process.stdout.receive()
                assert said.startswith(b"ready"), said
                yield process
            finally:
                await process.stdin.aclose()
                with anyio.move_on_after(_BURST_SECONDS, shield=True):
                    await process.wait()


BENCHMARKS = (
    Measurement(
        "returns",
        ours=returns,
        figures=tuple(
            Figure(name, f"from {text} until the rate of steps is back, the median of changes and processes", "s")
            for name, text in (
                ("join", "the start of a worker that joins"),
                ("drain", "the order to a worker to leave"),
                ("kill", "the end of a worker that is killed and started again"),
            )
        ),
        processes=3,
    ),
    Measurement(
        "cost",
        ours=cost,
        figures=(
            Figure("ratio", "a step of eight logical workers by a step of eight shards with fixed tasks", "times"),
        ),
        processes=3,
    ),
    Measurement(
        "burst",
        ours=burst,
        figures=(
            Figure(
                "burst", f"{BURST} tasks of {_PROCESSES} processes join at once, until all members have one view", "s"
            ),
            Figure("burst_views", f"the views that the joins of {BURST} tasks at once take", "views"),
        ),
    ),
)
