"""Products that many nodes make piece by piece become one product: an unrolled cell or the steps of a sequence leave such
pieces.

The gradient of weights that several nodes share is the sum a₁ᵀ b₁ + a₂ᵀ b₂ + …, with a product for each node. The sum is the
product of all rows, stacked below each other. A library computes this product at a higher speed, and no partial sum goes
through memory. If the gradient of a concatenation is a product, and only one part of it is needed, the other columns are not
computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.shapes import is_static, num_elements
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.subgraph import Subgraph, uses_of
from actorflow.graph.constant_value import constant_value
from actorflow.graph.node import Node, TensorId

_TYPES = frozenset((dtypes.float32, dtypes.float64))
_BATCHED = frozenset(("AddN", "SplitV"))
LEAST = 3
"""Pieces from which on they are computed together."""
MOST_ROWS = 128
"""Rows of a piece: a product of more is as fast by itself."""
WORTH = 1 << 18
"""Multiplications: with fewer, what is saved is no more than what copies and one node more cost."""


def batch_products(graph: Subgraph) -> Subgraph:
    """Replaces sums of products by one product each, and products of which some columns have no user by those of the others.

    A product that is fetched, fed, waited for or used elsewhere stays as it is. All are on one device.

    Args:
        graph: what one device runs.
    """
    if all(node.op not in _BATCHED for node in yielding(graph.nodes.values())):
        return graph
    batcher = _Batcher(graph)
    for node in yielding(graph.nodes.values()):
        batcher.add(node)
    return graph.with_nodes(batcher.nodes.values()) if batcher.changes else graph


class _Batcher:
    def __init__(self, graph: Subgraph) -> None:
        self._graph = graph
        self._uses = uses_of(graph)
        self._moved: dict[TensorId, TensorId] = {}
        self.nodes: dict[str, Node] = {}
        self.changes = False

    def add(self, node: Node) -> None:
        """Adds a node of the graph, or what stands for it; they come in their order."""
        if any(e in self._moved for e in node.inputs):
            node = replace(node, inputs=tuple([self._moved.get(e, e) for e in node.inputs]))
        if node.op == "AddN" and len(node.inputs) >= LEAST and node.dtypes[0] in _TYPES:
            node = self._summed(node)
        elif node.op == "SplitV" and node.dtypes[0] in _TYPES and self._halved(node):
            return
        self.nodes[node.name] = node

    # ---- sums of products

    def _summed(self, node: Node) -> Node:
        """The sum of several products as one product."""
        pieces = [self._only_used(e) for e in node.inputs]
        members = [p for p in pieces if p is not None and self._is_of_rows(p, node)]
        rows = sum(self._shape(m.inputs[0])[0] for m in members)
        if len(members) < len(pieces) or rows * (num_elements(node.shapes[0]) or 0) < WORTH:
            return node
        self.changes = True
        axis = self._constant(f"{node.name}/axis", np.int32(0), node)
        columns = zip(*(m.inputs for m in members), strict=True)
        inputs = tuple([self._below_each_other(node, column, axis, rows) for column in columns])
        for member in members:
            del self.nodes[member.name]
        controls = tuple(dict.fromkeys(c for m in (*members, node) for c in m.controls))
        return replace(node, op="MatMul", inputs=inputs, controls=controls, attrs=members[0].attrs)

    def _is_of_rows(self, product: Node, total: Node) -> bool:
        """Whether a node is a product of a turned matrix with another matrix, of a few rows, as large as the sum."""
        if product.op != "MatMul" or not product.attrs["transpose_a"] or product.attrs["transpose_b"]:
            return False
        if product.device != total.device or product.shapes != total.shapes or not is_static(total.shapes[0]):
            return False
        shapes = [self._shape(e) for e in product.inputs]
        return all(is_static(shape) for shape in shapes) and 0 < self._shape(product.inputs[0])[0] <= MOST_ROWS

    def _shape(self, tensor_id: TensorId) -> Any:
        node = None if tensor_id in self._graph.feeds else self.nodes.get(tensor_id.node)
        return self._graph.type_of(tensor_id)[1] if node is None else node.shapes[tensor_id.port]

    def _only_used(self, tensor_id: TensorId) -> Node | None:
        """The node that gives a tensor, if that is its only use."""
        node = self.nodes.get(tensor_id.node)
        return node if self._uses[tensor_id.node] == 1 and tensor_id not in self._graph.feeds else None

    def _below_each_other(self, node: Node, tensors: Sequence[TensorId], axis: TensorId, rows: int) -> TensorId:
        """The rows of all these matrices as one matrix."""
        rows_node = Node(
            name=self._free(f"{node.name}/rows"),
            op="ConcatV2",
            inputs=(*tensors, axis),
            dtypes=node.dtypes,
            shapes=((rows, self._shape(tensors[0])[1]),),
            device=node.device,
            where=node.where,
        )
        self.nodes[rows_node.name] = rows_node
        return TensorId(rows_node.name, 0)

    # ---- products of which some columns are taken

    def _halved(self, node: Node) -> bool:
        """Computes the one part of a product's columns that has users; False where that is not so."""
        product = self._only_used(node.inputs[0])
        if product is None or product.op != "MatMul" or not product.attrs["transpose_b"]:
            return False
        taken = [port for port in range(len(node.dtypes)) if self._uses[TensorId(node.name, port)]]
        if len(taken) != 1 or self._uses[node.name] != self._uses[TensorId(node.name, taken[0])] or node.controls:
            return False
        output = TensorId(node.name, taken[0])
        sizes, axis = (constant_value(self._graph.nodes, e) for e in node.inputs[1:])
        weights = self._shape(product.inputs[1])
        if sizes is None or axis is None or weights is None or not is_static(weights) or len(weights) != 2:
            return False
        if (
            int(axis) not in (1, -1)
            or (sizes < 0).any()
            or output in self._graph.feeds
            or output in self._graph.fetches
        ):
            return False
        slopes = self._shape(product.inputs[0])
        if not is_static(slopes) or slopes[product.attrs["transpose_a"]] * weights[0] * weights[1] < WORTH:
            return False
        self.changes = True
        begin, size = int(sizes[: taken[0]].sum()), int(sizes[taken[0]])
        rows = Node(
            name=self._free(f"{node.name}/weights"),
            op="Slice",
            inputs=(
                product.inputs[1],
                self._constant(f"{node.name}/begin", np.array([begin, 0], np.int32), node),
                self._constant(f"{node.name}/size", np.array([size, weights[1]], np.int32), node),
            ),
            dtypes=node.dtypes[:1],
            shapes=((size, weights[1]),),
            device=node.device,
            where=node.where,
        )
        self.nodes[rows.name] = rows
        del self.nodes[product.name]
        inputs = (product.inputs[0], TensorId(rows.name, 0))
        shapes = node.shapes[taken[0] : taken[0] + 1]
        self.nodes[product.name] = replace(product, inputs=inputs, shapes=shapes)
        self._moved[output] = TensorId(product.name, 0)
        self._uses[product.name] = self._uses[output]
        return True

    # ---- names

    def _constant(self, name: str, value: Any, node: Node) -> TensorId:
        array = np.asarray(value)
        array.flags.writeable = False
        dtype = dtypes.as_dtype(array.dtype)
        constant = Node(
            name=self._free(name),
            op="Const",
            attrs=MappingProxyType({"value": array, "dtype": dtype}),
            dtypes=(dtype,),
            shapes=(array.shape,),
            device=node.device,
            where=node.where,
        )
        self.nodes[constant.name] = constant
        return TensorId(constant.name, 0)

    def _free(self, name: str) -> str:
        candidate, number = name, 0
        while candidate in self._graph.nodes or candidate in self.nodes:
            number += 1
            candidate = f"{name}_{number}"
        return candidate
