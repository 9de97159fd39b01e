"""`inspected`: the nodes and the parameters of a signature, without a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from actorflow.base.registry import roles
from actorflow.exchange.sources.signature import Signature
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node


@dataclass(frozen=True, slots=True)
class Parameter:
    """A variable, or a constant of floating-point numbers that is no scalar.

    Args:
        name: of its node.
        dtype: the name of its element type.
        shape: its shape; None for an unknown size.
        elements: how many numbers it has; 0 where the shape is open.
        nbytes: their bytes.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None
    elements: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class SourceInspection:
    """The nodes and parameters of a signature.

    Args:
        ops: how many nodes of each op the outputs need, constants and placeholders left out.
        parameters: the largest first.
    """

    ops: Mapping[str, int]
    parameters: tuple[Parameter, ...]

    @property
    def nodes(self) -> int:
        """The number of nodes that compute."""
        return sum(self.ops.values())


def inspected(graph: Graph, signature: Signature) -> SourceInspection:
    """The nodes and parameters that the outputs of a signature need.

    Args:
        graph: the model's graph.
        signature: the signature.
    """
    fetches = tuple(graph.get_tensor_by_name(port.tensor).tensor_id for port in signature.outputs.values())
    inputs = [graph.get_tensor_by_name(port.tensor) for port in signature.inputs.values()]
    feeds = {tensor.tensor_id: (tensor.dtype, tensor.static_shape) for tensor in inputs}
    nodes = prune(Subgraph(graph.nodes, feeds, fetches)).nodes.values()
    parameters = [_parameter(node) for node in nodes if _is_parameter(node)]
    return SourceInspection(
        Counter(node.op for node in nodes if node.role not in (roles.CONSTANT, roles.PLACEHOLDER, roles.VARIABLE)),
        tuple(sorted(parameters, key=lambda each: (-each.nbytes, each.name))),
    )


def _is_parameter(node: Node) -> bool:
    if node.role is roles.CONSTANT:
        return node.dtypes[0].is_floating and bool(node.shapes[0])
    return node.role is roles.VARIABLE


def _parameter(node: Node) -> Parameter:
    dtype, shape = node.dtypes[0].base_dtype, node.shapes[0]
    elements = 0 if shape is None or None in shape else math.prod(size for size in shape if size is not None)
    return Parameter(node.name, dtype.name, shape, elements, elements * (dtype.size or 0))
