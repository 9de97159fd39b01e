"""`SharedFolder`: whether all tasks that write checkpoints have the same folder, found out before training begins.

Each task writes its part of a checkpoint for itself. If a path names another folder on one host than on the others (a
mount is missing, say), saves would end well, and the first restore would not. So the chief writes a file with a number
that no process can guess, and each task says what it reads there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from actorflow.base.dtypes import string
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.cluster.client.engine import RemoteEngine
from actorflow.cluster.master.graph_partitioner import task_of
from actorflow.engine.formats.installed import small_files
from actorflow.engine.session.session import Session
from actorflow.errors import FailedPreconditionError, OpError, PermissionDeniedError, UnavailableError
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.ops.state.checkpoint import read_nonce
from actorflow.graph.tensor import Tensor
from actorflow.models.train.saving.saver import Saver

_LOG = get_logger("supervisor")
_PAUSES = (0.0, 0.1, 0.4)
"""Seconds before each look. A network's file system may show a new file to others a moment later."""
_HINT = (
    "Give all of these hosts one folder under one path (a shared mount), or a store that all reach, such as "
    "checkpoint_dir='s3://...'. `findmnt -T FOLDER` tells on each host what is mounted there."
)
_HINT_ROOTS = (
    "Let the tasks' user read and write the folder. A server that was started elsewhere also has to allow it, by path or URL: "
    "`actorflow worker --files FOLDER`, `Server(file_roots=[FOLDER])`."
)


@dataclass(frozen=True, slots=True)
class FolderReport:
    """A task's report: on which host it is, what it read, or why it could not."""

    task: str
    host: str
    value: str | None
    kind: str
    message: str

    @staticmethod
    def parse(task: str, said: bytes) -> FolderReport:
        tree = json.loads(said)
        return FolderReport(task, tree["host"], tree["value"], tree["kind"], tree["message"])

    def line(self) -> str:
        what = "it reads another value there: the folder is another one" if self.value is not None else self.message
        return f"{self.task} on host {self.host}: {what}"


class SharedFolder:
    """The nodes that say what tasks see of a folder: a node for each task that writes files of a saver's checkpoints."""

    def __init__(self, saver: Saver) -> None:
        saver.build()
        self._looks: dict[str, Tensor] = {}
        if not saver.writers:
            return
        graph = saver.writers[0].graph
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope("supervisor"):
            self._path = placeholder(string, [], name="nonce_path")
            for op in saver.writers:
                with graph.colocate_with(op):
                    self._looks[op.name] = read_nonce(self._path, name="read_nonce")

    async def check(self, session: Session, folder: str) -> None:
        """Looks whether all tasks have the caller's `folder`, a path or a URL. It asks no task if the session has no cluster.
        Nothing stays in the folder.

        Raises:
            FailedPreconditionError: tasks have another folder there, or none; all are named, each with its host.
            PermissionDeniedError: tasks may not read it; all are named.
            UnavailableError: the store failed them, which says nothing of the folder.
            OpError: the caller itself can't write there.
        """
        if not self._looks or not isinstance(session._engine, RemoteEngine):
            return
        store, nonce = small_files(), machine.fresh_hex(16)
        name = f".nonce.{machine.fresh_hex(6)}.tmp"  # `actorflow checkpoint clean` takes it for what a killed save has left
        await machine.on_thread(store.write, folder, name, nonce.encode())
        try:
            for pause in _PAUSES:
                await anyio.sleep(pause)
                reports = await self._ask(session, f"{folder.rstrip('/')}/{name}")
                wrong = [seen for seen in reports if seen.value != nonce]
                if not wrong:
                    return
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await machine.on_thread(store.remove_file, folder, name)
                except OpError as error:
                    _LOG.warning("a small file stays in the checkpoint folder", file=name, error=error.message)
        raise _refusal(folder, wrong)

    async def _ask(self, session: Session, path: str) -> list[FolderReport]:
        """The view that each task has, by its name."""
        said = await session.run(dict(self._looks), {self._path: path})
        reports = [
            FolderReport.parse(task_of(session.placement(look.op)), said[name]) for name, look in self._looks.items()
        ]
        return sorted({seen.task: seen for seen in reports}.values(), key=lambda seen: seen.task)


def _refusal(folder: str, wrong: Sequence[FolderReport]) -> OpError:
    details = [seen.line() for seen in wrong]
    kinds = {seen.kind for seen in wrong}
    tasks = ", ".join(seen.task for seen in wrong)
    if kinds == {"PermissionDeniedError"}:
        return PermissionDeniedError(
            f"Not every task may read the checkpoint folder {folder!r}: {tasks}.", details=details, hint=_HINT_ROOTS
        )
    if kinds <= {"", "NotFoundError", "PermissionDeniedError"}:
        return FailedPreconditionError(
            f"Not every task has the checkpoint folder {folder!r} of the chief (on host {machine.host()}): {tasks}.",
            details=details,
            hint=_HINT,
        )
    return UnavailableError(f"The checkpoint folder {folder!r} could not be read by {tasks}.", details=details)
