"""`ClusterSpec`: which tasks a cluster has and where each is reached (paper section 3; TensorFlow 1's class).

A cluster is a set of jobs, a job a list of tasks, a task one process with one address. The address of a task is written
`host:port`, `[::1]:port` or `tcp://host:port`, or begins with the scheme of another transport. Port 0 and an address that two
tasks share are refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actorflow.engine.transport import installed
from actorflow.engine.transport.base import Reach
from actorflow.errors import InvalidArgumentError
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.graph.graphdef.cluster_protos import ClusterDef

_JOB = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
_TASK = re.compile(r"/job:([A-Za-z_][A-Za-z0-9_\-]*)(?:/replica:0)?/task:(\d{1,9})")
SCHEME = "tcp"
"""Of an address without a scheme."""
_EVERYWHERE = ("*", "0.0.0.0", "::")

Tasks = Sequence[str] | Mapping[int, str]


@public("af", "tf.train")
class ClusterSpec:
    """The tasks of a cluster by job and index. It does not change.

    Example:
        >>> cluster = af.ClusterSpec({"ps": ["ps0:7070", "ps1:7070"], "worker": {0: "w0:7070", 7: "w7:7070"}})
        >>> cluster.jobs, cluster.task_address("worker", 7)
        (['ps', 'worker'], 'w7:7070')

    Args:
        cluster: for each job a list of addresses (the index is the task's number) or a dictionary from numbers to
            addresses, which may leave numbers out; or another ClusterSpec, or a `tf.train.ClusterDef`.

    Raises:
        TypeError: it is none of these.
        InvalidArgumentError: a job's name, a task's number or an address can't be, or an address is there twice.
    """

    __slots__ = ("_jobs", "_places")

    def __init__(self, cluster: Mapping[str, Tasks] | ClusterSpec | ClusterDef) -> None:
        if isinstance(cluster, ClusterSpec):
            self._jobs: dict[str, dict[int, str]] = cluster._jobs
            self._places: dict[str, str] = cluster._places
            return
        if not isinstance(cluster, Mapping):
            cluster = _from_message(cluster)
        self._jobs = {job: _tasks_of(job, cluster[job]) for job in sorted(cluster, key=_job_name)}
        self._places = {}
        owners: dict[str, str] = {}
        for job, tasks in self._jobs.items():
            for index, address in tasks.items():
                name = task_name(job, index)
                place = self._places[name] = canonical(address, f"Job {job!r}, task {index}")
                if place in owners and not place.endswith(":0"):
                    raise InvalidArgumentError(
                        f"{owners[place]} and {name} have the same address, {address}.",
                        hint="Each task is a process of its own and needs a port of its own.",
                    )
                owners[place] = name

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs, sorted."""
        return list(self._jobs)

    @property
    def tasks(self) -> list[str]:
        """The names of all tasks, such as `/job:ps/task:0`, by job and number."""
        return list(self._places)

    @property
    def cluster_id(self) -> str:
        """Sixteen hexadecimal digits that are equal for equal clusters, in whatever order and spelling they were given."""
        text = json.dumps(self._places, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has. Raises InvalidArgumentError for a job that is not there.

        Example:
            >>> af.ClusterSpec({"ps": ["a:7070"], "worker": ["b:7070", "c:7070"]}).num_tasks("worker")
            2
        """
        return len(self._of(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks, rising. Raises InvalidArgumentError for a job that is not there.

        Example:
            >>> af.ClusterSpec({"worker": {0: "b:7070", 7: "c:7070"}}).task_indices("worker")
            [0, 7]
        """
        return list(self._of(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task as it was given. Raises InvalidArgumentError for a task that is not there."""
        tasks = self._of(job_name)
        if task_index not in tasks:
            raise InvalidArgumentError(
                f"There is no task {task_index} in job {job_name!r}; it has {_listed(map(str, tasks))}."
            )
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job by number, None for numbers left out. Raises InvalidArgumentError for an unknown job.

        Example:
            >>> af.ClusterSpec({"worker": {0: "b:7070", 2: "c:7070"}}).job_tasks("worker")
            ['b:7070', None, 'c:7070']
        """
        tasks = self._of(job_name)
        return [tasks.get(index) for index in range(max(tasks) + 1)] if tasks else []

    def only(self, tasks: Container[str]) -> ClusterSpec:
        """The cluster of those tasks that are in `tasks`, by their names.

        ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "c:1"]}).only(["/job:ps/task:0", "/job:worker/task:1"])

        Example:
            >>> cluster = af.ClusterSpec({"ps": ["a:7070"], "worker": ["b:7070", "c:7070"]})
            >>> cluster.only(["/job:ps/task:0", "/job:worker/task:1"]).as_dict()
            {'ps': ['a:7070'], 'worker': {1: 'c:7070'}}
        """
        return ClusterSpec(
            {
                job: {index: place for index, place in places.items() if task_name(job, index) in tasks}
                for job, places in self._jobs.items()
            }
        )

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """The arguments of an equal ClusterSpec: lists, and dictionaries for jobs with numbers left out.

        Example:
            >>> af.ClusterSpec({"ps": ["a:7070"], "worker": {7: "c:7070"}}).as_dict()
            {'ps': ['a:7070'], 'worker': {7: 'c:7070'}}
        """
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> ClusterDef:
        """The jobs and their tasks as a message (`tf.train.ClusterDef`).

        Example:
            >>> af.ClusterSpec({"ps": ["a:7070"]}).as_cluster_def().job[0].name
            'ps'
        """
        from actorflow.graph.graphdef.cluster_protos import ClusterDef, JobDef

        return ClusterDef(job=[JobDef(name=job, tasks=tasks) for job, tasks in self._jobs.items()])

    def address_of(self, task: str) -> str:
        """The address that a transport connects to, `tcp://host:port`, for a task's name. Raises
        InvalidArgumentError.

        Example:
            >>> af.ClusterSpec({"ps": ["a:7070"]}).address_of("/job:ps/task:0")
            'tcp://a:7070'
        """
        job, index = parse_task(task)
        self.task_address(job, index)
        address = self._places[task_name(job, index)]
        if address.startswith("tcp://") and address.endswith(":0"):
            raise InvalidArgumentError(
                f"Job {job!r}, task {index}: the port of {address!r} is 0, which stands for none; ports begin at 1.",
                hint="A cluster with it can be described, but not reached: write the port that the task listens on.",
            )
        return address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._places == other._places

    def __hash__(self) -> int:
        return hash(tuple(self._places.items()))

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, task: object) -> bool:
        return task in self._places

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"

    def _of(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise InvalidArgumentError(f"There is no job {job!r} in the cluster; it has {_listed(self._jobs)}.")
        return self._jobs[job]


def _from_message(message: object) -> dict[str, dict[int, str]]:
    """The jobs of a ClusterDef. Raises TypeError for anything else."""
    from actorflow.graph.graphdef.cluster_protos import ClusterDef

    if not isinstance(message, ClusterDef):
        raise TypeError(f"A cluster is a dictionary from jobs to tasks, not {_said(message)}.")
    return {job.name: dict(job.tasks) for job in message.job}


def differences(mine: Mapping[str, str], theirs: Mapping[str, str], me: str, peer: str, most: int = 6) -> list[str]:
    """In what two descriptions of a cluster differ, a phrase for each task: those of `me` and of its peer."""
    lines = []
    for task in dict.fromkeys([*mine, *theirs]):
        if task not in theirs:
            lines.append(f"{task} is only in that of {me}")
        elif task not in mine:
            lines.append(f"{task} is only in that of {peer}")
        elif mine[task] != theirs[task]:
            lines.append(f"{task} is at {mine[task]} for {me}, but at {theirs[task]} for {peer}")
    return lines if len(lines) <= most else [*lines[:most], f"{len(lines) - most} tasks more differ"]


def task_name(job: str, index: int) -> str:
    """The name of a task, which is also the prefix of its devices' names."""
    return f"/job:{job}/task:{index}"


def parse_task(name: str) -> tuple[str, int]:
    """Job and number of `/job:ps/task:0`; `ps:0` is short for it. Raises InvalidArgumentError."""
    match = _TASK.fullmatch(name) or _TASK.fullmatch("/job:{}/task:{}".format(*name.partition(":")[::2]))
    if match is None:
        raise InvalidArgumentError(f"{name!r} names no task; it looks like /job:worker/task:0, or worker:0.")
    return match[1], int(match[2])


def canonical(address: str, where: str = "An address") -> str:
    """`scheme://host:port` of an address in any of its spellings. Raises InvalidArgumentError, TypeError."""
    if not isinstance(address, str):
        raise TypeError(f"{where}: an address is text such as host:port, not {_said(address)}.")
    scheme, separator, rest = address.rpartition("://")
    scheme = scheme if separator else SCHEME
    if scheme != SCHEME:
        transport = installed.with_scheme(scheme)
        if transport is None or transport.reach is Reach.HOST:
            raise InvalidArgumentError(
                f"{where}: {address!r} begins with {scheme}://, but the transports that are installed reach tasks by "
                f"{', '.join(f'{installed_scheme}://' for installed_scheme in installed.schemes())} only.",
                hint="A package that brings a transport for it has to be installed on each host.",
            )
        if transport.reach is Reach.PROCESS:  # the address is a name
            return address
    host, colon, port = rest.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not bare or (":" in bare and bare == host) or re.search(r"[\s/\[\]]", bare):
        raise InvalidArgumentError(f"{where}: {address!r} is not an address; it looks like host:port, or [::1]:port.")
    if bare in _EVERYWHERE:
        raise InvalidArgumentError(
            f"{where}: {address!r} says where to listen, but not where others reach the task.",
            hint="Write the name or number of its host here; `--listen` is where a process listens.",
        )
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 65536):
        raise InvalidArgumentError(f"{where}: the port of {address!r} is {port!r}; ports are numbers from 1 to 65535.")
    return f"{scheme}://{host.lower()}:{int(port)}"


def _tasks_of(job: str, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, Mapping):
        for index in tasks:
            if not isinstance(index, int) or isinstance(index, bool):
                raise TypeError(f"Job {job!r}: the number of a task is an int, not {_said(index)}.")
            if not 0 <= index < 10**9:
                raise InvalidArgumentError(f"Job {job!r}: {index} can't be the number of a task.")
        return {index: tasks[index] for index in sorted(tasks)}
    if isinstance(tasks, Sequence) and not isinstance(tasks, (str, bytes)):
        return dict(enumerate(tasks))
    raise TypeError(
        f"Job {job!r}: its tasks are a list of addresses or a dictionary from numbers to them, not {_said(tasks)}."
    )


def _job_name(job: Any) -> str:
    if not isinstance(job, str):
        raise TypeError(f"The name of a job is text, not {_said(job)}.")
    if not _JOB.fullmatch(job):
        raise InvalidArgumentError(
            f"{job!r} can't be the name of a job: it is made of letters, digits, - and _, and begins with a letter or _."
        )
    return job


def _said(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def _listed(names: Any) -> str:
    return ", ".join(names) or "none"
