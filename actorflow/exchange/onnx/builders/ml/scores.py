"""From scores of classes to labels and probabilities, by the rules that all classifiers of `ai.onnx.ml` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import number
from actorflow.exchange.onnx.builders.texts import words
from actorflow.exchange.onnx.nodes import OnnxNode


def labels_of(node: OnnxNode) -> Any:
    """The labels of the classes: a vector of strings or of int64."""
    names = node.attr("classlabels_strings")
    if names:
        return words(names)
    numbers = node.attr("classlabels_int64s", node.attr("classlabels_ints"))
    return np.asarray(numbers or [], np.int64)


def _softmax_zero(x: Any) -> Any:
    """Softmax in which scores of 0 stay 0."""
    counts = af.abs(x) > number(1e-7, x)
    powers = af.exp(x - af.reduce_max(x, -1, keepdims=True))
    shares = af.where_v2(counts, powers, x * powers)
    total = af.reduce_sum(shares, -1, keepdims=True)
    return shares / af.where_v2(af.equal(total, number(0, x)), number(1, x), total)


def _probit(x: Any) -> Any:
    return number(np.sqrt(2), x) * af.math.erfinv(number(2, x) * x - number(1, x))


_CHANGES: dict[str, Callable[[Any], Any]] = {
    "NONE": lambda x: x,
    "SOFTMAX": af.nn.softmax,
    "LOGISTIC": af.sigmoid,
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}
_NUMBERED = tuple(_CHANGES)


def transformed(node: OnnxNode, scores: Any, how: str | int) -> Any:
    """Scores after `post_transform`, which is a name or, in newer versions, a number."""
    name = _NUMBERED[how] if isinstance(how, int) and 0 <= how < len(_NUMBERED) else how
    if name not in _CHANGES:
        raise InvalidArgumentError(f"post_transform of {node} is {how!r}; known are {', '.join(_CHANGES)}.")
    return _CHANGES[name](scores)


def classified(node: OnnxNode, scores: Any, labels: Any, *, positive: bool | None = None) -> tuple[Any, Any]:
    """The label and the scores of each row.

    Args:
        node: the classifier.
        scores: a column for each class, or one alone for the second of two classes.
        labels: those of the classes.
        positive: whether a single column has shares, which lie between 0 and 1, or may have any sign. None for a classifier
            whose single score is of any sign, but is given beside one minus itself.
    """
    how = node.attr("post_transform", "NONE")
    width = (scores.static_shape or (None, None))[1]
    if width != 1 or len(labels) != 2:
        label = af.gather(labels, af.argmax(scores, -1)) if len(labels) else af.argmax(scores, -1)
        return label, af.cast(transformed(node, scores, how), af.float32)
    limit = number(0.5 if positive else 0, scores)
    label = af.where_v2(scores[:, 0] > limit, labels[1:], labels[:1])
    if how == "PROBIT":
        both = _probit(scores)
    elif positive is False and how == "LOGISTIC":
        both = af.sigmoid(af.concat([-scores, scores], 1))
    elif positive is False:
        both = af.concat([-scores, scores], 1)
    else:
        both = af.concat([number(1, scores) - scores, scores], 1)
    return label, af.cast(both, af.float32)
