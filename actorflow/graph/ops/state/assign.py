"""TensorFlow's functions that change a variable: `assign`, `assign_add`, `scatter_add` and so on (`tf.assign`, ...).

`ref` is a variable or the tensor of its handle. The result is the value after the update, as a tensor; the operations
without a result are in `actorflow.graph.ops.state.variable`, `state_sparse` and `state_scatter`. `use_locking` changes
nothing: each update is atomic, whatever it says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.array.shape import reshape, shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.state import scatter as state_sparse
from actorflow.graph.ops.state import scatter_nd as state_scatter
from actorflow.graph.ops.state import variable as state
from actorflow.graph.scopes import of
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af")
def assign(
    ref: Any,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Makes `value` the variable's value; gives that value (`tf.assign`).

    Example:
        >>> v = af.Variable([1.0, 2.0])
        >>> af.assign(v, [5.0, 6.0])
        [5. 6.]

    Args:
        ref: a variable, or its reference.
        value: the new value, of the variable's type and shape.
        validate_shape: False: the value may have any shape, and has the variable take that. The static shapes of reads
            stay as they are. A variable that was made with `validate_shape=False` may change its shape anyway.
        use_locking: taken, and not used.

    Raises:
        ValueError: the shape is not the variable's.
        TypeError: the type is not the variable's, or `ref` is not a reference.
    """
    return _changed(ref, lambda: state.assign_value(ref, value, validate_shape=validate_shape is not False, name=name))


def _changed(ref: Any, write: Callable[[], Tensor]) -> Tensor:
    handle = getattr(ref, "handle", ref)
    tower = of(handle.graph).tower if isinstance(handle, Tensor) else None
    result: Tensor = write() if tower is None else tower.change(ref, write)
    return result


@public("af")
def assign_add(ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Adds `value`; gives the sum (`tf.assign_add`). Errors are those of `assign`.

    Example:
        >>> v = af.Variable([1.0, 2.0])
        >>> af.assign_add(v, [10.0, 10.0])
        [11. 12.]

    Args:
        ref: a variable, or its reference.
        value: of the variable's type and shape.
        use_locking: taken, and not used: each update is one step.
    """
    return _changed(ref, lambda: state.assign_add_value(ref, value, name=name))


@public("af")
def assign_sub(ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Subtracts `value`; gives the difference (`tf.assign_sub`). Errors are those of `assign`.

    Example:
        >>> v = af.Variable(3)
        >>> af.assign_sub(v, 1)
        2

    Args:
        ref: a variable, or its reference.
        value: of the variable's type and shape.
        use_locking: taken, and not used: each update is one step.
    """
    return _changed(ref, lambda: state.assign_sub_value(ref, value, name=name))


@public("af")
def scatter_update(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Sets the rows `ref[indices[i]]` to `updates[i]`; gives the whole value (`tf.scatter_update`).

    Of several updates of one row the last stays.

    Example:
        >>> v = af.Variable([[1, 1], [2, 2], [3, 3]])
        >>> af.scatter_update(v, [2, 0], [[9, 9], [7, 7]])
        [[7 7]
         [2 2]
         [9 9]]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, of any shape: the rows.
        updates: of the variable's type: the shape of `indices`, then that of a row; or one number for all.
        use_locking: taken, and not used: each update is one step.

    Raises:
        ValueError: shapes do not fit.
        InvalidArgumentError: in the run, an index is outside the variable.
    """
    return state_sparse.scatter_update_value(ref, indices, updates, name=name)


@public("af")
def scatter_add(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Adds `updates[i]` to the rows `ref[indices[i]]`, all that name one row; gives the whole value (`tf.scatter_add`).
    Errors are those of `scatter_update`.

    Example:
        >>> v = af.Variable([1, 2, 3])
        >>> af.scatter_add(v, [0, 2, 2], [10, 1, 1])
        [11  2  5]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, of any shape: the rows.
        updates: of the variable's type: the shape of `indices`, then that of a row; or one number for all.
        use_locking: taken, and not used: each update is one step.
    """
    return state_sparse.scatter_add_value(ref, indices, updates, name=name)


@public("af")
def scatter_sub(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtracts `updates[i]` from the rows `ref[indices[i]]`, all that name one row; gives the whole value
    (`tf.scatter_sub`). Errors are those of `scatter_update`.

    Example:
        >>> v = af.Variable([1, 2, 3])
        >>> af.scatter_sub(v, [0, 2], [1, 1])
        [0 2 2]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, of any shape: the rows.
        updates: of the variable's type: the shape of `indices`, then that of a row; or one number for all.
        use_locking: taken, and not used: each update is one step.
    """
    return state_sparse.scatter_sub_value(ref, indices, updates, name=name)


@public("af")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Adds 1 to a scalar int32 or int64 variable; gives the value before.

    Raises OutOfRangeError in the run where the variable has reached `limit`.

    Example:
        >>> v = af.Variable(0)
        >>> count = af.count_up_to(v, 2)
        >>> await session.run(v.initializer)
        >>> await session.run(count), await session.run(count)
        (0, 1)
        >>> await session.run(count)
        Traceback (most recent call last):
            ...
        actorflow.errors.OutOfRangeError: Reached limit of 2: the variable 'Variable' is not counted ...
    """
    return state_sparse.count_up_to_op(ref, limit=limit, name=name)


@public("af")
def scatter_mul(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Multiplies the rows `ref[indices[i]]` by `updates[i]`, each as often as it is named; gives the whole value
    (`tf.scatter_mul`). Errors are those of `scatter_update`.

    Example:
        >>> v = af.Variable([1, 5, 3])
        >>> af.scatter_mul(v, [1, 1], [10, 2])
        [  1 100   3]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, of any shape: the rows.
        updates: of the variable's type: the shape of `indices`, then that of a row; or one number for all.
        use_locking: taken, and not used: each update is one step.
    """
    return state_scatter.scatter_mul_value(ref, indices, updates, name=name)


@public("af")
def scatter_div(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Divides the rows `ref[indices[i]]` by `updates[i]`, each as often as it is named, integers towards zero; gives
    the whole value (`tf.scatter_div`). Errors are those of `scatter_update`.

    Example:
        >>> v = af.Variable([10.0, 20.0])
        >>> af.scatter_div(v, [1], [4.0])
        [10.  5.]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, of any shape: the rows.
        updates: of the variable's type: the shape of `indices`, then that of a row; or one number for all.
        use_locking: taken, and not used: each update is one step.
    """
    return state_scatter.scatter_div_value(ref, indices, updates, name=name)


@public("af")
def scatter_min(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Makes the rows `ref[indices[i]]` the smaller of themselves and `updates[i]`; gives the whole value
    (`tf.scatter_min`). Errors are those of `scatter_update`.

    Example:
        >>> v = af.Variable([1, 5, 3])
        >>> af.scatter_min(v, [0, 1], [4, 4])
        [1 4 3]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, of any shape: the rows.
        updates: of the variable's type: the shape of `indices`, then that of a row; or one number for all.
        use_locking: taken, and not used: each update is one step.
    """
    return state_scatter.scatter_min_value(ref, indices, updates, name=name)


@public("af")
def scatter_max(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Makes the rows `ref[indices[i]]` the larger of themselves and `updates[i]`; gives the whole value
    (`tf.scatter_max`). Errors are those of `scatter_update`.

    Example:
        >>> v = af.Variable([1, 5, 3])
        >>> af.scatter_max(v, [0, 1], [4, 4])
        [4 5 3]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, of any shape: the rows.
        updates: of the variable's type: the shape of `indices`, then that of a row; or one number for all.
        use_locking: taken, and not used: each update is one step.
    """
    return state_scatter.scatter_max_value(ref, indices, updates, name=name)


@public("af")
def scatter_nd_update(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Sets `ref[tuple(indices[i])]`, elements or slices, to `updates[i]`; gives the whole value
    (`tf.scatter_nd_update`).

    Of several updates of one place the last stays.

    Example:
        >>> v = af.Variable([[1, 2], [3, 4]])
        >>> af.scatter_nd_update(v, [[1]], [[30, 40]])
        [[ 1  2]
         [30 40]]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, [..., d]: each names an element, or a slice where d is less than the variable's rank.
        updates: of the variable's type: the shape of `indices` without its last dimension, then that of such a slice.
        use_locking: taken, and not used: each update is one step.

    Raises:
        ValueError: shapes do not fit.
        InvalidArgumentError: in the run, an index is outside the variable, or has too many numbers.
    """
    return state_scatter.scatter_nd_update_value(ref, indices, updates, name=name)


@public("af")
def scatter_nd_add(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Adds `updates[i]` to `ref[tuple(indices[i])]`; gives the whole value (`tf.scatter_nd_add`). Errors are those of
    `scatter_nd_update`.

    Example:
        >>> v = af.Variable([[1, 2], [3, 4]])
        >>> af.scatter_nd_add(v, [[0, 1], [1, 0]], [10, 20])
        [[ 1 12]
         [23  4]]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, [..., d]: each names an element, or a slice where d is less than the variable's rank.
        updates: of the variable's type: the shape of `indices` without its last dimension, then that of such a slice.
        use_locking: taken, and not used: each update is one step.
    """
    return state_scatter.scatter_nd_add_value(ref, indices, updates, name=name)


@public("af")
def scatter_nd_sub(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtracts `updates[i]` from `ref[tuple(indices[i])]`; gives the whole value (`tf.scatter_nd_sub`). Errors are
    those of `scatter_nd_update`.

    Example:
        >>> v = af.Variable([[1, 2], [3, 4]])
        >>> af.scatter_nd_sub(v, [[0, 1]], [2])
        [[1 0]
         [3 4]]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, [..., d]: each names an element, or a slice where d is less than the variable's rank.
        updates: of the variable's type: the shape of `indices` without its last dimension, then that of such a slice.
        use_locking: taken, and not used: each update is one step.
    """
    return state_scatter.scatter_nd_sub_value(ref, indices, updates, name=name)


@public("af")
def batch_scatter_update(
    ref: Any, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Sets ref[i, ..., j, indices[i, ..., j, k]] to updates[i, ..., j, k], which is `scatter_update` in each element of
    a batch; gives the whole value (`tf.batch_scatter_update`). Errors are those of `scatter_nd_update`.

    Example:
        >>> v = af.Variable([[1, 2, 3], [4, 5, 6]])
        >>> af.batch_scatter_update(v, [[0], [2]], [[10], [60]])
        [[10  2  3]
         [ 4  5 60]]

    Args:
        ref: a variable, or its reference.
        indices: int32 or int64, of known rank: the batch, and then the rows of each element.
        updates: of the variable's type, of the shape of `indices` and then that of a row.
        use_locking: taken, and not used: each update is one step.
    """
    with composite(name, "batch_scatter_update", indices, updates) as scope:
        rows = convert_to_tensor(indices)
        rank = rows.static_shape
        if rank is None:
            raise ValueError("batch_scatter_update needs indices of known rank.")
        sizes = shape(rows, out_type=rows.dtype)
        columns = []
        for axis in range(len(rank) - 1):
            ones = [1] * len(rank)
            ones[axis] = -1
            columns.append(reshape(range_(sizes[axis]), ones) + 0 * rows)
        full = stack([*columns, rows], axis=-1)
        return state_scatter.scatter_nd_update_value(ref, full, updates, name=scope)
