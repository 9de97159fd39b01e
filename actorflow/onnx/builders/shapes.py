"""Shapes and types: casts, reshapes, joins, slices, padding, constants."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow import dtypes as dt
from actorflow.errors import InvalidArgumentError
from actorflow.onnx.builders.common import known, number, positive, rank_of, shaped, size_of, sizes_of, vector
from actorflow.onnx.importer import dense
from actorflow.onnx.nodes import Node, onnx_op, raw
from actorflow.onnx.types import dtype_of as element_type
from actorflow.onnx.values import Listed, NotKnownError, Optional_, dtype_of, ints, shape_of


@onnx_op("Identity")
def identity(node: Node, x: Any) -> Any:
    return x if isinstance(x, (Listed, Optional_, np.ndarray)) else af.identity(x)


@onnx_op("Constant")
def constant(node: Node) -> Any:
    attrs = node.attrs
    if "value" in attrs:
        return attrs["value"]
    if "sparse_value" in attrs:
        return dense(attrs["sparse_value"], node.scope.file.folder)
    for name, kind in (
        ("value_int", np.int64),
        ("value_ints", np.int64),
        ("value_float", np.float32),
        ("value_floats", np.float32),
    ):
        if name in attrs:
            return np.asarray(attrs[name], kind)
    if "value_string" in attrs:
        return np.array(raw(attrs["value_string"]), object)
    words = np.empty(len(node.required("value_strings")), object)
    words[:] = [raw(word) for word in attrs["value_strings"]]
    return words


@onnx_op("ConstantOfShape", enlarging=True)
def constant_of_shape(node: Node, sizes: Any) -> Any:
    value = node.attr("value", np.zeros(1, np.float32))
    return af.fill(sizes, value.reshape(-1)[0])


@onnx_op("EyeLike", enlarging=True)
def eye_like(node: Node, x: Any) -> Any:
    kind = element_type(node.attrs["dtype"]) if "dtype" in node.attrs else dtype_of(x)
    size = af.shape(x, out_type=af.int64)
    diagonal = af.expand_dims(af.range_(size[0]), 1) + np.int64(node.attr("k", 0))
    return af.cast(af.equal(diagonal, af.range_(size[1])), kind)


@onnx_op("Cast")
def cast(node: Node, x: Any) -> Any:
    target = element_type(node.required("to"), "to")
    return converted(x, target, bool(node.attr("saturate", 1)), node.attr("round_mode", "up"))


@onnx_op("CastLike")
def cast_like(node: Node, x: Any, like: Any) -> Any:
    return converted(x, dtype_of(like), bool(node.attr("saturate", 1)), node.attr("round_mode", "up"))


def converted(x: Any, target: Any, saturate: bool = True, round_mode: str = "up") -> Any:
    """A cast by ONNX's rules: numbers as text and back; a float8 keeps to its range, unless `saturate` is False."""
    source = dtype_of(x)
    if target is source:
        return af.identity(x)
    if target is af.string:
        return _as_text(x)
    if source is af.string:
        wide = target if target in (af.float32, af.float64, af.int32, af.int64) else af.float32
        return converted(af.strings.to_number(x, wide), target)
    if target.name == "float8_e8m0fnu" and source.name != target.name:
        return _powers_of_two(x, saturate, round_mode)
    if target in dt.NARROW:
        wide = af.cast(x, af.float32) if source not in (af.float32, af.float64) else x
        low, high = (number(bound, wide) for bound in (float(target.min), float(target.max)))
        if target.is_integer:
            return af.cast(_wrapped(wide, target), target)
        if target.name.startswith("float8"):
            if saturate:
                wide = af.where_v2(af.is_nan(wide), wide, af.minimum(af.maximum(wide, low), high))
        return af.cast(wide, target)
    if source in dt.NARROW and target not in (af.float32, af.float64):
        return converted(af.cast(x, af.float32), target)
    return af.cast(x, target)


def _wrapped(x: Any, target: Any) -> Any:
    """Whole numbers of a few bits: as a C cast, by the lowest bits."""
    size = int(target.max) - int(target.min) + 1
    return af.floormod(af.cast(x, af.int64) - int(target.min), np.int64(size)) + int(target.min)


def _powers_of_two(x: Any, saturate: bool, round_mode: str) -> Any:
    kind = af.float8_e8m0fnu
    x = af.cast(x, af.float32)
    bits = af.bitcast(x, af.int32)
    exponent = af.bitwise_and(af.right_shift(bits, np.int32(23)), np.int32(255))
    rest = af.bitwise_and(bits, np.int32((1 << 23) - 1))
    if round_mode == "up":
        more = rest > 0
    elif round_mode == "nearest":
        more = rest >= (1 << 22)
    else:
        more = rest < 0
    finite = exponent < 255
    more = af.logical_and(more, finite)
    if saturate:
        more = af.logical_and(more, exponent < 254)
    made = exponent + af.cast(more, af.int32)
    if saturate:
        infinite = af.is_inf(x)
        made = af.where_v2(infinite, np.int32(254), made)
    return af.bitcast(af.cast(made, af.uint8), kind)


def _as_text(x: Any) -> Any:
    kind = dtype_of(x)
    if kind.is_bool:
        return af.where_v2(x, np.array(b"True", object), np.array(b"False", object))
    if kind.is_floating:
        return af.as_string(af.cast(x, af.float32) if kind.size < 4 else x, shortest=True)
    return af.as_string(x)


@onnx_op("BitCast")
def bit_cast(node: Node, x: Any) -> Any:
    return af.bitcast(x, element_type(node.required("to"), "to"))


@onnx_op("Shape")
def shape(node: Node, x: Any) -> Any:
    start, end = node.attr("start", 0), node.attr("end")
    found = shape_of(x)
    if found is not None and None not in found[start:end]:
        return np.array(found[start:end], np.int64)
    return af.shape(x, out_type=af.int64)[start:end]


@onnx_op("Size")
def size(node: Node, x: Any) -> Any:
    return af.size(x, out_type=af.int64)


@onnx_op("Reshape")
def reshape(node: Node, x: Any, sizes: Any) -> Any:
    wanted = ints(sizes)
    if node.attr("allowzero", 0):
        return af.reshape(x, sizes)
    if wanted is not None:
        return shaped(x, [size_of(x, at) if size == 0 else size for at, size in enumerate(wanted)])
    if shape_of(sizes) is not None and (length := shape_of(sizes)[0]) is not None:  # type: ignore[index]
        own = af.shape(x, out_type=af.int64)[:length]
        own = af.pad(own, [[0, af.cast(length - af.size(own), af.int32)]])
        return af.reshape(x, af.where_v2(af.equal(sizes, np.int64(0)), own, sizes))
    return af.reshape(x, sizes)


@onnx_op("Flatten")
def flatten(node: Node, x: Any) -> Any:
    rank = rank_of(x)
    axis = node.attr("axis", 1)
    axis = axis + rank if axis < 0 else axis
    sizes: Any = shape_of(x) or ()
    if None not in sizes[:axis]:
        return shaped(
            x, [int(np.prod(sizes[:axis], dtype=np.int64)), -1 if 0 not in sizes else int(np.prod(sizes[axis:]))]
        )
    if None not in sizes[axis:]:
        return shaped(x, [-1, int(np.prod(sizes[axis:], dtype=np.int64))])
    return shaped(x, [af.reduce_prod(af.shape(x, out_type=af.int64)[:axis]), -1])


@onnx_op("Squeeze")
def squeeze(node: Node, x: Any, axes: Any = None) -> Any:
    found = None if axes is None else known(axes, "axes of Squeeze")
    return af.squeeze(x, found) if found is None or found else af.identity(x)


@onnx_op("Unsqueeze")
def unsqueeze(node: Node, x: Any, axes: Any) -> Any:
    places = known(axes, "axes of Unsqueeze")
    rank = rank_of(x) + len(places)
    for axis in sorted(positive(place, rank) for place in places):
        x = af.expand_dims(x, axis)
    return x


@onnx_op("Transpose")
def transpose(node: Node, x: Any) -> Any:
    """Of a transpose, which may be one between layouts, one transpose, or what that is of."""
    perm = node.attr("perm")
    if perm is not None and isinstance(x, af.Tensor) and x.op.type == "Transpose":
        before = ints(x.op.inputs[1])
        if before is not None and len(before) == len(perm):
            x, perm = x.op.inputs[0], [before[axis] for axis in perm]
            if perm == list(range(len(perm))):
                return x
    return af.transpose(x, perm)


@onnx_op("Concat")
def concat(node: Node, *values: Any) -> Any:
    return af.concat(list(values), node.required("axis")) if len(values) > 1 else af.identity(values[0])


@onnx_op("Split")
def split(node: Node, x: Any, sizes: Any = None) -> Any:
    axis = positive(node.attr("axis", 0), rank_of(x))
    if sizes is not None:
        return af.split(x, known(sizes, "the sizes of Split"), axis=axis)
    count = node.attr("num_outputs", len(node.outputs))
    whole = size_of(x, axis)
    if not isinstance(whole, int):
        return af.split(x, count, axis=axis)
    each = -(-whole // count)
    return af.split(x, [min(each, max(whole - each * at, 0)) for at in range(count)], axis=axis)


@onnx_op("Slice")
def slice_(node: Node, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    rank = rank_of(x)
    first, last = ints(starts), ints(ends)
    count = len(first or last or ()) or (shape_of(starts) or (None,))[0]
    places = list(range(count or 0)) if axes is None else known(axes, "axes of Slice")
    places = [positive(axis, rank) for axis in places]
    strides = [1] * len(places) if steps is None else known(steps, "steps of Slice")
    index: list[Any] = [slice(None)] * rank
    for at, (axis, stride) in enumerate(zip(places, strides)):
        if stride == 0:
            raise InvalidArgumentError("A step of Slice is 0.")
        index[axis] = slice(
            _bound(None if first is None else first[at], starts, at),
            _bound(None if last is None else last[at], ends, at, stride),
            stride,
        )
    if isinstance(x, np.ndarray):
        x = af.constant(x)
    return x[tuple(index)]


def _bound(value: int | None, vector: Any, at: int, stride: int = 1) -> Any:
    """A bound of a slice. Those far outside stand for the end, and are kept in the range of int32 and int64."""
    if value is None:
        return af.clip_by_value(af.cast(vector[at], af.int64), -(2**31) + 1, 2**31 - 1)
    if stride < 0 and value < -(2**30):
        return None
    return max(min(value, 2**31 - 1), -(2**31) + 1)


@onnx_op("Pad", enlarging=True)
def pad(node: Node, x: Any, pads: Any, value: Any = None, axes: Any = None) -> Any:
    rank = rank_of(x)
    places = list(range(rank)) if axes is None else [positive(axis, rank) for axis in known(axes, "axes of Pad")]
    widths = ints(pads)
    mode = node.attr("mode", "constant")
    if widths is None:
        pairs = af.transpose(af.reshape(pads, [2, -1]))
        if places != list(range(rank)):
            pairs = af.scatter_nd(np.array(places)[:, None], pairs, [rank, 2])
        if mode in ("constant", "reflect"):
            fill = number(0, x) if value is None else af.reshape(value, [])
            return af.pad(x, pairs, mode.upper(), constant_values=fill)
        raise NotKnownError(f"The widths of a Pad in mode {mode} have to be known while the graph is built.")
    each = [(0, 0)] * rank
    for at, axis in enumerate(places):
        each[axis] = (widths[at], widths[at + len(places)])
    if any(width < 0 for pair in each for width in pair):
        cut = tuple(slice(max(-a, 0), min(b, 0) or None) for a, b in each)
        x = (af.constant(x) if isinstance(x, np.ndarray) else x)[cut]
        each = [(max(a, 0), max(b, 0)) for a, b in each]
    if mode == "constant":
        fill = number(0, x) if value is None else af.reshape(value, [])
        return af.pad(x, np.array(each, np.int64).reshape(-1, 2), constant_values=fill)
    for axis, (before, after) in enumerate(each):
        if before or after:
            x = af.gather(x, _outside(af.range_(-before, size_of(x, axis) + after), size_of(x, axis), mode), axis=axis)
    return x


def _outside(places: Any, size: Any, mode: str) -> Any:
    """The elements that stand at places outside of a dimension."""
    if mode == "wrap":
        return af.floormod(places, size)
    if mode == "edge":
        return af.minimum(af.maximum(places, 0), size - 1)
    period = af.maximum(2 * (size - 1), 1)
    inside = af.floormod(places, period)
    return af.minimum(inside, period - inside) if isinstance(size, int) and size > 1 else inside * 0


@onnx_op("Expand", enlarging=True)
def expand(node: Node, x: Any, sizes: Any) -> Any:
    wanted, own = ints(sizes), shape_of(x)
    if wanted is not None and own is not None and None not in own:
        return af.broadcast_to(x, vector(np.broadcast_shapes(tuple(wanted), own)))  # type: ignore[arg-type]
    return af.broadcast_to(x, af.broadcast_dynamic_shape(sizes_of(x), sizes))


@onnx_op("Tile", enlarging=True)
def tile(node: Node, x: Any, repeats: Any) -> Any:
    return af.tile(x, repeats)


@onnx_op("CenterCropPad", enlarging=True)
def center_crop_pad(node: Node, x: Any, sizes: Any) -> Any:
    rank = rank_of(x)
    places = [positive(axis, rank) for axis in node.attr("axes", range(rank))]
    pads = np.zeros([rank, 2], np.int64)
    index: list[Any] = [slice(None)] * rank
    for axis, wanted in zip(places, known(sizes, "the sizes of CenterCropPad")):
        (size,) = known(vector([size_of(x, axis)]), "the size of what CenterCropPad cuts")
        if size >= wanted:
            index[axis] = slice((size - wanted) // 2, (size - wanted) // 2 + wanted)
        else:
            pads[axis] = (wanted - size) // 2, wanted - size - (wanted - size) // 2
    source = af.constant(x) if isinstance(x, np.ndarray) else x
    return af.pad(source[tuple(index)], pads, constant_values=number(0, x))


@onnx_op("SpaceToDepth", "DepthToSpace")
def blocks(node: Node, x: Any) -> Any:
    size = node.required("blocksize")
    batch, channels, height, width = (size_of(x, axis) for axis in range(4))
    if node.op == "SpaceToDepth":
        parts = shaped(x, [batch, channels, height // size, size, width // size, size])
        parts = af.transpose(parts, [0, 3, 5, 1, 2, 4] if node.attr("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4])
        return shaped(parts, [batch, channels * size * size, height // size, width // size])
    inner = channels // (size * size)
    if node.attr("mode", "DCR") == "DCR":
        parts = af.transpose(shaped(x, [batch, size, size, inner, height, width]), [0, 3, 4, 1, 5, 2])
    else:
        parts = af.transpose(shaped(x, [batch, inner, size, size, height, width]), [0, 1, 4, 2, 5, 3])
    return shaped(parts, [batch, inner, height * size, width * size])
