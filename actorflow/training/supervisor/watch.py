"""`watch`: a recovery manager and a monitor for the cluster behind a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from actorflow.cluster.client.engine import RemoteEngine
from actorflow.cluster.client.inquiries import connect, query_status
from actorflow.cluster.config.credentials import Target
from actorflow.cluster.processes.local import LocalCluster
from actorflow.cluster.processes.startup import logging_wait
from actorflow.cluster.wire.endpoints import open_endpoints
from actorflow.engine.transport import installed
from actorflow.engine.transport.heartbeat import Heartbeat
from actorflow.training.supervisor.events import Events
from actorflow.training.supervisor.liveness import Rules
from actorflow.training.supervisor.monitor import Monitor
from actorflow.training.supervisor.recovery.epochs import EpochStore
from actorflow.training.supervisor.recovery.manager import RecoveryManager
from actorflow.training.supervisor.recovery.members import Members
from actorflow.training.supervisor.recovery.restarts import Restarts
from actorflow.training.supervisor.task_roles import TaskRoles


@dataclass(frozen=True, slots=True)
class Watch:
    """The events that a watch is told, and the functions that it calls; see `RecoveryManager`."""

    events: Events
    restarts: Restarts
    rules: Rules
    heartbeat: Heartbeat
    start_seconds: float
    folder: str | None
    restore: Callable[[], Any]
    roles: TaskRoles
    lost_seconds: float | None
    on_abort: Callable[[Exception], object]
    on_up: Callable[[], object]
    on_failure: Callable[[Exception], object]

    async def begin(self, target: Target, cluster: LocalCluster | None, engine: RemoteEngine) -> RecoveryManager:
        """Begins to watch the tasks of `cluster`, or of the cluster that `target` belongs to. `engine` is the session's.

        Raises:
            UnavailableError: `target` is not reached.
        """
        if cluster is not None:
            tasks = {task: cluster.spec.address_of(task) for task in cluster.spec.tasks}
            needed = cluster.spec.tasks
        else:
            with logging_wait(target.address, self.start_seconds) as progress:
                status = await query_status(target, timeout=self.start_seconds, progress=progress)
            tasks, needed = status["tasks"], status["session_tasks"]
        keys = target.credentials
        links = connect(
            target,
            open_endpoints(
                installed.for_target(engine.transport, target.address),
                credentials=keys,
                control_only=True,
                options={"heartbeat_seconds": self.heartbeat.seconds},
            ),
        )
        manager = RecoveryManager(
            EpochStore(self.folder),
            self.restarts,
            self.events,
            cluster=cluster,
            client=lambda: engine.name,
            restore=self.restore,
            holds_state=self.roles.holds_state,
            on_abort=self.on_abort,
            on_up=self.on_up,
            on_failure=self.on_failure,
            start_seconds=self.start_seconds,
            members=Members(
                self.roles.keeps_variables,
                self.roles.changed,
                self.lost_seconds,
                uses=self.roles.uses,
                job=self.roles.job,
                has_copies=self.roles.has_copies,
            ),
        )
        monitor = Monitor(
            tasks,
            links,
            None if keys is None else keys.peer_key(),
            needed=needed,
            process=lambda task: None if cluster is None else cluster.processes.get(task),
            restarts=cluster is not None,
            on_change=manager.changed,
            on_epoch=manager.heard_epoch,
            epoch=lambda: manager.epoch,
            rules=self.rules,
        )
        manager.start(monitor)
        return manager
