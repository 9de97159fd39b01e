"""The cost of a node: expected from its op, types and static shapes, or measured (paper section 3.2.1).

The expected figures are nanoseconds on a current core. They only have to be right within a few times: they decide whether
a node may be merged with others, and on which device a node first runs; later measurements replace them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from actorflow.base.dtypes import DType
from actorflow.base.registry import opdef
from actorflow.base.shapes import Shape
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node

_SCALAR = 100.0  # one operation on numpy scalars
_CALL = 700.0  # one call of a numpy function on small arrays
_PER_ELEMENT = 0.1  # one cheap operation on one element
_PER_BYTE = 0.03  # reading or writing a byte that a cache holds
_PER_FAR_BYTE = 0.1  # the same where none does
_CACHE = 1 << 22
_PER_DENSE_FLOP = 0.01  # inside BLAS
_UNKNOWN_FLOPS = 1e6
_UNKNOWN_SIZE = 64  # stands for a size that only the run knows


def expected_elements(shape: Shape) -> int:
    """The number of elements, with a guess for each unknown size."""
    if shape is None:
        return _UNKNOWN_SIZE
    elements = 1
    for size in shape:
        elements *= _UNKNOWN_SIZE if size is None else size
    return elements


def expected_bytes(shape: Shape, dtype: DType) -> int:
    """The size of a tensor, with a guess for each unknown dimension."""
    return expected_elements(shape) * (dtype.size or 64)


def expected_cost(
    node: Node,
    input_dtypes: Sequence[DType],
    input_shapes: Sequence[Shape],
    output_shapes: Sequence[Shape] | None = None,
) -> float:
    """Nanoseconds for one execution of `node`."""
    definition = opdef.lookup(node.op)
    outputs = node.shapes if output_shapes is None else output_shapes
    work = 1.0 if definition.work is None else definition.work
    if work == 0:
        return _SCALAR
    moved = sum(expected_bytes(s, d) for s, d in zip(input_shapes, input_dtypes))
    moved += sum(expected_bytes(s, d) for s, d in zip(outputs, node.dtypes))
    memory = moved * (_PER_BYTE if moved < _CACHE else _PER_FAR_BYTE)
    if callable(work):
        flops = _flops(definition, node, input_dtypes, input_shapes)
        return _CALL + max(flops * _PER_DENSE_FLOP, memory)
    if all(s == () for s in (*input_shapes, *outputs)):
        return _SCALAR * max(1.0, work / 4)
    elements = max((expected_elements(s) for s in (*outputs, *input_shapes)), default=1)
    return _CALL + max(elements * work * _PER_ELEMENT, memory)


def _flops(definition: opdef.OpDef, node: Node, dtypes: Sequence[DType], shapes: Sequence[Shape]) -> float:
    """The result of the op's work rule, with a guess for each unknown size, or without guesses if they contradict
    sizes."""
    assert callable(definition.work)
    for known_shapes in (_guessed(shapes), shapes):
        try:
            return definition.work(opdef.Inference(definition, node.attrs, dtypes, known_shapes, lambda index: None))
        except (TypeError, ValueError):
            continue
    return _UNKNOWN_FLOPS


def _guessed(shapes: Sequence[Shape]) -> list[Shape]:
    return [None if s is None else tuple(_UNKNOWN_SIZE if size is None else size for size in s) for s in shapes]


def node_cost(node: Node, graph: Subgraph) -> float:
    """`expected_cost` of a node of a subgraph."""
    types = [graph.type_of(tensor_id) for tensor_id in node.inputs]
    return expected_cost(node, [dtype for dtype, _ in types], [shape for _, shape in types])


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measurements of nodes by earlier runs, by name; the static estimate stands for nodes that are not in it.

    seconds: for one execution of the node.
    bytes: of each of the node's outputs.
    devices: the full name of the device on which the node was measured. If that is missing, the time is for a device of
        speed 1.
    idle: the part of the seconds in which the node took no core.
    hops: the seconds of a hop to the device's thread or back, where that ran it.
    """

    seconds: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    bytes: Mapping[str, Sequence[int]] = field(default_factory=lambda: MappingProxyType({}))
    devices: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    idle: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    hops: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


UNMEASURED = Measurements()
