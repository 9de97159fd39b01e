"""Linear models and support vector machines of `ai.onnx.ml`."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.ml.scores import classified, labels_of, transformed
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op

_ML = "ai.onnx.ml"


def _floats(node: OnnxNode, name: str) -> Any:
    return np.asarray(node.attr(name, []), np.float32)


def _rows(x: Any) -> Any:
    """Numbers as float32, in rows."""
    x = af.cast(x, af.float32)
    return af.reshape(x, [1, -1]) if len(x.static_shape or (0, 0)) == 1 else x


def _linear(node: OnnxNode, x: Any, count: int) -> Any:
    weights, offsets = _floats(node, "coefficients"), _floats(node, "intercepts")
    if not count or len(weights) % count:
        raise InvalidArgumentError(f"{node} has {len(weights)} coefficients for {count} targets.")
    products = af.matmul(_rows(x), np.ascontiguousarray(weights.reshape(count, -1).T))
    return products + offsets if len(offsets) else products


@onnx_op("LinearRegressor", domain=_ML)
def linear_regressor(node: OnnxNode, x: Any) -> Any:
    return transformed(node, _linear(node, x, node.attr("targets", 1)), node.attr("post_transform", "NONE"))


@onnx_op("LinearClassifier", domain=_ML)
def linear_classifier(node: OnnxNode, x: Any) -> Any:
    labels = labels_of(node)
    count = len(_floats(node, "intercepts")) or len(labels)
    return classified(node, _linear(node, x, count), labels)


def _kernel(node: OnnxNode, x: Any, vectors: Any) -> Any:
    """[rows, vectors]: how near each row is to each vector."""
    kind = node.attr("kernel_type", "LINEAR")
    gamma, offset, degree = (*_floats(node, "kernel_params"), np.float32(0), np.float32(0), np.float32(0))[:3]
    if kind == "RBF":
        squares = af.reduce_sum(af.square(af.expand_dims(x, 1) - vectors), -1)
        return af.exp(squares * np.float32(-gamma))
    product = af.matmul(x, np.ascontiguousarray(vectors.T))
    if kind == "LINEAR":
        return product
    inner = product * np.float32(gamma) + np.float32(offset)
    if kind == "POLY":
        return af.pow(inner, np.float32(degree))
    if kind != "SIGMOID":
        raise InvalidArgumentError(f"kernel_type of {node} is {kind!r}.")
    return af.tanh(inner)


@onnx_op("SVMRegressor", domain=_ML)
def svm_regressor(node: OnnxNode, x: Any) -> Any:
    x, weights, offset = _rows(x), _floats(node, "coefficients"), _floats(node, "rho")
    count = node.attr("n_supports", 0)
    vectors = _floats(node, "support_vectors").reshape(count, -1) if count else np.eye(len(weights), dtype=np.float32)
    scores = af.matmul(_kernel(node, x, vectors), weights[:, None]) + offset[0]
    if node.attr("one_class", 0):
        return af.where_v2(scores > np.float32(0), np.float32(1), np.float32(-1))
    return transformed(node, scores, node.attr("post_transform", "NONE"))


@onnx_op("SVMClassifier", domain=_ML)
def svm_classifier(node: OnnxNode, x: Any) -> Any:
    """Each pair of classes has a score; votes decide, or probabilities, where the file has what is needed for them."""
    labels, x = labels_of(node), _rows(x)
    counts = np.asarray(node.attr("vectors_per_class", []), np.int64)
    weights, offsets = _floats(node, "coefficients"), _floats(node, "rho")
    if not counts.sum():
        classes = len(labels)
        scores = _kernel(node, x, weights.reshape(classes, -1)) + offsets[0]
        return classified(node, scores, labels)
    vectors = _floats(node, "support_vectors").reshape(int(counts.sum()), -1)
    kernel, classes = _kernel(node, x, vectors), len(counts)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    begins = np.concatenate([[0], np.cumsum(counts)])
    table = weights.reshape(classes - 1, -1)
    matrix = np.zeros([len(vectors), len(pairs)], np.float32)
    for at, (i, j) in enumerate(pairs):
        for own, other in ((i, j - 1), (j, i)):
            part = slice(begins[own], begins[own + 1])
            matrix[part, at] = table[other, part]
    scores = af.matmul(kernel, matrix) + offsets
    won = af.cast(scores > np.float32(0), af.float32)
    votes = sum(
        af.one_hot([i], classes) * won[:, at : at + 1]
        + af.one_hot([j], classes) * (np.float32(1) - won[:, at : at + 1])
        for at, (i, j) in enumerate(pairs)
    )
    label = af.gather(labels, af.argmax(votes, -1))
    if "prob_a" in node.attrs and len(node.attrs["prob_a"]):
        shares = _probabilities(scores, pairs, classes, _floats(node, "prob_a"), _floats(node, "prob_b"))
        return label, transformed(node, shares, node.attr("post_transform", "NONE"))
    if classes == 2:
        both = af.concat([-scores, scores] if (weights < 0).any() else [np.float32(1) - scores, scores], 1)
        return label, transformed(node, both, node.attr("post_transform", "NONE"))
    return label, transformed(node, scores, node.attr("post_transform", "NONE"))


_ROUNDS = 100


def _probabilities(scores: Any, pairs: Any, classes: int, slope: Any, offset: Any) -> Any:
    """Probabilities of classes from those of pairs of them (T.-F. Wu, C.-J. Lin, R. C. Weng, 2004)."""
    shares = af.clip_by_value(af.sigmoid(-(scores * slope + offset)), np.float32(1e-7), np.float32(1 - 1e-7))
    beats: dict[tuple[int, int], Any] = {}
    for at, (i, j) in enumerate(pairs):
        beats[i, j], beats[j, i] = shares[:, at], np.float32(1) - shares[:, at]

    def entry(i: int, j: int) -> Any:
        if i == j:
            return sum(beats[other, i] * beats[other, i] for other in range(classes) if other != i)
        return -beats[j, i] * beats[i, j]

    matrix = af.stack([af.stack([entry(i, j) for j in range(classes)], 1) for i in range(classes)], 1)
    bound = np.float32(0.005 / classes)
    first = af.fill(af.stack([af.shape(scores)[0], classes]), np.float32(1 / classes))

    def round_(at: Any, going: Any, p: Any) -> Any:
        product = af.squeeze(af.matmul(matrix, af.expand_dims(p, 2)), [2])
        total = af.reduce_sum(p * product, 1, keepdims=True)
        rough = af.reduce_max(af.abs(product - total), 1, keepdims=True) >= bound
        later = p
        for t in range(classes):
            own = matrix[:, t, t : t + 1]
            step = (total - product[:, t : t + 1]) / own
            later = later + step * af.one_hot([t], classes)
            grown = np.float32(1) + step
            total = (total + step * (step * own + np.float32(2) * product[:, t : t + 1])) / grown / grown
            product = (product + step * matrix[:, t]) / grown
            later = later / grown
        rough = af.logical_and(going, rough)
        return at + 1, rough, af.where_v2(rough, later, p)

    every = af.fill(af.stack([af.shape(scores)[0], 1]), True)
    _, _, probabilities = af.while_loop(
        lambda at, going, _: af.logical_and(at < max(_ROUNDS, classes), af.reduce_any(going)), round_, [0, every, first],
        [af.TensorShape([]), af.TensorShape([None, 1]), af.TensorShape([None, classes])],
    )  # fmt: skip
    return probabilities
