"""Rules of shapes, joins, slices, gathers, constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype
from actorflow.errors import UnimplementedError
from actorflow.exchange.onnx.exporter.block import ExportedBlock, rank_of, required, rule, static
from actorflow.exchange.onnx.types import code_of
from actorflow.graph.tensor import Operation, Tensor

INT64 = as_dtype("int64")


@rule("Const")
def const(block: ExportedBlock, op: Operation) -> str:
    return block.constant(op.attrs["value"], name=op.name)


@rule("Cast")
def cast(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Cast", *block.inputs(op), to=code_of(op.outputs[0].dtype)))


@rule("Reshape")
def reshape(block: ExportedBlock, op: Operation) -> str:
    """A size of 0 does not mean a copied size as in ONNX: it means an empty dimension."""
    sizes = static(op.inputs[1])
    zero = sizes is None or bool(np.any(np.asarray(sizes) == 0))
    return str(block.node("Reshape", block.get(op.inputs[0]), block.whole(op.inputs[1]), allowzero=1 if zero else None))


@rule("Transpose")
def transpose(block: ExportedBlock, op: Operation) -> str:
    order = required(op.inputs[1], "The order of a transpose")
    return str(block.node("Transpose", block.get(op.inputs[0]), perm=[axis % len(order) for axis in order]))


def moved(block: ExportedBlock, value: str, order: list[int]) -> str:
    """A value with its dimensions in another order."""
    return value if order == sorted(order) else str(block.node("Transpose", value, perm=order))


def axes(block: ExportedBlock, *values: Any) -> str:
    """A vector of axes."""
    return block.constant(np.array(values, np.int64))


@rule("ExpandDims")
def expand_dims(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Unsqueeze", block.get(op.inputs[0]), axes(block, *required(op.inputs[1], "An axis"))))


@rule("Squeeze")
def squeeze(block: ExportedBlock, op: Operation) -> str:
    places = list(op.attrs.get("squeeze_dims") or op.attrs.get("axis") or ())
    operands = [axes(block, *places)] if places else []
    return str(block.node("Squeeze", *block.inputs(op), *operands))


@rule("ConcatV2")
def concat(block: ExportedBlock, op: Operation) -> str:
    *parts, last = op.inputs
    return str(block.node("Concat", *map(block.get, parts), axis=required(last, "The axis of a join")[0]))


@rule("Pack")
def pack(block: ExportedBlock, op: Operation) -> str:
    axis = op.attrs["axis"]
    parts = [block.node("Unsqueeze", value, axes(block, axis)) for value in block.inputs(op)]
    return str(block.node("Concat", *parts, axis=axis))


@rule("Unpack")
def unpack(block: ExportedBlock, op: Operation) -> list[str]:
    axis, count = op.attrs["axis"], len(op.outputs)
    if not count:
        return []
    sizes = block.constant(np.ones(count, np.int64))
    parts = block.node("Split", *block.inputs(op), sizes, axis=axis, count=count)
    return [block.node("Squeeze", part, axes(block, axis)) for part in parts]


@rule("Split")
def split(block: ExportedBlock, op: Operation) -> list[str]:
    source, axis = op.inputs
    (place,) = required(axis, "The axis of a split")
    outputs: list[str] = block.node(
        "Split", block.get(source), axis=place, num_outputs=len(op.outputs), count=len(op.outputs)
    )
    return outputs


@rule("SplitV")
def split_v(block: ExportedBlock, op: Operation) -> list[str]:
    source, sizes, axis = op.inputs
    lengths = required(sizes, "The sizes of a split")
    (place,) = required(axis, "The axis of a split")
    if -1 in lengths:
        whole = (source.static_shape or ())[place] if source.static_shape else None
        if whole is None:
            raise UnimplementedError("The size of what is split is not known.")
        lengths[lengths.index(-1)] = whole - sum(lengths) - 1
    outputs: list[str] = block.node(
        "Split", block.get(source), block.constant(np.array(lengths, np.int64)), axis=place, count=len(lengths)
    )
    return outputs


@rule("Slice")
def slice_(block: ExportedBlock, op: Operation) -> str:
    """A size of -1 means all that is behind the begin."""
    source, begin, size = op.inputs
    start, length = block.whole(begin), static(size)
    if length is None:
        far = block.constant(np.int64(np.iinfo(np.int64).max))
        sizes = block.whole(size)
        whole = block.node("Less", sizes, block.constant(np.int64(0)))
        end = block.node("Where", whole, far, block.node("Add", start, sizes))
    else:
        first = static(begin)
        rest = np.asarray(length, np.int64) < 0
        if first is not None:
            end = block.constant(np.where(rest, np.iinfo(np.int64).max, np.asarray(first, np.int64) + length))
        elif rest.any():
            raise UnimplementedError("A slice to the end has a begin that only a run knows.")
        else:
            end = block.node("Add", start, block.constant(np.asarray(length, np.int64)))
    return str(block.node("Slice", block.get(source), start, end))


@rule("StridedSlice")
def strided_slice(block: ExportedBlock, op: Operation) -> str:
    """Dimension by dimension of the index: a place, a range, a new dimension, or all that are between."""
    source, begin, end, strides = op.inputs
    steps = required(strides, "A step")
    masks = {name: int(op.attrs[f"{name}_mask"]) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    rank, used = rank_of(source), 0
    for at in range(len(steps)):
        if not (masks["new_axis"] >> at & 1 or masks["ellipsis"] >> at & 1):
            used += 1
    bounds: dict[str, list[Any]] = {"starts": [], "ends": []}
    places, hops, gone, new, axis = [], [], [], [], 0
    result = 0
    for at, step in enumerate(steps):
        if masks["ellipsis"] >> at & 1:
            axis += rank - used
            result += rank - used
        elif masks["new_axis"] >> at & 1:
            new.append(result)
            result += 1
        else:
            place = bool(masks["shrink_axis"] >> at & 1)
            first = None if masks["begin"] >> at & 1 and not place else _number(block, begin, at)
            last = None if masks["end"] >> at & 1 or place else _number(block, end, at)
            if place or first is not None or last is not None or step != 1:
                far = np.iinfo(np.int64).max
                bounds["starts"].append((0 if step > 0 else far) if first is None else first)
                if place:
                    last = _behind(block, first)
                bounds["ends"].append((far if step > 0 else -far) if last is None else last)
                places.append(axis)
                hops.append(1 if place else step)
            if place:
                gone.append(axis)
            else:
                result += 1
            axis += 1
    current = block.get(source)
    if places:
        starts, ends = (_vector(block, values) for values in bounds.values())
        current = block.node("Slice", current, starts, ends, axes(block, *places), axes(block, *hops))
    if gone:
        current = block.node("Squeeze", current, axes(block, *gone))
    return str(block.node("Unsqueeze", current, axes(block, *new)) if new else current)


def _number(block: ExportedBlock, vector: Tensor, at: int) -> Any:
    """An element of a vector: a number if known, else the name of a vector with one element."""
    constant = static(vector)
    if constant is not None:
        return int(constant[at])
    return block.node("Slice", block.whole(vector), axes(block, at), axes(block, at + 1), axes(block, 0))


def _behind(block: ExportedBlock, first: Any) -> Any:
    """The end of a range that has one element. Behind -1 is the end."""
    if isinstance(first, int):
        return first + 1 if first != -1 else np.iinfo(np.int64).max
    after = block.node("Add", first, axes(block, 1))
    return block.node("Where", block.node("Equal", after, axes(block, 0)), axes(block, np.iinfo(np.int64).max), after)


def _vector(block: ExportedBlock, values: list[Any]) -> str:
    if all(isinstance(value, (int, np.integer)) for value in values):
        return axes(block, *values)
    parts = [axes(block, value) if isinstance(value, (int, np.integer)) else value for value in values]
    return str(block.node("Concat", *parts, axis=0)) if len(parts) > 1 else parts[0]


@rule("Gather", "GatherV2")
def gather(block: ExportedBlock, op: Operation) -> str:
    axis = required(op.inputs[2], "The axis of a gather")[0] if len(op.inputs) > 2 else 0
    batch = op.attrs.get("batch_dims", 0)
    if not batch:
        return str(block.node("Gather", block.get(op.inputs[0]), block.get(op.inputs[1]), axis=axis))
    if axis not in (batch, batch - rank_of(op.inputs[0])):
        raise UnimplementedError("A gather in batches has another axis than that behind the batch.")
    indices = block.node("Unsqueeze", block.whole(op.inputs[1]), axes(block, -1))
    return str(block.node("GatherND", block.get(op.inputs[0]), indices, batch_dims=batch))


@rule("GatherNd")
def gather_nd(block: ExportedBlock, op: Operation) -> str:
    return str(
        block.node(
            "GatherND", block.get(op.inputs[0]), block.whole(op.inputs[1]), batch_dims=op.attrs.get("batch_dims", 0)
        )
    )


_SCATTERS = {
    "TensorScatterUpdate": None,
    "TensorScatterAdd": "add",
    "TensorScatterMax": "max",
    "TensorScatterMin": "min",
}


@rule(*_SCATTERS)
def scatter(block: ExportedBlock, op: Operation) -> str:
    x, indices, updates = op.inputs
    return str(
        block.node("ScatterND", block.get(x), block.whole(indices), block.get(updates), reduction=_SCATTERS[op.type])
    )


@rule("ScatterNd")
def scatter_nd(block: ExportedBlock, op: Operation) -> str:
    indices, updates, sizes = op.inputs
    if not (op.outputs[0].dtype.is_floating or op.outputs[0].dtype.is_integer):
        raise UnimplementedError("ONNX adds up numbers alone.")
    zero = np.zeros(1, op.outputs[0].dtype.numpy_dtype)
    empty = block.node("ConstantOfShape", block.whole(sizes), value=zero)
    return str(block.node("ScatterND", empty, block.whole(indices), block.get(updates), reduction="add"))


@rule("Pad", "PadV2")
def pad(block: ExportedBlock, op: Operation) -> str:
    padding = [block.get(op.inputs[2])] if op.type == "PadV2" else []
    return str(block.node("Pad", block.get(op.inputs[0]), _widths(block, op.inputs[1]), *padding))


def _widths(block: ExportedBlock, pairs: Tensor) -> str:
    """All widths in front, then all behind."""
    constant = static(pairs)
    if constant is not None:
        return block.constant(np.asarray(constant, np.int64).T.reshape(-1))
    turned = block.node("Transpose", block.whole(pairs), perm=[1, 0])
    return str(block.node("Reshape", turned, axes(block, -1)))


@rule("MirrorPad")
def mirror_pad(block: ExportedBlock, op: Operation) -> str:
    if op.attrs["mode"] != "REFLECT":
        raise UnimplementedError("ONNX mirrors without the border alone: mode 'REFLECT'.")
    return str(block.node("Pad", block.get(op.inputs[0]), _widths(block, op.inputs[1]), mode="reflect"))


@rule("Tile", "BroadcastTo")
def tile(block: ExportedBlock, op: Operation) -> str:
    kind = "Tile" if op.type == "Tile" else "Expand"
    return str(block.node(kind, block.get(op.inputs[0]), block.whole(op.inputs[1])))


@rule("Fill")
def fill(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Expand", block.get(op.inputs[1]), block.whole(op.inputs[0])))


@rule("ZerosLike", "OnesLike")
def like(block: ExportedBlock, op: Operation) -> str:
    value = np.full(1, op.type == "OnesLike").astype(op.outputs[0].dtype.numpy_dtype)
    return str(block.node("ConstantOfShape", block.node("Shape", *block.inputs(op)), value=value))


@rule("Range")
def range_(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Range", *block.inputs(op)))


def _in_type(block: ExportedBlock, op: Operation, value: str) -> str:
    return block.cast(value, INT64, op.outputs[0].dtype)


@rule("Shape")
def shape(block: ExportedBlock, op: Operation) -> str:
    return _in_type(block, op, block.node("Shape", *block.inputs(op)))


@rule("ShapeN")
def shapes(block: ExportedBlock, op: Operation) -> list[str]:
    return [_in_type(block, op, block.node("Shape", value)) for value in block.inputs(op)]


@rule("Size")
def size(block: ExportedBlock, op: Operation) -> str:
    return _in_type(block, op, block.node("Size", *block.inputs(op)))


@rule("Rank")
def rank(block: ExportedBlock, op: Operation) -> str:
    return block.constant(np.int32(rank_of(op.inputs[0])))


@rule("OneHot")
def one_hot(block: ExportedBlock, op: Operation) -> str:
    """ONNX counts negative places from the end. Here they are no places, so they become a place beyond the depth."""
    indices, depth, on, off = op.inputs
    places, deep = block.whole(indices), block.whole(depth)
    inside = block.node("Where", block.node("Less", places, block.constant(np.int64(0))), deep, places)
    values = [block.node("Unsqueeze", block.get(value), axes(block, 0)) for value in (off, on)]
    return str(block.node("OneHot", inside, deep, block.node("Concat", *values, axis=0), axis=op.attrs["axis"]))


@rule("ReverseV2")
def reverse(block: ExportedBlock, op: Operation) -> str:
    places = required(op.inputs[1], "An axis")
    if not places:
        return str(block.node("Identity", block.get(op.inputs[0])))
    least = np.iinfo(np.int64).min + 1
    return str(
        block.node(
            "Slice", block.get(op.inputs[0]), axes(block, *[-1] * len(places)), axes(block, *[least] * len(places)),
            axes(block, *places), axes(block, *[-1] * len(places)),
        )
    )  # fmt: skip


@rule("ReverseSequence")
def reverse_sequence(block: ExportedBlock, op: Operation) -> str:
    time, batch = op.attrs["seq_dim"], op.attrs["batch_dim"]
    if sorted((time, batch)) != [0, 1]:
        raise UnimplementedError("ONNX reverses sequences along dimensions 0 and 1 alone.")
    return str(
        block.node(
            "ReverseSequence", block.get(op.inputs[0]), block.whole(op.inputs[1]), time_axis=time, batch_axis=batch
        )
    )


@rule("TopKV2")
def top_k(block: ExportedBlock, op: Operation) -> list[str]:
    count = block.node("Reshape", block.whole(op.inputs[1]), axes(block, 1))
    values, places = block.node("TopK", block.get(op.inputs[0]), count, axis=-1, sorted=1, count=2)
    return [values, block.cast(places, INT64, op.outputs[1].dtype)]


@rule("Where")
def where(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Transpose", block.node("NonZero", *block.inputs(op)), perm=[1, 0]))


@rule("MatrixBandPart")
def band(block: ExportedBlock, op: Operation) -> str:
    """The lower triangle, then its upper triangle. A negative number keeps all of a side."""
    (lower,), (upper,) = (required(value, "The width of a band") for value in op.inputs[1:])
    current = block.get(op.inputs[0])
    if lower >= 0:
        current = block.node("Trilu", current, block.constant(np.int64(-lower)), upper=1)
    if upper >= 0:
        current = block.node("Trilu", current, block.constant(np.int64(upper)), upper=0)
    return str(block.node("Identity", current))
