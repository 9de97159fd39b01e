"""Sources: constants, placeholders, and tensors filled with one value (paper sections 2 and 4.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes, shapes
from actorflow.base import dtypes as dt
from actorflow.base.dtypes import INDEX, DType, DTypeLike, as_dtype
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike, is_static, merge
from actorflow.graph.convert import as_array, convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.shape import reshape, shape
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import from_attr, from_value, require_rank, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _value_shape(c: Inference) -> Shape:
    shape: tuple[int, ...] = c.attrs["value"].shape
    return shape


@op("Const", role=roles.CONSTANT, shape=_value_shape, result="dtype", gradient=None)
def const(*, value: Any, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """The array `value` (which the node holds) of type `dtype`. Made by `constant`."""


@op("Placeholder", role=roles.PLACEHOLDER, shape=from_attr("shape"), result="dtype", gradient=None, stateful=True)
def placeholder_op(*, dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """A value that each run feeds. Made by `placeholder`."""


@public("af")
def constant(
    value: Any, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """A tensor that holds `value` (paper section 2; `tf.constant`).

    Example:
        >>> af.constant([[1, 2], [3, 4]])
        [[1 2]
         [3 4]]
        >>> af.constant(7, shape=[2, 3])
        [[7 7 7]
         [7 7 7]]
        >>> af.constant([1, 2]).dtype, af.constant([1.0, 2.0]).dtype
        (actorflow.int32, actorflow.float32)

    Args:
        value: a number, text, a truth value, a numpy array, or nested lists of them.
        dtype: its element type; by default that of a numpy array, float32 for Python floats, int32 for ints.
        shape: the value is filled up to it with its last element. With a size of 0 the tensor is empty whatever the value,
            and of type float32 unless `dtype` is given.
        verify_shape: the value has to have exactly this shape.

    Raises:
        TypeError: the value has no such type, or is a tensor.
        ValueError: the value has more elements than `shape`.
    """
    if isinstance(value, Tensor):
        raise TypeError(f"{value.name} is a tensor already, so it can't be made a constant.")
    kind = None if dtype is None else dtypes.as_dtype(dtype)
    if shape is not None and value is not None and _is_empty(shape) and not isinstance(value, (np.ndarray, np.generic)):
        sizes: Any = shapes.as_shape(shape)
        array = np.empty(sizes, (kind or dt.float32).numpy_dtype)  # no element of the value is needed
    else:
        array = as_array(value, kind)
        if shape is not None:
            array = _filled(array, shape, verify_shape)
    attrs = {"value": array, "dtype": dtypes.as_dtype(array.dtype)}
    return get_default_graph().create_op("Const", (), attrs, name).outputs[0]


def _is_empty(shape: ShapeLike) -> bool:
    return shapes.num_elements(shapes.as_shape(shape)) == 0


def _filled(array: Any, shape: ShapeLike, verify: bool) -> Any:
    target = shapes.as_shape(shape)
    size = shapes.num_elements(target)
    if target is None or size is None:
        raise ValueError("The shape of a constant has to be fully known.")
    if verify and array.shape != target:
        raise TypeError(f"The value has shape {array.shape}, but {shapes.show(target)} was asked for.")
    if array.size > size:
        raise ValueError(
            f"Too many elements provided. Needed at most {shapes.num_elements(target)}, but received {array.size}"
        )
    if array.size < size and array.size == 0:
        raise ValueError(f"An empty value can't fill the shape {shapes.show(target)}.")
    flat = array.reshape(-1)
    if array.size < size:
        flat = np.concatenate([flat, np.repeat(flat[-1:], size - array.size)])
    filled = flat.reshape(target)
    filled.flags.writeable = False
    return filled


@public("af")
def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """A tensor that has to be fed in each run that needs it (`tf.placeholder`); with no `shape`, any shape may be fed.

    Example:
        >>> x = af.placeholder(af.float32, [None, 2])
        >>> await session.run(x * 2, {x: [[1.0, 2.0], [3.0, 4.0]]})
        [[2. 4.]
         [6. 8.]]
    """
    return placeholder_op(dtype=dtype, shape=shape, name=name)


# ---- Tensors that come from a shape or a rule rather than from data: zeros, fill, ranges, one-hot codes, masks.


# A constant of more elements is not kept in the graph, but filled in the run (as in TensorFlow).
_LARGEST_CONSTANT = 1000


def _filled_shape(c: Inference) -> Shape:
    require_rank(c, 0, 1)
    require_rank(c, 1, 0)
    return from_value(0)(c)


@public("af")
@op("Fill", shape=_filled_shape, types={"dims": INDEX})
def fill(dims: TensorLike, value: TensorLike, *, name: str | None = None) -> Tensor:
    """A tensor of the shape in the vector `dims` with the scalar `value` everywhere (`tf.fill`).

    Raises ValueError, or InvalidArgumentError in the run, for a negative size.

    Example:
        >>> af.fill([2, 3], 9)
        [[9 9 9]
         [9 9 9]]
    """


@fill.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.reduction import reduce_sum

    return [None, reduce_sum(dy)]


@op("ZerosLike", shape=unchanged, gradient=None)
def zeros_like_op(x: TensorLike, *, name: str | None = None) -> Tensor:
    """Zeros of the shape and type of `x`. See `zeros_like`."""


@op("OnesLike", shape=unchanged, dtypes=dt.NUMERIC | dt.BOOLEAN, gradient=None)
def ones_like_op(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The number 1 in the shape and type of `x`. See `ones_like`."""


@public("af")
def zeros(shape: ShapeLike | TensorLike, dtype: DTypeLike = dt.float32, name: str | None = None) -> Tensor:
    """Zeros (False, empty strings) of a shape that may be a tensor (`tf.zeros`).

    Example:
        >>> af.zeros([2, 3])
        [[0. 0. 0.]
         [0. 0. 0.]]
    """
    return _constant_of(shape, _zero(as_dtype(dtype)), as_dtype(dtype), name, "zeros")


@public("af")
def ones(shape: ShapeLike | TensorLike, dtype: DTypeLike = dt.float32, name: str | None = None) -> Tensor:
    """The number 1 (or True) in a shape that may be a tensor (`tf.ones`). Raises TypeError for strings.

    Example:
        >>> af.ones([2, 3], af.int32)
        [[1 1 1]
         [1 1 1]]
    """
    if as_dtype(dtype) is dt.string:
        raise TypeError("There is no one of type string.")
    return _constant_of(shape, 1, as_dtype(dtype), name, "ones")


@public("af")
def zeros_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros of the shape of `tensor` and its type, or `dtype` (`tf.zeros_like`).

    A constant where the shape is known, unless `optimize` is off.

    Example:
        >>> af.zeros_like(["a", "b"])
        [b'' b'']

    Args:
        tensor: a tensor of any shape.
        dtype: the element type of the result; that of `tensor` by default.
        optimize: whether the result is a constant where the shape is known as the graph is built.
    """
    source = convert_to_tensor(tensor)
    kind = source.dtype.base_dtype if dtype is None else as_dtype(dtype)
    if optimize and is_static(source.static_shape) or kind is not source.dtype:
        with source.graph.as_default():
            return _constant_of(shape(source), _zero(kind), kind, name, "zeros_like")
    return zeros_like_op(source, name=name or "zeros_like")


@public("af")
def ones_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """The number 1 in the shape of `tensor` and its type, or `dtype` (`tf.ones_like`).

    Example:
        >>> af.ones_like([[1.5, 2.5]])
        [[1. 1.]]

    Args:
        tensor: a tensor of any shape.
        dtype: the element type of the result; that of `tensor` by default.
        optimize: whether the result is a constant where the shape is known as the graph is built.
    """
    source = convert_to_tensor(tensor)
    kind = source.dtype.base_dtype if dtype is None else as_dtype(dtype)
    if optimize and is_static(source.static_shape) or kind is not source.dtype:
        with source.graph.as_default():
            return _constant_of(shape(source), 1, kind, name, "ones_like")
    return ones_like_op(source, name=name or "ones_like")


def _zero(dtype: DType) -> Any:
    return b"" if dtype is dt.string else 0


def _constant_of(shape_like: Any, value: Any, dtype: DType, name: str | None, default: str) -> Tensor:
    with composite(name, default, shape_like) as scope:
        dims = convert_to_tensor(_whole(shape_like), preferred_dtype=dt.int32)
        sizes = known_value(dims)
        if dims.static_shape == ():
            dims = reshape(dims, [-1])
            sizes = None if sizes is None else sizes.reshape(-1)
        if sizes is not None and np.prod(sizes, dtype=np.int64) < _LARGEST_CONSTANT and not np.any(sizes < 0):
            array = np.full(sizes, value, dtype.numpy_dtype)
            return convert_to_tensor(array, dtype, scope, graph=dims.graph)
        return fill(dims, np.asarray(value, dtype.numpy_dtype), name=scope)


def _whole(shape_like: Any) -> Any:
    """Sizes as integers where Python's division gave them as floats: `zeros([4 / 2])`."""
    sizes = shape_like if isinstance(shape_like, (list, tuple)) else [shape_like]
    if any(isinstance(size, (bool, float, np.floating)) for size in sizes):
        return [
            int(size) if isinstance(size, (bool, float, np.floating)) and size == int(size) else size for size in sizes
        ]
    return shape_like


# ---- a default for what may be fed


def _default(c: Inference) -> Shape:
    merge(c.shapes[0], c.attrs["shape"])
    shape: Shape = c.attrs["shape"]
    return shape


@op("PlaceholderWithDefault", role=roles.PLACEHOLDER, shape=_default, view=True, work=0)
def placeholder_with_default_op(input: TensorLike, *, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`input`, unless a run feeds another value. See `placeholder_with_default`."""


@placeholder_with_default_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy]


@public("af")
def placeholder_with_default(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """A tensor that gives `input` where a run feeds nothing, of any value that fits `shape` (`tf.placeholder_with_default`).

    Example:
        >>> rate = af.placeholder_with_default(0.1, [])
        >>> await session.run(rate * 2)
        0.2
        >>> await session.run(rate * 2, {rate: 5.0})
        10.0
    """
    return placeholder_with_default_op(input, shape=shape, name=name)
