# `make names` writes this file from the marks in the sources.

from actorflow.training.supervisor.events import CheckpointSaved as CheckpointSaved
from actorflow.training.supervisor.events import DeathReport as DeathReport
from actorflow.training.supervisor.events import Event as Event
from actorflow.training.supervisor.events import LoopStalled as LoopStalled
from actorflow.training.supervisor.events import ReplicasMapped as ReplicasMapped
from actorflow.training.supervisor.events import Restored as Restored
from actorflow.training.supervisor.events import StateMoved as StateMoved
from actorflow.training.supervisor.events import StepAborted as StepAborted
from actorflow.training.supervisor.events import TaskRestarted as TaskRestarted
from actorflow.training.supervisor.events import TaskSlow as TaskSlow
from actorflow.training.supervisor.events import WaitsForTasks as WaitsForTasks
from actorflow.training.supervisor.events import WorkerEnded as WorkerEnded
from actorflow.training.supervisor.events import WorkerLost as WorkerLost
from actorflow.training.supervisor.liveness import Rules as Rules
from actorflow.training.supervisor.recovery.restarts import RestartPolicy as RestartPolicy
from actorflow.training.supervisor.supervisor import Supervisor as Supervisor

__all__ = [
    "CheckpointSaved",
    "DeathReport",
    "Event",
    "LoopStalled",
    "ReplicasMapped",
    "RestartPolicy",
    "Restored",
    "Rules",
    "StateMoved",
    "StepAborted",
    "Supervisor",
    "TaskRestarted",
    "TaskSlow",
    "WaitsForTasks",
    "WorkerEnded",
    "WorkerLost",
]
