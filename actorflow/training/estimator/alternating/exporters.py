"""Exporters: what becomes of a model that was evaluated (`tf.estimator.LatestExporter` and the like)."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from actorflow.base.process import machine
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.public import public
from actorflow.training.monitored.commands import Await, Program, call, perform, perform_blocking

Export = Callable[..., Any]


@public("af.estimator")
class Exporter:
    """Exports a model after an evaluation. Subclasses say how; `export` may be an `async def`, which is awaited.

    Example:
        >>> class Told(af.estimator.Exporter):
        ...     name = "told"
        ...     def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        ...         print("at", eval_result["global_step"])
        >>> estimator = af.estimator.LinearRegressor([af.feature_column.numeric_column("x")])
        >>> batches = [({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))] * 2
        >>> evaluation = af.estimator.EvalSpec(batches, exporters=Told(), start_delay_secs=0)
        >>> _ = await af.estimator.train_and_evaluate(estimator, af.estimator.TrainSpec(batches, max_steps=2), evaluation)
        at 2
    """

    @property
    def name(self) -> str:
        """Its name, which is also that of its folder."""
        raise NotImplementedError

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Exports, and gives the path, or None where nothing is to be exported.

        Example:
            >>> class Noted(af.estimator.Exporter):
            ...     name = "noted"
            ...     def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
            ...         print(export_path, checkpoint_path, is_the_final_export)
            >>> estimator = af.estimator.BaselineRegressor(model_dir="models/line")
            >>> batches = [({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))]
            >>> evaluation = af.estimator.EvalSpec(batches, exporters=Noted(), start_delay_secs=0)
            >>> _ = await af.estimator.train_and_evaluate(estimator, af.estimator.TrainSpec(batches, max_steps=1), evaluation)
            models/line/export/noted models/line/model.ckpt-1 True

        Args:
            estimator: the Estimator.
            export_path: the folder of all exports of this name.
            checkpoint_path: the checkpoint that was evaluated.
            eval_result: the metrics.
            is_the_final_export: whether the training is over.
        """
        raise NotImplementedError


class _Folders(Exporter):
    """Exports to numbered folders. The export itself is a program."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Any,
        assets_extra: Mapping[str, str] | None,
        as_text: bool,
        export: Export | None,
        keeps: int | None = None,
    ) -> None:
        if keeps is not None and keeps <= 0:
            raise ValueError(f"`exports_to_keep`, if provided, must be a positive number. Got {keeps}")
        if export is None and serving_input_receiver_fn is None:
            raise ValueError(f"The exporter {name!r} needs a serving_input_receiver_fn, or a function export=.")
        self._name, self._receiver, self._function = name, serving_input_receiver_fn, export
        self._assets, self._as_text, self._keeps = assets_extra, as_text, keeps

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Exports at once, for wrappers of exporters; gives the folder or None. With an asynchronous Estimator it is awaited.

        Args:
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export: see `Exporter.export`.
        """
        program = self._exporting(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)
        if inspect.iscoroutinefunction(inspect.unwrap(estimator.export_saved_model)):
            return perform(program)
        driver = LoopDriver()
        try:
            return perform_blocking(program, driver)
        finally:
            driver.close()

    def _exporting(
        self, estimator: Any, path: str, checkpoint: str, result: Mapping[str, Any], is_final: bool
    ) -> Program[str | None]:
        """Exports to a new folder below `path`, as a program."""
        if self._function is None:
            options = {"assets_extra": self._assets, "as_text": self._as_text, "checkpoint_path": checkpoint}
            export_path: str | None = yield from call(
                partial(estimator.export_saved_model, path, self._receiver, **options)
            )
        else:
            export_path = yield from self._by_function(estimator, path, checkpoint)
        if self._keeps is not None:
            keeps = self._keeps
            yield Await(lambda: machine.on_thread(_clean, path, keeps))
        return export_path

    def _by_function(self, estimator: Any, path: str, checkpoint: str) -> Program[str]:
        """Calls `export` with a folder that gets its name when all of it is there."""
        assert self._function is not None
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        number = max([int(machine.wall_time()), *(taken + 1 for taken in _numbers(folder))])
        passing = folder / f"temp-{number}"
        passing.mkdir()
        try:
            yield from call(self._function, estimator, str(passing), checkpoint)
            passing.rename(folder / str(number))
        except BaseException:
            shutil.rmtree(passing, ignore_errors=True)
            raise
        return str(folder / str(number))


def _numbers(folder: Path) -> list[int]:
    return sorted(int(entry.name) for entry in folder.iterdir() if len(entry.name) == 10 and entry.name.isdigit())


def _clean(path: str, keeps: int) -> None:
    """Removes the oldest exports."""
    folder = Path(path)
    if folder.is_dir():
        for number in _numbers(folder)[:-keeps]:
            shutil.rmtree(folder / str(number), ignore_errors=True)


@public("af.estimator")
class FinalExporter(_Folders):
    """Exports the model once, at the end.

    Example:
        >>> inputs = af.estimator.export.build_parsing_serving_input_receiver_fn({"x": af.FixedLenFeature([1], af.float32)})
        >>> estimator = af.estimator.LinearRegressor([af.feature_column.numeric_column("x")], "models/line")
        >>> batches = [({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))] * 2
        >>> evaluation = af.estimator.EvalSpec(batches, exporters=af.estimator.FinalExporter("final", inputs))
        >>> _ = await af.estimator.train_and_evaluate(estimator, af.estimator.TrainSpec(batches, max_steps=2), evaluation)
        >>> import os
        >>> len(os.listdir("models/line/export/final"))
        1

    Args:
        name: its name.
        serving_input_receiver_fn: makes the inputs of the served model.
        assets_extra: files that are copied beside it.
        as_text: whether the graph is written as text.
        export: a function `export(estimator, folder, checkpoint_path)` that exports, instead of a saved model. It may be an
            `async def`.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Any = None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        *,
        export: Export | None = None,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, export)

    def _exporting(
        self, estimator: Any, path: str, checkpoint: str, result: Mapping[str, Any], is_final: bool
    ) -> Program[str | None]:
        """Exports if it is the final export."""
        if not is_final:
            return None
        return (yield from super()._exporting(estimator, path, checkpoint, result, is_final))


@public("af.estimator")
class LatestExporter(_Folders):
    """Exports the model after each evaluation, and keeps the latest exports.

    Example:
        >>> inputs = af.estimator.export.build_parsing_serving_input_receiver_fn({"x": af.FixedLenFeature([1], af.float32)})
        >>> af.estimator.LatestExporter("latest", inputs, exports_to_keep=3).name
        'latest'

    Args:
        name: its name.
        serving_input_receiver_fn: makes the inputs of the served model.
        assets_extra: files that are copied beside it.
        as_text: whether the graph is written as text.
        exports_to_keep: how many exports are kept; None keeps all.
        export: see `FinalExporter`.

    Raises:
        ValueError: `exports_to_keep` is not positive.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Any = None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
        *,
        export: Export | None = None,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, export, exports_to_keep)


def _loss_smaller(best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]) -> bool:
    """Whether the loss has become smaller."""
    for name, result in (("best_eval_result", best_eval_result), ("current_eval_result", current_eval_result)):
        if not result or "loss" not in result:
            raise ValueError(f"{name} cannot be empty or no loss is found in it.")
    return bool(best_eval_result["loss"] > current_eval_result["loss"])


@public("af.estimator")
class BestExporter(_Folders):
    """Exports the model when an evaluation is better than all before.

    Example:
        >>> def better(best_eval_result, current_eval_result):
        ...     return current_eval_result["accuracy"] > best_eval_result["accuracy"]
        >>> inputs = af.estimator.export.build_parsing_serving_input_receiver_fn({"x": af.FixedLenFeature([1], af.float32)})
        >>> af.estimator.BestExporter("best", inputs, compare_fn=better, exports_to_keep=1).name
        'best'

    Args:
        name: its name.
        serving_input_receiver_fn: makes the inputs of the served model.
        event_file_pattern: accepted for compatibility, without effect: results of other programs are not read.
        compare_fn: a function of `best_eval_result` and `current_eval_result`, whether the current result is better. A
            smaller loss is better unless given.
        assets_extra: files that are copied beside it.
        as_text: whether the graph is written as text.
        exports_to_keep: how many exports are kept; None keeps all.
        export: see `FinalExporter`.

    Raises:
        ValueError: `compare_fn` takes other arguments, or `exports_to_keep` is not positive.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Any = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] = _loss_smaller,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
        *,
        export: Export | None = None,
    ) -> None:
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        taken = set(inspect.signature(compare_fn).parameters)
        for argument in ("best_eval_result", "current_eval_result"):
            if argument not in taken:
                raise ValueError(f"compare_fn ({compare_fn}) must include {argument} argument.")
        if unknown := sorted(taken - {"best_eval_result", "current_eval_result"}):
            raise ValueError(f"compare_fn ({compare_fn}) has following not expected args: {unknown}")
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, export, exports_to_keep)
        self._compare = compare_fn
        self._best: Mapping[str, Any] | None = None

    def _exporting(
        self, estimator: Any, path: str, checkpoint: str, result: Mapping[str, Any], is_final: bool
    ) -> Program[str | None]:
        """Exports if the result is the best so far."""
        if self._best is not None and not self._compare(best_eval_result=self._best, current_eval_result=result):
            return None
        self._best = result
        return (yield from super()._exporting(estimator, path, checkpoint, result, is_final))
