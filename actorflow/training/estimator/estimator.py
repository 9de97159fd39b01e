"""`Estimator`: a model function that is trained, evaluated and asked for predictions (`tf.estimator.Estimator`)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import anyio

from actorflow.public import public
from actorflow.training.estimator.core import Core
from actorflow.training.estimator.predictor import Predictor
from actorflow.training.estimator.spec import ModeKeys
from actorflow.training.monitored.commands import iterate


@public("af.estimator")
class Estimator(Core):
    """Trains and evaluates the model that a function builds, saves it to a folder, and predicts by it.

    Each call goes on from the latest checkpoint of the folder. It can be cancelled at any instant: the folder is whole, and the
    next call goes on from the last checkpoint in it. Graphs are kept from call to call; within `async with estimator` so are
    sessions and their plans.

    An input is a function that gives tensors of the default graph, a Dataset, or an iterable (ordinary or asynchronous) of
    batches of arrays; or that iterable itself. A batch, and what a function gives, is the features alone or a tuple (features,
    labels). A function may take `mode`, `params` and `config`.

    Example:
        >>> def model_fn(features, labels, mode, params):
        ...     prediction = af.layers.dense(features["x"], 1)
        ...     if mode == af.estimator.ModeKeys.PREDICT:
        ...         return af.estimator.EstimatorSpec(mode, {"y": prediction})
        ...     loss = af.losses.mean_squared_error(labels, prediction)
        ...     step = af.train.get_global_step()
        ...     train_op = af.train.AdamOptimizer(params["rate"]).minimize(loss, global_step=step)
        ...     return af.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
        >>> estimator = af.estimator.Estimator(model_fn, "models/line", params={"rate": 0.01})
        >>> batch = {"x": np.array([[1.0], [2.0]], np.float32)}, np.array([[2.0], [4.0]], np.float32)
        >>> _ = await estimator.train([batch] * 10)
        >>> (await estimator.evaluate([batch]))["global_step"]
        10
        >>> async for answer in estimator.predict([{"x": np.array([[10.0]], np.float32)}]):
        ...     print(answer["y"].shape)
        (1,)

    Args:
        model_fn: builds the graph of a mode. It takes `features` and whatever it needs of `labels`, `mode`, `params` and
            `config`, and gives an `EstimatorSpec`.
        model_dir: the folder of checkpoints; a temporary folder unless it or the configuration names a folder.
        config: a `RunConfig`.
        params: values for the model function.
        warm_start_from: a checkpoint, a folder or `WarmStartSettings`: what variables begin with where `model_dir` has
            no checkpoint.

    Raises:
        ValueError: the model function takes no features or something unknown, or an argument is invalid.
    """

    async def train(
        self,
        input_fn: Any,
        hooks: Sequence[Any] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[Any] | None = None,
        *,
        epochs: int | None = None,
    ) -> Self:
        """Trains, and gives the Estimator.

        Args:
            input_fn: the input; see `Estimator`.
            hooks: take part in each step.
            steps: how many steps to make.
            max_steps: the global step to end at; where the checkpoint has it already, nothing is done.
            saving_listeners: told of checkpoints.
            epochs: how many times an iterable is gone through; once unless given.

        Raises:
            ValueError: both `steps` and `max_steps` are given, or a number is not positive.
            TypeError: a hook or a listener is none.
            NanLossDuringTrainingError: the loss of a step is no number.
        """
        await self._perform(self._training(input_fn, hooks, steps, max_steps, saving_listeners, epochs))
        return self

    async def evaluate(
        self,
        input_fn: Any,
        steps: int | None = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Evaluates a checkpoint. Gives the metrics of the model, `loss` (the mean over the batches) and `global_step`.

        Args:
            input_fn: the input; see `Estimator`.
            steps: how many batches to take; all unless given.
            hooks: take part in each step.
            checkpoint_path: the checkpoint; the latest unless given, or initial values if there is none.
            name: a name, where a model is evaluated on several inputs.

        Raises:
            ValueError: `steps` is not positive, or a metric has the name of one of these two.
        """
        return await self._perform(self._evaluation(input_fn, steps, hooks, checkpoint_path, name))

    def predict(
        self,
        input_fn: Any,
        predict_keys: Sequence[str] | str | None = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> AsyncIterator[Any]:
        """The predictions for an input, an async iterator with an answer for each example.

        Several may be read in turn. An iterator that is not read to its end is to be closed: `contextlib.aclosing` does that.

        Args:
            input_fn: the input; labels are left out.
            predict_keys: the predictions that are wanted; all unless given.
            hooks: take part in each step.
            checkpoint_path: the checkpoint; the latest unless given, or initial values if there is none.
            yield_single_examples: False gives the answers of a whole batch at once.

        Raises:
            ValueError: there is no such prediction, or the first sizes of predictions differ.
        """
        return iterate(self._prediction(input_fn, predict_keys, hooks, checkpoint_path, yield_single_examples))

    def predictor(
        self,
        predict_keys: Sequence[str] | str | None = None,
        checkpoint_path: str | None = None,
        *,
        follow: bool = False,
        max_batch: int = 1024,
        look_seconds: float = 1.0,
    ) -> Predictor:
        """The predictor of single examples, by a session that stays open, for `async with`.

            async with estimator.predictor(follow=True) as predict:
                answer = await predict({"x": image})

        Example:
            >>> estimator = af.estimator.LinearRegressor([af.feature_column.numeric_column("x")])
            >>> async with estimator.predictor(max_batch=64) as predict:
            ...     print(await predict({"x": np.array([1.0])}))
            {'predictions': array([0.], dtype=float32)}

        Args:
            predict_keys: the predictions that are wanted; all unless given.
            checkpoint_path: the checkpoint; the latest unless given, or initial values if there is none.
            follow: whether to take up new checkpoints as they come. Questions are answered meanwhile.
            max_batch: how many examples are answered by one step at most.
            look_seconds: the pause between two looks for a new checkpoint.

        Raises:
            ValueError: `follow` goes with a `checkpoint_path`, or `max_batch` is not positive.
        """
        return Predictor(self, predict_keys, checkpoint_path, follow, max_batch, look_seconds)

    async def export_saved_model(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
        *,
        format: str = "tensorflow",
    ) -> str:
        """Writes the model with the values of a checkpoint as a saved model, to a new folder whose name is the time in seconds;
        gives that folder.

        Args:
            export_dir_base: the folder of all exports.
            serving_input_receiver_fn: makes the inputs of the served model, a `ServingInputReceiver`; see
                `af.estimator.export.build_raw_serving_input_receiver_fn`.
            assets_extra: paths of files that are copied to `assets.extra`, by the paths that they have there.
            as_text: whether the graph is written as text.
            checkpoint_path: the checkpoint; the latest unless given.
            experimental_mode: one of the `ModeKeys`. A training and an evaluation have other inputs and outputs; see
                `af.estimator.export.build_raw_supervised_input_receiver_fn`.
            format: `tensorflow` or `standard`; see `af.saved_model.Builder`.

        Raises:
            ValueError: there is no checkpoint, or the model has no output that can be served.
        """
        return await self._perform(
            self._exporting(
                export_dir_base,
                serving_input_receiver_fn,
                assets_extra,
                as_text,
                checkpoint_path,
                experimental_mode,
                format,
            )
        )

    async def __aenter__(self) -> Estimator:
        self.is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_open = False
        self.told.close()
        with anyio.CancelScope(shield=True):
            await self._perform(self.close_writers(*self.writers))
            for supervisor in self.graphs.take():
                await supervisor.close(save=False)
