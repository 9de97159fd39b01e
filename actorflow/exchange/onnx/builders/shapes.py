"""Shapes and types: casts, reshapes, joins, constants."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.base import dtypes as dt
from actorflow.exchange.onnx.builders.common import number, rank_of, shaped, size_of, sizes_of, vector
from actorflow.exchange.onnx.importer import dense
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op, raw
from actorflow.exchange.onnx.types import dtype_of as element_type
from actorflow.exchange.onnx.values import Listed, Mapped, Optional_, dtype_of, ints, shape_of


@onnx_op("Identity")
def identity(node: OnnxNode, x: Any) -> Any:
    return x if isinstance(x, (Listed, Mapped, Optional_, np.ndarray)) else af.identity(x)


@onnx_op("Constant")
def constant(node: OnnxNode) -> Any:
    attrs = node.attrs
    if "value" in attrs:
        return attrs["value"]
    if "sparse_value" in attrs:
        return dense(attrs["sparse_value"], node.scope.file)
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
def constant_of_shape(node: OnnxNode, sizes: Any) -> Any:
    value = node.attr("value", np.zeros(1, np.float32))
    return af.fill(sizes, value.reshape(-1)[0])


@onnx_op("EyeLike", enlarging=True)
def eye_like(node: OnnxNode, x: Any) -> Any:
    kind = element_type(node.attrs["dtype"]) if "dtype" in node.attrs else dtype_of(x)
    size = af.shape(x, out_type=af.int64)
    diagonal = af.expand_dims(af.range_(size[0]), 1) + np.int64(node.attr("k", 0))
    return af.cast(af.equal(diagonal, af.range_(size[1])), kind)


@onnx_op("Cast")
def cast(node: OnnxNode, x: Any) -> Any:
    target = element_type(node.required("to"), "to")
    return converted(x, target, bool(node.attr("saturate", 1)), node.attr("round_mode", "up"))


@onnx_op("CastLike")
def cast_like(node: OnnxNode, x: Any, like: Any) -> Any:
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
    biased = exponent + af.cast(more, af.int32)
    if saturate:
        infinite = af.is_inf(x)
        biased = af.where_v2(infinite, np.int32(254), biased)
    return af.bitcast(af.cast(biased, af.uint8), kind)


def _as_text(x: Any) -> Any:
    kind = dtype_of(x)
    if kind.is_bool:
        return af.where_v2(x, np.array(b"True", object), np.array(b"False", object))
    if kind.is_floating:
        return af.as_string(af.cast(x, af.float32) if kind.size < 4 else x, shortest=True)
    return af.as_string(x)


@onnx_op("BitCast")
def bit_cast(node: OnnxNode, x: Any) -> Any:
    return af.bitcast(x, element_type(node.required("to"), "to"))


@onnx_op("Shape")
def shape(node: OnnxNode, x: Any) -> Any:
    start, end = node.attr("start", 0), node.attr("end")
    dims = shape_of(x)
    if dims is not None and None not in dims[start:end]:
        return np.array(dims[start:end], np.int64)
    return af.shape(x, out_type=af.int64)[start:end]


@onnx_op("Size")
def size(node: OnnxNode, x: Any) -> Any:
    return af.size(x, out_type=af.int64)


@onnx_op("Reshape")
def reshape(node: OnnxNode, x: Any, sizes: Any) -> Any:
    targets = ints(sizes)
    if node.attr("allowzero", 0):
        return af.reshape(x, sizes)
    if targets is not None:
        return shaped(x, [size_of(x, at) if size == 0 else size for at, size in enumerate(targets)])
    (length,) = shape_of(sizes) or (None,)
    own = af.concat([af.shape(x, out_type=af.int64), af.zeros_like(sizes)], 0)
    own = own[: af.size(sizes) if length is None else length]
    return af.reshape(x, af.where_v2(af.equal(sizes, np.int64(0)), own, sizes))


@onnx_op("Flatten")
def flatten(node: OnnxNode, x: Any) -> Any:
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


@onnx_op("Transpose")
def transpose(node: OnnxNode, x: Any) -> Any:
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
def concat(node: OnnxNode, *values: Any) -> Any:
    return af.concat(list(values), node.required("axis")) if len(values) > 1 else af.identity(values[0])


@onnx_op("Expand", enlarging=True)
def expand(node: OnnxNode, x: Any, sizes: Any) -> Any:
    target, own = ints(sizes), shape_of(x)
    if target is not None and own is not None and None not in own:
        return af.broadcast_to(x, vector(np.broadcast_shapes(tuple(target), own)))  # type: ignore[arg-type]
    return af.broadcast_to(x, af.broadcast_dynamic_shape(sizes_of(x), sizes))


@onnx_op("Tile", enlarging=True)
def tile(node: OnnxNode, x: Any, repeats: Any) -> Any:
    return af.tile(x, repeats)


@onnx_op("SpaceToDepth", "DepthToSpace")
def blocks(node: OnnxNode, x: Any) -> Any:
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
