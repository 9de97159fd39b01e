"""Rectangular parts of a tensor: slice, strided_slice, and Python's own `x[1:, ..., None]`."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from actorflow.base.dtypes import ANY, INDEX, STRING, DType, int32, int64
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge, show
from actorflow.graph.convert import convert_to_tensor, is_symbolic, symbolic_dtype
from actorflow.graph.ops.array.shape import reshape, shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import from_value
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

newaxis = None
public("af", of="newaxis")
"""In an index, a new dimension of size 1."""

_BOUNDS = {"begin": INDEX, "end": INDEX, "strides": INDEX}
_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")

# ---- slice


def _sliced(c: Inference) -> Shape:
    source, begin, size = c.shapes[0], c.shape_value(1), c.shape_value(2)
    for index in (1, 2):
        if c.shapes[index] is not None and c.shapes[index] != (None,) and source is not None:
            merge(c.shapes[index], (len(source),))
    if source is None:
        rank = next((s[0] for s in c.shapes[1:] if s and s[0] is not None), None)
        source = None if rank is None else (None,) * rank
    if source is None:
        return None
    unknown = (None,) * len(source)
    begin, size = begin or unknown, size or unknown
    check_slice(source, begin, size)
    return tuple(
        n if n != -1 else None if whole is None or first is None else whole - first
        for whole, first, n in zip(source, begin, size, strict=True)
    )


def check_slice(shape: Sequence[int | None], begin: Sequence[int | None], size: Sequence[int | None]) -> None:
    """Raises ValueError where a slice leaves the tensor. None stands for a number that only the run knows."""
    for i, (whole, first, n) in enumerate(zip(shape, begin, size, strict=True)):
        low, more = first or 0, max(n or 0, 0)
        if low < 0 or (n or 0) < -1 or whole is not None and low + more > whole:
            raise ValueError(
                f"Slice index out of range: {n} elements from {first} leave dimension {i} of {show(tuple(shape))}."
            )


@op("Slice", shape=_sliced, types={"begin": INDEX, "size": INDEX}, view=True, work=0)
def slice_op(input: TensorLike, begin: TensorLike, size: TensorLike, *, name: str | None = None) -> Tensor:
    """`size[d]` elements from `begin[d]` on in each dimension d. See `slice`."""


@slice_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.array.join import stack
    from actorflow.graph.ops.array.pad_tile import pad

    source, begin, _ = node.inputs
    kind = begin.dtype
    after = shape(source, out_type=kind) - shape(node.outputs[0], out_type=kind) - begin
    return [pad(dy, stack([begin, after], axis=1)), None, None]


@public("af", "tf:slice")
def slice_(input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None) -> Tensor:
    """The part of `input_` of `size[d]` elements from `begin[d]` on in each dimension d (`tf.slice`).

    Example:
        >>> af.slice_([[1, 2, 3], [4, 5, 6]], [0, 1], [2, 2])
        [[2 3]
         [5 6]]

    Args:
        input_: a tensor of any type.
        begin: a vector of int32 or int64: the first index in each dimension.
        size: a vector of the same type: how many elements in each dimension; -1 takes all that are left.

    Raises:
        ValueError: the part leaves the tensor; InvalidArgumentError where only the run knows.
    """
    return slice_op(input_, begin, size, name=name)


# ---- strided_slice


def _strided(c: Inference) -> Shape:
    source, spec = c.shapes[0], [c.shapes[i] for i in (1, 2, 3)]
    length: Shape = None
    for other in spec:
        length = merge(length, other)
    if length is not None and len(length) != 1:
        raise ValueError(f"Begin, end and strides of a slice are vectors, but have shape {show(length)}.")
    if source is None or not length or length[0] is None:
        return None
    return sliced_shape(source, length[0], c.shape_value(1), c.shape_value(2), c.shape_value(3), c.attrs)


def sliced_shape(
    source: Sequence[int | None],
    length: int,
    begin: Shape,
    end: Shape,
    strides: Shape,
    masks: Mapping[str, int],
) -> Shape:
    """The shape of a strided slice of `length` entries, whose bounds are None where only the run knows them.

    Raises ValueError: there are too many entries, or a single index is outside its dimension.
    """

    def has(mask: str, i: int) -> bool:
        return bool(masks[mask] >> i & 1)

    ellipses = [i for i in range(length) if has("ellipsis_mask", i)]
    if len(ellipses) > 1:
        raise ValueError("Multiple ellipses in slice spec not allowed: an index has one.")
    taken = sum(not has("ellipsis_mask", i) and not has("new_axis_mask", i) for i in range(length))
    if taken > len(source):
        raise ValueError(f"Index out of range: {taken} dimensions are indexed, but the input is {show(tuple(source))}.")
    unknown = (None,) * length
    begin, end, strides = begin or unknown, end or unknown, strides or unknown
    result: list[int | None] = []
    dimension = 0
    for i in range(length):
        if has("ellipsis_mask", i):
            between = len(source) - taken
            result.extend(source[dimension : dimension + between])
            dimension += between
        elif has("new_axis_mask", i):
            result.append(1)
        else:
            step, first, last = strides[i], begin[i], end[i]
            if step == 0:
                raise ValueError(f"strides[{i}] must be non-zero.")
            if has("shrink_axis_mask", i):
                _check_single(first, step, source[dimension], dimension)
            else:
                low = None if has("begin_mask", i) else _UNKNOWN if first is None else first
                high = None if has("end_mask", i) else _UNKNOWN if last is None else last
                result.append(_extent(source[dimension], low, high, step))
            dimension += 1
    return (*result, *source[dimension:])


_UNKNOWN = object()


def _extent(whole: int | None, low: Any, high: Any, step: int | None) -> int | None:
    if low is None and high is None and step in (1, -1):
        return whole
    if whole is None or step is None or low is _UNKNOWN or high is _UNKNOWN:
        return None
    return len(range(*slice(low, high, step).indices(whole)))


def _check_single(index: int | None, step: int | None, whole: int | None, dimension: int) -> None:
    if step is not None and step < 0:
        raise ValueError("A single index can't have a negative stride.")
    if index is not None and whole is not None and not -whole <= index < whole:
        raise ValueError(f"slice index {index} of dimension {dimension} out of bounds: it has {whole} elements.")


@op("StridedSlice", shape=_strided, types=_BOUNDS, view=True, work=0)
def strided_slice_op(
    input: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """The part `input[begin:end:strides]`. See `strided_slice`."""


@op("StridedSliceGrad", shape=from_value(0), dtypes=ANY - STRING, types={"shape": INDEX, **_BOUNDS})
def strided_slice_grad(
    shape: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike,
    dy: TensorLike,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """Zeros of `shape` with `dy` in the part that StridedSlice takes: the gradient of StridedSlice."""


def _masks(node: Operation) -> dict[str, Any]:
    return {mask: node.get_attr(mask) for mask in _MASKS}


@strided_slice_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    source, begin, end, strides = node.inputs
    return [strided_slice_grad(shape(source), begin, end, strides, dy, **_masks(node)), None, None, None]


@strided_slice_grad.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    _, begin, end, strides, _ = node.inputs
    return [None, None, None, None, strided_slice_op(dy, begin, end, strides, **_masks(node))]


@public("af")
def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Every `strides[i]`-th element from `begin[i]` to before `end[i]` in dimension i (`tf.strided_slice`).

    Negative bounds count from the end, and bounds outside the tensor are cut, as in Python. `x[...]` with Python's own
    notation builds all this. Bit i of a mask changes entry i.

    Example:
        >>> af.strided_slice([0, 1, 2, 3, 4, 5], [1], [6], [2])
        [1 3 5]
        >>> af.constant([0, 1, 2, 3, 4, 5])[1:6:2]
        [1 3 5]

    Args:
        input_: a tensor of any type.
        begin, end, strides: vectors of int32 or int64, with one entry for each dimension from the first on. Strides are
            1 by default, and may be negative.
        begin_mask, end_mask: leave that bound of the entry open.
        ellipsis_mask: the entry stands for all dimensions that no entry names; there is at most one such entry.
        new_axis_mask: the entry makes a new dimension of 1.
        shrink_axis_mask: the entry stands for the one element at `begin[i]`, and the dimension goes.
        var: taken, and not used.

    Raises:
        ValueError: more entries than dimensions, a stride of 0, or a single index outside its dimension.
            InvalidArgumentError where only the run knows.
    """
    with composite(name, "StridedSlice", input_, begin, end, strides) as scope:
        first, last = _alike(begin, end)
        if strides is None:
            from actorflow.graph.ops.array.constant import ones_like

            strides = ones_like(first)
        masks = dict(zip(_MASKS, (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)))
        return strided_slice_op(input_, first, last, strides, **masks, name=scope)


def _alike(*bounds: TensorLike) -> list[Tensor]:
    kind = next((d for b in bounds if (d := symbolic_dtype(b)) is not None), int32)
    return [convert_to_tensor(b, preferred_dtype=kind) for b in bounds]


# ---- x[...]


def getitem(tensor: TensorLike, key: Any) -> Tensor:
    """`tensor[key]`: integers, slices, `...` and None (`af.newaxis`), with tensors as integers and bounds; or a mask.

    Raises:
        TypeError: the key holds something else.
        ValueError: an index outside its dimension; InvalidArgumentError where only the run knows.
    """
    if _is_mask(key):
        from actorflow.graph.ops.array.gather import boolean_mask

        return boolean_mask(tensor, key)
    entries = key if isinstance(key, tuple) else tuple(key) if isinstance(key, list) else (key,)
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(_MASKS, 0)
    for i, entry in enumerate(entries):
        first: Any = 0
        last: Any = 0
        step: Any = 1
        if isinstance(entry, slice):
            first, last, step = _bound(entry.start), _bound(entry.stop), _bound(entry.step)
            step = 1 if step is None else step
            if first is None:
                masks["begin_mask"] |= 1 << i
            if last is None:
                masks["end_mask"] |= 1 << i
            first, last = (0 if b is None else b for b in (first, last))
        elif isinstance(entry, EllipsisType):
            masks["ellipsis_mask"] |= 1 << i
        elif entry is None:
            masks["new_axis_mask"] |= 1 << i
        else:
            first = _bound(entry)
            # A single index ignores its end, so a tensor needs no addition for it.
            last = first if is_symbolic(first) else first + 1
            masks["shrink_axis_mask"] |= 1 << i
        begin.append(first)
        end.append(last)
        strides.append(step)
    kind = _index_type((*begin, *end, *strides))
    with composite(None, "strided_slice", tensor, *begin, *end, *strides) as scope:
        vectors = [_vector(v, kind) for v in (begin, end, strides)]
        return strided_slice_op(tensor, *vectors, **masks, name=scope)


def _is_mask(key: Any) -> bool:
    if is_symbolic(key):
        return symbolic_dtype(key) is bool_dtype
    return isinstance(key, (bool, np.bool_)) or isinstance(key, np.ndarray) and key.dtype == np.bool_


def _bound(value: Any) -> Any:
    if value is None:
        return None
    if is_symbolic(value):
        tensor = convert_to_tensor(value)
        if tensor.dtype.is_integer and tensor.static_shape in ((), None):
            return tensor
        raise TypeError(
            f"{tensor.name} ({tensor.dtype}, shape {show(tensor.static_shape)}) can't index a tensor: an index is an "
            "integer scalar. af.gather takes vectors of indices, af.boolean_mask takes masks."
        )
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(
        f"{value!r} (a {type(value).__name__}) can't index a tensor: integers, slices, ... and None can, and integer "
        "scalars as tensors. af.gather takes lists of indices, af.boolean_mask takes masks."
    )


def _index_type(values: Sequence[Any]) -> DType:
    kinds = {symbolic_dtype(v) for v in values}
    wide = any(isinstance(v, int) and not -(2**31) <= v < 2**31 for v in values)
    return int64 if int64 in kinds or wide else int32


def _vector(values: Sequence[Any], kind: DType) -> Any:
    if not any(is_symbolic(v) for v in values):
        return np.asarray([min(max(v, kind.min), kind.max) for v in values], kind.numpy_dtype)
    from actorflow.graph.ops.array.join import stack

    return stack([_as_scalar(v, kind) if is_symbolic(v) else np.asarray(v, kind.numpy_dtype) for v in values])


def _as_scalar(value: Tensor, kind: DType) -> Tensor:
    from actorflow.graph.ops.math.cast import cast

    typed = cast(value, kind)
    return typed if typed.static_shape == () else reshape(typed, [])
