"""`pandas_input_fn`: batches of a table's rows (`tf.estimator.inputs.pandas_input_fn`)."""

from __future__ import annotations

from typing import Any

from actorflow.public import public
from actorflow.training.estimator.inputs.arrays import ArrayInput


@public("af.estimator.inputs")
def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
    *,
    seed: int | None = None,
) -> ArrayInput:
    """An input function that gives batches of a pandas DataFrame: a dict with an array for each column.

    Args:
        x: the DataFrame.
        y: the labels: a Series, or a DataFrame, with the index of `x`; None without labels.
        batch_size: how many rows a batch has. The last batch may have fewer.
        num_epochs: how many times the rows are gone through; None for no end.
        shuffle: whether the rows of each epoch come in random order. It has to be given.
        queue_capacity, num_threads: accepted for compatibility, without effect: nothing waits in a queue.
        target_column: the name that the labels had as a column; `x` must have none of it.
        seed: makes the orders the same in each call.

    Raises:
        ValueError: `shuffle` is not given, the indices differ, or `x` has a column of the target's name.
        TypeError: `x` is no DataFrame.
    """
    if not isinstance(shuffle, bool):
        raise ValueError(
            f"shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for training); "
            f"got {shuffle}"
        )
    if not hasattr(x, "columns") or not hasattr(x, "index"):
        raise TypeError(f"x must be a pandas DataFrame; got {type(x).__name__}")
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    labels = None
    if y is not None:
        if target_column in x.columns:
            raise ValueError(
                f"Cannot use name {target_column} for target column: DataFrame already has a column with that name"
            )
        if not (len(x.index) == len(y.index) and (x.index == y.index).all()):
            raise ValueError(f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}")
        labels = {name: y[name].to_numpy() for name in y.columns} if hasattr(y, "columns") else y.to_numpy()
    features = {name: x[name].to_numpy() for name in x.columns}
    return ArrayInput(features, labels, batch_size, num_epochs, shuffle, seed)
