"""`BackupAndRestore`: a training that was stopped at any instant goes on, and ends with the bits of one that was not."""

from __future__ import annotations

import json
import os
from typing import Any

import keras
import numpy as np
from keras.src.backend.common import global_state
from keras.src.random.seed_generator import GLOBAL_SEED_GENERATOR, global_seed_generator

from keras_actorflow.src.data import Position, Seeds, seeds

_FILE = "state.npz"


class BackupAndRestore(keras.callbacks.BackupAndRestore):  # type: ignore[misc]
    """`keras.callbacks.BackupAndRestore`, exact to the bit.

    A backup holds the weights, the optimizer, the metrics, the seeds and the position in the data. It is a file that is replaced
    in a step, so a process may be killed at any instant. Arrays and a `PyDataset` go on at their place in an epoch; other data is
    drawn again from its beginning. States of other callbacks are not kept.

    Example:
        >>> backup = keras_actorflow.BackupAndRestore("backup", save_freq=100)
        >>> model.fit(x, y, epochs=10, callbacks=[backup])
    """

    def __init__(self, backup_dir: str, save_freq: Any = "epoch", delete_checkpoint: bool = True) -> None:
        """Sets the folder and the times of the backups.

        Args:
            backup_dir: the folder, which no other callback and no other training uses.
            save_freq: `"epoch"`, or the number of batches between two backups.
            delete_checkpoint: whether the folder is deleted when the training ends.

        Raises:
            ValueError: `save_freq` is something else, or the folder has no name.
        """
        super().__init__(backup_dir, save_freq, delete_checkpoint=delete_checkpoint)
        self._path = os.path.join(backup_dir, _FILE)
        self._at_fit: Seeds = {}
        self._at_epoch: Seeds = {}
        self._batches_done = 0
        self._saved: dict[str, Any] = {}

    def on_train_begin(self, logs: Any = None) -> None:
        """Restores the last backup, if the folder has a backup."""
        self._saved = {}
        if not os.path.exists(self._path):
            self._at_fit = seeds()
            return
        if not self.model.built:
            raise ValueError(
                f"The model {self.model.name} is not built. Call it with a batch before `fit` restores {self._path}."
            )
        try:
            with np.load(self._path, allow_pickle=False) as file:
                self._saved = dict(file)
            text = self._saved.pop("position")
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise ValueError(
                f"The backup {self._path} can't be read: {error}. Delete it to train from the beginning."
            ) from error
        position = Position(**json.loads(str(text)))
        self._assign()
        self._at_fit = position.at_fit
        self.model._initial_epoch, self.model._position = position.epoch, position

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Notes the seeds; after a restoration it puts the metrics back too, which `fit` has just reset."""
        self._current_epoch, self._batches_done = epoch, 0
        self._at_epoch = seeds()
        if self._saved:
            self._assign()
            self._saved = {}
            self._at_epoch, self._batches_done = self.model._position.at_epoch, self.model._position.batch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Saves, if it is time."""
        self._batches_done = batch + 1
        super().on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Saves, if backups are those of epochs."""
        self._at_epoch, self._batches_done = seeds(), 0
        super().on_epoch_end(epoch, logs)

    def _variables(self) -> dict[str, Any]:
        model = self.model
        lists = [
            model.variables,
            model.optimizer.variables if model.optimizer is not None else [],
            model.metrics_variables,
        ]
        unique = {id(variable): variable for variables in lists for variable in variables}
        generator = global_state.get_global_attribute(GLOBAL_SEED_GENERATOR)
        named = {f"{at}": variable for at, variable in enumerate(unique.values())}
        return named if generator is None else {**named, "seed": generator.state}

    def _assign(self) -> None:
        if "seed" in self._saved:
            global_seed_generator()  # it is made when it is first used
        variables = self._variables()
        absent = variables.keys() - self._saved.keys() - {"seed"}
        unlike = [
            variable.path
            for name, variable in variables.items()
            if name in self._saved and self._saved[name].size != _bytes(variable).size
        ]
        if absent or unlike or len(self._saved.keys() - variables.keys()):
            raise ValueError(
                f"The backup {self._path} is of another model: it has {len(self._saved)} variables, and {self.model.name} has "
                f"{len(variables)}; of another size: {', '.join(unlike) or 'none'}. Use another folder."
            )
        for name, variable in variables.items():
            if name in self._saved:
                array = np.asarray(variable.value.numpy())
                variable.assign(self._saved[name].view(array.dtype).reshape(array.shape))

    def _save_model(self) -> None:
        os.makedirs(self.backup_dir, exist_ok=True)
        position = {
            "epoch": self._current_epoch,
            "batch": self._batches_done,
            "at_fit": self._at_fit,
            "at_epoch": self._at_epoch,
        }
        arrays = {name: _bytes(variable) for name, variable in self._variables().items()}
        with open(f"{self._path}.new", "wb") as file:
            np.savez(file, position=np.array(json.dumps(position)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{self._path}.new", self._path)


def _bytes(variable: Any) -> Any:
    return np.frombuffer(np.asarray(variable.value.numpy()).tobytes(), np.uint8)
