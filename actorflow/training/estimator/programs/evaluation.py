"""`evaluate` and `predict` as programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.base.dtypes import string
from actorflow.base.reports.logs import get_logger
from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError, OutOfRangeError
from actorflow.graph.graphdef.attributes import make_tensor_proto
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.summary.protos import Summary
from actorflow.models.train.saving.checkpoints import latest_checkpoint
from actorflow.training.estimator.events import Evaluated, is_scalar
from actorflow.training.estimator.inputs.source import Batches
from actorflow.training.estimator.programs.graphs import Built
from actorflow.training.estimator.programs.hosts import KeptHost
from actorflow.training.estimator.spec import ModeKeys
from actorflow.training.monitored.commands import Emit, Program
from actorflow.training.monitored.hook import SessionRunContext, SessionRunHook, SessionRunValues
from actorflow.training.monitored.hooks.feeding import FinalOpsHook
from actorflow.training.monitored.hooks.summaries import scalars
from actorflow.training.monitored.loop import MonitoredLoop

if TYPE_CHECKING:
    from actorflow.training.estimator.core import Core

_LOG = get_logger("estimator")
LOSS = "loss"
_CHECKPOINT = "checkpoint_path"
"""The tag of a summary that names the checkpoint of an evaluation."""


class _StopAfter(SessionRunHook):
    """Ends an evaluation after some steps."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._left -= 1
        if not self._left:
            run_context.request_stop()


def evaluation(
    core: Core,
    input_fn: Any,
    steps: int | None,
    hooks: Sequence[Any],
    checkpoint_path: str | None,
    name: str | None,
    values: Mapping[str, Any] | None = None,
) -> Program[dict[str, Any]]:
    """Evaluates; see `Estimator.evaluate`. With `values` of variables, by their names, these instead of a checkpoint's."""
    path = None if values is not None else checkpoint_path or latest_checkpoint(core.model_dir)
    if path is None and values is None:
        _LOG.info("no checkpoint is there yet; initial values are evaluated", model_dir=core.model_dir)
    warm = path is None and values is None and core.starts_warm
    built, batches = yield from core.graphs.prepare(ModeKeys.EVAL, input_fn, warm=warm)
    metrics, updates = _metrics(built)
    final = FinalOpsHook(metrics)
    every = [*hooks, *(built.spec.evaluation_hooks or ()), final]
    if steps is not None:
        every.insert(len(hooks), _StopAfter(steps))
    losses: list[Any] = []
    host = KeptHost(
        built,
        core.config.evaluation_master,
        core.session_options,
        path=path,
        keeps=core.is_open,
        face=core.face,
        init_fn=None if values is None else _assigning(built, values),
    )
    loop = MonitoredLoop(built.graph, host, every, face=core.face)
    try:
        yield from loop.begin()
        yield from loop.create()
        try:
            while not loop.should_stop:
                loss, _ = yield from loop.step([built.spec.loss, updates], _feeds(built, batches))
                losses.append(loss)
        except OutOfRangeError:
            pass
        yield from loop.finish()
        host.ended_well = True
    finally:
        if batches is not None:
            yield from batches.close()
        yield from loop.close()
    named: dict[str, Any] = dict(final.final_ops_values)
    named[LOSS] = np.float32(np.mean(np.asarray(losses, np.float64))) if losses else np.float32(0)
    result = {key: named[key] for key in sorted(named)}
    step = int(result[GraphKeys.GLOBAL_STEP])
    _LOG.info("evaluated", step=step, name=name or "", **{k: v for k, v in result.items() if is_scalar(v)})
    yield from _write(core, core.eval_dir(name), result, step, path)
    core.told.note(Evaluated, step, name or "", result, path)
    return result


def _assigning(built: Built, values: Mapping[str, Any]) -> Callable[[Session], Awaitable[object]]:
    """Gives the variables of a graph those values that have their names.

    Raises:
        ValueError: the model makes its values itself, by a saver or an `init_fn` of its own.
    """
    scaffold = built.spec.scaffold
    for name in ("saver", "init_fn"):
        if scaffold is not None and getattr(scaffold, name) is not None:
            raise ValueError(f"InMemoryEvaluator does not support custom {name}")
    if "assignments" not in built.extras:
        with built.graph.as_default():
            assignments = built.extras["assignments"] = {}
            for variable in built.graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
                value = placeholder(variable.dtype, variable.static_shape)
                assignments[variable.name] = value, variable.assign(value).op
    nodes = {name: operation for name, operation in built.extras["assignments"].items() if name in values}
    feeds = {value: values[name] for name, (value, _) in nodes.items()}
    return lambda session: session.run([assign for _, assign in nodes.values()], feeds)


def _feeds(built: Built, batches: Batches | None) -> Any:
    """A part of a program that gives what the next step is fed; None where the graph has its input."""
    if batches is None or built.fed is None:
        return None
    fed = built.fed

    def feeds() -> Program[Mapping[Any, Any]]:
        return fed.feeds((yield from batches.next()))

    return feeds


def _metrics(built: Built) -> tuple[dict[str, Any], list[Any]]:
    """The values of all metrics, and what updates them.

    Raises:
        ValueError: a metric has the name of a metric that the Estimator adds.
    """
    metrics = built.spec.eval_metric_ops or {}
    for name in (LOSS, GraphKeys.GLOBAL_STEP):
        if name in metrics:
            raise ValueError(
                f"Metric with name `{name}` is not allowed, because Estimator already defines a default metric with the "
                "same name."
            )
    values = {name: value for name, (value, _) in metrics.items()}
    return {**values, GraphKeys.GLOBAL_STEP: built.step}, [update for _, update in metrics.values()]


def _summary(value: bytes) -> Summary | None:
    """The summary that a metric gave; None for other text."""
    try:
        return Summary.FromString(value)
    except InvalidArgumentError:
        return None


def _write(core: Core, folder: str, result: Mapping[str, Any], step: int, path: str | None) -> Program[None]:
    """Writes an evaluation as summaries: numbers, arrays, summaries that metrics give (such as images), and the checkpoint."""
    writer = core.writer(folder)
    if writer is not None:
        numbers = {
            key: float(value)
            for key, value in result.items()
            if key != GraphKeys.GLOBAL_STEP and is_scalar(value) and np.asarray(value).dtype.kind in "fiub"
        }
        arrays = {
            key: make_tensor_proto(value)
            for key, value in result.items()
            if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "fiub"
        }
        if path is not None:
            arrays[_CHECKPOINT] = make_tensor_proto(path, string)
        summary = scalars(numbers)
        for key, tensor in arrays.items():
            summary.value.append(Summary.Value(tag=key, node_name=key, tensor=tensor))
        writer.add_summary(summary, step)
        for key, value in result.items():
            if isinstance(value, bytes) and (parts := _summary(value)) is not None:
                for number, part in enumerate(parts.value):
                    part.tag = f"{key}/{number}"
                writer.add_summary(parts, step)
    if not core.is_open:
        yield from core.close_writers(folder)


def prediction(
    core: Core,
    input_fn: Any,
    predict_keys: Sequence[str] | str | None,
    hooks: Sequence[Any],
    checkpoint_path: str | None,
    yield_single_examples: bool,
) -> Program[None]:
    """Predicts, and emits the answers; see `Estimator.predict`."""
    path = checkpoint_path or latest_checkpoint(core.model_dir)
    if path is None:
        _LOG.info("no checkpoint is there yet; initial values predict", model_dir=core.model_dir)
    built, batches = yield from core.graphs.prepare(ModeKeys.PREDICT, input_fn, warm=path is None and core.starts_warm)
    predictions = chosen(built.spec.predictions, predict_keys)
    every = [*hooks, *(built.spec.prediction_hooks or ())]
    host = KeptHost(
        built, core.config.evaluation_master, core.session_options, path=path, keeps=core.is_open, face=core.face
    )
    loop = MonitoredLoop(built.graph, host, every, face=core.face)
    try:
        yield from loop.begin()
        yield from loop.create()
        try:
            while not loop.should_stop:
                values = yield from loop.step(predictions, _feeds(built, batches))
                for answer in rows(values) if yield_single_examples else (values,):
                    yield Emit(answer)
        except OutOfRangeError:
            pass
        yield from loop.finish()
        host.ended_well = True
    finally:
        if batches is not None:
            yield from batches.close()
        yield from loop.close()


def chosen(predictions: Any, keys: Sequence[str] | str | None) -> Any:
    """The predictions that are asked for.

    Raises:
        ValueError: there are none of these names, or names at all.
    """
    if not keys:
        return predictions
    keys = [keys] if isinstance(keys, str) else list(keys)
    if not isinstance(predictions, Mapping):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    selected = {key: value for key, value in predictions.items() if key in keys}
    if not selected:
        raise ValueError(f"Expected to run at least one output from {list(predictions)}, provided {keys}.")
    return selected


def rows(batch: Any) -> Any:
    """The answers of a batch, an answer for each example.

    Raises:
        ValueError: the first sizes of the predictions differ.
    """
    if not isinstance(batch, Mapping):
        return iter(batch)
    sizes = {key: value.shape[0] if np.ndim(value) else None for key, value in batch.items()}
    first = next(iter(sizes.values()))
    for key, size in sizes.items():
        if size is None or size != first:
            raise ValueError(
                f"Batch length of predictions should be same. {key} has different batch length than others."
            )
    return (dict(zip(batch, row, strict=True)) for row in zip(*batch.values(), strict=True))
