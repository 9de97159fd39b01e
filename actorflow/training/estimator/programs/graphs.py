"""`Built`: a graph that a `model_fn` has built for one mode and one kind of input, which is kept from call to call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from actorflow.base import nest
from actorflow.base.reports.logs import get_logger
from actorflow.cluster.processes.local import LocalCluster
from actorflow.errors import OutOfRangeError
from actorflow.graph.graph import Graph
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.random.distributions import set_random_seed
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.summary.ops import scalar
from actorflow.models.train.global_steps import create_global_step, get_global_step
from actorflow.models.train.replica_devices import replica_device_setter
from actorflow.models.train.replicas.replicas import Replicas
from actorflow.models.train.saving.saver import Saver
from actorflow.training.estimator.inputs.source import (
    Batches,
    Fed,
    arguments,
    call_input_fn,
    is_fed,
    signature,
    tensors,
)
from actorflow.training.estimator.run_config import RunConfig
from actorflow.training.estimator.spec import EstimatorSpec, ModeKeys
from actorflow.training.monitored.commands import Program
from actorflow.training.monitored.scaffold import Scaffold
from actorflow.training.supervisor.model_state import ModelState
from actorflow.training.supervisor.supervisor import Supervisor

_LOG = get_logger("estimator")
_MODEL_FN_ARGUMENTS = {"features", "labels", "mode", "params", "self", "config"}


@dataclass
class Built:
    """A graph with the parts that its `model_fn` has named."""

    graph: Graph
    mode: str
    spec: EstimatorSpec
    scaffold: Scaffold
    model: ModelState
    step: Any
    """The global step."""
    fed: Fed | None
    idle: list[Supervisor] = field(default_factory=list)
    """Supervisors with open sessions that no call uses."""
    extras: dict[str, Any] = field(default_factory=dict)
    """Nodes that were added for one purpose, by its name."""


def check_model_fn(model_fn: Callable[..., Any], params: Any) -> None:
    """Raises ValueError where a `model_fn` can't be called with what an Estimator gives."""
    taken = set(arguments(model_fn))
    if "features" not in taken:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in taken:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator."
        )
    if params is None and "params" in taken:
        _LOG.warning(
            "model_fn has a params argument, but params are not passed to the Estimator", model_fn=str(model_fn)
        )
    if unknown := sorted(taken - _MODEL_FN_ARGUMENTS):
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {unknown}")


def call_model_fn(
    model_fn: Callable[..., Any], features: Any, labels: Any, mode: str, params: Any, config: RunConfig
) -> EstimatorSpec:
    """Calls a `model_fn` in the default graph, with those arguments that it takes.

    Raises:
        ValueError: it takes no labels, and there are some; or it gives no EstimatorSpec.
    """
    taken = arguments(model_fn)
    choices = {"mode": mode, "params": params, "config": config}
    if "labels" in taken:
        choices["labels"] = labels
    elif labels is not None:
        raise ValueError("model_fn does not take labels, but input_fn returns labels.")
    spec = model_fn(features=features, **{name: choices[name] for name in taken if name in choices})
    if inspect.iscoroutine(spec):
        spec.close()
        raise TypeError(f"model_fn ({model_fn}) is an async def; it builds a graph, which waits for nothing.")
    if not isinstance(spec, EstimatorSpec):
        raise ValueError("model_fn should return an EstimatorSpec.")
    return spec


def _check_graph(graph: Graph, value: Any) -> None:
    """Raises ValueError where an input has tensors that were made before the call, in another graph."""
    for leaf in nest.flatten(value) if isinstance(value, (list, tuple, Mapping, Tensor)) else ():
        if isinstance(leaf, Tensor) and leaf.graph is not graph and not leaf.graph.eager:
            raise ValueError(
                f"The input {leaf.name} was made in another graph than that of the model. Give the function itself, input_fn=f, "
                "and not what a call of it gives: an Estimator calls it within the graph of each call."
            )


def _where_state_is(config: RunConfig) -> Any:
    """For a training with logical workers: variables take turns on the parameter servers, and the input is on the first of them.
    Without such servers the placement decides."""
    servers, cluster = config.num_ps_replicas, getattr(config.target, "_inner", config.target)
    if isinstance(cluster, LocalCluster) and "ps" in cluster.spec.jobs:
        servers = cluster.spec.num_tasks("ps")
    return replica_device_setter(ps_tasks=servers, worker_device="/job:ps/task:0") if servers else None


class Graphs:
    """The graphs of one Estimator: a graph for each mode and kind of batches; a graph with an input of its own serves one call.

    Args:
        model_fn, params, config, model_dir: see `Estimator`.
        warm_start: called in the graph of a training that begins without a checkpoint.
        format: the format of checkpoints.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        params: Mapping[str, Any],
        config: RunConfig,
        model_dir: str,
        warm_start: Callable[[], None] | None,
        format: str,
    ) -> None:
        self._model_fn, self._params, self._config = model_fn, params, config
        self._folder, self._warm_start, self._format = model_dir, warm_start, format
        self._kept: dict[Any, Built] = {}

    def prepare(
        self, mode: str, input_fn: Any, *, epochs: int | None = None, warm: bool = False
    ) -> Program[tuple[Built, Batches | None]]:
        """The graph for an input, and the batches of an input that is fed.

        Args:
            mode: one of the `ModeKeys`.
            input_fn: see `Estimator.train`.
            epochs: how many times an iterable is gone through; once unless given.
            warm: whether to begin with the values of a warm start.

        Raises:
            ValueError: `epochs` is given for tensors; or an iterable has no batch.
        """
        graph = Graph()
        with graph.as_default():
            self._seed()
            value = yield from call_input_fn(input_fn, mode, self._params, self._config)
        if not is_fed(value):
            _check_graph(graph, value)
            if epochs is not None:
                raise ValueError("epochs= goes with an iterable of batches; repeat the Dataset or the queue instead.")
            return self._build(graph, mode, lambda: tensors(graph, value, mode), None, warm), None
        first = [value]

        def again() -> Program[Any]:
            if first:
                return first.pop()
            with Graph().as_default():
                return (yield from call_input_fn(input_fn, mode, self._params, self._config))

        batches = Batches(again, epochs or 1, only_features=mode == ModeKeys.PREDICT)
        try:
            batch = yield from batches.first()
        except OutOfRangeError as error:
            raise ValueError("The input has no batch: its iterable is empty.") from error
        built = self.for_batch(mode, batch, warm=warm)
        return built, batches

    def for_batch(self, mode: str, batch: Any, *, warm: bool = False) -> Built:
        """The graph for batches such as this batch."""
        key = (mode, warm, signature(batch))
        built = self._kept.get(key)
        if built is None:
            graph = Graph()
            with graph.as_default():
                self._seed()
                fed = Fed.make(batch)
            built = self._kept[key] = self._build(graph, mode, lambda: (fed.features, fed.labels), fed, warm)
        return built

    def for_export(self, mode: str, receiver_fn: Callable[[], Any], *, warm: bool = False) -> tuple[Built, Any]:
        """A graph for what clients send, and the receiver that `receiver_fn` gives; it is not kept."""
        graph = Graph()
        with graph.as_default():
            self._seed()
            receiver = receiver_fn()
        labels = getattr(receiver, "labels", None)
        return self._build(graph, mode, lambda: (receiver.features, labels), None, warm), receiver

    def _seed(self) -> None:
        if self._config.tf_random_seed is not None:
            set_random_seed(self._config.tf_random_seed)

    def _build(
        self, graph: Graph, mode: str, inputs: Callable[[], tuple[Any, Any]], fed: Fed | None, warm: bool
    ) -> Built:
        with graph.as_default(), graph.device(self._device_function()):
            step = get_global_step(graph)
            if step is None:
                step = create_global_step(graph)
            features, labels = inputs()
            if mode == ModeKeys.PREDICT:
                labels = None
            if mode == ModeKeys.TRAIN and self._config.replicas is not None:
                spec = self._replicated(self._config.replicas, features, labels)
            else:
                spec = call_model_fn(self._model_fn, features, labels, mode, self._params, self._config)
            if warm and self._warm_start is not None:
                self._warm_start()
            return self._finish(graph, mode, spec, step, fed)

    def _replicated(self, replicas: Replicas, features: Any, labels: Any) -> EstimatorSpec:
        """The training of all logical workers: the spec of the first, with the loss and the update of all."""
        specs: list[EstimatorSpec] = []

        def tower(features: Any, labels: Any = None) -> tuple[Any, Any]:
            specs.append(call_model_fn(self._model_fn, features, labels, ModeKeys.TRAIN, self._params, self._config))
            return specs[-1].loss, group(specs[-1].train_op)

        batch = (features,) if labels is None else (features, labels)
        loss, train_op = replicas.build(tower, *batch)
        return replace(specs[0], loss=loss, train_op=train_op)

    def _finish(self, graph: Graph, mode: str, spec: EstimatorSpec, step: Any, fed: Fed | None) -> Built:
        """Adds what the Estimator runs beside the model: the saver, and initial values."""
        extras: dict[str, Any] = {}
        if mode == ModeKeys.TRAIN:
            if not any(summary.op.name == "loss" for summary in graph.get_collection(GraphKeys.SUMMARIES)):
                scalar("loss", spec.loss)
            graph.add_to_collection(GraphKeys.LOSSES, spec.loss)
        scaffold = Scaffold(copy_from_scaffold=spec.scaffold)
        if scaffold.saver is None and not graph.get_collection(GraphKeys.SAVERS):
            scaffold.saver = Saver(
                sharded=True,
                max_to_keep=self._config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=self._config.keep_checkpoint_every_n_hours,
                defer_build=True,
                allow_empty=True,
                format=self._format,
            )
            graph.add_to_collection(GraphKeys.SAVERS, scaffold.saver)
        if mode == ModeKeys.EVAL and scaffold.local_init_op is not None:
            scaffold.local_init_op = group(scaffold.local_init_op, Scaffold.default_local_init_op())
        scaffold.build()
        model = ModelState(
            graph,
            None,
            init_op=scaffold.init_op,
            init_feeds=scaffold.init_feed_dict,
            local_init_op=scaffold.local_init_op,
            local_init_feeds=scaffold.local_init_feed_dict,
            ready_op=scaffold.ready_op,
            ready_for_local_init_op=scaffold.ready_for_local_init_op,
            saver=scaffold.saver,
        )
        return Built(graph, mode, spec, scaffold, model, step, fed, extras=extras)

    def _device_function(self) -> Any:
        config = self._config
        if config.device_fn is not None:
            return config.device_fn
        if config.replicas is not None:
            return _where_state_is(config)
        if not config.num_ps_replicas:
            return None
        return replica_device_setter(
            ps_tasks=config.num_ps_replicas,
            worker_device=f"/job:{config.task_type}/task:{config.task_id}",
        )

    def built(self, mode: str) -> list[Built]:
        """The graphs of a mode that are kept.

        Args:
            mode: one of the `ModeKeys`.
        """
        return [built for built in self._kept.values() if built.mode == mode]

    def take(self) -> list[Supervisor]:
        """All open supervisors that no call uses, to be closed."""
        idle = [supervisor for built in self._kept.values() for supervisor in built.idle]
        for built in self._kept.values():
            built.idle.clear()
        return idle
