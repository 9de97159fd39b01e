"""`tf.distribute.cluster_resolver`: descriptions of clusters, by themselves, by `TF_CONFIG`, or by several of them."""

from __future__ import annotations

import json
import os
from typing import Any

from actorflow.cluster.config.spec import ClusterSpec
from actorflow.compat.names.refused import absent

__getattr__ = absent("distribute.cluster_resolver", __name__)


class ClusterResolver:
    """A description of a cluster (`tf.distribute.cluster_resolver.ClusterResolver`)."""

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None

    def cluster_spec(self) -> ClusterSpec:
        """All tasks."""
        raise NotImplementedError(f"{type(self).__name__} does not say its tasks: override cluster_spec.")

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of a session at a task.

        Args:
            task_type, task_id: the task.
            rpc_layer: what stands before the address, such as `grpc`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say its master: override master.")

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """How many accelerators of each kind a task has, as this process has them.

        Args:
            task_type, task_id, config_proto: accepted for compatibility.
        """
        from actorflow.compat.names.config.experimental import list_logical_devices

        return {"GPU": len(list_logical_devices("GPU"))}

    @property
    def environment(self) -> str:
        """The environment, such as `google`; empty for any other."""
        return ""

    def _address(self, task_type: str | None, task_id: int | None, rpc_layer: str | None) -> str:
        address = self.cluster_spec().task_address(str(task_type), int(task_id or 0))
        layer = rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer else str(address)


class SimpleClusterResolver(ClusterResolver):
    """A cluster that is given as it is (`tf.distribute.cluster_resolver.SimpleClusterResolver`).

    Args:
        cluster_spec: all tasks.
        master: the target of sessions.
        task_type, task_id: which task this is.
        environment: the environment's name.
        num_accelerators: how many accelerators of each kind a task has; those of this process unless given.
        rpc_layer: what stands before addresses.
    """

    def __init__(
        self,
        cluster_spec: Any,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a ClusterSpec.")
        self._spec, self._master, self._environment = cluster_spec, master, environment
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self._accelerators = num_accelerators

    def cluster_spec(self) -> ClusterSpec:
        """See `ClusterResolver.cluster_spec`."""
        return self._spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """See `ClusterResolver.master`."""
        if task_type is not None and task_id is not None:
            return self._address(task_type, task_id, rpc_layer)
        return self._master

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """See `ClusterResolver.num_accelerators`."""
        return super().num_accelerators() if self._accelerators is None else self._accelerators

    @property
    def environment(self) -> str:
        """See `ClusterResolver.environment`."""
        return self._environment


class TFConfigClusterResolver(ClusterResolver):
    """The cluster of the environment's `TF_CONFIG` (`tf.distribute.cluster_resolver.TFConfigClusterResolver`).

    Args:
        task_type, task_id, rpc_layer, environment: go before what `TF_CONFIG` says.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        config = json.loads(os.environ.get("TF_CONFIG", "{}"))
        task = config.get("task", {})
        index = task.get("index") if task_id is None else task_id
        self._config = config
        self.task_type = task_type or task.get("type")
        self.task_id = None if index is None else int(index)
        self.rpc_layer = rpc_layer or config.get("rpc_layer")
        self._environment = environment or config.get("environment", "")

    def cluster_spec(self) -> ClusterSpec:
        """See `ClusterResolver.cluster_spec`."""
        return ClusterSpec(self._config.get("cluster", {}))

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """See `ClusterResolver.master`. Empty without a cluster."""
        if self._config.get("session_master") is not None:
            return str(self._config["session_master"])
        if not self._config.get("cluster"):
            return ""
        task = self.task_type if task_type is None else task_type
        return self._address(task, self.task_id if task_id is None else task_id, rpc_layer)

    @property
    def environment(self) -> str:
        """See `ClusterResolver.environment`."""
        return str(self._environment)


class UnionResolver(ClusterResolver):
    """Several clusters as one (`tf.distribute.cluster_resolver.UnionResolver`). The first says the task and the master.

    Args:
        args: the resolvers.
        kwargs: `rpc_layer`, `task_type` and `task_id`, which go before those of the first.
    """

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        if not args or not all(isinstance(each, ClusterResolver) for each in args):
            raise TypeError(f"UnionResolver takes resolvers, not {args!r:.80}.")
        self._resolvers = args
        self.rpc_layer = kwargs.get("rpc_layer") or args[0].rpc_layer
        self.task_type = kwargs.get("task_type") or args[0].task_type
        self.task_id = args[0].task_id if kwargs.get("task_id") is None else kwargs["task_id"]

    def cluster_spec(self) -> ClusterSpec:
        """The tasks of all. Raises KeyError for a task that two of them place differently."""
        jobs: dict[str, dict[int, str]] = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                numbered = dict(tasks) if isinstance(tasks, dict) else dict(enumerate(tasks))
                for number, address in numbered.items():
                    if jobs.setdefault(job, {}).setdefault(number, address) != address:
                        raise KeyError(f"Task {number} of {job} has two addresses: {jobs[job][number]} and {address}.")
        return ClusterSpec(jobs)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """See `ClusterResolver.master`."""
        if task_type is not None and task_id is not None:
            return self._address(task_type, task_id, rpc_layer)
        return self._resolvers[0].master()
