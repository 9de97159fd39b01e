"""Patterns: a few ops in a row as text, such as `Mul(x, Sigmoid(x))`, and the search for them among nodes.

A `ChainPattern` has several patterns, all of one function. `Search` finds the occurrences of a chain in a graph, and gives each
with the inputs and attributes of the op that stands for it. The chains themselves are in `.chains`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.registry import roles
from actorflow.base.shapes import Shape
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId

Bound: TypeAlias = Mapping[str, Any]
"""The tensors that stand for names of a pattern, the numbers that stand for its constants, and the nodes that stand for calls."""


@dataclass(frozen=True, slots=True)
class Name:
    """Any tensor, the same one wherever the name stands. `number` is a constant of one element."""

    name: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class CallPattern:
    """The result of an op, which may have a name. Arguments may be in the other order where the op does not mind."""

    op: str
    arguments: tuple[Pattern, ...]
    name: str = ""

    @property
    def ops(self) -> frozenset[str]:
        """The ops of the whole pattern."""
        return frozenset((self.op,)).union(*(inner.ops for inner in self.arguments if isinstance(inner, CallPattern)))


Pattern: TypeAlias = Name | CallPattern | float
ValueOf: TypeAlias = Callable[[TensorId], Any]
"""The value of a constant, or None."""


@dataclass(frozen=True, slots=True)
class ChainPattern:
    """A function's op, the forms in which programs write it, and the rule that what is found has to keep.

    Args:
        op: the one op that stands for all.
        inputs: the names that are its inputs.
        forms: patterns as text: a name stands for a tensor, `$name` for a number that becomes an attribute, a number for
            itself, and `name=Op(...)` for the result of an op that is used again.
        fits: whether the shapes of the inputs, the nodes that were found, and the values of constants allow it.
        attrs: the attributes of the op, from the numbers and the nodes that were found.
        several: the names that may be missing in a form; the op has them as a list.
        sums: whether the result has fewer dimensions than the first input.
    """

    op: str
    inputs: tuple[str, ...]
    forms: tuple[str, ...]
    fits: Callable[[list[Any], list[Node], ValueOf], bool] = lambda shapes, nodes, value_of: True
    attrs: Callable[[Mapping[str, float], list[Node]], Mapping[str, Any]] = lambda numbers, nodes: numbers
    several: tuple[str, ...] = ()
    sums: bool = False


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A chain in a graph: its nodes, the last of the chain first, the inputs and attributes of the op that stands for it, and the
    tensors by the names that a form gives them."""

    nodes: tuple[Node, ...]
    inputs: tuple[TensorId, ...]
    attrs: Mapping[str, Any]
    named: Mapping[str, TensorId]


_COMMUTATIVE = frozenset(("Add", "Mul"))
_TENSORS = {"Mean": 1, "Sum": 1, "StridedSlice": 1, "ConcatV2": 2}
"""How many inputs of an op a pattern has; the rest are axes and the like, at which `fits` looks."""
_TOLERANCE = 1e-6
_TOKENS = re.compile(r"\s*(?:([a-z]\w*)=)?(?:([A-Z]\w*)\(|(\$?[a-z]\w*)|([-\d.e]+)|([,)]))")


def parsed(text: str) -> Pattern:
    """The pattern of a text."""
    pattern, end = _parsed(text, 0)
    assert end == len(text), text
    return pattern


def _parsed(text: str, at: int) -> tuple[Pattern, int]:
    token = _TOKENS.match(text, at)
    assert token is not None, text[at:]
    named, op, name, number, _ = token.groups()
    if name is not None:
        return Name(name.lstrip("$"), name.startswith("$")), token.end()
    if number is not None:
        return float(number), token.end()
    arguments, end = [], token.end()
    while True:
        argument, end = _parsed(text, end)
        arguments.append(argument)
        closing = _TOKENS.match(text, end)
        assert closing is not None, text[end:]
        end = closing.end()
        if closing.group(5) == ")":
            return CallPattern(op, tuple(arguments), named or ""), end


class Search:
    """Looks for patterns among nodes."""

    def __init__(self, graph: Subgraph, nodes: Mapping[str, Node]) -> None:
        self._graph = graph
        self._nodes = nodes

    def value_of(self, tensor_id: TensorId) -> Any:
        """The value of a constant that is not fed, or None."""
        node = self.producer(tensor_id)
        return node.attrs["value"] if node is not None and node.role is roles.CONSTANT else None

    def shape_of(self, tensor_id: TensorId) -> Shape:
        return self._graph.type_of(tensor_id)[1]

    def producer(self, tensor_id: TensorId) -> Node | None:
        return None if tensor_id in self._graph.feeds else self._nodes.get(tensor_id.node)

    def occurrences(self, chain: ChainPattern, patterns: Sequence[CallPattern], last: Node) -> Iterator[Occurrence]:
        """The ways in which a node is the last of a chain, which has these patterns."""
        for bound in (occurrence for pattern in patterns for occurrence in self.call(pattern, last, {})):
            nodes = list({node.name: node for node in bound["nodes"]}.values())
            inputs = tuple(bound[name] for name in (*chain.inputs, *(n for n in chain.several if n in bound)))
            shapes = [self.shape_of(e) for e in inputs]
            if (chain.sums or _same_rank(shapes[0], last.shapes[0])) and chain.fits(shapes, nodes, self.value_of):
                numbers = {name: value for name, value in bound.items() if isinstance(value, float)}
                named = {name: value for name, value in bound.items() if isinstance(value, TensorId)}
                yield Occurrence(tuple(nodes), inputs, chain.attrs(numbers, nodes), named)

    def call(self, pattern: CallPattern, node: Node, bound: Bound) -> Iterator[Bound]:
        """The ways in which a node is the result of a pattern, each as what stands for its names."""
        if node.op != pattern.op or len(node.dtypes) != 1:
            return
        inputs = node.inputs[: _TENSORS.get(node.op)]
        if len(inputs) != len(pattern.arguments):
            return
        orders = [inputs, inputs[::-1]] if node.op in _COMMUTATIVE else [inputs]
        for order in orders:
            for binding in self._all(pattern.arguments, order, {**bound, "nodes": [*bound.get("nodes", []), node]}):
                yield {**binding, pattern.name: TensorId(node.name, 0)} if pattern.name else binding

    def _all(self, patterns: tuple[Pattern, ...], inputs: tuple[TensorId, ...], bound: Bound) -> Iterator[Bound]:
        if not patterns:
            yield bound
            return
        for binding in self._one(patterns[0], inputs[0], bound):
            yield from self._all(patterns[1:], inputs[1:], binding)

    def _one(self, pattern: Pattern, tensor_id: TensorId, bound: Bound) -> Iterator[Bound]:
        if isinstance(pattern, Name) and not pattern.number:
            earlier = bound.get(pattern.name)
            if earlier is None or earlier == tensor_id:
                yield bound if earlier is not None else {**bound, pattern.name: tensor_id}
            return
        node = self.producer(tensor_id)
        if node is None:
            return
        if isinstance(pattern, CallPattern):
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
    if node.role is not roles.CONSTANT:
        return None
    value = np.asarray(node.attrs["value"])
    return float(value.reshape(())) if value.size == 1 and value.dtype.kind == "f" else None


def _same_rank(shape: Shape, other: Shape) -> bool:
    return shape is not None and other is not None and len(shape) == len(other)
