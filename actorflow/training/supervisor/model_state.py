"""`ModelState`: what a supervisor does with the graph of a training program: initial values, checkpoints, the global step."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from actorflow.base.paths import path_text
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.formats import installed
from actorflow.engine.session.session import Session
from actorflow.errors import DataLossError, FailedPreconditionError, InvalidArgumentError
from actorflow.graph.graph import Graph
from actorflow.graph.variables.collections import (
    GraphKeys,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from actorflow.models.train.global_steps import get_global_step
from actorflow.models.train.saving.checkpoints import CheckpointState, checkpoint_exists, get_checkpoint_state
from actorflow.models.train.saving.saver import Saver
from actorflow.training.supervisor.shared_folder import SharedFolder

_LOG = get_logger("supervisor")
_NAME = "model.ckpt"


def folder_path(folder: str | os.PathLike[str] | None) -> str | None:
    """A checkpoint folder as all tasks may name it: absolute, unless it is a URL."""
    if folder is None:
        return None
    path = path_text(folder, "folder")
    return path if "://" in path else os.path.abspath(path)


def check_arguments(recovery: str, is_nowhere: bool) -> None:
    """Checks arguments of a supervisor.

    Args:
        recovery: see `Supervisor`.
        is_nowhere: whether there are times to save at, but no folder.

    Raises:
        InvalidArgumentError: an argument is invalid.
    """
    if recovery not in ("all", "task"):
        raise InvalidArgumentError(f'recovery={recovery!r}: it is "all" or "task".')
    if is_nowhere:
        raise InvalidArgumentError("There is nowhere to save to.", hint="checkpoint_dir=..., a folder")


def checked_copies(copies: int) -> int:
    """The number of copies. Raises InvalidArgumentError for none."""
    if type(copies) is not int or copies < 0:
        raise InvalidArgumentError(f"copies={copies!r}: it is a number of tasks, 0 for no copies.")
    return copies


class ModelState:
    """The nodes that a supervisor runs, which are added to `graph`. See `Supervisor` for the arguments.

    Args:
        graph, folder, init_op, init_feeds, local_init_op, saver, max_to_keep: see `Supervisor`; `folder` is its
            `checkpoint_dir`.
        local_init_feeds: the values that are fed to `local_init_op`.
        ready_op: gives the names of variables that have no value; all variables are looked at unless given.
        ready_for_local_init_op: gives the names of those that `local_init_op` needs; global variables are looked at unless
            given.
        init_fn: awaited with the session after `init_op`, if there is no checkpoint.
        path: the checkpoint to restore, instead of the latest in `folder`.
    """

    def __init__(
        self,
        graph: Graph,
        folder: str | None,
        *,
        init_op: Any = None,
        init_feeds: Mapping[Any, Any] | None = None,
        local_init_op: Any = None,
        saver: Saver | None = None,
        max_to_keep: int | None = 5,
        local_init_feeds: Mapping[Any, Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        init_fn: Callable[[Session], Awaitable[object]] | None = None,
        path: str | None = None,
    ) -> None:
        self.graph = graph
        self.folder = folder
        self.path = path
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope("supervisor"):
            self.variables = [
                variable
                for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
                for variable in graph.get_collection(key)
            ]
            self._init_op = global_variables_initializer() if init_op is None else init_op
            self._local_init_op = local_variables_initializer() if local_init_op is None else local_init_op
            self._missing = report_uninitialized_variables(self.variables) if ready_op is None else ready_op
            if ready_for_local_init_op is not None:
                self._missing_first = ready_for_local_init_op
            elif graph.get_collection(GraphKeys.LOCAL_VARIABLES):
                variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
                self._missing_first = report_uninitialized_variables(variables)
            else:
                self._missing_first = self._missing
            counter = get_global_step(graph)
            self._step = counter
            if saver is None and folder is not None:
                saver = Saver(max_to_keep=max_to_keep, format=installed.default())
        self.saver = saver
        self._init_feeds, self._local_init_feeds = init_feeds, local_init_feeds
        self.init_fn = init_fn
        self._shared = None if saver is None or folder is None else SharedFolder(saver)

    async def check_folder(self, session: Session) -> None:
        """Raises FailedPreconditionError, PermissionDeniedError where not every task has the folder; see `SharedFolder`."""
        if self._shared is not None and self.folder is not None:
            await self._shared.check(session, self.folder)

    async def prepare(
        self, session: Session, from_copies: Callable[[], Awaitable[bool]] | None = None
    ) -> tuple[str | None, int]:
        """Gives the variables their values: those of the latest checkpoint, or without a checkpoint initial values. The
        result is the checkpoint's path and the global step. If `from_copies` gives the variables values, and says so, that goes
        before both.

        Raises:
            FailedPreconditionError: variables have no value then; all are named.
            DataLossError: no checkpoint can be read.
        """
        has_values = from_copies is not None and await from_copies()
        path = None if has_values else await self._restore(session)
        if path is None and not has_values:
            await session.run(self._init_op, self._init_feeds)
            if self.init_fn is not None:
                await self.init_fn(session)
        await session.run(self._local_init_op, self._local_init_feeds)
        if names := await self.missing(session):
            raise FailedPreconditionError(
                f"{len(names)} variables have no value after the {'restore' if path else 'init_op'}: {', '.join(names)}.",
                hint="Let init_op (local_init_op, the saver) take them too.",
            )
        return path, 0 if self._step is None else await self.step(session)

    async def follow(self, session: Session) -> bool:
        """Gives local variables and tables their values, which each task has its own of, where the chief has given the others
        theirs. The result is whether all variables have values then."""
        if len(await session.run(self._missing_first)):
            return False
        await session.run(self._local_init_op, self._local_init_feeds)
        return not await self.missing(session)

    async def _restore(self, session: Session) -> str | None:
        """Restores `path`, or the latest checkpoint that can be read."""
        if self.saver is None:
            return None
        if self.path is not None:
            await self.saver.restore(session, self.path)
            return self.path
        if self.folder is None:
            return None
        try:
            state = await machine.on_thread(get_checkpoint_state, self.folder)
        except DataLossError as error:
            if not (kept := self.saver.last_checkpoints):
                raise
            _LOG.warning("the checkpoints that this program knows of are looked at", error=error.message)
            state = CheckpointState(kept[-1], kept)
        if state is None:
            return None
        paths = await machine.on_thread(_existing, state)
        await machine.on_thread(self.saver.recover_last_checkpoints, list(reversed(paths)))
        for number, path in enumerate(paths):
            try:
                await self.saver.restore(session, path)
                return path
            except DataLossError as error:
                if number == len(paths) - 1:
                    raise
                _LOG.warning("a checkpoint is damaged; the one before it is taken", path=path, error=error.message)
        return None

    async def missing(self, session: Session) -> list[str]:
        """The names of the variables that have no value."""
        return [os.fsdecode(name) for name in await session.run(self._missing)]

    async def step(self, session: Session) -> int:
        """The global step. Raises FailedPreconditionError where the graph has none."""
        if self._step is None:
            raise FailedPreconditionError(
                "The graph has no global step, by which a supervisor counts.",
                hint="step = af.train.get_or_create_global_step(), and minimize(loss, global_step=step)",
            )
        return int(await session.run(self._step))

    async def save(self, session: Session, step: int, taken: Callable[[], object]) -> str:
        """Saves a checkpoint, and gives its path. Its values are taken while no step of this session is under way; `taken` is
        called then, and further steps go on."""
        if self.saver is None or self.folder is None:
            raise FailedPreconditionError("The supervisor has no checkpoint_dir to save to.")
        path: str = await self.saver.save(
            session, f"{self.folder.rstrip('/')}/{_NAME}", step, consistent=True, taken=taken
        )
        return path


def _existing(state: CheckpointState) -> list[str]:
    """The checkpoints of a folder, latest first."""
    paths = dict.fromkeys([state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)])
    return [path for path in paths if checkpoint_exists(path)]
