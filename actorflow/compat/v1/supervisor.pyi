# `make names` writes this file from the marks in the sources.

from actorflow.supervisor.events import CheckpointSaved as CheckpointSaved
from actorflow.supervisor.events import DeathReport as DeathReport
from actorflow.supervisor.events import Event as Event
from actorflow.supervisor.events import LoopStalled as LoopStalled
from actorflow.supervisor.events import Restored as Restored
from actorflow.supervisor.events import StepAborted as StepAborted
from actorflow.supervisor.events import TaskRestarted as TaskRestarted
from actorflow.supervisor.events import WorkerEnded as WorkerEnded
from actorflow.supervisor.events import WorkerLost as WorkerLost
from actorflow.supervisor.liveness import Rules as Rules
from actorflow.supervisor.recovery.restarts import RestartPolicy as RestartPolicy
from actorflow.supervisor.supervisor import Supervisor as Supervisor

__all__ = [
    "CheckpointSaved",
    "DeathReport",
    "Event",
    "LoopStalled",
    "RestartPolicy",
    "Restored",
    "Rules",
    "StepAborted",
    "Supervisor",
    "TaskRestarted",
    "WorkerEnded",
    "WorkerLost",
]
