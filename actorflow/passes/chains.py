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
from actorflow.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId
from actorflow.passes.fuse import JOINED, has_kernel, uses_of
from actorflow.shapes import Shape

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


Pattern: TypeAlias = Name | Call | float


@dataclass(frozen=True, slots=True)
class Chain:
    """A function's op, the forms in which programs write it, and the rule that what is found has to keep.

    Args:
        op: the one op that stands for all.
        inputs: the names that are its inputs.
        forms: patterns as text: a name stands for a tensor, `$name` for a number that becomes an attribute, a number for
            itself, and `name=Op(...)` for the result of an op that is used again.
        fits: whether the shapes of the inputs, and the nodes that were found, allow it.
        attrs: the attributes of the op, from the numbers and the nodes that were found.
        several: the names that may be missing in a form; the op has them as a list.
    """

    op: str
    inputs: tuple[str, ...]
    forms: tuple[str, ...]
    fits: Callable[[list[Any], list[Node]], bool] = lambda shapes, nodes: True
    attrs: Callable[[Mapping[str, float], list[Node]], Mapping[str, Any]] = lambda numbers, nodes: numbers
    several: tuple[str, ...] = ()


_COMMUTATIVE = frozenset(("Add", "Mul"))
_WITHOUT_AXES = frozenset(("Mean",))
_TOLERANCE = 1e-6
_ROOTS = ("RealDiv(1, Sqrt({}))", "Rsqrt({})", "Reciprocal(Sqrt({}))")
_SQUARES = ("Mul({0}, {0})", "Square({0})")


def _over_rows(shapes: list[Any], nodes: list[Node]) -> bool:
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


def _attends(shapes: list[Any], nodes: list[Node]) -> bool:
    """Whether shares of rows are multiplied with values, and the scores are products of heads, all with the same dimensions."""
    query, key, value = shapes[:3]
    last, softmax, scores = nodes[0], nodes[1], next(node for node in nodes[1:] if node.op == "BatchMatMulV2")
    if any(node.attrs["adj_x"] for node in (last, scores)) or last.attrs["adj_y"] or query is None:
        return False
    rank = len(query)
    if not 3 <= rank <= 4 or softmax.attrs["axis"] not in (-1, rank - 1):
        return False
    before: list[Any] = [None if shape is None else shape[: rank - 2] for shape in (query, key, value)]
    return before[0] == before[1] == before[2] and None not in before[0][1:]


def _scaled(numbers: Mapping[str, float], nodes: list[Node]) -> Mapping[str, Any]:
    scores = next(node for node in nodes[1:] if node.op == "BatchMatMulV2")
    scale = math.prod(1 / value if name == "divisor" else value for name, value in numbers.items())
    return {"scale": scale, "turned": not scores.attrs["adj_y"]}


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
            for outer in ("Add({}, bias)", "{}")
            for form in ("Mul({}, $scale)", "RealDiv({}, $divisor)", "{}")
            for pair in _PAIRS
            if "divisor" not in pair or "divisor" not in form
        ),
        _attends,
        _scaled,
        ("bias",),
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


_ROWS = [(chain, [found for form in chain.forms if isinstance(found := parsed(form), Call)]) for chain in CHAINS]
_LASTS = frozenset(pattern.op for _, patterns in _ROWS for pattern in patterns)


def fuse_chains(graph: Subgraph) -> Subgraph:
    """Replaces chains by the ops that stand for them, on devices that have kernels for those.

    The nodes in between are not fetched, fed or waited for, and have no other users.

    Args:
        graph: what one device runs.
    """
    ends = [node for node in graph.nodes.values() if node.op in _LASTS and node.dtypes[0] is dtypes.float32]
    if not ends:
        return graph
    uses = uses_of(graph)
    nodes = dict(graph.nodes)
    for chain, patterns in _ROWS:
        for last in yielding(ends):
            if nodes.get(last.name) is last:
                _replace(graph, nodes, uses, last, chain, patterns)
    return graph.with_nodes([node for node in nodes.values() if node.op != "Const" or uses[node.name] > 0])


def _replace(
    graph: Subgraph, nodes: dict[str, Node], uses: Counter[str], last: Node, chain: Chain, patterns: Sequence[Call]
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
        if not _same_rank(shapes[0], last.shapes[0]) or not chain.fits(shapes, found) or not has_kernel(chain.op, last):
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

    def call(self, pattern: Call, node: Node, bound: Bound) -> Iterator[Bound]:
        """The ways in which a node is the result of a pattern, each as what stands for its names."""
        if node.op != pattern.op or len(node.dtypes) != 1:
            return
        inputs = node.inputs[:1] if node.op in _WITHOUT_AXES else node.inputs
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
        node = None if tensor_id in self._graph.feeds else self._nodes.get(tensor_id.node)
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
