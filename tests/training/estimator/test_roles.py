"""The tasks of `TF_CONFIG`, each a process with the same program: the part of each, and one that is late or dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from clusters import free_ports
from patience import PATIENCE
from training.estimator.estimator_lines import batches, expected, line, quiet

import actorflow as af
from actorflow.cluster.processes import blocking_server
from actorflow.training.estimator.alternating import ending, roles
from actorflow.training.estimator.alternating.ending import Ending

PROGRAM = Path(__file__).with_name("tf_config_program.py")


class Task:
    """A process of the program, and the lines that it has printed."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.lines: list[str] = []
        self._news = anyio.Event()

    async def read(self) -> None:
        assert self.process.stdout is not None
        rest = ""
        async for text in TextReceiveStream(self.process.stdout):
            *whole, rest = (rest + text).split("\n")
            self.lines += [line.strip() for line in whole]
            news, self._news = self._news, anyio.Event()
            news.set()

    async def says(self, line: str) -> None:
        """Waits until it has printed a line."""
        with anyio.fail_after(PATIENCE):
            while line not in self.lines:
                await self._news.wait()

    async def speaks(self) -> None:
        """Waits until it has printed anything."""
        with anyio.fail_after(PATIENCE):
            while not self.lines:
                await self._news.wait()

    async def go_on(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(b"\n")

    async def dies(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def ends(self) -> None:
        """Waits until it has ended by itself."""
        with anyio.fail_after(PATIENCE):
            assert await self.process.wait() == 0
        await self.says("done")


class Tasks:
    """The tasks of a cluster, started one by one."""

    def __init__(self, group: Any, folder: Path, max_steps: int, jobs: dict[str, int]) -> None:
        ports = iter(free_ports(sum(jobs.values())))
        self.cluster = {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}
        self._group, self._command = group, [sys.executable, str(PROGRAM), str(folder), str(max_steps)]
        self.processes: list[Process] = []

    async def start(self, kind: str, index: int = 0) -> Task:
        config = {"cluster": self.cluster, "task": {"type": kind, "index": index}}
        environment = os.environ | {"TF_CONFIG": json.dumps(config), "OPENBLAS_NUM_THREADS": "1"}
        process = await anyio.open_process(self._command, env=environment, stderr=subprocess.PIPE)
        self.processes.append(process)
        task = Task(process)
        self._group.start_soon(task.read)
        self._group.start_soon(drained, process)
        return task


async def drained(process: Process) -> None:
    """Reads what a process logs, for whoever looks at a failed test."""
    assert process.stderr is not None
    async for text in TextReceiveStream(process.stderr, errors="replace"):
        sys.stderr.write(text)


@asynccontextmanager
async def tasks(folder: Path, max_steps: int, **jobs: int) -> AsyncIterator[Tasks]:
    async with anyio.create_task_group() as group:
        made = Tasks(group, folder, max_steps, jobs)
        try:
            yield made
        finally:
            with anyio.CancelScope(shield=True):
                for process in made.processes:
                    if process.returncode is None:
                        process.kill()
                    await process.wait()
        group.cancel_scope.cancel()
    for process in made.processes:
        await process.aclose()


async def test_f107_f118_each_task_of_tf_config_does_its_part(tmp_path: Path) -> None:
    """The evaluator takes each checkpoint, since the chief goes on only then; all end by themselves."""
    async with tasks(tmp_path, 12, chief=1, ps=1) as made:
        server, chief, evaluator = [await made.start(kind) for kind in ("ps", "chief", "evaluator")]
        for step in (0, 5, 10, 12):
            await chief.says(f"saved {step}")
            await evaluator.says(f"evaluated {step}" + (" final" if step == 12 else ""))
            await chief.go_on()
        for task in (chief, server, evaluator):
            await task.ends()
    w, b = expected(12)
    found = {name: af.train.load_variable(str(tmp_path), name) for name in ("w", "b", "global_step")}
    np.testing.assert_allclose(found["w"], w, rtol=1e-5)
    np.testing.assert_allclose(found["b"], b, rtol=1e-5)
    assert found["global_step"] == 12
    assert [line for line in evaluator.lines if line.startswith("evaluated")] == [
        "evaluated 0",
        "evaluated 5",
        "evaluated 10",
        "evaluated 12 final",
    ]


@pytest.mark.extras
async def test_a_server_that_comes_after_the_training_has_nothing_to_serve(tmp_path: Path) -> None:
    async with tasks(tmp_path, 3, chief=1) as made:
        chief = await made.start("chief")
        for step in (0, 3):
            await chief.says(f"saved {step}")
            await chief.go_on()
        await chief.ends()
        made.cluster["ps"] = [f"127.0.0.1:{free_ports(1)[0]}"]
        for kind in ("ps", "evaluator"):
            await (await made.start(kind)).ends()


@pytest.mark.extras
async def test_a_worker_may_come_late_and_die(tmp_path: Path) -> None:
    async with tasks(tmp_path, 20, chief=1, ps=1, worker=2) as made:
        server, chief = await made.start("ps"), await made.start("chief")
        await chief.says("saved 0")  # it waits for no worker
        await chief.go_on()
        await chief.says("saved 5")
        late, lost = await made.start("worker", 0), await made.start("worker", 1)
        for worker in (late, lost):
            await worker.speaks()
        await lost.dies()
        await late.go_on()
        await late.ends()  # it has made all steps that are left
        assert "saved 10" not in chief.lines
        for _ in range(3):
            await chief.go_on()
        await chief.ends()
        await server.ends()
    assert af.train.load_variable(str(tmp_path), "global_step") >= 20


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["ps", "chief", "evaluator"])
async def test_a_task_that_dies_and_is_started_again_goes_on(kind: str, tmp_path: Path) -> None:
    """A scheduler starts it again by the same command. The values are those of an undisturbed training."""
    async with tasks(tmp_path, 12, chief=1, ps=1, worker=1) as made:
        found = {one: await made.start(one) for one in ("ps", "chief", "evaluator")}
        await found["chief"].says("saved 0")
        await found["chief"].go_on()
        await found["chief"].says("saved 5")
        await found["evaluator"].says("evaluated 5")
        if kind != "chief":
            await found["chief"].go_on()
            await found["chief"].says("saved 10")
        await found[kind].dies()
        found[kind] = await made.start(kind)
        for _ in range(4):
            await found["chief"].go_on()
        for task in found.values():
            await task.ends()
        assert "evaluated 12 final" in found["evaluator"].lines
    w, _ = expected(12)
    np.testing.assert_allclose(af.train.load_variable(str(tmp_path), "w"), w, rtol=1e-5)


async def test_an_end_that_an_earlier_training_has_told_does_not_count(tmp_path: Path) -> None:
    first, folder = Ending(str(tmp_path)), str(tmp_path)
    assert await first.step() is None
    await first.tell(7)
    assert await first.step() == 7
    second = Ending(folder)
    assert await second.step() is None
    await second.tell(7)
    assert await second.step() == 7


async def test_an_end_that_was_told_before_counts_in_the_end_unless_a_chief_takes_it_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chief, folder = Ending(str(tmp_path)), str(tmp_path)
    await chief.tell(7)
    monkeypatch.setattr(ending, "_PATIENCE", 0.0)
    late = Ending(folder)
    assert await late.step() == 7
    await chief.begin()
    early = Ending(folder)
    assert await late.step() is None and await early.step() is None
    await chief.tell(7)
    assert await late.step() == await early.step() == await Ending(folder).step() == 7


def task(monkeypatch: pytest.MonkeyPatch, folder: Path, kind: str) -> Any:
    """An Estimator of a task of this process; none of the others is there."""
    cluster = {job: [f"127.0.0.1:{port}"] for job, port in zip(("chief", "ps", "worker"), free_ports(3))}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": kind, "index": 0}}))
    monkeypatch.setattr(roles, "_LOOK_SECONDS", 0.01)
    return af.estimator.Estimator(line, str(folder), quiet(), {"rate": 0.1})


@pytest.mark.parametrize("kind", ["evaluator", "ps"])
async def test_a_task_that_comes_after_the_end_of_the_input_ends(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await af.estimator.Estimator(line, str(tmp_path), quiet(), {"rate": 0.1}).train(batches)
    await Ending(str(tmp_path)).tell(4)
    monkeypatch.setattr(ending, "_PATIENCE", 0.0)
    spec = af.estimator.EvalSpec(batches, start_delay_secs=0, throttle_secs=0)
    made = task(monkeypatch, tmp_path, kind)
    with anyio.fail_after(PATIENCE):
        metrics, _ = await af.estimator.train_and_evaluate(made, af.estimator.TrainSpec(batches, max_steps=100), spec)
    assert (metrics or {}).get("global_step") == (4 if kind == "evaluator" else None)


async def test_a_chief_that_is_cancelled_serves_no_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun = anyio.Event()

    class Begun(af.train.SessionRunHook):
        def begin(self) -> None:
            begun.set()

    await Ending(str(tmp_path)).tell(3)
    spec = af.estimator.TrainSpec(batches, 10, [Begun()])
    made, test = task(monkeypatch, tmp_path, "chief"), af.estimator.EvalSpec(batches)
    async with anyio.create_task_group() as group:
        group.start_soon(af.estimator.train_and_evaluate, made, spec, test)
        with anyio.fail_after(PATIENCE):
            await begun.wait()  # it waits for the server of variables, which does not come
        group.cancel_scope.cancel()
    for thread in threading.enumerate():
        assert thread.name != "actorflow server" or not thread.is_alive()
    monkeypatch.setattr(ending, "_PATIENCE", 0.0)
    assert await Ending(str(tmp_path)).step() is None, "it has taken back the word of an earlier training"


def test_a_server_that_is_closed_while_it_starts_serves_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training may be cancelled while a thread starts its server."""
    starts, goes_on = threading.Event(), threading.Event()

    class Slow(af.Server):
        async def __aenter__(self) -> Any:
            starts.set()
            goes_on.wait()
            return await super().__aenter__()

    monkeypatch.setattr(blocking_server.asynchronous, "Server", Slow)
    server = af.blocking.Server({"local": [f"127.0.0.1:{free_ports(1)[0]}"]}, start=False)
    starting = threading.Thread(target=server.start)
    starting.start()
    starts.wait()
    closing = threading.Thread(target=server.close)
    closing.start()
    goes_on.set()
    for thread in (starting, closing):
        thread.join()
    assert server._thread is not None and not server._thread.is_alive()


def test_workers_need_a_server_for_their_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cluster = {"chief": ["a:1"], "worker": ["b:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}}))
    made = af.blocking.Estimator(lambda features: None, str(tmp_path))
    with pytest.raises(ValueError, match='has workers but no "ps"'):
        af.blocking.train_and_evaluate(made, af.estimator.TrainSpec(list), af.estimator.EvalSpec(list))
