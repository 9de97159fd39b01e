"""Chains: a few ops in a row that compute a function for which there is one kernel, such as a layer's normalization.

Programs write such a function in several forms, all of which are rows of `CHAINS`. `.patterns` finds them in a graph. The pass
`fuse_chains` puts the one op in the place of a chain; differentiation gives some of them one gradient
(`graph/autodiff/chains.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from actorflow.base.shapes import compatible, is_static
from actorflow.graph.analysis.patterns import CallPattern, ChainPattern, ValueOf, parsed
from actorflow.graph.node import Node

_LEAST_DIVISOR = 1e-30
_ROOTS = ("r=RealDiv(1, Sqrt({}))", "r=Rsqrt({})", "r=Reciprocal(Sqrt({}))")
_SQUARES = ("Mul({0}, {0})", "Square({0})")


def _over_rows(shapes: list[Any], nodes: list[Node], value_of: ValueOf) -> bool:
    """Whether means are those of rows, and the other inputs are vectors as long as a row."""
    row = None if not shapes[0] else shapes[0][-1]
    return row is not None and all(shape == (row,) for shape in shapes[1:]) and _are_means(nodes, shapes[:1])


def _are_means(nodes: list[Node], shapes: list[Any]) -> bool:
    """Whether all means are those of rows of tensors that have one of these shapes."""
    means = {(*shape[:-1], 1) for shape in shapes}
    return all(
        node.attrs.get("keep_dims", node.attrs.get("keepdims")) and node.shapes[0] in means
        for node in nodes
        if node.op == "Mean"
    )


def _back_over_rows(shapes: list[Any], nodes: list[Node], value_of: ValueOf) -> bool:
    """Whether the gradient of rows' normalization has the shape of the rows."""
    dy, x, *vectors = shapes
    if dy is None or x is None or len(x) < 2 or not compatible(dy, x) or dy[-1] is None or dy[-1] != x[-1]:
        return False
    return all(vector == x[-1:] for vector in vectors) and _are_means(nodes, [dy, x])


def _back_over_shares(shapes: list[Any], nodes: list[Node], value_of: ValueOf) -> bool:
    """Whether the sums are those of rows of shares, whose gradients have their shape, and a division has an inverse."""
    dy, y = shapes
    if not dy or not y or not compatible(dy, y):
        return False
    sums = next(node for node in nodes if node.op == "Sum")
    if not sums.attrs["keep_dims"] or sums.shapes[0] not in [(*shape[:-1], 1) for shape in shapes]:
        return False
    return all(_has_inverse(value_of(node.inputs[1])) for node in nodes if node.op == "RealDiv")


def _sums_rows(shapes: list[Any], nodes: list[Node], value_of: ValueOf) -> bool:
    """Whether all rows are added up, besides."""
    axes = value_of(nodes[0].inputs[1])
    if axes is None or nodes[0].attrs["keep_dims"] or not _back_over_rows(shapes, nodes, value_of):
        return False
    return sorted(axis % len(shapes[1]) for axis in np.ravel(axes)) == list(range(len(shapes[1]) - 1))


def _attends(shapes: list[Any], nodes: list[Node], value_of: ValueOf) -> bool:
    """Whether shares of rows are multiplied with values, and the scores are products of heads, all with the same dimensions."""
    query, key, value = shapes[:3]
    last, softmax, scores = nodes[0], nodes[1], next(node for node in nodes[1:] if node.op == "BatchMatMulV2")
    if any(node.attrs["adj_x"] for node in (last, scores)) or last.attrs["adj_y"] or query is None:
        return False
    rank = len(query)
    if not 3 <= rank <= 4 or softmax.attrs["axis"] not in (-1, rank - 1):
        return False
    if any(node.op == "RealDiv" and not _has_inverse(value_of(node.inputs[1])) for node in nodes):
        return False
    before: list[Any] = [None if shape is None else shape[: rank - 2] for shape in (query, key, value)]
    return before[0] == before[1] == before[2] and None not in before[0][1:]


def _has_inverse(divisor: Any) -> bool:
    """Whether a product with the inverse stands for the division."""
    return divisor is not None and _LEAST_DIVISOR <= abs(float(divisor)) < math.inf


def _scaled(numbers: Mapping[str, float], nodes: list[Node]) -> Mapping[str, Any]:
    scores = next(node for node in nodes[1:] if node.op == "BatchMatMulV2")
    return {"scale": _scale(numbers), "turned": not scores.attrs["adj_y"]}


def _scale(numbers: Mapping[str, float]) -> float:
    return math.prod(1 / value if name == "divisor" else value for name, value in numbers.items())


def _rotates(shapes: list[Any], nodes: list[Node], value_of: ValueOf) -> bool:
    """Whether the halves of rows change places."""
    shape = shapes[0]
    join = next(node for node in nodes if node.op == "ConcatV2")
    if not is_static(shape) or not shape or shape[-1] % 2 or nodes[0].shapes[0] != shape or join.shapes[0] != shape:
        return False
    axis, half = value_of(join.inputs[2]), shape[-1] // 2
    if axis is None or int(axis) not in (-1, len(shape) - 1):
        return False
    begins = [_begin_of_last(node, len(shape), value_of) for node in nodes if node.op == "StridedSlice"]
    upper = next(node.inputs[0].node for node in nodes if node.op == "Neg")
    first = [node.name for node in nodes if node.op == "StridedSlice"].index(upper)
    halves = all(node.shapes[0] == (*shape[:-1], half) for node in nodes if node.op == "StridedSlice")
    return halves and begins[first] in (half, -half) and begins[1 - first] in (0, -shape[-1])


def _begin_of_last(node: Node, rank: int, value_of: ValueOf) -> int | None:
    """The begin of a slice of the last dimension that has no steps; None for another slice."""
    begin, strides = value_of(node.inputs[1]), value_of(node.inputs[3])
    attrs = node.attrs
    if begin is None or strides is None or (np.asarray(strides) != 1).any():
        return None
    last = len(begin) - 1
    ellipsis = attrs["ellipsis_mask"]
    if (
        attrs["new_axis_mask"]
        or attrs["shrink_axis_mask"]
        or (len(begin) != rank and not ellipsis)
        or ellipsis >> last & 1
    ):
        return None
    return 0 if attrs["begin_mask"] >> last & 1 else int(begin[last])


_PAIRS = (
    "Mul(query, $left), Mul(key, $right)",
    "Mul(query, $left), key",
    "RealDiv(query, $divisor), key",
    "query, key",
)

_NORMAL_ROWS = tuple(
    f"Mul(c=Sub(x, m=Mean(x)), {root.format(f'Add(Mean({square}), $epsilon)')})"
    for root in _ROOTS
    for square in (*(form.format("c") for form in _SQUARES), "SquaredDifference(x, m)")
)
"""Rows without their mean and with the deviation 1, in the forms that `graph/autodiff/chains.py` gives them."""

CHAINS = (
    ChainPattern(
        "_Attention",
        ("query", "key", "value"),
        tuple(
            f"BatchMatMulV2(Softmax({outer.format(form.format(f'BatchMatMulV2({pair})'))}), value)"
            for outer in ("Add(Add({}, bias), more)", "Add({}, bias)", "{}")
            for form in ("Mul({}, $scale)", "RealDiv({}, $divisor)", "{}")
            for pair in _PAIRS
            if "divisor" not in pair or "divisor" not in form
        ),
        _attends,
        _scaled,
        ("bias", "more"),
    ),
    ChainPattern(
        "_Rotary",
        ("x", "cosines", "sines"),
        ("Add(Mul(x, cosines), Mul(ConcatV2(Neg(StridedSlice(x)), StridedSlice(x)), sines))",),
        _rotates,
    ),
    ChainPattern(
        "_LayerNorm",
        ("x", "scale", "offset"),
        tuple(
            f"Add(Mul(Mul(c=Sub(x, m=Mean(x)), {root.format(f'Add(Mean({square}), $epsilon)')}), scale), offset)"
            for root in _ROOTS
            for square in (_SQUARES[0].format("c"), _SQUARES[1].format("c"))
        )
        + tuple(
            f"Add(Mul({middle}, scale), offset)"
            for variance in ("Add(Mean(SquaredDifference(x, m)), $epsilon)",)
            for middle in (
                *(f"Mul(Sub(x, m=Mean(x)), {root.format(variance)})" for root in _ROOTS),
                f"RealDiv(Sub(x, m=Mean(x)), d=Sqrt({variance}))",
            )
        )
        + tuple(
            f"Add(Mul(x, i=Mul({root.format('Add(Mean(SquaredDifference(x, m=Mean(x))), $epsilon)')}, scale)), {rest})"
            for root in _ROOTS
            for rest in ("Add(Mul(Neg(m), i), offset)", "Sub(offset, Mul(m, i))")
        ),
        _over_rows,
    ),
    ChainPattern(
        "_LayerNormGrad",
        ("dy", "x", "scale"),
        tuple(
            f"Mul(Sub(Sub(s=Mul(dy, scale), Mean(s)), Mul(n={normal}, Mean(Mul(s, n)))), r)" for normal in _NORMAL_ROWS
        ),
        _back_over_rows,
    ),
    ChainPattern(
        "_LayerNormScaleGrad",
        ("dy", "x"),
        tuple(f"Sum(Mul(dy, {normal}))" for normal in _NORMAL_ROWS),
        _sums_rows,
        sums=True,
    ),
    *(
        ChainPattern(
            "_SoftmaxGrad",
            ("dy", "y"),
            tuple(form.format("Mul(Sub(dy, Sum(Mul(dy, y))), y)") for form in forms),
            _back_over_shares,
            lambda numbers, nodes: {"scale": _scale(numbers)},
        )
        for forms in (("Mul({}, $scale)", "RealDiv({}, $divisor)"), ("{}",))
    ),
    ChainPattern(
        "_RmsNorm",
        ("x", "scale"),
        tuple(
            f"Mul({middle}, scale)"
            for square in (_SQUARES[0].format("x"), _SQUARES[1].format("x"))
            for middle in (
                *(f"Mul(x, {root.format(f'Add(Mean({square}), $epsilon)')})" for root in _ROOTS),
                f"RealDiv(x, Sqrt(Add(Mean({square}), $epsilon)))",
            )
        ),
        _over_rows,
    ),
    ChainPattern(
        "_Gelu",
        ("x",),
        tuple(
            form.format(f"Add(Erf({inner}), 1)")
            for inner in (f"RealDiv(x, {math.sqrt(2)})", f"Mul(x, {math.sqrt(0.5)})")
            for form in ("Mul(Mul(x, {}), 0.5)", "Mul(Mul(x, 0.5), {})", "Mul(x, Mul({}, 0.5))")
        ),
    ),
    ChainPattern(
        "_GeluTanh",
        ("x",),
        tuple(
            form.format(f"Add(Tanh(Mul(Add(x, {cube}), {math.sqrt(2 / math.pi)})), 1)")
            for cube in ("Mul(Mul(Mul(x, x), x), 0.044715)", "Mul(Mul(Mul(x, 0.044715), x), x)", "Mul(Pow(x, 3), 0.044715)")
            for form in ("Mul(Mul(x, 0.5), {})", "Mul(Mul(x, {}), 0.5)", "Mul(x, Mul({}, 0.5))")
        ),
    ),
    ChainPattern("_Swish", ("x",), ("Mul(x, Sigmoid(x))",)),
)  # fmt: skip
"""The chains that are looked for, and what they become."""

ROWS = [
    (chain, [(found, found.ops) for form in chain.forms if isinstance(found := parsed(form), CallPattern)])
    for chain in CHAINS
]
"""Each chain with the patterns of its forms, and the ops that each pattern has."""
