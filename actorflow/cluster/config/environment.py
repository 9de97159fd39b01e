"""The sources from which a process knows its cluster and its own place in it: a JSON file, `TF_CONFIG`, `ACTORFLOW_CONFIG`,
Slurm.

The JSON is that of TensorFlow's `TF_CONFIG`:

    {"cluster": {"ps": ["ps0:7070"], "worker": ["w0:7070", "w1:7070"]}, "task": {"type": "worker", "index": 1}}

A file may hold the inner dictionary of jobs alone; other keys of the outer dictionary are left alone.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.cluster.config.spec import ClusterSpec, task_name
from actorflow.errors import InvalidArgumentError, NotFoundError, OpError, PermissionDeniedError

TF_CONFIG = "TF_CONFIG"
ACTORFLOW_CONFIG = "ACTORFLOW_CONFIG"
_MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class TaskEnvironment:
    """A cluster and, if known, which of its tasks this process is."""

    cluster: ClusterSpec
    job: str | None = None
    index: int | None = None

    @property
    def task(self) -> str:
        """The task's name. Raises InvalidArgumentError if the name is not known, or not in the cluster."""
        if self.job is None or self.index is None:
            raise InvalidArgumentError(
                "No task of the cluster is given.",
                hint="Give --job and --task, or a `task` with `type` and `index` beside the `cluster`.",
            )
        self.cluster.task_address(self.job, self.index)
        return task_name(self.job, self.index)


def read_file(path: str | os.PathLike[str]) -> TaskEnvironment:
    """The cluster in a JSON file.

    Raises:
        NotFoundError, PermissionDeniedError: the file can't be read.
        InvalidArgumentError: what it holds can't be; says the line, or the job and task.
    """
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MOST_BYTES)
    except FileNotFoundError:
        raise NotFoundError(f"The cluster's file {name} does not exist.") from None
    except PermissionError:
        raise PermissionDeniedError(f"The cluster's file {name} may not be read.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"The cluster's file {name} can't be read: {error}.") from None
    return parse(text, name)


def from_environment(environ: Mapping[str, str] | None = None) -> TaskEnvironment | None:
    """The cluster in `ACTORFLOW_CONFIG` (JSON, or the path of a file), else in `TF_CONFIG`; None where neither is set.

    Raises what `read_file` raises.
    """
    variables = os.environ if environ is None else environ
    for name in (ACTORFLOW_CONFIG, TF_CONFIG):
        if text := variables.get(name, "").strip():
            return parse(text, f"the variable {name}") if text.startswith("{") or name == TF_CONFIG else read_file(text)
    return None


def parse(text: str, source: str) -> TaskEnvironment:
    """The cluster in JSON text; `source` is what errors call it. Raises InvalidArgumentError."""
    try:
        value = json.loads(text, object_pairs_hook=_no_twins)
    except json.JSONDecodeError as error:
        line = (text.splitlines() or [""])[error.lineno - 1 : error.lineno]
        raise InvalidArgumentError(
            f"{source}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}.",
            details=[s.strip()[:120] for s in line],
        ) from None
    except RecursionError:
        raise InvalidArgumentError(f"{source}: lists or objects are nested too deeply.") from None
    except ValueError as error:
        raise InvalidArgumentError(f"{source}: {error}.") from None
    if not isinstance(value, dict):
        raise InvalidArgumentError(
            f"{source}: a cluster is a dictionary from jobs to tasks, not a {type(value).__name__}."
        )
    wrapped = isinstance(value.get("cluster"), dict)
    jobs = value["cluster"] if wrapped else value
    try:
        cluster = ClusterSpec({job: _numbered(job, tasks) for job, tasks in jobs.items()})
        job, index = _own_task(value["task"]) if wrapped and value.get("task") is not None else (None, None)
        place = TaskEnvironment(cluster, job, index)
        if job is not None and job in cluster.jobs:  # TensorFlow's evaluators are in no cluster
            place.task  # noqa: B018  (raises)
    except (OpError, TypeError) as error:
        said = error.message if isinstance(error, OpError) else str(error)
        raise InvalidArgumentError(f"{source}: {said}", hint=getattr(error, "hint", None)) from None
    if not cluster:
        raise InvalidArgumentError(f"{source}: the cluster has no jobs.")
    return place


def own_number(text: str) -> int:
    """The number of a task as `--task` takes it: digits, or `hostname`: the digits at the end of this host's name, as pods
    of a Kubernetes StatefulSet have them. Raises InvalidArgumentError."""
    if text != "hostname":
        if text.isascii() and text.isdigit() and len(text) < 10:
            return int(text)
        raise InvalidArgumentError(f"{text!r} is not the number of a task: give a number from 0 on, or `hostname`.")
    host = socket.gethostname().partition(".")[0]
    digits = re.search(r"(\d{1,9})$", host)
    if digits is None:
        raise InvalidArgumentError(f"The name of this host, {host!r}, does not end in a number.")
    return int(digits[1])


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is there twice")
    return entries


def _numbered(job: str, tasks: Any) -> Any:
    """JSON's keys are text; those of tasks are numbers."""
    if not isinstance(tasks, dict):
        return tasks
    for key in tasks:
        if not (key.isascii() and key.isdigit()):
            raise InvalidArgumentError(f"Job {job!r}: {key!r} is not the number of a task.")
    return {int(key): address for key, address in tasks.items()}


def _own_task(task: Any) -> tuple[str, int]:
    if not isinstance(task, dict) or not isinstance(task.get("type"), str):
        raise InvalidArgumentError('`task` looks like {"type": "worker", "index": 0}.')
    index = task.get("index", 0)
    if isinstance(index, str) and index.isascii() and index.isdigit():
        index = int(index)
    if not isinstance(index, int) or isinstance(index, bool):
        raise InvalidArgumentError(f"`task`: the index is a number, not {index!r}.")
    return task["type"], index
