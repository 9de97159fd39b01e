"""`numpy_input_fn`: batches of arrays in memory (`tf.estimator.inputs.numpy_input_fn`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from actorflow.base import dtypes, nest
from actorflow.errors import OutOfRangeError
from actorflow.graph.ops.flow.py_func import py_func
from actorflow.public import public


class ArrayInput:
    """An input function over arrays. An Estimator takes its `batches` and feeds them; called by itself, it makes tensors."""

    def __init__(
        self,
        features: Any,
        labels: Any,
        batch_size: int,
        num_epochs: int | None,
        shuffle: bool,
        seed: int | None = None,
    ) -> None:
        self._parts = (features, labels)
        self._size = len(nest.flatten(features)[0])
        self._batch, self._epochs, self._shuffle, self._seed = batch_size, num_epochs, shuffle, seed

    def batches(self) -> Iterator[Any]:
        """The batches, from the first batch on. They run over the end of an epoch; only the last batch may be smaller."""
        rng = np.random.default_rng(self._seed)
        epoch, left = 0, np.empty(0, np.int64)
        while self._size:
            while len(left) < self._batch and (self._epochs is None or epoch < self._epochs):
                order = rng.permutation(self._size) if self._shuffle else np.arange(self._size)
                left, epoch = np.concatenate([left, order]), epoch + 1
            if not len(left):
                return
            chosen, left = left[: self._batch], left[self._batch :]
            features, labels = nest.map_structure(lambda part: None if part is None else part[chosen], self._parts)  # noqa: B023
            yield features if labels is None else (features, labels)

    def __call__(self) -> Any:
        """Features and labels as tensors of the default graph; each run takes the next batch."""
        source = self.batches()
        leaves = [leaf for leaf in nest.flatten(self._parts) if leaf is not None]
        types = [dtypes.string if leaf.dtype.kind in "OSU" else dtypes.as_dtype(leaf.dtype) for leaf in leaves]

        def take() -> Any:
            for batch in source:
                parts = batch if isinstance(batch, tuple) else (batch, None)
                return [leaf for leaf in nest.flatten(parts) if leaf is not None]
            raise OutOfRangeError("The input is at its end.")

        values = iter(py_func(take, [], types, stateful=True))
        tensors: list[Any] = []
        for leaf in nest.flatten(self._parts):
            tensors.append(None if leaf is None else next(values))
            if leaf is not None:
                tensors[-1].set_shape([None, *leaf.shape[1:]])
        features, labels = nest.pack_sequence_as(self._parts, tensors)
        return features if labels is None else (features, labels)


@public("af.estimator.inputs")
def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    *,
    seed: int | None = None,
) -> ArrayInput:
    """An input function that gives batches of arrays.

    Example:
        >>> images, labels = {"x": np.array([1.0, 2.0, 3.0])}, np.array([0, 1, 0])
        >>> train = af.estimator.inputs.numpy_input_fn(images, labels, batch_size=2, shuffle=False)
        >>> with af.Graph().as_default():
        ...     features, labels = train()
        ...     print(sorted(features), labels.dtype)
        ['x'] int64

    Args:
        x: an array, or a dict of arrays with the same first size.
        y: the labels: an array, or a dict of arrays; None without labels.
        batch_size: how many rows a batch has. The last batch may have fewer.
        num_epochs: how many times the rows are gone through; None for no end.
        shuffle: whether the rows of each epoch come in random order. It has to be given.
        queue_capacity, num_threads: accepted for compatibility, without effect: nothing waits in a queue.
        seed: makes the orders the same in each call.

    Raises:
        TypeError: `x` is neither an array nor a dict.
        ValueError: `shuffle` is not given, `x` or `y` is empty, sizes differ, or `x` and `y` share keys.
    """
    if not isinstance(shuffle, bool):
        raise ValueError(
            f"shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for training); "
            f"got {shuffle}"
        )
    if not isinstance(x, (np.ndarray, Mapping)):
        raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
    if isinstance(x, Mapping) and not x or isinstance(x, np.ndarray) and not x.size:
        raise ValueError("x cannot be an empty dict or array")
    features = {key: _array(value, f"x[{key!r}]") for key, value in x.items()} if isinstance(x, Mapping) else x
    labels = y
    if isinstance(y, Mapping):
        if not y:
            raise ValueError("y cannot be empty dict, use None instead.")
        if isinstance(x, Mapping) and (both := set(x) & set(y)):
            raise ValueError(
                f"{len(both)} duplicate keys are found in both x and y: {sorted(both)}. Keys must be unique."
            )
        labels = {key: _array(value, f"y[{key!r}]") for key, value in y.items()}
    elif y is not None:
        labels = _array(y, "y")
    sizes = {
        name: part.shape[0]
        for group, parts in (("x", features), ("y", labels))
        if parts is not None
        for name, part in _named(group, parts)
    }
    if len(set(sizes.values())) > 1:
        raise ValueError(
            "Length of tensors in x and y is mismatched. All elements in x and y must have the same length. Shapes in x "
            f"and y: {sizes}"
        )
    return ArrayInput(features, labels, batch_size, num_epochs, shuffle, seed)


def _array(value: Any, name: str) -> Any:
    column = np.asarray(value)
    if not column.ndim:
        raise ValueError(f"{name} has to be an array with a first size, but it is {value!r:.60}.")
    return column


def _named(group: str, parts: Any) -> list[tuple[str, Any]]:
    if isinstance(parts, Mapping):
        return [(f"{group}[{key!r}]", part) for key, part in parts.items()]
    return [(group, parts)]
