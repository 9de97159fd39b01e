"""Data of `af.data` for the loops of a model, and the position at which a training goes on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.data_adapters.data_adapter_utils import class_weight_to_sample_weights, unpack_x_y_sample_weight
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

import actorflow as af

Seeds = dict[str, Any]
"""The states of the generators of `numpy.random` and of `random`, in JSON's types."""


@dataclass(frozen=True, slots=True)
class Position:
    """The place in the data at which a training goes on.

    Attributes:
        epoch: the epochs that are done.
        batch: the batches of the next epoch that are done.
        at_fit: the seeds when `fit` began at first.
        at_epoch: the seeds when the next epoch began.
    """

    epoch: int
    batch: int
    at_fit: Seeds
    at_epoch: Seeds


def seeds() -> Seeds:
    """The states of the generators of this process that shuffle data."""
    kind, keys, at, has_gauss, gauss = np.random.get_state()
    version, words, next_gauss = random.getstate()
    return {
        "numpy": [kind, np.asarray(keys).tolist(), int(at), int(has_gauss), float(gauss)],
        "python": [version, list(words), next_gauss],
    }


def set_seeds(state: Seeds) -> None:
    """Puts the generators of this process where `seeds` saw them.

    Args:
        state: what `seeds` gave.
    """
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), *rest))
    version, words, next_gauss = state["python"]
    random.setstate((version, tuple(words), next_gauss))


def wind(batches: Any, position: Position, first: int) -> int:
    """Brings batches to a position, and says how many of them the epoch still has to skip.

    Arrays and a `PyDataset` begin at the epoch, with its seeds. Other data is drawn again from its beginning.

    Args:
        batches: the iterator of epochs, which is at its beginning.
        position: where it shall be.
        first: the epoch at which the training began at first.
    """
    if batches.steps_per_epoch is None and isinstance(batches.data_adapter, (ArrayDataAdapter, PyDatasetAdapter)):
        set_seeds(position.at_epoch)
        return position.batch
    set_seeds(position.at_fit)
    for _ in range(first, position.epoch):
        for _ in batches:
            pass
    return position.batch


class DatasetAdapter(DataAdapter):  # type: ignore[misc]
    """A dataset of `af.data` whose elements are batches, which each epoch goes through from its beginning."""

    def __init__(self, dataset: Any, class_weight: Any = None) -> None:
        """Wraps a dataset.

        Args:
            dataset: its elements are `x`, `(x, y)` or `(x, y, sample_weight)`.
            class_weight: weights by class, or None.
        """
        self._dataset = dataset
        self._class_weight = class_weight

    def get_numpy_iterator(self) -> Iterator[Any]:
        """The batches as arrays."""
        for batch in self._dataset.as_numpy_iterator():
            if self._class_weight is None:
                yield batch
            else:
                x, y, _ = unpack_x_y_sample_weight(batch)
                yield x, y, class_weight_to_sample_weights(y, self._class_weight)

    @property
    def num_batches(self) -> int | None:
        """None: a dataset does not say how many elements it has."""
        return None

    @property
    def batch_size(self) -> int | None:
        """None: batches may differ in size."""
        return None


def adapted(x: Any, y: Any, sample_weight: Any, class_weight: Any = None) -> Any:
    """`x`, or its adapter if it is a dataset of `af.data`.

    Args:
        x: the data.
        y: the targets, which a dataset has in its elements.
        sample_weight: the weights of examples, which a dataset has in its elements.
        class_weight: weights by class, or None.

    Raises:
        ValueError: a dataset comes with targets or weights.
    """
    if not isinstance(x, af.data.Dataset):
        return x
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise ValueError(
                f"Elements of an `af.data.Dataset` are (x, y, sample_weight): `{name}` can't be passed beside it."
            )
    return DatasetAdapter(x, class_weight)
