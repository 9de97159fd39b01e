"""`Chaos`: a trainer, waiters and a hand that kills, over one cluster; each cycle ends when training has gone on."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

import actorflow as af
from actorflow.cluster.processes.launcher import Launcher
from actorflow.supervisor import CheckpointSaved, Event, LoopStalled, RestartPolicy, WorkerLost
from chaos.program import JOBS, TASKS, Program, check, program

PATIENCE = 60.0
"""Seconds after which a cycle is stuck."""
_POLICY = RestartPolicy(most=10**9)
_SETTLED = 0.05
_SLOW = 0.1


@dataclass
class Measured:
    """Seconds, of all cycles so far."""

    lost_after_kill: list[float] = field(default_factory=list)
    """From SIGKILL to the event that tells of the loss."""
    heard_after_kill: list[float] = field(default_factory=list)
    """From SIGKILL to the error of each one who waits."""
    slow: list[dict[str, object]] = field(default_factory=list)
    """The kills that somebody heard of later than after a tenth of a second."""
    lost_after_stop: list[float] = field(default_factory=list)
    heard_after_stop: list[float] = field(default_factory=list)
    resumed: list[float] = field(default_factory=list)
    """From the last death of a cycle to the end of the first step after the restore."""
    kills: int = 0
    double_kills: int = 0
    stops: int = 0
    pauses: int = 0
    hogs: list[float] = field(default_factory=list)
    stalls: int = 0
    steps: int = 0
    retaken: int = 0
    """Steps that were done and then taken back."""
    saves: int = 0


class Chaos:
    """See the module. `async with chaos(...)` makes one."""

    def __init__(
        self, cluster: af.LocalCluster, supervisor: af.Supervisor, made: Program, rng: random.Random, pause: float
    ) -> None:
        self.measured = Measured()
        self._cluster, self._supervisor, self._made, self._rng = cluster, supervisor, made, rng
        self._pause = pause
        self._heard: dict[str, float] = {}
        self._waits_since: dict[str, float] = {}
        self._done: tuple[int, float] = (-1, 0.0)
        """The generation of the last step that was done, and when that was."""
        self._next_step = 0
        self._saved_step = 0
        self._lost: list[tuple[str, float]] = []
        self._news = anyio.Event()

    # ---- what goes on by itself

    async def train(self) -> None:
        """Makes steps forever, and checks each."""
        async for attempt in self._supervisor.steps():
            async with attempt as step:
                assert step >= self._saved_step, f"step {step} is done again, but {self._saved_step} were saved"
                assert step <= self._next_step, f"step {step} follows step {self._next_step - 1}"
                found = await self._supervisor.run(self._made.train, {self._made.x: step})
                check(found, step)
                self.measured.retaken += max(0, self._next_step - step)
                self.measured.steps += 1
                self._next_step = step + 1
                self._done = attempt.generation, time.monotonic()
                self._tell()
            await anyio.sleep(self._pause)

    async def wait(self, task: str) -> None:
        """Waits at an empty queue on a task forever; notes when it hears of a loss."""
        async for attempt in self._supervisor.steps():
            async with attempt:
                self._waits_since[task] = time.monotonic()
                try:
                    await self._supervisor.run(self._made.waits[task])
                except Exception:
                    self._heard[task] = time.monotonic()
                    self._tell()
                    raise
                finally:
                    del self._waits_since[task]

    async def follow(self) -> None:
        """Keeps what the supervisor tells."""
        async for event in self._supervisor.events():
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, WorkerLost):
            self._lost.append((event.task, time.monotonic() - (time.time() - event.time)))
        elif isinstance(event, CheckpointSaved):
            self.measured.saves += 1
            self._saved_step = event.step
        elif isinstance(event, LoopStalled):
            self.measured.stalls += 1
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    # ---- the cycles

    async def kill(self) -> None:
        """SIGKILL to one task, or now and then to a second one while the first is replaced."""
        task = self._rng.choice(TASKS)
        if self._rng.random() < 0.5:
            saves = self.measured.saves
            await self._until(lambda: self.measured.saves > saves)
        await anyio.sleep(self._rng.uniform(0.0, 0.4))
        waiting, generation, lost = self._waiting(), self._supervisor._gate.generation, len(self._lost)
        death = time.monotonic()
        self._cluster.processes[task].signal(signal.SIGKILL)
        self.measured.kills += 1
        await self._until(lambda: len(self._lost) > lost and self._have_heard(waiting, death))
        self.measured.lost_after_kill.append(self._lost[lost][1] - death)
        heard = {name: self._heard[name] - death for name in waiting}
        self.measured.heard_after_kill += heard.values()
        if max(heard.values(), default=0.0) > _SLOW:
            slow = {name: round(seconds, 3) for name, seconds in heard.items()}
            self.measured.slow.append(
                {"killed": task, "lost": round(self.measured.lost_after_kill[-1], 3), "heard": slow}
            )
        if self._rng.random() < 0.1:
            await anyio.sleep(self._rng.uniform(0.0, 0.5))
            generation, death = self._supervisor._gate.generation, time.monotonic()
            self._cluster.processes[self._rng.choice([name for name in TASKS if name != task])].signal(signal.SIGKILL)
            self.measured.kills += 1
            self.measured.double_kills += 1
        await self._resumed(generation, death)

    async def stop(self) -> None:
        """SIGSTOP to one task, for good."""
        task = self._rng.choice(TASKS)
        await anyio.sleep(self._rng.uniform(0.0, 0.4))
        waiting, generation, lost = self._waiting(), self._supervisor._gate.generation, len(self._lost)
        death = time.monotonic()
        self._cluster.processes[task].signal(signal.SIGSTOP)
        self.measured.stops += 1
        await self._until(lambda: len(self._lost) > lost and self._have_heard(waiting, death))
        self.measured.lost_after_stop.append(self._lost[lost][1] - death)
        self.measured.heard_after_stop += [self._heard[name] - death for name in waiting]
        await self._resumed(generation, death, count=False)

    async def pause(self) -> None:
        """SIGSTOP and soon SIGCONT: no loss."""
        process, lost = self._cluster.processes[self._rng.choice(TASKS)], len(self._lost)
        process.signal(signal.SIGSTOP)
        await anyio.sleep(self._rng.uniform(0.05, 0.6))
        process.signal(signal.SIGCONT)
        self.measured.pauses += 1
        await self._steps(3)
        assert len(self._lost) == lost, f"{process.task} was stopped for a moment only, and is said to be lost"

    async def hog(self, seconds: float) -> None:
        """A kernel that holds the interpreter of a task: it is busy, and not lost."""
        task, lost, stalls = self._rng.choice(TASKS), len(self._lost), self.measured.stalls
        async for attempt in self._supervisor.steps():
            async with attempt:
                await self._supervisor.run(self._made.hogs[task], {self._made.seconds: seconds})
            break
        self.measured.hogs.append(seconds)
        await self._steps(3)
        assert len(self._lost) == lost, f"{task} was held up for {seconds} s, and is said to be lost"
        assert seconds < 4.0 or self.measured.stalls == stalls + 1, f"nobody was told that {task} was held up"

    async def begin(self) -> None:
        """Waits for the first steps and the first checkpoint."""
        await self._steps(3)
        await self._until(lambda: self.measured.saves)

    async def settle(self) -> None:
        """Waits until all train and wait as ever, and nothing is being saved."""
        saves = self.measured.saves
        await self._until(lambda: self.measured.saves > saves)
        await self._until(lambda: len(self._waiting()) == len(TASKS))

    # ---- waiting

    def _waiting(self) -> list[str]:
        """The clients that have waited for a while, so that their steps are in flight."""
        now = time.monotonic()
        return [task for task, since in self._waits_since.items() if now - since > _SETTLED]

    def _have_heard(self, waiting: list[str], death: float) -> bool:
        return all(self._heard.get(task, 0.0) >= death for task in waiting)

    async def _resumed(self, generation: int, death: float, *, count: bool = True) -> None:
        await self._until(lambda: self._done[0] > generation)
        if count:
            self.measured.resumed.append(self._done[1] - death)
        await self._steps(1)

    async def _steps(self, count: int) -> None:
        for _ in range(count):
            before = self._done
            await self._until(lambda before=before: self._done != before)  # type: ignore[misc]

    async def _until(self, holds: object) -> None:
        """Waits for news until `holds()`. Raises AssertionError when that takes too long."""
        assert callable(holds)
        with anyio.move_on_after(PATIENCE):
            while not holds():
                await self._news.wait()
            return
        lives = {task: life.state.value for task, life in self._supervisor.lives.items()}
        told = "\n".join(map(str, self._supervisor.history[-12:]))
        raise AssertionError(f"stuck after {self.measured.kills} kills; {lives}; what was told last:\n{told}")


@asynccontextmanager
async def chaos(folder: Path, seed: int, *, mib: int, save_steps: int, pause: float = 0.0) -> AsyncIterator[Chaos]:
    """A cluster that trains until the block ends, with a pause between steps."""
    made = program(mib)
    with Launcher({"OPENBLAS_NUM_THREADS": "1"}) as launcher:
        async with (
            af.LocalCluster(JOBS, launcher=launcher, imports=["chaos.hog_ops"]) as cluster,
            af.Supervisor(
                cluster, made.graph, checkpoint_dir=folder, save_steps=save_steps, max_to_keep=2, restarts=_POLICY
            ) as supervisor,
        ):
            found = Chaos(cluster, supervisor, made, random.Random(seed), pause)
            async with anyio.create_task_group() as group:
                for work in (found.train, found.follow):
                    group.start_soon(work)
                for task in TASKS:
                    group.start_soon(found.wait, task)
                await found.begin()
                yield found
                group.cancel_scope.cancel()
            supervisor._saves.is_changed = False  # no last checkpoint
