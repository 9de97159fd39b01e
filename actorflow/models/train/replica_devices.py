"""`replica_device_setter`: variables on parameter servers, all else on the worker that builds the graph.

    with af.device(af.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{index}")):
        ...    # the model, written as for one device

Each worker that builds the same program so puts each variable on the same server, because a strategy goes by the order in
which the variables are made (paper section 7; `tf.train.replica_device_setter`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.scopes import DeviceFunction
from actorflow.graph.tensor import Operation
from actorflow.public import public

STANDARD_PS_OPS = ("Variable", "VariableV2", "VarHandleOp")
"""The ops that live on parameter servers unless others are given: those of variables."""

Strategy = Callable[[Operation], int]


class RoundRobin:
    """The strategy that takes the servers in turn."""

    def __init__(self, num_tasks: int) -> None:
        """Raises ValueError unless there is a server."""
        self._num_tasks = _positive(num_tasks)
        self._next = 0

    def __call__(self, op: Operation) -> int:
        """The server of `op`."""
        task = self._next
        self._next = (task + 1) % self._num_tasks
        return task


@public("af.train")
class GreedyLoadBalancingStrategy:
    """The strategy that takes the server with the smallest load so far (`tf.contrib.training`).

    `load_fn(op)` says how much a variable adds to its server's load: see `byte_size_load_fn`. The order in which variables are
    made decides which is where, so each worker has to make them in the same order.

    Example:
        >>> strategy = af.train.GreedyLoadBalancingStrategy(2, af.train.byte_size_load_fn)
        >>> with af.Graph().as_default(), af.device(af.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)):
        ...     large, small, other = (af.Variable(af.zeros([size])) for size in (1000, 10, 10))
        ...     print([v.device for v in (large, small, other)])
        ['/job:ps/task:0', '/job:ps/task:1', '/job:ps/task:1']
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        """Raises ValueError unless there is a server."""
        self._load_fn = load_fn
        self._loads = [0.0] * _positive(num_tasks)

    def __call__(self, op: Operation) -> int:
        """The server of `op`, to whose load that of `op` is added."""
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


@public("af.train")
def byte_size_load_fn(op: Operation) -> float:
    """How many bytes the variable of the node `op` takes; strings count eight each.

    Raises ValueError where its shape is not fully known, or the node has not one output.

    Example:
        >>> with af.Graph().as_default():
        ...     print(af.train.byte_size_load_fn(af.Variable(af.zeros([10, 2])).op))
        80.0
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op.name} has {len(op.outputs)} outputs; the size of one variable was expected.")
    shape, dtype = op.outputs[0].static_shape, op.outputs[0].dtype.base_dtype
    if shape is None or None in shape:
        raise ValueError(f"The size of {op.name} can't be told: its shape is {shape}, which is not fully known.")
    return float(math.prod(size for size in shape if size is not None) * (dtype.size or 8))


@public("af.train")
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str | None = "/job:ps",
    worker_device: str | None = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Strategy | None = None,
) -> DeviceFunction | None:
    """A function for `af.device` that puts variables on parameter servers and other nodes on a worker.

    Example:
        >>> with af.Graph().as_default(), af.device(af.train.replica_device_setter(ps_tasks=2)):
        ...     v, w = af.Variable(1.0), af.Variable(2.0)
        ...     print(v.device, w.device, (v + w).device)
        /job:ps/task:0 /job:ps/task:1 /job:worker

    Args:
        ps_tasks: how many parameter servers there are. For 0 the answer is None, which asks for nothing.
        ps_device, worker_device: the devices of both. The server's number is added to `ps_device` where that names a job, and
            the node asks for no other.
        merge_devices: parts of names that inner scopes ask for are kept, and only what they leave open is filled in.
            Without it, a node for which inner scopes ask for anything is left alone.
        cluster: a `ClusterSpec`, or a dict from jobs to lists of addresses; the number of servers is that of the tasks of
            the job in `ps_device`.
        ps_ops: the ops that belong on servers, `STANDARD_PS_OPS` unless given.
        ps_strategy: gives for such a node the number of its server; they take turns unless given. See
            `GreedyLoadBalancingStrategy`.

    Raises:
        TypeError: the cluster is nothing of these, or the strategy can't be called.
        ValueError: a device's name is none.
    """
    if cluster is not None:
        jobs = _jobs(cluster)
        job = DeviceSpec.parse(ps_device or "").job
        ps_tasks = len(jobs.get(job or "", ()))
    if not ps_tasks:
        return None
    if ps_strategy is None:
        ps_strategy = RoundRobin(ps_tasks)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    chooser = _Chooser(
        DeviceSpec.parse(ps_device or ""),
        DeviceSpec.parse(worker_device or ""),
        merge_devices,
        frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops),
        ps_strategy,
    )
    return chooser.device_function


class _Chooser:
    def __init__(
        self, ps: DeviceSpec, worker: DeviceSpec, merge_devices: bool, ps_ops: frozenset[str], strategy: Strategy
    ) -> None:
        self._ps, self._worker = ps, worker
        self._merge_devices = merge_devices
        self._ps_ops = ps_ops
        self._strategy = strategy

    def device_function(self, op: Operation) -> str:
        """The device for `op`, which has that of the scopes inside already."""
        if not self._merge_devices and op.device:
            return op.device
        spec = DeviceSpec.parse(op.device)
        if op.type not in self._ps_ops or self._ps == DeviceSpec():
            return str(spec.merge(self._worker))
        home = self._ps
        if home.job and spec.job in (None, home.job):
            home = DeviceSpec(home.job, home.replica, self._strategy(op), home.kind, home.index)
        return str(spec.merge(home))


def _jobs(cluster: Any) -> dict[str, Any]:
    """The tasks by job of a ClusterSpec, or of what describes a cluster."""
    for method in ("as_dict", "as_cluster_def"):
        if not isinstance(cluster, Mapping) and callable(convert := getattr(cluster, method, None)):
            cluster = convert()
    if isinstance(cluster, Mapping):
        return dict(cluster)
    if (listed := getattr(cluster, "job", None)) is not None:  # TensorFlow's protocol buffer
        return {job.name: job.tasks for job in listed}
    raise TypeError(f"cluster is a ClusterSpec or a dict from jobs to their tasks, but {cluster!r:.60} was given.")


def _positive(num_tasks: int) -> int:
    if num_tasks < 1:
        raise ValueError(f"There has to be a parameter server at least, but num_tasks is {num_tasks}.")
    return num_tasks
