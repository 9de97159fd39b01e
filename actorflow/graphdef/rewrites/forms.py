"""Nodes of TensorFlow's ops that actorflow has in another form: with inputs in place of attributes, or as several nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.dtypes import as_dtype, int32, resource, variant
from actorflow.dtypes import bool as bool_dtype
from actorflow.graph.constant_value import constant_value
from actorflow.graph.tensor import Tensor
from actorflow.graphdef.attributes import from_attr
from actorflow.graphdef.protos import NodeDef
from actorflow.ops.array import constant, join, shape, sort
from actorflow.ops.flow import lists
from actorflow.ops.flow.control import identity
from actorflow.ops.image import adjust
from actorflow.ops.io import queues
from actorflow.ops.linalg import diagonal
from actorflow.ops.math import arithmetic, cast, clip, elementwise, logic, reduction, segment
from actorflow.ops.nn import activation, normalization
from actorflow.ops.random import stateless
from actorflow.ops.strings import elementwise as strings


class Attributes:
    """The attributes of a node."""

    def __init__(self, message: NodeDef) -> None:
        self._message = message

    def __call__(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, which a message may lack where it is the default."""
        return from_attr(self._message.attr[name]) if name in self._message.attr else default

    def refuse(self, problem: str) -> ValueError:
        """The error of a node that can't be read."""
        return ValueError(f"Node {self._message.name!r} ({self._message.op}) {problem}, which is not read here.")


Form = Callable[[Attributes, Sequence[Tensor]], Any]
"""For a node's attributes and inputs the output, a list of outputs, or None where the node is one of actorflow's as it is."""


def _constant(tensor: Tensor) -> Any:
    return constant_value(tensor.graph.nodes, tensor.tensor_id)


def _on_the_diagonal(a: Attributes, k: Tensor) -> None:
    """Raises ValueError where other diagonals than the main one are meant."""
    value = _constant(k)
    if value is None or np.any(value):
        raise a.refuse("has other diagonals than the main one")


def _matrix_diag(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    diagonals, k, rows, columns, _ = t
    _on_the_diagonal(a, k)
    if any(_constant(size) is None or _constant(size) != -1 for size in (rows, columns)):
        raise a.refuse("says how large its matrices are")
    return diagonal.matrix_diag(diagonals)


def _matrix_diag_part(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    _on_the_diagonal(a, t[1])
    return diagonal.matrix_diag_part(t[0])


def _matrix_set_diag(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    _on_the_diagonal(a, t[2])
    return diagonal.matrix_set_diag(t[0], t[1])


def _sharded_name(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    numbers = [strings.as_string(number, width=5, fill="0") for number in t[1:]]
    return strings.string_join([t[0], "-", numbers[0], "-of-", numbers[1]])


def _bucketize(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    bounds = constant.constant(np.asarray(a("boundaries", ()), np.float32))
    above = logic.greater_equal(cast.cast(shape.expand_dims(t[0], -1), "float32"), bounds)
    return reduction.reduce_sum(cast.cast(above, int32), -1)


def _euclidean_norm(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    squares = elementwise.square(elementwise.abs(t[0]))
    return elementwise.sqrt(reduction.reduce_sum(squares, t[1], keepdims=a("keep_dims", False)))


def _to_bool(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    rank = t[0].static_shape
    if t[0].dtype.kind == "S" or rank is None or rank:
        return logic.not_equal(shape.size(t[0]), 0)
    return cast.cast(t[0], bool_dtype)


def _batch_norm_grad(a: Attributes, t: Sequence[Tensor]) -> Any:
    options = {name: a(name, default) for name, default in (("epsilon", 1e-4), ("is_training", True))}
    y, x, scale, mean, variance = t
    return normalization.fused_batch_norm_grad(
        y, x, scale, mean, variance, variance, data_format=a("data_format", "NHWC"), **options
    )


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
    made = lists.empty_list()
    for value in t:
        made = lists.push_back(made, value)
    return made


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
    if len(t) > 1 and (value := _constant(t[1])) is not None and value.ndim:
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


def _segments(reduce: Callable[..., Tensor]) -> Form:
    return lambda a, t: reduce(*t)


FORMS: Mapping[str, Form] = {
    "AccumulateNV2": lambda a, t: arithmetic.add_n(t),
    "AddN": _sum_of_lists,
    "AdjustContrastv2": lambda a, t: adjust.adjust_contrast(t[0], t[1]),
    "AdjustHue": lambda a, t: adjust.adjust_hue(t[0], t[1]),
    "AdjustSaturation": lambda a, t: adjust.adjust_saturation(t[0], t[1]),
    "BiasAddV1": lambda a, t: activation.bias_add(t[0], t[1]),
    "Bucketize": _bucketize,
    "ClipByValue": lambda a, t: clip.clip_by_value(t[0], t[1], t[2]),
    "Concat": lambda a, t: join.concat(t[1:], t[0]),
    "ConjugateTranspose": lambda a, t: cast.conj(shape.transpose(t[0], t[1])),
    "DeepCopy": lambda a, t: identity(t[0]),
    "Empty": lambda a, t: constant.zeros(t[0], a("dtype")),
    "DisableCopyOnRead": lambda a, t: [],
    "EuclideanNorm": _euclidean_norm,
    "FakeParam": _nothing,
    "FusedBatchNormGrad": _batch_norm_grad,
    "FusedBatchNormGradV2": _batch_norm_grad,
    "GatherV2": _chosen_queue,
    "InTopK": lambda a, t: sort.in_top_k(t[0], t[1], constant.constant(a("k"), t[1].dtype)),
    "Inv": lambda a, t: elementwise.reciprocal(t[0]),
    "InvGrad": lambda a, t: -t[1] * t[0] * t[0],
    "MatrixDiagPartV2": _matrix_diag_part,
    "MatrixDiagPartV3": _matrix_diag_part,
    "MatrixDiagV2": _matrix_diag,
    "MatrixDiagV3": _matrix_diag,
    "MatrixSetDiagV2": _matrix_set_diag,
    "MatrixSetDiagV3": _matrix_set_diag,
    "OptionalFromValue": _optional,
    "OptionalGetValue": _optional_values,
    "OptionalNone": lambda a, t: lists.empty_list(),
    "Pack": _handles,
    "PreventGradient": lambda a, t: identity(t[0]),
    "ReciprocalGrad": lambda a, t: -t[1] * t[0] * t[0],
    "RsqrtGrad": lambda a, t: t[1] * -0.5 * t[0] * t[0] * t[0],
    "SegmentMaxV2": _segments(segment.unsorted_segment_max),
    "SegmentMinV2": _segments(segment.unsorted_segment_min),
    "SegmentProdV2": _segments(segment.unsorted_segment_prod),
    "SegmentSumV2": _segments(segment.unsorted_segment_sum),
    "ShardedFilename": _sharded_name,
    "Snapshot": lambda a, t: identity(t[0]),
    "SoftplusGrad": lambda a, t: t[0] * elementwise.sigmoid(t[1]),
    "SqrtGrad": lambda a, t: t[1] * 0.5 / t[0],
    "StatelessRandomGetAlg": lambda a, t: constant.constant(1, int32),
    "StatelessRandomGetKeyCounter": lambda a, t: [identity(t[0]), identity(t[0])],
    "StatelessRandomNormalV2": _random(stateless.stateless_random_normal_op),
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
    "ZerosLike": lambda a, t: lists.list_zeros_like(t[0]) if t[0].dtype is variant else None,
}
"""For each op how it is built."""
