"""The workloads: those of the simulation, over real processes, and a service that answers requests."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import anyio
import numpy as np
from simulation import training
from simulation.checkpoints import Checkpoints
from simulation.checks import check_documented
from simulation.loops import Loops
from simulation.queues import Queues
from simulation.recovery import Watched, supervised
from simulation.run import LOSSES, Run, Workload
from simulation.tensors import Tensors
from simulation.updates import Updates

import actorflow as af

_ROWS, _COLUMNS = 16, 8
_CLIENTS = 4
_REQUEST_SECONDS = 2.0
_SAVE_STEPS = 4
_PAUSE = 0.05


class Served:
    """Rows times a matrix: on a worker, with the matrix of the server. All numbers are small integers, so answers are exact."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph:
            self.rows = af.placeholder(af.float32, [None, _ROWS])
            with af.device("/job:ps/task:0"):
                matrix = af.Variable(matrix_of(), name="matrix")
                self.look = [af.train.get_or_create_global_step().assign_add(1), matrix.read_value()]
            self.answers = []
            for k in range(2):
                with af.device(f"/job:worker/task:{k}"):
                    self.answers.append(af.matmul(self.rows, matrix.read_value()))


def matrix_of() -> np.ndarray:
    """The matrix that all answers are made of."""
    return (np.arange(_ROWS * _COLUMNS) % 7 - 3).reshape(_ROWS, _COLUMNS).astype(np.float32)


@functools.cache
def served() -> Served:
    return Served()


class Serving:
    """Clients ask for answers, and ask again where they get an error. A chief keeps the model."""

    name = "serving"
    cluster: Mapping[str, Sequence[str]] = {"ps": ["ps0"], "worker": ["w0", "w1"]}
    clients: Sequence[str] = ()
    aims: Sequence[str] = ()

    def prepare(self) -> None:
        served()

    async def main(self, run: Run) -> None:
        run.book["left"] = 0
        for k in range(_CLIENTS):
            run.world.spawn(f"c{k}", asks, run, k)
        run.world.spawn("chief", keeps_model, run)
        await run.until_done()


async def asks(run: Run, k: int) -> None:
    """One request after the other. Each is answered rightly, or with a documented error in time."""
    number = 0
    async with run.session(("w0", "w1")[k % 2], served().graph) as session:
        while not run.is_enough:
            number += 1
            rows = (np.arange((1 + number % 5) * _ROWS).reshape(-1, _ROWS) + number) % 11
            rows = rows.astype(np.float32)
            try:
                fetch = served().answers[number % 2]
                found = await run.in_time(session.run(fetch, {served().rows: rows}, timeout=_REQUEST_SECONDS))
            except LOSSES as error:
                check_documented(error)
                run.ended(error)
                await anyio.sleep(_PAUSE)
                continue
            assert np.array_equal(found, rows @ matrix_of()), f"another answer to request {number} of client {k}"
            run.ended(None)
            await run.pause()
    run.book["left"] += 1


async def keeps_model(run: Run) -> None:
    """The chief: gives the matrix its values, and gives them back."""

    async def train(supervisor: Watched, made: Served) -> None:
        async for attempt in supervisor.steps():
            async with attempt:
                over = run.book["left"] == _CLIENTS
                _, matrix = await supervisor.step(made.look)
                assert np.array_equal(matrix, matrix_of())
                if over:
                    break
            await anyio.sleep(run.spread(_PAUSE))

    await supervised(run, Served, train, save_steps=_SAVE_STEPS)
    run.done = True


class Training(training.Training):
    """Its steps are compared with those of a simulated cluster that nothing befalls: other processes, the same bits."""

    async def main(self, run: Run) -> None:
        run.world.spawn("chief", training.chief, run, training.STEPS)
        await run.until_done()


WORKLOADS: Mapping[str, Workload] = {
    "synchronous": Training(),
    "asynchronous": Updates(),
    "queues": Queues(),
    "loops": Loops(),
    "tensors": Tensors(),
    "checkpoints": Checkpoints(),
    "serving": Serving(),
}
