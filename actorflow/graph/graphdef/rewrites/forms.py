"""Nodes of TensorFlow's ops that actorflow has in another form: with inputs in place of attributes, or as several nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype, int32, resource, variant
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.graph.graphdef.rewrites.attributes import Attributes, Form, constant_of
from actorflow.graph.graphdef.rewrites.gradient_forms import GRADIENT_FORMS
from actorflow.graph.ops.array import constant, gather, join, pad_tile, shape, sort, space_batch, unique
from actorflow.graph.ops.flow import lists
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.image import adjust, boxes
from actorflow.graph.ops.io import queues
from actorflow.graph.ops.linalg import bands
from actorflow.graph.ops.lookup import tables
from actorflow.graph.ops.math import arithmetic, cast, clip, elementwise, logic, matmul, reduction, segment
from actorflow.graph.ops.nn import activation
from actorflow.graph.ops.nn.pooling.functions import max_pool
from actorflow.graph.ops.random import gamma_poisson, stateless
from actorflow.graph.ops.strings import elementwise as strings
from actorflow.graph.tensor import Tensor


def _align(a: Attributes) -> str:
    """How short diagonals are filled up: the second version of these ops has no word for it."""
    return str(a("align", "RIGHT_LEFT")) if a.op.endswith("V3") else "LEFT_LEFT"


def _size(a: Attributes, tensor: Tensor) -> int:
    value = constant_of(tensor)
    if value is None:
        raise a.refuse("computes the size of its matrices")
    return int(value)


def _matrix_diag(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    diagonals, k, rows, columns, padding = t
    return bands.matrix_diag(
        diagonals, k=k, num_rows=_size(a, rows), num_cols=_size(a, columns), padding_value=padding, align=_align(a)
    )


def _matrix_diag_part(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    return bands.matrix_diag_part(t[0], k=t[1], padding_value=t[2], align=_align(a))


def _matrix_set_diag(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    return bands.matrix_set_diag(t[0], t[1], k=t[2], align=_align(a))


def _sharded_name(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    numbers = [strings.as_string(number, width=5, fill="0") for number in t[1:]]
    return strings.string_join([t[0], "-", numbers[0], "-of-", numbers[1]])


def _bucketize(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    bounds = constant.constant(np.asarray(a("boundaries", ()), np.float32))
    above = logic.greater_equal(cast.cast(shape.expand_dims(t[0], -1), "float32"), bounds)
    return reduction.reduce_sum(cast.cast(above, int32), -1)


def _einsum(a: Attributes, t: Sequence[Tensor]) -> Tensor | None:
    equation = a("equation")
    return matmul.einsum(equation, *t) if "..." in equation else None


def _euclidean_norm(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    squares = elementwise.square(elementwise.abs(t[0]))
    return elementwise.sqrt(reduction.reduce_sum(squares, t[1], keepdims=a("keep_dims", False)))


def _to_bool(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    rank = t[0].static_shape
    if t[0].dtype.kind == "S" or rank is None or rank:
        return logic.not_equal(shape.size(t[0]), 0)
    return cast.cast(t[0], bool_dtype)


def _sum_of_lists(a: Attributes, t: Sequence[Tensor]) -> Tensor | None:
    if t[0].dtype is not variant:
        return None
    total = t[0]
    for other in t[1:]:
        total = lists.add_lists(total, other)
    return total


def _handles(a: Attributes, t: Sequence[Tensor]) -> list[Tensor] | None:
    return list(t) if t[0].dtype is resource else None


def _chosen_queue(a: Attributes, t: Sequence[Tensor]) -> Tensor | None:
    """One of several queues, which TensorFlow packs to choose among them."""
    if t[0].dtype is not resource:
        return None
    several = t[0].op.inputs
    chosen = several[0]
    for position, handle in enumerate(several):
        chosen = queues.select_queue(chosen, handle, t[1], position=position, count=len(several))
    return chosen


def _optional(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    """Values that may be there or not, as a list."""
    elements = lists.empty_list()
    for value in t:
        elements = lists.push_back(elements, value)
    return elements


def _optional_values(a: Attributes, t: Sequence[Tensor]) -> list[Tensor]:
    left, values = t[0], []
    for dtype in reversed(a("output_types")):
        left, value = lists.pop_back(left, element_dtype=dtype)
        values.append(value)
    return values[::-1]


def _scatter_into(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    handle, rows, indices = t
    return lists.scatter_list(handle, indices, rows, grows=True)


def _scatter_list(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    count = t[3] if len(t) > 3 else constant.constant(0, int32)
    return lists.scatter_list(lists.reserve(arithmetic.maximum(count, 0)), t[1], t[0], grows=True)


def _concat_list(a: Attributes, t: Sequence[Tensor]) -> list[Tensor]:
    dtype, sizes = as_dtype(a("element_dtype")), a("element_shape")
    if len(t) > 1 and (value := constant_of(t[1])) is not None and value.ndim:
        sizes = tuple(None if size < 0 else int(size) for size in value)
    return [
        lists.concat_list(t[0], element_dtype=dtype, element_shape=sizes),
        lists.lengths_of(t[0], element_dtype=dtype),
    ]


def _nothing(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    """The output of a branch that has none: its value is of no use."""
    if as_dtype(a("dtype")) is variant:
        return lists.empty_list()
    return constant.zeros([size or 0 for size in a("shape") or ()], a("dtype"))


def _random(draw: Callable[..., Tensor]) -> Form:
    """Numbers of a key, which stands for the seed that it was made of."""
    return lambda a, t: draw(t[0], t[1], dtype=a("dtype", "float32"))


def _unique(a: Attributes, t: Sequence[Tensor]) -> list[Tensor] | None:
    """Unique values along an axis, if it is the only axis."""
    axis, rank = constant_of(t[1]), t[0].static_shape
    if axis is None or rank is None or len(rank) != 1 or np.any(axis):
        return None
    values, places, counts = unique.unique_with_counts(t[0], a("out_idx", int32))
    return [values, places, counts] if "Counts" in a.op else [values, places]


def _reverse(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    flags = constant_of(t[1])
    if flags is None:
        raise a.refuse("reverses dimensions that are computed")
    return shape.reverse(t[0], np.flatnonzero(flags).astype(np.int32))


def _max_pool(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    sizes, strides = (constant_of(tensor) for tensor in t[1:])
    if sizes is None or strides is None:
        raise a.refuse("has windows that are computed")
    layout = a("data_format", "NHWC")
    return max_pool(t[0], sizes.tolist(), strides.tolist(), a("padding"), data_format=layout)


def _padded_max_pool(a: Attributes, t: Sequence[Tensor]) -> Tensor | None:
    """A window over an image with a border of its own: of the least number, which is never the largest."""
    if a("padding") != "EXPLICIT":
        return None
    border = np.reshape(a("explicit_paddings"), (-1, 2))
    padded = pad_tile.pad(t[0], border, constant_values=t[0].dtype.min)
    layout = a("data_format", "NHWC")
    return max_pool(padded, list(a("ksize")), list(a("strides")), "VALID", data_format=layout)


def _table(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    """A table that changes. A dense table has two keys as inputs, for places that are empty: such keys are not needed here."""
    return tables.mutable_hash_table(
        key_dtype=a("key_dtype"),
        value_dtype=a("value_dtype"),
        value_shape=a("value_shape", ()) or (),
        container=a("container", ""),
        shared_name=a("shared_name", "") or a.name,
    )


def _boxes_to_keep(a: Attributes, t: Sequence[Tensor]) -> Any:
    overlap = t[3] if len(t) > 3 else a("iou_threshold", 0.5)
    least = t[4] if len(t) > 4 else float("-inf")
    if a("pad_to_max_output_size", False) or len(t) > 5 and np.any(constant_of(t[5]) != 0):
        return None
    kept = boxes.non_max_suppression(t[0], t[1], t[2], overlap, least)
    if a.op == "NonMaxSuppressionV4":
        return [kept, shape.size(kept)]
    return [kept, gather.gather(t[1], kept), shape.size(kept)] if a.op == "NonMaxSuppressionV5" else kept


def _nth(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    ordered = sort.sort(t[0], direction="DESCENDING" if a("reverse", False) else "ASCENDING")
    return gather.gather(ordered, t[1], axis=-1)


def _segments(reduce: Callable[..., Tensor]) -> Form:
    return lambda a, t: reduce(*t)


FORMS: Mapping[str, Form] = {
    **GRADIENT_FORMS,
    "AccumulateNV2": lambda a, t: arithmetic.add_n(t),
    "AddN": _sum_of_lists,
    "AdjustContrastv2": lambda a, t: adjust.adjust_contrast(t[0], t[1]),
    "AdjustHue": lambda a, t: adjust.adjust_hue(t[0], t[1]),
    "AdjustSaturation": lambda a, t: adjust.adjust_saturation(t[0], t[1]),
    "BatchToSpace": lambda a, t: space_batch.batch_to_space(t[0], t[1], a("block_size")),
    "BiasAddV1": lambda a, t: activation.bias_add(t[0], t[1]),
    "Bucketize": _bucketize,
    "ClipByValue": lambda a, t: clip.clip_by_value(t[0], t[1], t[2]),
    "Concat": lambda a, t: join.concat(t[1:], t[0]),
    "ConjugateTranspose": lambda a, t: cast.conj(shape.transpose(t[0], t[1])),
    "DeepCopy": lambda a, t: identity(t[0]),
    "DisableCopyOnRead": lambda a, t: [],
    "DrawBoundingBoxes": lambda a, t: boxes.draw_bounding_boxes(t[0], t[1]),
    "Empty": lambda a, t: constant.zeros(t[0], a("dtype")),
    "Einsum": _einsum,
    "EuclideanNorm": _euclidean_norm,
    "FakeParam": _nothing,
    "GatherV2": _chosen_queue,
    "InTopK": lambda a, t: sort.in_top_k(t[0], t[1], constant.constant(a("k"), t[1].dtype)),
    "Inv": lambda a, t: elementwise.reciprocal(t[0]),
    "MatrixDiagPartV2": _matrix_diag_part,
    "MatrixDiagPartV3": _matrix_diag_part,
    "MatrixDiagV2": _matrix_diag,
    "MatrixDiagV3": _matrix_diag,
    "MatrixSetDiagV2": _matrix_set_diag,
    "MatrixSetDiagV3": _matrix_set_diag,
    "MaxPool": _padded_max_pool,
    "MaxPoolV2": _max_pool,
    "MutableDenseHashTableV2": _table,
    "MutableHashTableOfTensorsV2": _table,
    "NonMaxSuppression": _boxes_to_keep,
    "NonMaxSuppressionV2": _boxes_to_keep,
    "NonMaxSuppressionV4": _boxes_to_keep,
    "NonMaxSuppressionV5": _boxes_to_keep,
    "NthElement": _nth,
    "OptionalFromValue": _optional,
    "OptionalGetValue": _optional_values,
    "OptionalHasValue": lambda a, t: logic.greater(lists.length(t[0]), 0),
    "OptionalNone": lambda a, t: lists.empty_list(),
    "Pack": _handles,
    "ParallelConcat": lambda a, t: join.concat(t, 0),
    "PreventGradient": lambda a, t: identity(t[0]),
    "RandomPoisson": lambda a, t: gamma_poisson.random_poisson_op(
        *t, dtype=t[1].dtype, seed=a("seed", 0), seed2=a("seed2", 0)
    ),
    "Reverse": _reverse,
    "SegmentMaxV2": _segments(segment.unsorted_segment_max),
    "SegmentMinV2": _segments(segment.unsorted_segment_min),
    "SegmentProdV2": _segments(segment.unsorted_segment_prod),
    "SegmentSumV2": _segments(segment.unsorted_segment_sum),
    "ShardedFilename": _sharded_name,
    "Snapshot": lambda a, t: identity(t[0]),
    "SpaceToBatch": lambda a, t: space_batch.space_to_batch(t[0], t[1], a("block_size")),
    "StatelessRandomGetAlg": lambda a, t: constant.constant(1, int32),
    "StatelessRandomGetKeyCounter": lambda a, t: [identity(t[0]), identity(t[0])],
    "StatelessRandomGetKeyCounterAlg": lambda a, t: [identity(t[0]), identity(t[0]), constant.constant(1, int32)],
    "StatelessRandomNormalV2": _random(stateless.stateless_random_normal_op),
    "StatelessRandomUniformIntV2": lambda a, t: stateless.stateless_random_uniform_int_op(t[0], t[1], t[4], t[5]),
    "StatelessRandomUniformV2": _random(stateless.stateless_random_uniform_op),
    "StatelessTruncatedNormalV2": _random(stateless.stateless_truncated_normal_op),
    "StaticRegexFullMatch": lambda a, t: strings.regex_full_match(t[0], a("pattern")),
    "StaticRegexReplace": lambda a, t: strings.regex_replace(
        t[0], a("pattern"), a("rewrite"), replace_global=a("replace_global", True)
    ),
    "TensorListConcat": _concat_list,
    "TensorListConcatV2": _concat_list,
    "TensorListElementShape": lambda a, t: constant.constant(-1, a("shape_type", int32)),
    "TensorListScatterIntoExistingList": _scatter_into,
    "TensorListScatterV2": _scatter_list,
    "ToBool": _to_bool,
    "TopK": lambda a, t: list(sort.top_k(t[0], a("k"), a("sorted", True))),
    "UniqueV2": _unique,
    "UniqueWithCountsV2": _unique,
    "ZerosLike": lambda a, t: lists.list_zeros_like(t[0]) if t[0].dtype is variant else None,
}
"""For each op how it is built."""
