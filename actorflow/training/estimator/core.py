"""`Core`: what Estimators with and without `await` have in common. Its methods that wait are programs."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio

from actorflow.base.paths import path_text
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.formats import installed
from actorflow.engine.session.session import Session
from actorflow.graph.graph import Graph
from actorflow.models.summary.file_writer import FileWriter
from actorflow.models.train.saving.checkpoints import latest_checkpoint, list_variables, load_variable
from actorflow.training.estimator.export.saving import exporting
from actorflow.training.estimator.programs.evaluation import evaluation, prediction
from actorflow.training.estimator.programs.graphs import Graphs, check_model_fn
from actorflow.training.estimator.programs.training import check_hooks, check_listeners, check_steps, training
from actorflow.training.estimator.progress.state import Progress
from actorflow.training.estimator.run_config import RunConfig
from actorflow.training.estimator.warm_start import WarmStartSettings, warm_start, warm_start_settings
from actorflow.training.monitored.commands import Await, Program, perform
from actorflow.training.supervisor.events import Event, Events

_LOG = get_logger("estimator")
T = TypeVar("T")


class Core:
    """A model function, a folder of checkpoints, and the graphs that were built so far. See `Estimator`."""

    runs_update_ops = True
    """Whether a training step runs the graph's UPDATE_OPS."""

    checkpoint_format = installed.STANDARD
    """The format of the checkpoints that a training writes."""

    config_type = RunConfig
    """The class of the configuration where none is given."""

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | os.PathLike[str] | None = None,
        config: RunConfig | None = None,
        params: Mapping[str, Any] | None = None,
        warm_start_from: str | WarmStartSettings | None = None,
    ) -> None:
        self._config = _config(config, model_dir, self.config_type)
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        check_model_fn(model_fn, params)
        self._model_fn, self._params = model_fn, copy.deepcopy(dict(params or {}))
        settings = warm_start_settings(warm_start_from)
        self.warm_start_settings, self.starts_warm = settings, settings is not None
        assert self._config.model_dir is not None
        self.graphs = Graphs(
            model_fn,
            self._params,
            self._config,
            self._config.model_dir,
            None if settings is None else lambda: warm_start(settings),
            self.checkpoint_format,
        )
        self.told = Events(machine.wall_time)
        self.is_open = False
        self.writers: dict[str, FileWriter] = {}

    # ---- what it is

    @property
    def model_fn(self) -> Callable[..., Any]:
        """The model function."""
        return self._model_fn

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints."""
        assert self._config.model_dir is not None
        return self._config.model_dir

    @property
    def config(self) -> RunConfig:
        """A copy of the configuration."""
        return copy.copy(self._config)

    @property
    def params(self) -> dict[str, Any]:
        """A copy of the parameters."""
        return copy.deepcopy(self._params)

    @property
    def history(self) -> list[Event]:
        """The events so far, at most a thousand."""
        return list(self.told.past)

    def events(self) -> AsyncIterator[Event]:
        """The events so far, and then each as it comes: steps, checkpoints, evaluations, exports, losses.

        Ends when the Estimator is closed: leave the loop by `break` if the Estimator is used without `async with`.
        """
        return self.told.follow()

    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, None if there is none."""
        return latest_checkpoint(self.model_dir)

    def eval_dir(self, name: str | None = None) -> str:
        """The folder of the summaries of evaluations.

        Example:
            >>> af.estimator.BaselineRegressor(model_dir="models/line").eval_dir("test")
            'models/line/eval_test'

        Args:
            name: the name of the evaluation.
        """
        return f"{self.model_dir.rstrip('/')}/{'eval' if not name else f'eval_{name}'}"

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the latest checkpoint.

        Example:
            >>> estimator = af.estimator.LinearRegressor([af.feature_column.numeric_column("x")], "models/line")
            >>> _ = await estimator.train([({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))])
            >>> estimator.get_variable_value("global_step")
            1

        Args:
            name: its name.

        Raises:
            ValueError: there is no checkpoint.
        """
        return load_variable(self._trained(), name.removesuffix(":0"))

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the latest checkpoint. Raises ValueError if there is none.

        Example:
            >>> estimator = af.estimator.LinearRegressor([af.feature_column.numeric_column("x")], "models/line")
            >>> _ = await estimator.train([({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))])
            >>> "global_step" in estimator.get_variable_names()
            True
        """
        return [name for name, _ in list_variables(self._trained())]

    def _trained(self) -> str:
        path = self.latest_checkpoint()
        if path is None:
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")
        return path

    @property
    def session_options(self) -> Mapping[str, Any]:
        """Options of sessions, by name."""
        options = self._config.session_config
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"session_config is a dict of options of Session, but it is {options!r:.80}.")
        return options or {}

    def writer(self, folder: str, graph: Graph | None = None) -> FileWriter | None:
        """The writer of summaries of a folder, which `close_writers` closes; None for a URL.

        Args:
            folder: the folder.
            graph: a graph that is written first.
        """
        if "://" in folder:
            return None
        if folder not in self.writers:
            self.writers[folder] = FileWriter(folder, graph=graph)
        return self.writers[folder]

    def close_writers(self, *folders: str) -> Program[None]:
        """Closes the writers of some folders, which takes as long as a disk does."""
        for folder in folders:
            writer = self.writers.pop(folder, None)
            if writer is not None:
                yield Await(partial(_closed, writer))

    # ---- programs

    @property
    def face(self) -> Callable[[Session], Any]:
        """Gives a session as hooks see it."""
        return lambda session: session

    async def _perform(self, program: Program[T]) -> T:
        """Runs a program to its end."""
        return await perform(program)

    def _training(
        self,
        input_fn: Any,
        hooks: Sequence[Any] | None,
        steps: int | None,
        max_steps: int | None,
        saving_listeners: Sequence[Any] | None,
        epochs: int | None = None,
    ) -> Program[None]:
        if self._config.task_type in ("evaluator", "ps"):
            raise ValueError(
                "Train has been called wrong configuration. Please use tf.estimator.train_and_evaluate which calls proper "
                f"API according to given configuration. Current configuration: task_type={self._config.task_type}."
            )
        check_steps(steps, max_steps)
        hook_list, listeners = check_hooks(hooks), check_listeners(saving_listeners)
        view = Progress(self._config.progress)
        if not view.is_shown or self.told.viewers:
            return (yield from training(self, input_fn, hook_list, steps, max_steps, listeners, epochs))
        self.told.viewers.append(view)
        try:
            return (yield from training(self, input_fn, hook_list, steps, max_steps, listeners, epochs))
        finally:
            self.told.viewers.remove(view)
            view.close()

    def _evaluation(
        self,
        input_fn: Any,
        steps: int | None,
        hooks: Sequence[Any] | None,
        checkpoint_path: str | None,
        name: str | None,
    ) -> Program[dict[str, Any]]:
        check_steps(steps, None)
        return (yield from evaluation(self, input_fn, steps, check_hooks(hooks), checkpoint_path, name))

    def _exporting(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None,
        as_text: bool,
        checkpoint_path: str | None,
        experimental_mode: str,
        format: str,
    ) -> Program[str]:
        base = path_text(export_dir_base, "export_dir_base")
        arguments = (serving_input_receiver_fn, assets_extra, as_text, checkpoint_path, experimental_mode, format)
        return (yield from exporting(self, base, *arguments))

    def _prediction(
        self,
        input_fn: Any,
        predict_keys: Sequence[str] | str | None,
        hooks: Sequence[Any] | None,
        checkpoint_path: str | None,
        yield_single_examples: bool,
    ) -> Program[None]:
        hook_list = check_hooks(hooks)
        return (yield from prediction(self, input_fn, predict_keys, hook_list, checkpoint_path, yield_single_examples))


async def _closed(writer: FileWriter) -> None:
    with anyio.CancelScope(shield=True):
        await machine.on_thread(writer.close)


def _config(config: RunConfig | None, model_dir: str | os.PathLike[str] | None, kind: type[RunConfig]) -> RunConfig:
    """The configuration with a folder: a temporary folder unless a folder is given.

    Raises:
        ValueError: it is no RunConfig, or it names another folder.
    """
    if config is not None and not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    config = config or kind()
    folder = path_text(model_dir, "model_dir") if model_dir else None
    if folder is not None and config.model_dir is not None and folder != config.model_dir:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
            f"'{folder}', in `RunConfig`: '{config.model_dir}' "
        )
    if folder is None and config.model_dir is None:
        folder = tempfile.mkdtemp(prefix="actorflow-")
        _LOG.warning("a temporary folder is used for checkpoints", model_dir=folder)
    return config if folder is None else config.replace(model_dir=folder)
