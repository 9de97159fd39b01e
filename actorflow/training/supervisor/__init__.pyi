# `make names` writes this file from the marks in the sources.

"""The supervisor: it sees that tasks live, restarts them, and takes training back to its last checkpoint (paper section 3.3).

liveness.py        what is known of a task, as a pure state machine
monitor.py         links to all tasks, whose ends and beats are the evidence
saves.py           when a checkpoint is due, and how it is written
task_roles.py      which tasks hold variables and compute logical workers, as tasks join and leave
slow_tasks.py      for whose logical workers the others wait
model_state.py     initial values, checkpoints and the global step of a graph
logical_workers.py which task computes which logical worker of the graph
shared_folder.py   whether all tasks that write checkpoints have the same folder
events.py          what a supervisor tells
supervisor.py      `Supervisor`, all of these together; watch.py joins them
blocking.py        the same for code without `await`
moving/            variables that go to other tasks, and copies of them
recovery/          from a loss to the step after the last checkpoint
"""

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
