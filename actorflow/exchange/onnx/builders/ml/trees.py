"""Ensembles of trees. All trees go down one level at a time, for all rows at once; a leaf leads to itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import number
from actorflow.exchange.onnx.builders.ml.scores import classified, labels_of, transformed
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import dtype_of

_ML = "ai.onnx.ml"
_COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    af.less_equal, af.less, af.greater_equal, af.greater, af.equal, af.not_equal
)  # fmt: skip
_MEMBER = 6
_MODES = {"BRANCH_LEQ": 0, "BRANCH_LT": 1, "BRANCH_GTE": 2, "BRANCH_GT": 3, "BRANCH_EQ": 4, "BRANCH_NEQ": 5}
_BRANCH_AT_ONCE = 64
"""The number of levels for which there are nodes; through more a loop goes, so that the graph stays small."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Inner nodes in arrays. The places behind them are leaves.

    Args:
        modes: the comparison of each node, by its number.
        features, splits: what is compared with what.
        down: for a true and a false comparison the next place.
        roots: the first place of each tree.
        missing: whether NaN counts as true; None if it never does.
        members: the sets of nodes that look for a value in a set.
    """

    modes: Any
    features: Any
    splits: Any
    down: tuple[Any, Any]
    roots: Any
    missing: Any = None
    members: Any = None

    def depth(self, node: OnnxNode) -> int:
        """The number of levels of inner nodes. Raises InvalidArgumentError where nodes lead in a circle."""
        count, depth, level = len(self.modes), 0, np.unique(self.roots)
        while (level := level[level < count]).size:
            depth += 1
            level = np.unique(np.concatenate([line[level] for line in self.down]))
            if depth > count:
                raise InvalidArgumentError(f"The nodes of {node} lead in a circle.")
        return depth

    def leaves(self, node: OnnxNode, x: Any) -> Any:
        """[rows, trees]: the number of the leaf at which each row ends."""
        count, depth = len(self.modes), self.depth(node)
        at: Any = af.broadcast_to(self.roots, af.stack([af.shape(x)[0], len(self.roots)]))
        if depth <= _BRANCH_AT_ONCE:
            for _ in range(depth):
                at = self._lower(x, at)
        else:
            invariants = [af.TensorShape([]), af.TensorShape([None, len(self.roots)])]
            _, at = af.while_loop(
                lambda level, _: level < depth, lambda level, at: (level + 1, self._lower(x, at)), [0, at], invariants
            )
        return at - np.int64(count)

    def _lower(self, x: Any, at: Any) -> Any:
        inner = af.minimum(at, np.int64(len(self.modes) - 1))
        value = af.gather(x, af.gather(self.features, inner), batch_dims=1)
        split, codes = af.gather(self.splits, inner), sorted(set(self.modes.tolist()))
        mode = None if len(codes) == 1 else af.gather(self.modes, inner)
        yes: Any = None
        for code in codes:
            if code == _MEMBER:
                hit = af.reduce_any(af.equal(af.expand_dims(value, -1), af.gather(self.members, inner)), -1)
            else:
                hit = _COMPARISONS[code](value, split)
            yes = hit if yes is None else af.where_v2(af.equal(mode, number(code, mode)), hit, yes)
        if self.missing is not None:
            yes = af.logical_or(yes, af.logical_and(af.is_nan(value), af.gather(self.missing, inner)))
        return af.where_v2(yes, af.gather(self.down[0], at), af.gather(self.down[1], at))


@onnx_op("TreeEnsemble", domain=_ML)
def tree_ensemble(node: OnnxNode, x: Any) -> Any:
    modes = np.asarray(node.required("nodes_modes"))
    count, weights = len(modes), np.asarray(node.required("leaf_weights"))
    down = []
    for side in ("true", "false"):
        next_, leaf = np.asarray(node.required(f"nodes_{side}nodeids")), np.asarray(node.required(f"nodes_{side}leafs"))
        bad = (next_ < 0) | (next_ >= np.where(leaf, len(weights), count))
        if bad.any():
            raise InvalidArgumentError(f"nodes_{side}nodeids of {node} name nodes that there are not.")
        down.append(np.concatenate([np.where(leaf, next_ + count, next_), np.arange(len(weights)) + count]))
    missing = node.attr("nodes_missing_value_tracks_true")
    forest = Forest(
        modes,
        np.asarray(node.required("nodes_featureids")),
        np.asarray(node.required("nodes_splits")),
        (down[0], down[1]),
        np.asarray(node.required("tree_roots")),
        None if missing is None else np.asarray(missing) > 0,
        _members(node, modes),
    )
    leaf, targets = forest.leaves(node, x), node.required("n_targets")
    shares = np.zeros([len(weights), targets], weights.dtype)
    places = np.arange(len(weights)), np.asarray(node.required("leaf_targetids"))
    shares[places] = weights
    has = np.zeros(shares.shape, bool)
    has[places] = True
    scores = _aggregated(af.gather(shares, leaf), af.gather(has, leaf), node.attr("aggregate_function", 1))
    return transformed(node, scores, node.attr("post_transform", 0))


def _members(node: OnnxNode, modes: Any) -> Any:
    """For each node the elements of its set, in a matrix that is filled up with NaN."""
    sets: list[list[float]] = [[]]
    values_of_sets = np.asarray(node.attr("membership_values", np.zeros(0, np.float32)))
    for value in values_of_sets.tolist():
        if np.isnan(value):
            sets.append([])
        else:
            sets[-1].append(value)
    sets_table = np.full([len(modes), max(map(len, sets)) or 1], np.nan, values_of_sets.dtype)
    places = np.flatnonzero(modes == _MEMBER)
    if len(places) != len(sets) - 1:
        raise InvalidArgumentError(f"membership_values of {node} are {len(sets) - 1} sets, for {len(places)} nodes.")
    for at, values in zip(places, sets):
        sets_table[at, : len(values)] = values
    return sets_table


def _aggregated(shares: Any, has: Any, how: Any, base: Any = None) -> Any:
    """[rows, targets] of [rows, trees, targets]. Smallest and largest are of the trees that have a number for the target."""
    if how in (0, 1, "AVERAGE", "SUM"):
        sums = af.reduce_sum(shares, 1)
        if how in (0, "AVERAGE"):
            sums = sums / af.cast(af.shape(shares)[1], dtype_of(shares))
    else:
        bounds = np.finfo(dtype_of(shares).numpy_dtype)
        reduce, rest = (af.reduce_min, bounds.max) if how in (2, "MIN") else (af.reduce_max, bounds.min)
        sums = reduce(af.where_v2(has, shares, number(rest, shares)), 1)
        sums = af.where_v2(af.reduce_any(has, 1), sums, number(0, sums))
    return sums if base is None else sums + number(base, sums)


def _old_forest(node: OnnxNode, x: Any, kind: str, targets: int) -> tuple[Any, Any, Any, Any]:
    """The shares of trees in the form before version 5, in which leaves are nodes: `[rows, trees, targets]`, which of them are
    there, all weights, and the targets that have any."""
    wide = (
        dtype_of(x) is af.float64 or f"{kind}_weights_as_tensor" in node.attrs or "nodes_values_as_tensor" in node.attrs
    )
    real = np.float64 if wide else np.float32
    x = af.cast(x, real)
    trees, ids = (np.asarray(node.required(f"nodes_{name}"), np.int64) for name in ("treeids", "nodeids"))
    names = np.asarray(node.required("nodes_modes"))
    inner = np.flatnonzero(names != "LEAF")
    ends = np.flatnonzero(names == "LEAF")
    odd = set(names[inner].tolist()) - _MODES.keys()
    if odd:
        raise InvalidArgumentError(f"nodes_modes of {node} are {', '.join(sorted(odd))}, which there is not.")
    place = np.empty(len(names), np.int64)
    place[inner], place[ends] = np.arange(len(inner)), np.arange(len(ends)) + len(inner)
    numbers = {key: at for at, key in enumerate(zip(trees.tolist(), ids.tolist()))}

    def placed(trees: Any, ids: Any) -> Any:
        try:
            return np.array([place[numbers[key]] for key in zip(trees.tolist(), ids.tolist())], np.int64)
        except KeyError as error:
            raise InvalidArgumentError(
                f"Nothing in {node} is the node {error.args[0][1]} of tree {error.args[0][0]}."
            ) from None

    down = []
    for side in ("true", "false"):
        next_ = placed(trees[inner], np.asarray(node.required(f"nodes_{side}nodeids"), np.int64)[inner])
        down.append(np.concatenate([next_, np.arange(len(ends)) + len(inner)]))
    _, first = np.unique(trees, return_index=True)
    values = node.attr("nodes_values_as_tensor")
    values = np.asarray(node.attr("nodes_values") if values is None else values, real)
    missing = node.attr("nodes_missing_value_tracks_true")
    forest = Forest(
        np.array([_MODES[name] for name in names[inner].tolist()], np.int64) if len(inner) else np.zeros(1, np.int64),
        _or_one(np.asarray(node.required("nodes_featureids"), np.int64)[inner]),
        _or_one(values[inner]),
        (down[0], down[1]) if len(inner) else (np.arange(len(ends) + 1),) * 2,
        place[np.sort(first)] + (0 if len(inner) else 1),
        None if not missing or not any(missing) else _or_one(np.asarray(missing)[inner] > 0),
    )
    weights = node.attr(f"{kind}_weights_as_tensor")
    weights = np.asarray(node.required(f"{kind}_weights") if weights is None else weights, real)
    where = placed(*(np.asarray(node.required(f"{kind}_{name}"), np.int64) for name in ("treeids", "nodeids"))) - len(
        inner
    )
    target = np.asarray(node.required(f"{kind}_ids"), np.int64)
    kept = where >= 0
    shares, has = np.zeros([len(ends), targets], real), np.zeros([len(ends), targets], bool)
    np.add.at(shares, (where[kept], target[kept]), weights[kept])
    has[where[kept], target[kept]] = True
    leaf = forest.leaves(node, x)
    return af.gather(shares, leaf), af.gather(has, leaf), weights, target


def _or_one(values: Any) -> Any:
    """Values to be gathered from: a zero if there are none."""
    return values if len(values) else np.zeros(1, values.dtype)


def _base(node: OnnxNode) -> Any:
    values = node.attr("base_values_as_tensor")
    values = node.attr("base_values") if values is None else values
    return None if values is None or not len(values) else np.asarray(values, np.float64)


@onnx_op("TreeEnsembleRegressor", domain=_ML)
def tree_regressor(node: OnnxNode, x: Any) -> Any:
    shares, has, *_ = _old_forest(node, x, "target", node.required("n_targets"))
    scores = _aggregated(shares, has, node.attr("aggregate_function", "SUM"), _base(node))
    return af.cast(transformed(node, scores, node.attr("post_transform", "NONE")), af.float32)


@onnx_op("TreeEnsembleClassifier", domain=_ML)
def tree_classifier(node: OnnxNode, x: Any) -> Any:
    """A model of two classes may have the weights of one class alone, which then count for the second class."""
    labels, base = labels_of(node), _base(node)
    shares, _, weights, targets = _old_forest(node, x, "class", max(len(labels), 1))
    scores = af.reduce_sum(shares, 1)
    single = len(labels) == 2 and len(set(targets.tolist())) == 1
    if single:
        score = scores[:, int(targets[0]) : int(targets[0]) + 1]
        if base is not None:
            score = score + number(base[-1], score)
        return classified(node, score, labels, positive=bool((weights >= 0).all()))
    return classified(node, scores if base is None else scores + number(base, scores), labels)
