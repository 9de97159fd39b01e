"""Trees and tables of the domain `ai.onnx.ml`; steps of optimizers and gradients of `ai.onnx.preview.training`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.graph.convert import convert_to_tensor
from actorflow.onnx.builders.common import number
from actorflow.onnx.builders.texts import words
from actorflow.onnx.nodes import IMPURE, Node, onnx_op
from actorflow.onnx.values import dtype_of

_ML, _TRAINING = "ai.onnx.ml", "ai.onnx.preview.training"


@onnx_op("Binarizer", domain=_ML)
def binarizer(node: Node, x: Any) -> Any:
    return af.cast(x > number(node.attr("threshold", 0.0), x), dtype_of(x))


_DEFAULTS = {"strings": "_Unused", "int64s": -1, "floats": -0.0}


@onnx_op("LabelEncoder", domain=_ML)
def label_encoder(node: Node, x: Any) -> Any:
    """Each element looked up in a table of keys and values."""
    keys, _ = _column(node, "keys")
    values, kind = _column(node, "values")
    default = node.attr("default_tensor") if kind == "tensor" else node.attr(f"default_{kind.removesuffix('s')}")
    if default is None:
        default = _DEFAULTS.get(kind, 0)
    other = words([default])[0] if values.dtype == object and isinstance(default, str) else np.reshape(default, ())
    if len(keys) != len(values):
        raise InvalidArgumentError(f"{node} has {len(keys)} keys and {len(values)} values.")
    same = af.equal(af.expand_dims(x, -1), keys)
    if keys.dtype.kind == "f":
        same = af.logical_or(same, af.logical_and(af.expand_dims(af.is_nan(x), -1), np.isnan(keys)))
    found = af.gather(values, af.argmax(af.cast(same, af.int32), -1))
    last = np.array(other, object) if values.dtype == object else np.asarray(other).astype(values.dtype)
    return af.where_v2(af.reduce_any(same, -1), found, last)


def _column(node: Node, name: str) -> tuple[Any, str]:
    """The keys or the values, and the kind of attribute that has them."""
    for kind, dtype in (("strings", object), ("int64s", np.int64), ("floats", np.float32)):
        found = node.attr(f"{name}_{kind}")
        if found is not None:
            return (words(found) if kind == "strings" else np.asarray(found, dtype)), kind
    return node.required(f"{name}_tensor"), "tensor"


_COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    af.less_equal, af.less, af.greater_equal, af.greater, af.equal, af.not_equal
)  # fmt: skip
_MEMBER = 6


@onnx_op("TreeEnsemble", domain=_ML)
def tree_ensemble(node: Node, x: Any) -> Any:
    """All trees go down one level at a time, for all rows; a leaf is a node that leads to itself."""
    modes = np.asarray(node.required("nodes_modes"))
    count, weights = len(modes), np.asarray(node.required("leaf_weights"))
    down = []
    for side in ("true", "false"):
        next_, leaf = np.asarray(node.required(f"nodes_{side}nodeids")), np.asarray(node.required(f"nodes_{side}leafs"))
        bad = (next_ < 0) | (next_ >= np.where(leaf, len(weights), count))
        if bad.any():
            raise InvalidArgumentError(f"nodes_{side}nodeids of {node} name nodes that there are not.")
        down.append(np.concatenate([np.where(leaf, next_ + count, next_), np.arange(len(weights)) + count]))
    roots = np.asarray(node.required("tree_roots"))
    depth, level = 0, set(roots.tolist())
    while any(at < count for at in level):
        depth += 1
        level = {int(line[at]) for at in level for line in down if at < count}
        if depth > count:
            raise InvalidArgumentError(f"The nodes of {node} lead in a circle.")
    features = np.asarray(node.required("nodes_featureids"))
    splits, missing = np.asarray(node.required("nodes_splits")), node.attr("nodes_missing_value_tracks_true")
    members = _members(node, modes)
    at: Any = af.broadcast_to(roots, af.stack([af.shape(x)[0], len(roots)]))
    for _ in range(depth):
        inner = af.minimum(at, np.int64(count - 1))
        value = af.gather(x, af.gather(features, inner), batch_dims=1)
        mode, split = af.gather(modes, inner), af.gather(splits, inner)
        yes = af.zeros_like(mode, af.bool)
        for code in sorted(set(modes.tolist())):
            if code == _MEMBER:
                found = af.reduce_any(af.equal(af.expand_dims(value, -1), af.gather(members, inner)), -1)
            else:
                found = _COMPARISONS[code](value, split)
            yes = af.where_v2(af.equal(mode, number(code, mode)), found, yes)
        if missing is not None:
            yes = af.logical_or(yes, af.logical_and(af.is_nan(value), af.gather(np.asarray(missing) > 0, inner)))
        at = af.where_v2(yes, af.gather(down[0], at), af.gather(down[1], at))
    leaf = at - np.int64(count)
    share, target = af.gather(weights, leaf), af.gather(np.asarray(node.required("leaf_targetids")), leaf)
    return _aggregated(node, share, target, len(roots))


def _members(node: Node, modes: Any) -> Any:
    """For each node the elements of its set, in a matrix that is filled up with NaN."""
    sets: list[list[float]] = [[]]
    given = np.asarray(node.attr("membership_values", np.zeros(0, np.float32)))
    for value in given.tolist():
        if np.isnan(value):
            sets.append([])
        else:
            sets[-1].append(value)
    made = np.full([len(modes), max(map(len, sets)) or 1], np.nan, given.dtype)
    places = np.flatnonzero(modes == _MEMBER)
    if len(places) != len(sets) - 1:
        raise InvalidArgumentError(f"membership_values of {node} are {len(sets) - 1} sets, for {len(places)} nodes.")
    for at, values in zip(places, sets):
        made[at, : len(values)] = values
    return made


def _aggregated(node: Node, share: Any, target: Any, trees: int) -> Any:
    how, after = node.attr("aggregate_function", 1), node.attr("post_transform", 0)
    targets = node.required("n_targets")
    hit = af.one_hot(target, targets, True, False, dtype=af.bool)
    wide = af.expand_dims(share, -1)
    if how in (0, 1):
        made = af.reduce_sum(af.where_v2(hit, wide, number(0, share)), 1)
        made = made / number(trees, made) if how == 0 else made
    else:
        bounds = np.finfo(dtype_of(share).numpy_dtype)
        reduce, rest = (af.reduce_min, bounds.max) if how == 2 else (af.reduce_max, bounds.min)
        made = reduce(af.where_v2(hit, wide, number(rest, share)), 1)
    changes: dict[int, Callable[[Any], Any]] = {0: lambda x: x, 1: af.nn.softmax, 2: af.sigmoid}
    if after not in changes:
        raise InvalidArgumentError(f"post_transform of {node} is {after}; known are none, softmax and logistic.")
    return changes[after](made)


def _in_groups(node: Node, many: int, inputs: Any, step: Callable[..., Any]) -> Any:
    """The results of `step` for each tensor: the inputs are all tensors, then all gradients, and so on."""
    rate, count, *rest = inputs
    groups = len(rest) // many
    found = [step(rate, count, *rest[at::groups]) for at in range(groups)]
    return tuple(value for kind in zip(*found) for value in kind)


def _regular(node: Node, x: Any, gradient: Any, name: str = "norm_coefficient") -> Any:
    return gradient + x * number(node.attr(name, 0.0), x)


@onnx_op("Adagrad", domain=_TRAINING)
def adagrad(node: Node, *inputs: Any) -> Any:
    def step(rate: Any, count: Any, x: Any, gradient: Any, squares: Any) -> Any:
        now = rate / (number(1, rate) + af.cast(count, dtype_of(rate)) * number(node.attr("decay_factor", 0.0), rate))
        gradient = _regular(node, x, gradient)
        squares = squares + gradient * gradient
        return x - now * gradient / (af.sqrt(squares) + number(node.attr("epsilon", 1e-6), x)), squares

    return _in_groups(node, 3, inputs, step)


@onnx_op("Adam", domain=_TRAINING)
def adam(node: Node, *inputs: Any) -> Any:
    alpha, beta = node.attr("alpha", 0.9), node.attr("beta", 0.999)

    def step(rate: Any, count: Any, x: Any, gradient: Any, mean: Any, squares: Any) -> Any:
        gradient = _regular(node, x, gradient)
        mean = mean * number(alpha, x) + gradient * number(1 - alpha, x)
        squares = squares * number(beta, x) + gradient * gradient * number(1 - beta, x)
        steps = af.cast(count, af.float64)
        grown = af.sqrt(1 - af.pow(np.float64(beta), steps)) / (1 - af.pow(np.float64(alpha), steps))
        now = rate * af.cast(af.where_v2(steps > 0, grown, np.float64(1)), dtype_of(rate))
        made = x - now * mean / (af.sqrt(squares) + number(node.attr("epsilon", 1e-6), x))
        return made * number(1 - node.attr("norm_coefficient_post", 0.0), x), mean, squares

    return _in_groups(node, 4, inputs, step)


@onnx_op("Momentum", domain=_TRAINING)
def momentum(node: Node, *inputs: Any) -> Any:
    alpha, beta = node.required("alpha"), node.required("beta")

    def step(rate: Any, count: Any, x: Any, gradient: Any, moving: Any) -> Any:
        gradient = _regular(node, x, gradient)
        share = af.where_v2(count > 0, number(beta, x), number(1, x))
        moving = moving * number(alpha, x) + gradient * share
        ahead = gradient + moving * number(alpha, x) if node.required("mode") == "nesterov" else moving
        return x - rate * ahead, moving

    return _in_groups(node, 3, inputs, step)


IMPURE.add("Gradient")  # it depends on the nodes before it, not on its inputs


@onnx_op("Gradient", domain=_TRAINING)
def gradient(node: Node, *inputs: Any) -> Any:
    """Of the value `y` for the values `xs`, which stand in the graph before."""
    xs = [node.scope.get(name) for name in node.required("xs")]
    if not all(isinstance(x, af.Tensor) for x in xs):
        raise InvalidArgumentError(f"{node} is for a value that is a constant.")
    found = af.gradients(convert_to_tensor(node.scope.get(node.required("y"))), xs)
    return tuple(af.zeros_like(x) if one is None else one for x, one in zip(xs, found))
