"""TensorFlow's functions that change a variable: `assign`, `assign_add`, `scatter_add` and so on (`tf.assign`, ...).

`ref` is a variable or the tensor of its handle. The result is the value after the update, as a tensor; the operations
without a result are in `actorflow.ops.state` and `actorflow.ops.state_sparse`. `use_locking` changes nothing: each
update is atomic, whatever it says.
"""

from __future__ import annotations

from typing import Any

from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops import state, state_sparse


def assign(
    ref: Any,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Makes `value` the variable's value; gives that value.

    A variable that was made with `validate_shape=False` may change its shape; `validate_shape` itself is not needed.

    Raises:
        ValueError: the shape is not the variable's.
        TypeError: the type is not the variable's, or `ref` is no reference.
    """
    return state.assign_value(ref, value, name=name)


def assign_add(ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Adds `value`, of the variable's shape; gives the sum. Raises as `assign` does."""
    return state.assign_add_value(ref, value, name=name)


def assign_sub(ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Subtracts `value`, of the variable's shape; gives the difference. Raises as `assign` does."""
    return state.assign_sub_value(ref, value, name=name)


def scatter_update(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Sets the rows `ref[indices[i]]` to `updates[i]` (or all to one number); gives the whole value.

    `updates` has the shape of `indices`, then that of a row. Of several updates of one row the last stays.

    Raises:
        ValueError: shapes do not fit.
        InvalidArgumentError: in the run, an index is outside the variable.
    """
    return state_sparse.scatter_update_value(ref, indices, updates, name=name)


def scatter_add(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Adds `updates[i]` (or one number) to the rows `ref[indices[i]]`, all that name one row; gives the whole value.

    Raises as `scatter_update` does."""
    return state_sparse.scatter_add_value(ref, indices, updates, name=name)


def scatter_sub(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtracts `updates[i]` (or one number) from the rows `ref[indices[i]]`, all that name one row; gives the whole
    value. Raises as `scatter_update` does."""
    return state_sparse.scatter_sub_value(ref, indices, updates, name=name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Adds 1 to a scalar int32 or int64 variable; gives the value before.

    Raises OutOfRangeError in the run where the variable has reached `limit`."""
    return state_sparse.count_up_to_op(ref, limit=limit, name=name)
