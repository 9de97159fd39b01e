"""`fit`, `evaluate`, `predict` and the calls for one batch.

A loop is a generator: it yields each step that is to run, and gets its result. So the same loop runs with and without `await`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from keras.src import callbacks as callbacks_module
from keras.src import optimizers as optimizers_module
from keras.src import tree
from keras.src.backend import config
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.epoch_iterator import EpochIterator
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs

import actorflow as af
from keras_actorflow.src.building import build_from
from keras_actorflow.src.core import convert_to_numpy, convert_to_tensor
from keras_actorflow.src.data import Position, adapted, wind
from keras_actorflow.src.sizes import size_of
from keras_actorflow.src.steps import Step, expect_sizes, needs_values

Loop = Generator[tuple[Step, Any], Any, Any]


def run_loop(loop: Loop) -> Any:
    """The result of a loop whose steps run one after the other, here."""
    try:
        step, data = next(loop)
        while True:
            step, data = loop.send(step(data))
    except StopIteration as end:
        return end.value


class ActorflowTrainer(base_trainer.Trainer):
    """The trainer of models: a step is a traced function, which runs as one plan."""

    def __init__(self) -> None:
        super().__init__()
        self.train_function: Step | None = None
        self.test_function: Step | None = None
        self.predict_function: Step | None = None
        self._position: Position | None = None

    # Steps that a model may replace

    def train_step(self, data: Any) -> Any:
        """One step of training: the metrics after it."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        with af.GradientTape() as tape:
            y_pred = self(x, training=True) if self._call_has_training_arg else self(x)
            loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
            tracked = loss
            if self.optimizer is not None:
                loss = self.optimizer.scale_loss(loss)
        self._loss_tracker.update_state(tracked, sample_weight=_batch_size(x))
        weights = self.trainable_weights
        if weights:
            gradients = tape.gradient(loss, [weight._value for weight in weights])
            gradients = [None if slope is None else convert_to_tensor(slope) for slope in gradients]
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data: Any) -> Any:
        """One step of evaluation: the metrics after it."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False) if self._call_has_training_arg else self(x)
        loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False)
        self._loss_tracker.update_state(loss, sample_weight=_batch_size(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data: Any) -> Any:
        """The outputs for a batch."""
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self(x, training=False) if self._call_has_training_arg else self(x)

    # Compiled steps

    def _step_of(self, method: Callable[[Any], Any], joined: bool = False) -> Step:
        def several(data: list[Any]) -> Any:
            results = [method(part) for part in data]
            if joined and len(results) > 1:
                return tree.map_structure(lambda *parts: af.concat(list(parts), axis=0), *results)
            return results[-1]

        return Step(several, eager=self.run_eagerly or needs_values(self))

    def make_train_function(self, force: bool = False) -> Step:
        """The compiled step of training; it is made again if `force` is set."""
        if self.train_function is None or force:
            self.train_function = self._step_of(lambda data: self.train_step(data))
        return self.train_function

    def make_test_function(self, force: bool = False) -> Step:
        """The compiled step of evaluation."""
        if self.test_function is None or force:
            self.test_function = self._step_of(lambda data: self.test_step(data))
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Step:
        """The compiled step of prediction."""
        if self.predict_function is None or force:
            self.predict_function = self._step_of(lambda data: self.predict_step(data), joined=True)
        return self.predict_function

    def _symbolic_build(self, data_batch: Any = None, iterator: Any = None) -> None:
        build_from(self, data_batch, iterator)

    # Loops

    @traceback_utils.filter_traceback
    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Trains for a number of epochs: see `keras.Model.fit`."""
        return run_loop(self.fit_loop(*args, **kwargs))

    def fit_loop(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
    ) -> Loop:
        """The steps of `fit`."""
        self._assert_compile_called("fit")
        most = config.max_epochs()
        if most and most < epochs:
            warnings.warn(f"Limiting epochs to {most}", stacklevel=2)
            epochs = most
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        batches = EpochIterator(
            x=adapted(x, y, sample_weight, class_weight),
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps_per_epoch,
            shuffle=shuffle,
            class_weight=class_weight,
            steps_per_execution=self.steps_per_execution,
        )
        self._symbolic_build(iterator=batches)
        batches.reset()
        callbacks = self._callbacks(callbacks, batches, verbose, epochs, add_history=True)
        self.stop_training = False
        expect_sizes(self.make_train_function(), batches)
        callbacks.on_train_begin()
        epoch_logs: dict[str, Any] = {}
        for epoch in range(self._initial_epoch or initial_epoch, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            logs: Any = {}
            position, self._position = self._position, None
            done = 0 if position is None else wind(batches, position, initial_epoch)
            for begin, end, data in batches:
                if begin < done:
                    continue
                callbacks.on_train_batch_begin(begin)
                logs = yield self.train_function, data
                callbacks.on_train_batch_end(end, logs)
                if self.stop_training:
                    break
            epoch_logs = dict(self._get_metrics_result_or_logs(logs))
            if validation_data is not None and self._should_eval(epoch, validation_freq):
                values = yield from self._validation(
                    validation_data, validation_batch_size or batch_size, validation_steps, callbacks
                )
                epoch_logs.update({f"val_{name}": value for name, value in values.items()})
            callbacks.on_epoch_end(epoch, epoch_logs)
            if self.stop_training:
                break
        if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=epoch_logs)
        return self.history

    def _validation(self, data: Any, batch_size: int | None, steps: int | None, callbacks: Any) -> Loop:
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        if self._eval_epoch_iterator is None:
            self._eval_epoch_iterator = EpochIterator(
                x=adapted(x, y, sample_weight),
                y=y,
                sample_weight=sample_weight,
                batch_size=batch_size,
                steps_per_execution=self.steps_per_execution,
                steps_per_epoch=steps,
                shuffle=False,
            )
        return (
            yield from self.evaluate_loop(
                x=x,
                y=y,
                sample_weight=sample_weight,
                batch_size=batch_size,
                steps=steps,
                callbacks=callbacks,
                return_dict=True,
                _use_cached_eval_dataset=True,
            )
        )

    @traceback_utils.filter_traceback
    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """The loss and the metrics over data: see `keras.Model.evaluate`."""
        return run_loop(self.evaluate_loop(*args, **kwargs))

    def evaluate_loop(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> Loop:
        """The steps of `evaluate`."""
        self._assert_compile_called("evaluate")
        cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        batches = self._eval_epoch_iterator if cached else self._batches(x, y, sample_weight, batch_size, steps)
        self._symbolic_build(iterator=batches)
        batches.reset()
        callbacks = self._callbacks(callbacks, batches, verbose, 1)
        expect_sizes(self.make_test_function(), batches)
        self.stop_evaluating = False
        callbacks.on_test_begin()
        logs: Any = {}
        self.reset_metrics()
        for begin, end, data in batches:
            callbacks.on_test_batch_begin(begin)
            logs = yield self.test_function, data
            callbacks.on_test_batch_end(end, logs)
            if self.stop_evaluating:
                break
        logs = pythonify_logs(self._get_metrics_result_or_logs(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs over data: see `keras.Model.predict`."""
        return run_loop(self.predict_loop(*args, **kwargs))

    def predict_loop(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Loop:
        """The steps of `predict`."""
        batches = self._batches(x, None, None, batch_size, steps)
        callbacks = self._callbacks(callbacks, batches, verbose, 1)
        expect_sizes(self.make_predict_function(), batches)
        self.stop_predicting = False
        callbacks.on_predict_begin()
        outputs: list[Any] = []
        for begin, end, data in batches:
            callbacks.on_predict_batch_begin(begin)
            result = yield self.predict_function, data
            outputs.append(tree.map_structure(convert_to_numpy, result))
            callbacks.on_predict_batch_end(end, {"outputs": result})
            if self.stop_predicting:
                break
        callbacks.on_predict_end()
        return tree.map_structure(lambda *parts: np.concatenate(parts), *outputs)

    def _batches(self, x: Any, y: Any, sample_weight: Any, batch_size: int | None, steps: int | None) -> EpochIterator:
        return EpochIterator(
            x=adapted(x, y, sample_weight),
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps,
            shuffle=False,
            steps_per_execution=self.steps_per_execution,
        )

    def _callbacks(self, callbacks: Any, batches: EpochIterator, verbose: Any, epochs: int, **more: Any) -> Any:
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        return callbacks_module.CallbackList(
            callbacks,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=epochs,
            steps=batches.num_batches,
            model=self,
            **more,
        )

    # One batch

    def train_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """One step of training on a batch: see `keras.Model.train_on_batch`."""
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    f"Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._on_batch((x, y, sample_weight), self.make_train_function, return_dict)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """The loss and the metrics of a batch: see `keras.Model.test_on_batch`."""
        self._assert_compile_called("test_on_batch")
        return self._on_batch((x, y, sample_weight), self.make_test_function, return_dict)

    def _on_batch(self, data: Any, make: Callable[[], Step], return_dict: bool) -> Any:
        data = tree.map_structure(lambda part: None if part is None else convert_to_tensor(part), data)
        self._symbolic_build(data_batch=data)
        step = make()
        self.reset_metrics()
        logs = pythonify_logs(step([data]))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for a batch: see `keras.Model.predict_on_batch`."""
        return tree.map_structure(
            convert_to_numpy, self.make_predict_function()([data_adapter_utils.pack_x_y_sample_weight(x)])
        )


def _batch_size(x: Any) -> Any:
    return next(size_of(part, 0) for part in tree.flatten(x) if part is not None)
