"""`RunConfig`: where and how an Estimator runs (`tf.estimator.RunConfig`). It reads `TF_CONFIG`."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from typing import Any

from actorflow.base.paths import path_text
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.models.train.replicas.replicas import Replicas
from actorflow.public import public

_VARIABLE = "TF_CONFIG"
_SAVE_SECS = 600
_UNSET = object()
_BOTH = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
_REPLACEABLE = (
    "model_dir",
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
    "train_distribute",
    "device_fn",
    "protocol",
    "eval_distribute",
    "experimental_distribute",
    "experimental_max_worker_delay_secs",
    "session_creation_timeout_secs",
    "checkpoint_save_graph_def",
    "replicas",
)
_RULES: dict[str, tuple[Any, str]] = {
    "model_dir": (bool, "model_dir should be non-empty"),
    "save_summary_steps": (lambda n: n >= 0, "save_summary_steps should be >= 0"),
    "save_checkpoints_steps": (lambda n: n >= 0, "save_checkpoints_steps should be >= 0"),
    "save_checkpoints_secs": (lambda n: n >= 0, "save_checkpoints_secs should be >= 0"),
    "keep_checkpoint_max": (lambda n: n >= 0, "keep_checkpoint_max should be >= 0"),
    "keep_checkpoint_every_n_hours": (lambda n: n > 0, "keep_checkpoint_every_n_hours should be > 0"),
    "log_step_count_steps": (lambda n: n > 0, "log_step_count_steps should be > 0"),
    "tf_random_seed": (lambda n: isinstance(n, int), "tf_random_seed must be integer."),
    "experimental_max_worker_delay_secs": (
        lambda n: isinstance(n, int),
        "experimental_max_worker_delay_secs must be an integer if set.",
    ),
    "replicas": (
        lambda n: isinstance(n, Replicas),
        "replicas is a number of logical workers, or an af.train.Replicas.",
    ),
    "session_creation_timeout_secs": (lambda n: n > 0, "session_creation_timeout_secs should be > 0"),
    "device_fn": (callable, 'device_fn must be callable with exactly one argument "op".'),
}


@public("af.estimator")
class RunConfig:
    """The folder of checkpoints, how often they are made, and which task of a cluster this process is.

    The cluster comes from the environment's `TF_CONFIG`, such as
    `{"cluster": {"chief": ["a:7070"], "ps": ["b:7070"]}, "task": {"type": "chief", "index": 0}}`. A task of type
    "evaluator" is not part of the cluster.

    Example:
        >>> config = af.estimator.RunConfig(model_dir="models/line", save_checkpoints_steps=100, keep_checkpoint_max=3)
        >>> config.replace(keep_checkpoint_max=10).keep_checkpoint_max, config.is_chief
        (10, True)

    Args:
        model_dir: the folder of checkpoints and summaries.
        tf_random_seed: the seed of the graphs; None draws a seed.
        save_summary_steps: after how many steps summaries are written; 0 never.
        save_checkpoints_steps: after how many steps a checkpoint is made.
        save_checkpoints_secs: after how many seconds it is: 600 unless one of the two is given. Both as None never.
        session_config: options of sessions, by name; with `compat.v1` a `ConfigProto`.
        keep_checkpoint_max: the number of checkpoints to keep; 0 or None keeps all.
        keep_checkpoint_every_n_hours: of those that would be removed, one per this many hours is kept.
        log_step_count_steps: after how many steps the log tells of the loss and the steps a second.
        train_distribute, eval_distribute, experimental_distribute: have to be None: a cluster is a target here.
        device_fn: a function from an operation to its device.
        protocol: accepted for compatibility, without effect.
        experimental_max_worker_delay_secs: accepted for compatibility, without effect: a worker begins when the chief
            has given variables their values.
        session_creation_timeout_secs: how long a worker waits for the chief.
        checkpoint_save_graph_def: whether to write the graph beside checkpoints.
        master: the target of the training, or a `LocalCluster`; that of `TF_CONFIG` unless given, or else the
            environment's `ACTORFLOW_TARGET`.
        progress: whether a training shows its progress, and how; see `Progress`.
        replicas: the number of logical workers that a training divides each batch among, or an `af.train.Replicas`. The tasks of
            the job `worker` compute them, any number of tasks with the same bits. A single program trains so; the other
            tasks are servers.

    Raises:
        ValueError: an argument, or `TF_CONFIG`, is invalid.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike[str] | None = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: Any = _UNSET,
        save_checkpoints_secs: Any = _UNSET,
        session_config: Any = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Any = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: int | None = None,
        session_creation_timeout_secs: float = 7200,
        checkpoint_save_graph_def: bool = True,
        *,
        master: Any = None,
        progress: bool | str | None = None,
        replicas: int | Replicas | None = None,
    ) -> None:
        if save_checkpoints_steps is _UNSET and save_checkpoints_secs is _UNSET:
            save_checkpoints_steps, save_checkpoints_secs = None, _SAVE_SECS
        elif save_checkpoints_secs is _UNSET:
            save_checkpoints_secs = None
        elif save_checkpoints_steps is _UNSET:
            save_checkpoints_steps = None
        elif save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise ValueError(_BOTH)
        arguments = locals()
        environment = json.loads(os.environ.get(_VARIABLE, "{}"))
        arguments["model_dir"] = _folder(model_dir, environment)
        # into the dictionary, for a subclass may have properties of these names, which go before
        self.__dict__.update({name: arguments[name] for name in _REPLACEABLE}, progress=progress)
        self.__dict__["replicas"] = Replicas(replicas) if isinstance(replicas, int) else replicas
        self._check()
        self.__dict__.update(_read(environment))
        if master is not None:
            self.__dict__["master"] = master

    master: Any
    model_dir: str | None
    tf_random_seed: int | None
    save_summary_steps: int | None
    save_checkpoints_steps: int | None
    save_checkpoints_secs: float | None
    session_config: Any
    keep_checkpoint_max: int | None
    keep_checkpoint_every_n_hours: float
    log_step_count_steps: int | None
    train_distribute: Any
    device_fn: Any
    protocol: str | None
    eval_distribute: Any
    experimental_distribute: Any
    experimental_max_worker_delay_secs: int | None
    session_creation_timeout_secs: float
    checkpoint_save_graph_def: bool
    progress: bool | str | None
    replicas: Replicas | None
    cluster_spec: ClusterSpec
    service: Any
    task_type: str
    task_id: int
    evaluation_master: str
    is_chief: bool
    num_ps_replicas: int
    num_worker_replicas: int
    global_id_in_cluster: int | None

    @property
    def target(self) -> Any:
        """The target of sessions: `master`, with `grpc://` taken for `tcp://`, and None for an empty `master`."""
        if isinstance(self.master, str) and self.master.startswith("grpc://"):
            return "tcp://" + self.master.removeprefix("grpc://")
        return self.master or None

    @property
    def trains_with_others(self) -> bool:
        """Whether this is one of several tasks that each train, as `TF_CONFIG` says."""
        return self.num_worker_replicas > 1

    def _check(self) -> None:
        if any(
            each is not None for each in (self.train_distribute, self.eval_distribute, self.experimental_distribute)
        ):
            self._check_strategies()
        for name, (rule, message) in _RULES.items():
            value = getattr(self, name)
            if value is not None and not rule(value):
                raise ValueError(message)

    def _check_strategies(self) -> None:
        raise ValueError(
            "There are no distribution strategies: the target of a session is the cluster, and af.device or "
            "af.train.replica_device_setter says where variables are."
        )

    def replace(self, **kwargs: Any) -> RunConfig:
        """A copy with other values. If the steps between checkpoints are given, the seconds are None, and the reverse.

        Raises:
            ValueError: a name can't be replaced, or a value is invalid.
        """
        clone = copy.copy(self)
        for name, value in kwargs.items():
            if name not in _REPLACEABLE:
                raise ValueError(f"Replacing {name} is not supported. Allowed properties are {list(_REPLACEABLE)}.")
            if name == "model_dir" and value is not None:
                value = os.fspath(value)
            elif name == "replicas" and isinstance(value, int):
                value = Replicas(value)
            clone.__dict__[name] = value
        steps, seconds = kwargs.get("save_checkpoints_steps"), kwargs.get("save_checkpoints_secs")
        if steps is not None and seconds is not None:
            raise ValueError(_BOTH)
        if steps is not None and "save_checkpoints_secs" not in kwargs:
            clone.__dict__["save_checkpoints_secs"] = None
        elif seconds is not None and "save_checkpoints_steps" not in kwargs:
            clone.__dict__["save_checkpoints_steps"] = None
        clone._check()
        return clone


def _folder(model_dir: str | os.PathLike[str] | None, environment: Mapping[str, Any]) -> str | None:
    """The folder of checkpoints, by the argument or by `TF_CONFIG`."""
    other = environment.get("model_dir")
    if other == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    folder = None if model_dir is None else path_text(model_dir, "model_dir")
    if folder and other and folder != other:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in TF_CONFIG. "
            f"model_dir: {folder}, TF_CONFIG: {other}."
        )
    return other if folder is None else folder


def _read(environment: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster and the task that `TF_CONFIG` says."""
    cluster, task, service = environment.get("cluster"), environment.get("task", {}), environment.get("service")
    if service is not None and not isinstance(service, dict):
        raise TypeError(f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(service)}')
    read = {
        "service": service,
        "task_type": task.get("type") or "worker",
        "task_id": int(task.get("index") or 0),
        "master": environment.get("session_master"),
        "evaluation_master": "" if cluster else environment.get("eval_session_master", ""),
        "is_chief": True,
        "num_ps_replicas": 0,
        "num_worker_replicas": 1,
        "global_id_in_cluster": 0,
    }
    if cluster:
        return read | _read_task(cluster, task, environment)
    if read["task_type"] == "evaluator":
        evaluator = {"is_chief": False, "num_worker_replicas": 0, "global_id_in_cluster": None}
        read |= evaluator
    elif read["task_type"] != "worker":
        raise ValueError(
            f'If "cluster" is not set in TF_CONFIG, task type must be WORKER. (An evaluator needs none either.) It is '
            f"{read['task_type']}."
        )
    elif read["task_id"] != 0:
        raise ValueError(f'If "cluster" is not set in TF_CONFIG, task index must be 0. It is {read["task_id"]}.')
    return read | {"cluster_spec": ClusterSpec({})}


def _read_task(cluster: Mapping[str, Any], task: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, Any]:
    """The entries in which a task of a cluster differs."""
    chief = "master" if "master" in cluster else "chief"
    sizes = {job: len(addresses) for job, addresses in cluster.items()}
    if chief not in sizes:
        raise ValueError(f'If "cluster" is set in TF_CONFIG, it must have one "{chief}" node.')
    if sizes[chief] > 1:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')
    if chief == "master" and "chief" in sizes:
        raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
    kind, number = task.get("type"), task.get("index")
    if not kind:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if number is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    if int(number) < 0:
        raise ValueError("Task index must be non-negative number.")
    if kind == "evaluator":
        if chief == "master":
            raise ValueError("If `master` node exists in `cluster`, task_type `evaluator` is not supported.")
        return {
            "cluster_spec": ClusterSpec({}),
            "is_chief": False,
            "num_worker_replicas": 0,
            "global_id_in_cluster": None,
            "master": "",
            "evaluation_master": environment.get("eval_session_master", ""),
        }
    if kind not in sizes:
        raise ValueError(f"{kind} is not a valid task_type in the cluster_spec of TF_CONFIG: {cluster}")
    if int(number) >= sizes[kind]:
        raise ValueError(
            f"{number} is not a valid task_id for task_type {kind} in the cluster_spec of TF_CONFIG: {cluster}"
        )
    order = [chief, *sorted(set(sizes) - {chief, "ps"}), "ps"]
    before = order[: order.index(kind)]
    master = environment.get("session_master")
    if master is None and sizes != {chief: 1}:
        master = f"tcp://{cluster[kind][int(number)]}"
    return {
        "cluster_spec": ClusterSpec(cluster),
        "master": master,
        "is_chief": kind == chief,
        "num_ps_replicas": sizes.get("ps", 0),
        "num_worker_replicas": sizes.get("worker", 0) + 1,
        "global_id_in_cluster": sum(sizes[job] for job in before) + int(number),
    }
