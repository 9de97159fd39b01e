"""`Recovery`: goes back to the last checkpoint whenever something is lost, and on from there. The chief's part of a workload.

It gives the cluster's epochs: a step of a former epoch has ended on all tasks, or is refused, before values are restored.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any

import anyio

import actorflow as af
from actorflow.cluster.client import RemoteEngine, connect
from actorflow.cluster.credentials import resolve
from actorflow.cluster.messages import SetEpoch, Status
from actorflow.errors import (
    AbortedError,
    DeadlineExceededError,
    OpError,
    UnavailableError,
)
from actorflow.train.checkpoints import get_checkpoint_state
from simulation.checks import check_documented
from simulation.run import CONNECT_SECONDS, LOSSES, STEP_SECONDS, Run
from simulation.tasks import FOLDER

_CALL_SECONDS = 5.0
_TRIES = 4
_PAUSE = 0.1


class Recovery:
    """Runs steps by the master at `target`, and saves a checkpoint after each `save_steps`.

        async with Recovery(run, "w0", model) as recovery:
            async for attempt in recovery.steps(until=100):
                async with attempt as step:
                    await recovery.run(train_op)

    `model` has the `graph`, `init`, `step` (a tensor) and `saver`. `on_restored` is told of each restore, before any step of
    another client can come.
    """

    def __init__(
        self,
        run: Run,
        target: str,
        model: Any,
        *,
        save_steps: int = 20,
        on_restored: Callable[[int], object] = lambda step: None,
    ) -> None:
        self._run, self._model = run, model
        self._on_restored = on_restored
        self._target = resolve(run.tasks.target(target), None)
        self._save_steps = save_steps
        self._epoch = 0
        self._saved = -1

    async def __aenter__(self) -> Recovery:
        self.session = af.Session(self._target, graph=self._model.graph, connect_timeout=CONNECT_SECONDS)
        self._links = connect(self._target)
        try:
            await self.recover()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        with anyio.CancelScope(shield=True):
            try:
                await self.session.close()
            finally:
                await self._links.aclose()

    # ---- steps

    async def steps(self, until: int | None = None) -> AsyncIterator[Attempt]:
        """Attempts until the global step is `until`; with checkpoints between them."""
        while True:
            attempt = Attempt(self)
            async with attempt as step:
                if step % self._save_steps == 0 and step != self._saved:
                    await self.save(step)
                if until is not None and step >= until:
                    return
            if attempt.went_well:
                yield attempt

    async def run(self, fetches: Any, feeds: Any = None) -> Any:
        """A step, with a deadline."""
        with self._run.phases.during("RunStep"):
            return await self._run.in_time(self.session.run(fetches, feeds, timeout=STEP_SECONDS))

    async def save(self, step: int) -> bool:
        """A checkpoint, and whether it was made. One that fails is no loss where the steps go on."""
        try:
            with self._run.phases.during("commit"), anyio.fail_after(STEP_SECONDS):
                path = await self._model.saver.save(
                    self.session, f"{FOLDER}/model", step, consistent=True, write_meta_graph=False
                )
        except TimeoutError as error:
            raise DeadlineExceededError("The save has taken too long.") from error
        except LOSSES:
            raise
        except OpError as error:
            check_documented(error)
            self._run.ended(error)
            return False
        self._saved = step
        self._run.committed(step, path)
        return True

    # ---- losses

    async def recover(self) -> None:
        """A new epoch, in which the variables have the values of the last checkpoint."""
        while True:
            try:
                await self._begin_epoch()
                return
            except (*LOSSES, TimeoutError, ValueError) as error:
                if isinstance(error, OpError):
                    check_documented(error)
                await anyio.sleep(_PAUSE)

    async def rejoin(self) -> None:
        """Tells the epoch to tasks that were started again meanwhile and know of none."""
        try:
            for task in self._run.tasks.names:
                if int((await self._ask(task, Status()))["epoch"]) < self._epoch:
                    await self._ask(task, SetEpoch(self._epoch, ""))
        except LOSSES as error:
            check_documented(error)

    async def _begin_epoch(self) -> None:
        epochs = [int((await self._ask(task, Status()))["epoch"]) for task in self._run.tasks.names]
        self._epoch = max([self._epoch, *epochs]) + 1
        engine = self.session._engine
        assert isinstance(engine, RemoteEngine)
        for task in self._run.tasks.names:
            await self._ask(task, SetEpoch(self._epoch, engine.name))
        with self._run.phases.during("restore"):
            for number in range(_TRIES):
                try:
                    with anyio.fail_after(STEP_SECONDS):
                        await self._restore()
                    break
                except (AbortedError, UnavailableError):  # the session learns of the epoch by such an error
                    if number == _TRIES - 1:
                        raise
                    await anyio.sleep(_PAUSE / 4)
        for task in self._run.tasks.names:
            await self._ask(task, SetEpoch(self._epoch, ""))

    async def _ask(self, task: str, request: Any) -> Any:
        address = self._run.tasks.spec.address_of(task)
        link = await self._links.to(task, address, timeout=_CALL_SECONDS)
        return await link.call(request, timeout=_CALL_SECONDS)

    async def _restore(self) -> None:
        state = get_checkpoint_state(FOLDER)
        self._saved = -1
        if state is None:
            await self.session.run(self._model.init)
            self._restored(0)
            return
        path = state.model_checkpoint_path
        self._model.saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        await self._model.saver.restore(self.session, path)
        self._saved = int(path.rpartition("-")[2])
        self._restored(self._saved)

    def _restored(self, step: int) -> None:
        self._run.restored(step)
        self._on_restored(step)


class Attempt:
    """`async with attempt as step:` is a step of training; a loss takes all back to the last checkpoint."""

    def __init__(self, recovery: Recovery) -> None:
        self._recovery = recovery
        self.went_well = False

    async def __aenter__(self) -> int:
        recovery = self._recovery
        while True:
            try:
                return int(await recovery.run(recovery._model.step))
            except LOSSES as error:
                await self._lost(error)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.went_well = error is None
        if not isinstance(error, LOSSES):
            return False
        await self._lost(error)
        return True

    async def _lost(self, error: BaseException) -> None:
        check_documented(error)
        self._recovery._run.ended(error)
        await self._recovery.recover()
