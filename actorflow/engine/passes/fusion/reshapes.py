"""Reshapes move behind the elementwise ops that follow them, and two in a row become one reshape.

A layer over sequences is a product of matrices between two reshapes. Its bias, its activation and what it is added to come
behind the second reshape. Behind the reshape they can't become part of the product (`fuse`); before it they can. The reshape
into matrices for the next product then meets the moved reshape, and neither is left. Nodes that put a dimension of 1 in or
take it out, as around convolutions of sequences, are reshapes as well.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry import roles
from actorflow.base.shapes import Shape, is_static
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.subgraph import Subgraph, uses_of
from actorflow.graph.node import Node, TensorId

_UNARY = frozenset(
    (
        "Relu",
        "Relu6",
        "Elu",
        "Tanh",
        "Sigmoid",
        "Erf",
        "Neg",
        "Square",
        "Sqrt",
        "Rsqrt",
        "Exp",
        "_Gelu",
        "_GeluTanh",
        "_Swish",
    )
)
_ROWS = frozenset(("_LayerNorm", "_RmsNorm"))
"""Ops that do the same to each row."""
_BINARY = frozenset(["Add", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "BiasAdd"])
_RESHAPES = frozenset(("Reshape", "ExpandDims", "Squeeze"))


def sink_reshapes(graph: Subgraph) -> Subgraph:
    """Moves reshapes of static shapes behind elementwise ops, and joins those that meet.

    Args:
        graph: what one device runs.
    """
    if not any(node.op in _RESHAPES for node in graph.nodes.values()):
        return graph
    return _Sinking(graph).result()


class _Sinking:
    """The nodes so far. `same` are tensors that others stand for."""

    def __init__(self, graph: Subgraph) -> None:
        self._graph = graph
        self._uses = uses_of(graph)
        self._made: dict[str, Node] = {}
        self._reshaped: dict[tuple[TensorId, Shape], str] = {}

    def result(self) -> Subgraph:
        graph = self._graph
        for node in yielding(graph.nodes.values()):
            for changed in self._changed(node):
                self._made[changed.name] = changed
        nodes = self._made
        left = uses_of(graph.with_nodes(nodes.values()))
        for node in yielding(reversed(list(nodes.values()))):
            if node.op in ("Reshape", "Const") and not left[node.name]:
                del nodes[node.name]
                left.subtract(e.node for e in node.inputs)
        return graph.with_nodes(nodes.values())

    def _changed(self, node: Node) -> tuple[Node, ...]:
        if node.op in _RESHAPES:
            node = self._as_reshape(node)
            return (self._joined(node) if node.op == "Reshape" else self._direct(node),)
        if (
            node.controls
            or len(node.dtypes) != 1
            or not is_static(node.shapes[0])
            or node.dtypes[0] is not dtypes.float32
        ):
            return (self._direct(node),)
        if node.op in _UNARY or node.op in _ROWS:
            inner = self._inner(node.inputs[0])
            return (self._direct(node),) if inner is None else self._moved(node, (inner, *node.inputs[1:]))
        if node.op in _BINARY:
            operands = self._operands(node)
            return (self._direct(node),) if operands is None else self._moved(node, operands)
        return (self._direct(node),)

    def _type(self, tensor_id: TensorId) -> Shape:
        node = None if tensor_id in self._graph.feeds else self._made.get(tensor_id.node)
        return self._graph.type_of(tensor_id)[1] if node is None else node.shapes[tensor_id.port]

    def _reshape(self, tensor_id: TensorId) -> Node | None:
        """The reshape of a static shape that gives a tensor."""
        node = None if tensor_id in self._graph.feeds else self._made.get(tensor_id.node)
        if node is None or node.op != "Reshape" or node.controls or not is_static(node.shapes[0]):
            return None
        return node if is_static(self._type(node.inputs[0])) else None

    def _inner(self, tensor_id: TensorId) -> TensorId | None:
        """The tensor of which this is a reshape that no other node uses, and that leaves the last dimension as it is."""
        node = self._reshape(tensor_id)
        if node is None or self._uses[node.name] != 1:
            return None
        before, after = self._type(node.inputs[0]), node.shapes[0]
        return node.inputs[0] if before and after and before[-1] == after[-1] else None

    def _operands(self, node: Node) -> tuple[TensorId, ...] | None:
        """The operands of an elementwise op in the shape before a reshape, if an operand is a reshape, and the others are as
        large as the result, or numbers, or vectors along the last dimension."""
        shape = node.shapes[0]
        inner = [self._inner(e) for e in node.inputs]
        befores = {self._type(e) for e in inner if e is not None}
        if len(befores) != 1 or node.attrs.get("data_format", "NHWC") != "NHWC":
            return None
        (before,) = befores
        sizes = [self._type(e) for e in node.inputs]
        if not before or any(size not in (shape, (), before[-1:]) for size in sizes):
            return None
        if any(inner_shape is not None and size != shape for inner_shape, size in zip(inner, sizes)):
            return None
        reshape = next(
            n for e, inner_shape in zip(node.inputs, inner) if inner_shape is not None and (n := self._reshape(e))
        )
        return tuple(
            inner_shape if inner_shape is not None else self._in_shape(own, before, reshape) if size == shape else own
            for own, inner_shape, size in zip(node.inputs, inner, sizes)
        )

    def _in_shape(self, tensor_id: TensorId, shape: Shape, like: Node) -> TensorId:
        """A tensor in another shape: that of which it is a reshape, or a reshape of it."""
        source = self._reshape(tensor_id)
        if source is not None and self._type(source.inputs[0]) == shape:
            self._uses[tensor_id.node] -= 1
            self._uses[source.inputs[0].node] += 1
            return source.inputs[0]
        name = self._reshaped.get((tensor_id, shape))
        if name is None:
            name = self._free(f"{tensor_id.node}/as_{'_'.join(map(str, shape or ()))}_{tensor_id.port}")
            inputs = (tensor_id, self._sizes(name, shape, like))
            self._reshaped[tensor_id, shape] = name
            self._made[name] = replace(like, name=name, inputs=inputs, shapes=(shape,))
        return TensorId(name, 0)

    def _free(self, name: str) -> str:
        """A name that no node has: the user's own may end as those that are made here."""
        while name in self._graph.nodes or name in self._made:
            name += "_"
        return name

    def _sizes(self, name: str, shape: Shape, like: Node) -> TensorId:
        """A constant that has the sizes of a shape, for the reshape `name`."""
        sizes = np.array(shape, np.int64)
        sizes.flags.writeable = False
        attrs = MappingProxyType({"value": sizes, "dtype": dtypes.int64})
        constant = replace(
            like,
            name=self._free(f"{name}/sizes"),
            op="Const",
            inputs=(),
            controls=(),
            attrs=attrs,
            dtypes=(dtypes.int64,),
            shapes=(sizes.shape,),
        )
        self._made[constant.name] = constant
        return TensorId(constant.name, 0)

    def _as_reshape(self, node: Node) -> Node:
        """A node that puts dimensions of 1 in, or takes them out, as a reshape, where sizes are static: it may move then."""
        shape = node.shapes[0]
        if node.op == "Reshape" or not is_static(shape) or not is_static(self._type(node.inputs[0])):
            return node
        inputs = (node.inputs[0], self._sizes(node.name, shape, node))
        return replace(node, op="Reshape", inputs=inputs, attrs=MappingProxyType({}))

    def _moved(self, node: Node, inputs: tuple[TensorId, ...]) -> tuple[Node, ...]:
        """The op on tensors before a reshape, and the reshape behind it, which has the op's name."""
        reshape = next(n for e in node.inputs if self._inner(e) is not None and (n := self._reshape(e)) is not None)
        before = self._type(reshape.inputs[0])
        inner = replace(node, name=self._free(f"{node.name}/before_reshape"), inputs=inputs, shapes=(before,))
        operands = (TensorId(inner.name, 0), reshape.inputs[1])
        self._uses[inner.name] = 1
        return inner, replace(node, op="Reshape", inputs=operands, attrs=reshape.attrs)

    def _joined(self, node: Node) -> Node:
        """A reshape of a reshape as a single reshape, if the sizes are constant."""
        source = self._reshape(node.inputs[0])
        sizes = self._constant(node.inputs[1])
        if source is None or sizes is None or not is_static(node.shapes[0]) or (sizes == 0).any():
            return self._direct(node)
        self._uses[node.inputs[0].node] -= 1
        self._uses[source.inputs[0].node] += 1
        return replace(node, inputs=(source.inputs[0], node.inputs[1]))

    def _constant(self, tensor_id: TensorId) -> Any:
        node = None if tensor_id in self._graph.feeds else self._made.get(tensor_id.node)
        return np.asarray(node.attrs["value"]) if node is not None and node.role is roles.CONSTANT else None

    def _direct(self, node: Node) -> Node:
        """The node with inputs in the place of reshapes that change nothing."""
        inputs = tuple(self._without(e) for e in node.inputs)
        if inputs == node.inputs:
            return node
        for old, new in zip(node.inputs, inputs):
            self._uses[old.node] -= 1
            self._uses[new.node] += 1
        return replace(node, inputs=inputs)

    def _without(self, tensor_id: TensorId) -> TensorId:
        node = self._reshape(tensor_id)
        return node.inputs[0] if node is not None and self._type(node.inputs[0]) == node.shapes[0] else tensor_id
