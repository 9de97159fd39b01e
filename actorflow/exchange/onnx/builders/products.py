"""Products of matrices, einsum, normalisations, attention-free parts of networks, losses."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import (
    HALVES,
    computed,
    element,
    in_int32,
    known,
    number,
    positive,
    rank_of,
    shaped,
    size_of,
    vector,
    whole,
    widened,
    with_rank,
)
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.types import dtype_of as element_type
from actorflow.exchange.onnx.values import dtype_of


@onnx_op("MatMul")
def matmul(node: OnnxNode, x: Any, y: Any) -> Any:
    return product(x, y)


def product(x: Any, y: Any) -> Any:
    """As numpy's: vectors count as matrices of one row or one column."""
    left, right = rank_of(x), rank_of(y)
    if left > 2 and right == 2:  # rows of one matrix
        rows = af.matmul(shaped(x, [-1, size_of(x, left - 1)]), y)
        return shaped(rows, [*(size_of(x, at) for at in range(left - 1)), size_of(y, 1)])
    result = af.matmul(af.expand_dims(x, 0) if left == 1 else x, af.expand_dims(y, 1) if right == 1 else y)
    if right == 1:
        result = af.squeeze(result, [-1])
    return af.squeeze(result, [-2 if right > 1 else -1]) if left == 1 else result


@onnx_op("Gemm")
def gemm(node: OnnxNode, a: Any, b: Any, c: Any = None) -> Any:
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    result = af.matmul(a, b, transpose_a=bool(node.attr("transA", 0)), transpose_b=bool(node.attr("transB", 0)))
    if alpha != 1.0:
        result = result * number(alpha, result)
    if c is None:
        return result
    return result + (c if beta == 1.0 else c * number(beta, c))


@onnx_op("Einsum")
def einsum(node: OnnxNode, *values: Any) -> Any:
    """The dimensions that `...` stands for get letters, and a label that comes twice in an operand takes its diagonal first."""
    equation = node.required("equation").replace(" ", "")
    operands, arrow, output = equation.partition("->")
    parts, tensors = operands.split(","), list(values)
    if len(parts) != len(tensors):
        raise InvalidArgumentError(
            f"{equation!r} of {node} has {len(parts)} operands, but there are {len(tensors)} inputs."
        )
    free = [letter for letter in string.ascii_letters if letter not in equation]
    widths = [rank_of(value) - len(part.replace("...", "")) for part, value in zip(parts, tensors)]
    wide = "".join(free[: max(widths)]) if "..." in equation else ""
    if "..." in equation and not arrow:
        arrow, output = "->", "..." + "".join(sorted(c for c in set(operands) - set(".,") if operands.count(c) == 1))
    for at, part in enumerate(parts):
        labels = part.replace("...", wide[len(wide) - widths[at] :])
        while twice := next((label for label in labels if labels.count(label) > 1), None):
            places = [place for place, label in enumerate(labels) if label == twice]
            rest = [place for place in range(len(labels)) if place not in (places[0], places[-1])]
            tensors[at] = af.matrix_diag_part(af.transpose(tensors[at], [*rest, places[0], places[-1]]))
            labels = "".join(labels[place] for place in rest) + twice
        parts[at] = labels
    return af.linalg.einsum(",".join(parts) + arrow + output.replace("...", wide), *tensors)


@onnx_op("BatchNormalization")
def batch_norm(node: OnnxNode, x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    rank = rank_of(x)
    epsilon = node.attr("epsilon", 1e-5)

    def along(value: Any) -> Any:
        return with_rank(value, rank, 1) if rank > 1 else value

    def normalised(mean: Any, variance: Any) -> Any:
        kind = dtype_of(mean)
        deviation = af.sqrt(along(variance) + number(epsilon, variance))
        normal = (af.cast(x, kind) - along(mean)) / deviation * along(af.cast(scale, kind)) + along(
            af.cast(offset, kind)
        )
        return af.cast(normal, dtype_of(x))

    if not node.attr("training_mode", 0):
        return normalised(mean, variance)
    axes = [0, *range(2, rank)]
    own_mean, own_variance = af.nn.moments(x, axes)
    kept = node.attr("momentum", 0.9)
    return (
        normalised(own_mean, own_variance),
        mean * number(kept, mean) + own_mean * number(1 - kept, mean),
        variance * number(kept, variance) + own_variance * number(1 - kept, variance),
    )


def _standard(x: Any, axes: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """x without its mean and with the deviation 1 over `axes`; the mean; one over the deviation."""
    mean = af.reduce_mean(x, axes, keepdims=True)
    centred = x - mean
    inverse = number(1, x) / af.sqrt(af.reduce_mean(centred * centred, axes, keepdims=True) + number(epsilon, x))
    return centred * inverse, mean, inverse


@onnx_op("InstanceNormalization")
def instance_norm(node: OnnxNode, x: Any, scale: Any, offset: Any) -> Any:
    rank = rank_of(x)

    def normalised(x: Any, scale: Any, offset: Any) -> Any:
        normal, _, _ = _standard(x, list(range(2, rank)), node.attr("epsilon", 1e-5))
        return normal * with_rank(scale, rank, 1) + with_rank(offset, rank, 1)

    return widened(normalised, x, scale, offset)


@onnx_op("GroupNormalization")
def group_norm(node: OnnxNode, x: Any, scale: Any, offset: Any) -> Any:
    rank, groups = rank_of(x), node.required("num_groups")

    def normalised(x: Any, scale: Any, offset: Any) -> Any:
        parts = shaped(x, [size_of(x, 0), groups, -1])
        normal, _, _ = _standard(parts, [2], node.attr("epsilon", 1e-5))
        normal = shaped(normal, [size_of(x, at) for at in range(rank)])
        return normal * with_rank(scale, rank, 1) + with_rank(offset, rank, 1)

    return widened(normalised, x, scale, offset)


@onnx_op("LayerNormalization")
def layer_norm(node: OnnxNode, x: Any, scale: Any, offset: Any = None) -> Any:
    rank = rank_of(x)
    axes = list(range(positive(node.attr("axis", -1), rank), rank))
    kind = dtype_of(x)
    precise = af.float32 if node.attr("stash_type", 1) == 1 and kind in HALVES else kind
    normal, mean, inverse = _standard(af.cast(x, precise), axes, node.attr("epsilon", 1e-5))
    normal = af.cast(normal, kind) * scale
    return normal if offset is None else normal + offset, mean, inverse


@onnx_op("RMSNormalization")
def rms_norm(node: OnnxNode, x: Any, scale: Any) -> Any:
    rank = rank_of(x)
    axes = list(range(positive(node.attr("axis", -1), rank), rank))
    kind = dtype_of(x)
    precise = element_type(node.attr("stash_type", 1)) if kind in HALVES else kind
    wide = af.cast(x, precise)
    mean = af.reduce_mean(wide * wide, axes, keepdims=True)
    normal = wide / af.sqrt(mean + number(node.attr("epsilon", 1e-5), wide))
    return af.cast(normal, kind) * scale


@onnx_op("MeanVarianceNormalization")
def mean_variance_norm(node: OnnxNode, x: Any) -> Any:
    axes = node.attr("axes", [0, 2, 3])
    mean = af.reduce_mean(x, axes, keepdims=True)
    variance = af.reduce_mean((x - mean) * (x - mean), axes, keepdims=True)
    return (x - mean) / (af.sqrt(variance) + number(1e-9, x))


@onnx_op("NegativeLogLikelihoodLoss")
def negative_log_likelihood(node: OnnxNode, x: Any, target: Any, weight: Any = None) -> Any:
    return _nll(node, x, target, weight)


def _nll(node: OnnxNode, logarithms: Any, target: Any, weight: Any) -> Any:
    """Classes are in dimension 1. An entry that is ignored counts neither in the sum nor in the mean."""
    ignored = node.attr("ignore_index")
    classes = in_int32(whole(size_of(logarithms, 1)))
    inside = (
        target if ignored is None else af.where_v2(af.equal(target, number(ignored, target)), number(0, target), target)
    )
    chosen = af.one_hot(inside, classes, axis=1, dtype=dtype_of(logarithms))
    loss = -af.reduce_sum(logarithms * chosen, 1)
    weights = None if weight is None else af.gather(weight, inside)
    if ignored is not None:
        counts = af.cast(af.not_equal(target, number(ignored, target)), dtype_of(logarithms))
        weights = counts if weights is None else weights * counts
    if weights is not None:
        loss = loss * weights
    reduction = node.attr("reduction", "mean")
    if reduction == "none":
        return loss
    if reduction == "sum":
        return af.reduce_sum(loss)
    return af.reduce_mean(loss) if weights is None else af.reduce_sum(loss) / af.reduce_sum(weights)


@onnx_op("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(node: OnnxNode, x: Any, target: Any, weight: Any = None) -> Any:
    logarithms = af.nn.log_softmax(x, axis=1)
    return _nll(node, logarithms, target, weight), logarithms


@onnx_op("AffineGrid", enlarging=True)
def affine_grid(node: OnnxNode, theta: Any, sizes: Any) -> Any:
    (rank,) = known(vector([size_of(sizes, 0)]), "The number of dimensions of a grid")
    corners, kind = bool(node.attr("align_corners", 0)), dtype_of(theta)
    batch, _, *space = (element(sizes, at) for at in range(rank))
    unit, two = np.float64(1), np.float64(2)

    def points(*space: Any) -> Any:
        lines = []
        for at, size in enumerate(space):
            count = af.cast(whole(size), af.float64)
            line = (af.range_(count) * two + unit) / count - unit
            if corners:
                even = af.range_(count) * two / af.maximum(count - unit, unit) - unit
                line = af.where_v2(count > unit, even, line)
            wide = af.reshape(line, [-1 if at == axis else 1 for axis in range(len(space))])
            lines.append(af.broadcast_to(wide, vector(space)))
        return af.cast(af.reshape(af.stack([*reversed(lines), af.ones_like(lines[0])], -1), [-1, len(space) + 1]), kind)

    grid, width = computed(points, *space), len(space)
    flat = af.matmul(grid, af.reshape(af.transpose(theta, [2, 0, 1]), [width + 1, -1]))
    return shaped(af.transpose(shaped(flat, [-1, batch, width]), [1, 0, 2]), [batch, *space, width])
