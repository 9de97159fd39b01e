"""The value of a tensor where the graph alone decides it: what shape rules need of `reshape(x, [-1, 10])`.

Of a vector of sizes some may be known and others not: `[shape(x)[0], 10]` is (?, 10) where the first size of x is not
known. Inside this module such a value is an array of objects with None for what is not known.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.shapes import Shape, num_elements
from actorflow.graph.node import Node, TensorId

_DEPTH = 8


_LONGEST_RANGE = 1000


Nodes: TypeAlias = Mapping[str, Node]


Array: TypeAlias = "np.ndarray[Any, Any]"


def constant_value(nodes: Nodes, tensor_id: TensorId, depth: int = _DEPTH) -> Array | None:
    """The value of `tensor_id`, or None where a run decides it. Looks through shapes that are known and their parts."""
    value = _look(nodes, tensor_id, depth)
    return None if value is None or _is_partial(nodes, tensor_id, value) else value


def shape_value(nodes: Nodes, tensor_id: TensorId, rank: int = 1) -> Shape:
    """The elements of a vector of integers, None for each that a run decides; -1 stays as it is. With `rank` 2 those of a
    matrix, row by row.

    None where `tensor_id` is no vector of integers, or even its length is not known.
    """
    node = nodes.get(tensor_id.node)
    if node is None or not node.dtypes[tensor_id.port].is_integer:
        return None
    sizes = _look(nodes, tensor_id, _DEPTH)
    if sizes is None:
        shape = node.shapes[tensor_id.port]
        count = None if shape is None or len(shape) != rank else num_elements(shape)
        return None if count is None else (None,) * count
    return tuple(None if size is None else int(size) for size in sizes.reshape(-1)) if sizes.ndim == rank else None


def _is_partial(nodes: Nodes, tensor_id: TensorId, value: Array) -> bool:
    return value.dtype == object and nodes[tensor_id.node].dtypes[tensor_id.port].kind != "S"


def _look(nodes: Nodes, tensor_id: TensorId, depth: int) -> Array | None:
    node = nodes.get(tensor_id.node)
    if node is None or depth == 0:
        return None
    if node.op == "Const":
        return np.asarray(node.attrs["value"])
    rule = _RULES.get(node.op)
    value = None if rule is None else rule(nodes, node, depth - 1)
    if value is None or node.dtypes[0].kind == "S" or value.dtype == object and None in value.reshape(-1).tolist():
        return value
    with np.errstate(all="ignore"):
        return value.astype(node.dtypes[0].numpy_dtype)


def _static(nodes: Nodes, tensor_id: TensorId) -> Shape:
    node = nodes.get(tensor_id.node)
    return None if node is None else node.shapes[tensor_id.port]


# ---- one rule an op: the value by what is known of the inputs, or None


def _of_shape(nodes: Nodes, node: Node, depth: int) -> Array | None:
    shape = _static(nodes, node.inputs[0])
    return None if shape is None else np.array(shape, object)


def _of_size(nodes: Nodes, node: Node, depth: int) -> Array | None:
    elements = num_elements(_static(nodes, node.inputs[0]))
    return None if elements is None else np.array(elements, object)


def _of_rank(nodes: Nodes, node: Node, depth: int) -> Array | None:
    shape = _static(nodes, node.inputs[0])
    return None if shape is None else np.array(len(shape), object)


def _of_identity(nodes: Nodes, node: Node, depth: int) -> Array | None:
    return _look(nodes, node.inputs[0], depth)


def _of_cast(nodes: Nodes, node: Node, depth: int) -> Array | None:
    value = _look(nodes, node.inputs[0], depth)
    if value is not None and _is_partial(nodes, node.inputs[0], value) and not node.dtypes[0].is_integer:
        return None
    return value


def _parts(nodes: Nodes, node: Node, tensor_ids: tuple[TensorId, ...], depth: int) -> list[Array] | None:
    """The values of several inputs, where unknown as sizes that a run decides; None where that can't be said."""
    values = []
    for tensor_id in tensor_ids:
        value = _look(nodes, tensor_id, depth)
        if value is None:
            shape = _static(nodes, tensor_id)
            if shape is None or len(shape) > 1 or None in shape or not node.dtypes[0].is_integer:
                return None
            value = np.full(shape, None, object)
        values.append(value)
    return values


def _of_pack(nodes: Nodes, node: Node, depth: int) -> Array | None:
    parts = _parts(nodes, node, node.inputs, depth)
    return None if not parts or len({p.shape for p in parts}) > 1 else np.stack(parts, axis=node.attrs["axis"])


def _of_concat(nodes: Nodes, node: Node, depth: int) -> Array | None:
    axis = constant_value(nodes, node.inputs[-1], depth)
    parts = None if axis is None else _parts(nodes, node, node.inputs[:-1], depth)
    if axis is None or not parts or any(p.ndim == 0 for p in parts):
        return None
    try:
        return np.concatenate(parts, axis=int(axis))
    except ValueError:  # the shape rule of the concatenation says what is wrong
        return None


def _of_strided_slice(nodes: Nodes, node: Node, depth: int) -> Array | None:
    begin, end, strides = (constant_value(nodes, e, depth) for e in node.inputs[1:])
    value = _look(nodes, node.inputs[0], depth)
    if value is None or begin is None or end is None or strides is None:
        return None
    part = value[python_index(begin, end, strides, node.attrs)]
    if value.dtype == object and not isinstance(part, np.ndarray):
        part = _boxed(part)
    return np.asarray(part)


def _boxed(element: Any) -> Array:
    """An array of rank 0 with the one object (numpy would look into it)."""
    box = np.empty((), object)
    box[()] = element
    return box


def _of_gather(nodes: Nodes, node: Node, depth: int) -> Array | None:
    """Elements of a vector at known places."""
    places = constant_value(nodes, node.inputs[1], depth)
    value = None if places is None else _look(nodes, node.inputs[0], depth)
    if places is None or value is None or value.ndim != 1:
        return None
    if places.size and not (0 <= places.min() and places.max() < len(value)):
        return None
    rows = np.empty(places.shape, value.dtype)
    rows[...] = value[places]
    return rows


def _of_reshape(nodes: Nodes, node: Node, depth: int) -> Array | None:
    shape, value = node.shapes[0], _look(nodes, node.inputs[0], depth)
    return None if shape is None or None in shape or value is None else value.reshape(shape)


def _of_range(nodes: Nodes, node: Node, depth: int) -> Array | None:
    start, delta = (constant_value(nodes, node.inputs[i], depth) for i in (0, 2))
    length = node.shapes[0][0] if node.shapes[0] else None
    if start is None or delta is None or length is None or length > _LONGEST_RANGE:
        return None
    return np.asarray(start + np.arange(length).astype(delta.dtype) * delta)


def _each(function: Callable[..., Any]) -> Callable[[Nodes, Node, int], Array | None]:
    """The rule of an elementwise op of integers: sizes that a program computes from others."""

    def rule(nodes: Nodes, node: Node, depth: int) -> Array | None:
        parts = _parts(nodes, node, node.inputs, depth) if node.dtypes[0].is_integer else None
        if parts is None or max(part.size for part in parts) > _LONGEST_RANGE:
            return None
        try:
            spread = np.broadcast_arrays(*parts)
        except ValueError:  # the shape rule of the op says what is wrong
            return None
        numbers_out = np.empty(spread[0].shape, object)
        for place in np.ndindex(*numbers_out.shape):
            numbers = [part[place] for part in spread]
            try:
                numbers_out[place] = None if None in numbers else function(*map(int, numbers))
            except ZeroDivisionError:
                return None
        return numbers_out

    return rule


def _over_all(function: Callable[[list[int]], int]) -> Callable[[Nodes, Node, int], Array | None]:
    """The rule of a reduction of a vector of integers: the number of elements of a shape, and the like."""

    def rule(nodes: Nodes, node: Node, depth: int) -> Array | None:
        value = _look(nodes, node.inputs[0], depth) if node.dtypes[0].is_integer else None
        axis = constant_value(nodes, node.inputs[1], depth)
        if value is None or axis is None or value.ndim != 1 or axis.size != 1 or not value.size:
            return None
        numbers = value.tolist()
        total = _boxed(None if None in numbers else function([int(number) for number in numbers]))
        return total.reshape(1) if node.attrs["keep_dims"] else total

    return rule


def _of_fill(nodes: Nodes, node: Node, depth: int) -> Array | None:
    sizes, value = constant_value(nodes, node.inputs[0], depth), _look(nodes, node.inputs[1], depth)
    if sizes is None or value is None or np.prod(sizes) > _LONGEST_RANGE:
        return None
    return np.full(sizes.tolist(), value.item(), value.dtype)


def _of_tile(nodes: Nodes, node: Node, depth: int) -> Array | None:
    value, times = _look(nodes, node.inputs[0], depth), constant_value(nodes, node.inputs[1], depth)
    if value is None or times is None or value.size * np.prod(times) > _LONGEST_RANGE:
        return None
    return np.tile(value, times.tolist())


_RULES: dict[str, Callable[[Nodes, Node, int], Array | None]] = {
    "Add": _each(operator.add),
    "AddV2": _each(operator.add),
    "Cast": _of_cast,
    "ConcatV2": _of_concat,
    "ExpandDims": _of_reshape,
    "Fill": _of_fill,
    "FloorDiv": _each(operator.floordiv),
    "FloorMod": _each(operator.mod),
    "Gather": _of_gather,
    "GatherV2": _of_gather,
    "Identity": _of_identity,
    "Max": _over_all(max),
    "Maximum": _each(max),
    "Min": _over_all(min),
    "Minimum": _each(min),
    "Mul": _each(operator.mul),
    "Neg": _each(operator.neg),
    "Pack": _of_pack,
    "Prod": _over_all(math.prod),
    "Range": _of_range,
    "Rank": _of_rank,
    "Reshape": _of_reshape,
    "Shape": _of_shape,
    "Size": _of_size,
    "Squeeze": _of_reshape,
    "StridedSlice": _of_strided_slice,
    "Sub": _each(operator.sub),
    "Sum": _over_all(sum),
    "Tile": _of_tile,
}


# ---- What a strided slice means, once for the shape rule, the kernels and constant values.


def python_index(begin: Any, end: Any, strides: Any, masks: Mapping[str, Any]) -> tuple[Any, ...]:
    """The numpy index of a StridedSlice with TensorFlow's bit masks: one entry per position of `begin`.

    Bit i of `begin_mask`/`end_mask` leaves that bound open, of `ellipsis_mask` stands for all dimensions between, of
    `new_axis_mask` adds a dimension of 1, of `shrink_axis_mask` takes the single element at `begin[i]`.
    """
    index: list[Any] = []
    for i in range(len(begin)):
        bit = 1 << i
        if masks["ellipsis_mask"] & bit:
            index.append(Ellipsis)
        elif masks["new_axis_mask"] & bit:
            index.append(None)
        elif masks["shrink_axis_mask"] & bit:
            index.append(int(begin[i]))
        else:
            first = None if masks["begin_mask"] & bit else int(begin[i])
            last = None if masks["end_mask"] & bit else int(end[i])
            index.append(slice(first, last, int(strides[i])))
    return tuple(index)
