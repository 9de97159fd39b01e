"""`tf.distribute.experimental`: strategies over the tasks of a cluster, and with variables on a device of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from enum import Enum
from typing import Any, NoReturn

import actorflow as af
from actorflow.compat.distribute.strategies import MirroredStrategy
from actorflow.graph.variables.creators import variable_creator_scope


class CollectiveCommunication(Enum):
    """How TensorFlow adds gradients (`tf.distribute.experimental.CollectiveCommunication`). The way changes no value."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CentralStorageStrategy(MirroredStrategy):
    """A replica for each device, and variables on a single device.

    Args:
        compute_devices: names of devices; all GPUs unless given, or else the CPU.
        parameter_device: the device of variables; placed by the session unless given.
    """

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None) -> None:
        self._parameter_device = parameter_device
        super().__init__(compute_devices)

    def scope(self) -> Any:
        """See `Strategy.scope`; variables that are made in it are on the device of parameters."""
        stack = ExitStack()
        if self._parameter_device is not None:
            stack.enter_context(variable_creator_scope(self._placed))
        stack.enter_context(super().scope())
        return stack

    def _placed(self, next_creator: Any, **kwargs: Any) -> Any:
        with af.device(None), af.device(self._parameter_device):
            return next_creator(**kwargs)


class ParameterServerStrategy(MirroredStrategy):
    """The tasks of the job `ps` keep the variables, and each task of the job `worker` trains by itself.

    An Estimator whose `TF_CONFIG` has both jobs trains so with it and without it.

    Args:
        cluster_resolver: accepted for compatibility: `TF_CONFIG`, or the target of a session, names the cluster.
    """

    def __init__(self, cluster_resolver: Any = None) -> None:
        self._resolver = cluster_resolver
        super().__init__()


class MultiWorkerMirroredStrategy(MirroredStrategy):
    """Replicas of several tasks, whose gradients are added before each update. Here they are those of a single program.

    Args:
        communication: accepted for compatibility: gradients are added by one tree.

    Raises:
        NotImplementedError: `TF_CONFIG` has several workers, whose programs would each train by themselves.
    """

    def __init__(self, communication: CollectiveCommunication = CollectiveCommunication.AUTO) -> None:
        cluster = json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster", {})
        count = len(cluster.get("worker", ())) + len(cluster.get("chief", ()))
        if count > 1:
            raise NotImplementedError(
                f"TF_CONFIG has {count} workers. A training of several tasks that add their gradients is a single program here: "
                "start the others by `actorflow worker`, and give tf.estimator.RunConfig(replicas=...) the number of replicas."
            )
        self.communication = communication
        super().__init__()


class TPUStrategy:
    """Raises NotImplementedError: there are no TPUs.

    Args:
        tpu_cluster_resolver, steps_per_run, device_assignment: those of TensorFlow.
    """

    def __init__(
        self, tpu_cluster_resolver: Any = None, steps_per_run: Any = None, device_assignment: Any = None
    ) -> None:
        refuse()


def refuse() -> NoReturn:
    """Raises NotImplementedError: there are no TPUs."""
    raise NotImplementedError("There are no TPUs here: take tf.distribute.MirroredStrategy, or OneDeviceStrategy.")
