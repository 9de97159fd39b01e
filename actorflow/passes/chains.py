"""Chains: a few ops in a row that compute a function for which there is one kernel, such as a layer's normalization.

Programs write such a function in several forms, all of which are rows of `CHAINS`. The one node has the name of the last of
those that it stands for.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from actorflow import dtypes
from actorflow.analysis.cooperative import yielding
from actorflow.analysis.subgraph import Subgraph, Uses, uses_of
from actorflow.graph.node import Node, TensorId
from actorflow.passes.fuse import JOINED, has_kernel
from actorflow.shapes import Shape, is_static

Bound: TypeAlias = Mapping[str, Any]
"""The tensors that stand for names of a pattern, the numbers that stand for its constants, and the nodes that stand for calls."""


@dataclass(frozen=True, slots=True)
class Name:
    """Any tensor, the same one wherever the name stands. `number` is a constant of one element."""

    name: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """The result of an op, which may have a name. Arguments may be in the other order where the op does not mind."""

    op: str
    arguments: tuple[Pattern, ...]
    name: str = ""

    @property
    def ops(self) -> frozenset[str]:
        """The ops of the whole pattern."""
        return frozenset((self.op,)).union(*(inner.ops for inner in self.arguments if isinstance(inner, Call)))


Pattern: TypeAlias = Name | Call | float
ValueOf: TypeAlias = Callable[[TensorId], Any]
"""The value of a constant, or None."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A function's op, the forms in which programs write it, and the rule that what is found has to keep.

    Args:
        op: the one op that stands for all.
        inputs: the names that are its inputs.
        forms: patterns as text: a name stands for a tensor, `$name` for a number that becomes an attribute, a number for
            itself, and `name=Op(...)` for the result of an op that is used again.
        fits: whether the shapes of the inputs, the nodes that were found, and the values of constants allow it.
        attrs: the attributes of the op, from the numbers and the nodes that were found.
        several: the names that may be missing in a form; the op has them as a list.
    """

    op: str
    inputs: tuple[str, ...]
    forms: tuple[str, ...]
    fits: Callable[[list[Any], list[Node], ValueOf], bool] = lambda shapes, nodes, value_of: True
    attrs: Callable[[Mapping[str, float], list[Node]], Mapping[str, Any]] = lambda numbers, nodes: numbers
    several: tuple[str, ...] = ()


_COMMUTATIVE = frozenset(("Add", "Mul"))
_TENSORS = {"Mean": 1, "StridedSlice": 1, "ConcatV2": 2}
"""How many inputs of an op a pattern has; the rest are axes and the like, at which `fits` looks."""
_TOLERANCE = 1e-6
_LEAST_DIVISOR = 1e-30
_ROOTS = ("RealDiv(1, Sqrt({}))", "Rsqrt({})", "Reciprocal(Sqrt({}))")
_SQUARES = ("Mul({0}, {0})", "Square({0})")


def _over_rows(shapes: list[Any], nodes: list[Node], value_of: ValueOf) -> bool:
    """Whether means are those of rows, and the other inputs are vectors as long as a row."""
    row = None if not shapes[0] else shapes[0][-1]
    if row is None or any(shape != (row,) for shape in shapes[1:]):
        return False
    rank = len(shapes[0])
    return all(
        node.attrs.get("keep_dims", node.attrs.get("keepdims")) and node.shapes[0] == (*shapes[0][: rank - 1], 1)
        for node in nodes
        if node.op == "Mean"
    )


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
    scale = math.prod(1 / value if name == "divisor" else value for name, value in numbers.items())
    return {"scale": scale, "turned": not scores.attrs["adj_y"]}


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
    """The begin of a slice of the last dimension that has no steps; None for another one."""
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

CHAINS = (
    Chain(
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
    Chain(
        "_Rotary",
        ("x", "cosines", "sines"),
        ("Add(Mul(x, cosines), Mul(ConcatV2(Neg(StridedSlice(x)), StridedSlice(x)), sines))",),
        _rotates,
    ),
    Chain(
        "_LayerNorm",
        ("x", "scale", "offset"),
        tuple(
            f"Add(Mul(Mul(c=Sub(x, Mean(x)), {root.format(f'Add(Mean({square}), $epsilon)')}), scale), offset)"
            for root in _ROOTS
            for square in (_SQUARES[0].format("c"), _SQUARES[1].format("c"))
        )
        + tuple(
            f"Add(Mul(x, i=Mul({root.format('Add(Mean(SquaredDifference(x, m=Mean(x))), $epsilon)')}, scale)), {rest})"
            for root in _ROOTS
            for rest in ("Add(Mul(Neg(m), i), offset)", "Sub(offset, Mul(m, i))")
        ),
        _over_rows,
    ),
    Chain(
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
    Chain(
        "_Gelu",
        ("x",),
        tuple(
            form.format(f"Add(Erf({inner}), 1)")
            for inner in (f"RealDiv(x, {math.sqrt(2)})", f"Mul(x, {math.sqrt(0.5)})")
            for form in ("Mul(Mul(x, {}), 0.5)", "Mul(Mul(x, 0.5), {})", "Mul(x, Mul({}, 0.5))")
        ),
    ),
    Chain(
        "_GeluTanh",
        ("x",),
        tuple(
            form.format(f"Add(Tanh(Mul(Add(x, {cube}), {math.sqrt(2 / math.pi)})), 1)")
            for cube in ("Mul(Mul(Mul(x, x), x), 0.044715)", "Mul(Mul(Mul(x, 0.044715), x), x)", "Mul(Pow(x, 3), 0.044715)")
            for form in ("Mul(Mul(x, 0.5), {})", "Mul(Mul(x, {}), 0.5)", "Mul(x, Mul({}, 0.5))")
        ),
    ),
    Chain("_Swish", ("x",), ("Mul(x, Sigmoid(x))",)),
)  # fmt: skip
"""The chains that are looked for, and what they become."""

_TOKENS = re.compile(r"\s*(?:([a-z]\w*)=)?(?:([A-Z]\w*)\(|(\$?[a-z]\w*)|([-\d.e]+)|([,)]))")


def parsed(text: str) -> Pattern:
    """The pattern of a text."""
    pattern, end = _parsed(text, 0)
    assert end == len(text), text
    return pattern


def _parsed(text: str, at: int) -> tuple[Pattern, int]:
    found = _TOKENS.match(text, at)
    assert found is not None, text[at:]
    named, op, name, number, _ = found.groups()
    if name is not None:
        return Name(name.lstrip("$"), name.startswith("$")), found.end()
    if number is not None:
        return float(number), found.end()
    arguments, end = [], found.end()
    while True:
        argument, end = _parsed(text, end)
        arguments.append(argument)
        closing = _TOKENS.match(text, end)
        assert closing is not None, text[end:]
        end = closing.end()
        if closing.group(5) == ")":
            return Call(op, tuple(arguments), named or ""), end


_ROWS = [
    (chain, [(found, found.ops) for form in chain.forms if isinstance(found := parsed(form), Call)]) for chain in CHAINS
]


def fuse_chains(graph: Subgraph) -> Subgraph:
    """Replaces chains by the ops that stand for them, on devices that have kernels for those.

    The nodes in between are not fetched, fed or waited for, and have no other users.

    Args:
        graph: what one device runs.
    """
    present = {node.op for node in graph.nodes.values()}
    rows = [(chain, [pattern for pattern, ops in patterns if ops <= present]) for chain, patterns in _ROWS]
    if not any(patterns for _, patterns in rows):
        return graph
    uses = uses_of(graph)
    nodes = dict(graph.nodes)
    for chain, patterns in rows:
        lasts = {pattern.op for pattern in patterns}
        ends = [n for n in graph.nodes.values() if n.op in lasts and n.dtypes[0] is dtypes.float32]
        for last in yielding(ends):
            if nodes.get(last.name) is last:
                _replace(graph, nodes, uses, last, chain, patterns)
    _share_heads(graph, nodes, uses)
    return graph.with_nodes([node for node in nodes.values() if node.op != "Const" or uses[node.name] > 0])


def _share_heads(graph: Subgraph, nodes: dict[str, Node], uses: Uses) -> None:
    """Lets attention read keys and values that several heads share, which programs copy for each of them."""
    search = _Search(graph, nodes)
    for node in [node for node in nodes.values() if node.op == "_Attention"]:
        query, key, value, *bias = node.inputs
        made, turned = search.producer(key), node.attrs["turned"]
        if turned and made is not None and made.op == "Transpose":
            order = search.value_of(made.inputs[1])
            if order is not None and list(order) == [0, 1, 3, 2]:
                key, turned = made.inputs[0], False
        own = _not_repeated(search, key), _not_repeated(search, value)
        if not turned and own[0] is not None and own[1] is not None and _have_as_many_heads(search, own[0], own[1]):
            attrs = MappingProxyType({**node.attrs, "turned": False})
            nodes[node.name] = replace(node, inputs=(query, own[0], own[1], *bias), attrs=attrs)
            uses.update((own[0].node, own[1].node))
            for tensor_id in node.inputs[1:3]:
                _release(nodes, uses, tensor_id)


def _have_as_many_heads(search: _Search, key: TensorId, value: TensorId) -> bool:
    one, other = search.shape_of(key), search.shape_of(value)
    return one is not None and other is not None and one[1] == other[1]


def _release(nodes: dict[str, Node], uses: Uses, tensor_id: TensorId) -> None:
    """Takes a use of a tensor away, and the nodes that then have none."""
    uses[tensor_id.node] -= 1
    node = nodes.get(tensor_id.node)
    if node is not None and node.op != "Const" and not uses[node.name] and not node.controls:
        del nodes[node.name]
        for before in node.inputs:
            _release(nodes, uses, before)


def _not_repeated(search: _Search, tensor_id: TensorId) -> TensorId | None:
    """The tensor [batch, heads, row, element] that is repeated for some heads in a row, by a dimension behind the heads."""
    shapes: list[Any] = []
    for op in ("Reshape", "BroadcastTo", "ExpandDims"):
        node = search.producer(tensor_id)
        if node is None or node.op != op or not is_static(node.shapes[0]):
            return None
        shapes.append(node.shapes[0])
        tensor_id = node.inputs[0]
    whole, wide, narrow = shapes
    if not len(whole) == len(wide) - 1 == len(narrow) - 1 == 4 or narrow[2] != 1:
        return None
    (batch, heads, _, *rest), times = narrow, wide[2]
    same = wide == (batch, heads, times, *rest) and whole == (batch, heads * times, *rest)
    source = search.shape_of(tensor_id)
    return tensor_id if same and source == (batch, heads, *rest) else None


def _replace(
    graph: Subgraph, nodes: dict[str, Node], uses: Uses, last: Node, chain: Chain, patterns: Sequence[Call]
) -> None:
    """Puts the one node in the place of a chain that ends with `last`, if there is one."""
    search = _Search(graph, nodes)
    for bound in (found for pattern in patterns for found in search.call(pattern, last, {})):
        found = list({node.name: node for node in bound["nodes"]}.values())
        gone = [node for node in found if node.name != last.name]
        within = Counter(e.node for node in found for e in node.inputs)
        if any(uses[node.name] != within[node.name] or node.device != last.device for node in gone):
            continue
        inputs = tuple(bound[name] for name in (*chain.inputs, *(n for n in chain.several if n in bound)))
        shapes = [graph.type_of(e)[1] for e in inputs]
        if (
            not _same_rank(shapes[0], last.shapes[0])
            or not chain.fits(shapes, found, search.value_of)
            or not has_kernel(chain.op, last)
        ):
            continue
        for node in found:
            uses.subtract(e.node for e in node.inputs)
        for node in gone:
            del nodes[node.name]
        uses.update(e.node for e in inputs)
        named = {name: value for name, value in bound.items() if isinstance(value, float)}
        nodes[last.name] = replace(
            last,
            op=chain.op,
            inputs=inputs,
            controls=tuple(dict.fromkeys(c for node in found for c in node.controls)),
            attrs=MappingProxyType({**chain.attrs(named, found), JOINED: tuple(node.name for node in gone)}),
        )
        return


def _same_rank(one: Shape, other: Shape) -> bool:
    return one is not None and other is not None and len(one) == len(other)


class _Search:
    """Looks for patterns among nodes."""

    def __init__(self, graph: Subgraph, nodes: Mapping[str, Node]) -> None:
        self._graph = graph
        self._nodes = nodes

    def value_of(self, tensor_id: TensorId) -> Any:
        """The value of a constant that is not fed, or None."""
        node = self.producer(tensor_id)
        return node.attrs["value"] if node is not None and node.op == "Const" else None

    def shape_of(self, tensor_id: TensorId) -> Shape:
        return self._graph.type_of(tensor_id)[1]

    def producer(self, tensor_id: TensorId) -> Node | None:
        return None if tensor_id in self._graph.feeds else self._nodes.get(tensor_id.node)

    def call(self, pattern: Call, node: Node, bound: Bound) -> Iterator[Bound]:
        """The ways in which a node is the result of a pattern, each as what stands for its names."""
        if node.op != pattern.op or len(node.dtypes) != 1:
            return
        inputs = node.inputs[: _TENSORS.get(node.op)]
        if len(inputs) != len(pattern.arguments):
            return
        orders = [inputs, inputs[::-1]] if node.op in _COMMUTATIVE else [inputs]
        for order in orders:
            for found in self._all(pattern.arguments, order, {**bound, "nodes": [*bound.get("nodes", []), node]}):
                yield {**found, pattern.name: TensorId(node.name, 0)} if pattern.name else found

    def _all(self, patterns: tuple[Pattern, ...], inputs: tuple[TensorId, ...], bound: Bound) -> Iterator[Bound]:
        if not patterns:
            yield bound
            return
        for found in self._one(patterns[0], inputs[0], bound):
            yield from self._all(patterns[1:], inputs[1:], found)

    def _one(self, pattern: Pattern, tensor_id: TensorId, bound: Bound) -> Iterator[Bound]:
        if isinstance(pattern, Name) and not pattern.number:
            known = bound.get(pattern.name)
            if known is None or known == tensor_id:
                yield bound if known is not None else {**bound, pattern.name: tensor_id}
            return
        node = self.producer(tensor_id)
        if node is None:
            return
        if isinstance(pattern, Call):
            yield from self.call(pattern, node, bound)
            return
        value = _number(node)
        if value is None:
            return
        if isinstance(pattern, Name):
            yield {**bound, pattern.name: value}
        elif math.isclose(value, pattern, rel_tol=_TOLERANCE):
            yield bound


def _number(node: Node) -> float | None:
    """The value of a constant of one element."""
    if node.op != "Const":
        return None
    value = np.asarray(node.attrs["value"])
    return float(value.reshape(())) if value.size == 1 and value.dtype.kind == "f" else None
