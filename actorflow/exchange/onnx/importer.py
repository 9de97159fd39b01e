"""`Scope`: walks over the nodes of an ONNX graph and builds them, each by the builder of its op.

A value that is known while the graph is built stays an array, and a node all of whose inputs are known is computed at once. So
the arithmetic of shapes, which is most of the nodes of some files, leaves no nodes behind where shapes are known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorflow.base.shapes import num_elements
from actorflow.engine.eager.scope import eager
from actorflow.errors import InvalidArgumentError, OpError, UnimplementedError
from actorflow.exchange.onnx.nodes import BUILDERS, ENLARGING, IMPURE, OnnxNode, attribute_value
from actorflow.exchange.onnx.tensors import DataFolders, array_of
from actorflow.exchange.onnx.upgrade import upgraded
from actorflow.exchange.onnx.values import Listed, Mapped, Optional_, Value, shape_of, static
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.ops.flow import lists
from actorflow.graph.tensor import Tensor

_FREE, _TIMES = 1 << 24, 4
"""The work of loading a model, in elements: the first number, and the second times the elements of the file itself."""
_PRODUCTS = frozenset(
    {
        "MatMul",
        "Gemm",
        "Conv",
        "ConvTranspose",
        "Einsum",
        "MatMulInteger",
        "ConvInteger",
        "QLinearMatMul",
        "QLinearConv",
    }
)
"""Ops whose work is that of products, so that it grows faster than their inputs and outputs."""
_FREE_NODES, _TIMES_NODES = 50_000, 32
"""Nodes of a model with its bodies and functions written out: the first number, and the second times those of the file."""
_SMALL = 64
_LONGEST_STATIC = 1024
_DEEPEST = 12
"""How many bodies may lie within each other. The shapes within a loop are found by building its body once more."""
_PLAIN = re.compile(r"[^A-Za-z0-9_.\-/]+")
_OWN = ("", "ai.onnx")


@dataclass(slots=True)
class ImportedFile:
    """The parts of a file that all its graphs share.

    Args:
        opsets: the version of each domain.
        functions: those of the file, by domain, name and overload.
        folder: where external data may lie.
        calls: the functions that were made, by all that decides about them.
        work: the elements that may still be computed while the graph is built; what takes more is left to the runs.
        nodes: the nodes that may still be built.
    """

    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str, str], Any]
    folder: DataFolders | None = None
    calls: dict[Any, Any] = field(default_factory=dict)
    work: int = _FREE
    nodes: int = _FREE_NODES

    def measure(self, graph: Any) -> None:
        """Allows for the size of the file: the work that a file pays for by its own bytes is no bomb."""
        self.work += _TIMES * sum([math.prod(tensor.dims) for tensor in graph.initializer])
        functions = sum([len(function.node) for function in self.functions.values()])
        self.nodes += _TIMES_NODES * (len(graph.node) + functions)

    def affords(self, inputs: Sequence[int], outputs: Sequence[int], is_product: bool) -> bool:
        """Whether a node with arrays of these numbers of elements may be computed now; its work is taken off then."""
        cost = sum(inputs) + sum(outputs)
        if is_product and len(inputs) > 1:
            first, second = sorted(inputs)[-2:]
            cost += math.isqrt(first * second * sum(outputs)) // 16
        if cost > self.work:
            return False
        self.work -= cost
        return True


class Scope:
    """The values of one graph by their names, and those around it.

    Args:
        file: the file that the graph is of.
        parent: the scope of the graph around it.
        attrs: the attributes of the call, in the body of a function.
        opsets: the versions of domains, in the body of a function; those of the file unless given.
    """

    def __init__(
        self,
        file: ImportedFile,
        parent: Scope | None = None,
        *,
        attrs: Mapping[str, Any] | None = None,
        opsets: Mapping[str, int] | None = None,
    ) -> None:
        self.file = file
        self.parent = parent
        self.values: dict[str, Value] = {}
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.attrs: Mapping[str, Any] | None = attrs if attrs is not None or parent is None else parent.attrs
        self.opsets: Mapping[str, int] = opsets or (parent.opsets if parent else file.opsets)
        self.check_depth()

    def check_depth(self) -> None:
        """Raises InvalidArgumentError where bodies lie within each other too deep."""
        if self.depth > _DEEPEST:
            raise InvalidArgumentError(
                f"Bodies of loops, branches and functions lie within each other more than {_DEEPEST} deep."
            )

    def get(self, name: str) -> Value:
        """The value of a name. Raises InvalidArgumentError for an unknown name."""
        if name in self.values:
            return self.values[name]
        if self.parent is not None:
            return self.parent.get(name)
        raise InvalidArgumentError(f"Nothing gives the value {name!r}.")

    def subgraph(self, graph: Any, inputs: list[Value]) -> list[Value]:
        """The outputs of a body for these inputs."""
        inner = Scope(self.file, self)
        names = [info.name for info in graph.input]
        if len(inputs) > len(names):
            raise InvalidArgumentError(f"The body {graph.name!r} takes {len(names)} inputs, but gets {len(inputs)}.")
        inner.values.update(zip(names, inputs))
        inner.build(graph)
        return [inner.get(info.name) for info in graph.output]

    def build(self, graph: Any) -> None:
        """Builds all nodes of a graph whose inputs have values."""
        for tensor in graph.initializer:
            if tensor.name not in self.values:
                self.values[tensor.name] = array_of(tensor, self.file.folder)
        for sparse in graph.sparse_initializer:
            self.values[sparse.values.name] = dense(sparse, self.file)
        self.build_nodes(graph.node)

    def build_nodes(self, nodes: Any) -> None:
        for proto in nodes:
            self.file.nodes -= 1
            if self.file.nodes < 0:
                raise InvalidArgumentError(
                    "The model has too many nodes with all of its bodies and functions written out: more than "
                    f"{_FREE_NODES} and {_TIMES_NODES} times those of the file."
                )
            node = self.node(proto)
            try:
                results = self.built(node)
            except OpError as error:
                error.add_note(f"  in {node}")
                raise
            except Exception as error:  # a file may give any attribute any type, and any node any inputs
                raise InvalidArgumentError(f"{node} can't be built: {str(error) or type(error).__name__}") from error
            names = node.outputs
            if len(results) < sum(map(bool, names)):
                raise InvalidArgumentError(f"{node} has {len(names)} outputs, but the op has {len(results)}.")
            for name, value in zip(names, results):
                if name:
                    self.values[name] = value

    def node(self, proto: Any) -> OnnxNode:
        """The node of a message, in its newest form."""
        attrs: dict[str, Any] = {}
        for attribute in proto.attribute:
            if attribute.ref_attr_name:
                if self.attrs is not None and attribute.ref_attr_name in self.attrs:
                    attrs[attribute.name] = self.attrs[attribute.ref_attr_name]
            else:
                attrs[attribute.name] = attribute_value(attribute, self.file.folder)
        domain = "" if proto.domain in _OWN else proto.domain
        name = proto.name or (proto.output[0] if proto.output else proto.op_type)
        node = OnnxNode(
            proto.op_type,
            domain,
            name,
            self.opsets.get(domain, 1),
            [self.get(source) if source else None for source in proto.input],
            tuple(proto.output),
            attrs,
            self,
        )
        function = self.file.functions.get((proto.domain, proto.op_type, proto.overload))
        if function is not None:
            node.attrs[""] = function
            return node
        return upgraded(node)

    def built(self, node: OnnxNode) -> list[Value]:
        """The outputs of a node: computed at once where all is known, else as nodes of the graph."""
        if "" in node.attrs:
            from actorflow.exchange.onnx.functions import called

            return called(node)
        builder = BUILDERS.get((node.domain, node.op))
        if builder is None:
            raise UnimplementedError(f"There is no builder for {node}.")
        graph = get_default_graph()
        if not graph.eager and foldable(node):
            with eager():
                values = [_array(value) for value in _several(builder(node, *node.inputs))]
            return values
        if graph.eager:
            return _several(builder(node, *node.inputs))
        from actorflow.exchange.onnx.builders.nn.layout import channels_first, moved_behind

        with graph.name_scope(scope_name(node)):
            if not node.domain and moved_behind(node):
                return [channels_first(value) for value in _several(builder(node, *node.inputs))]
            return [_known(value) for value in _several(builder(node, *node.inputs))]


def _several(outputs: Any) -> list[Value]:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def scope_name(node: OnnxNode) -> str:
    """A name for the graph that tells the node of the file."""
    name = _PLAIN.sub("_", node.name).strip("/")
    return name if name and (name[0].isalnum() or name[0] == ".") else f"{node.op}{'_' if name else ''}{name}"


def foldable(node: OnnxNode) -> bool:
    """Whether a node is computed while the graph is built: its inputs are known, and its result is not too large."""
    if node.op in IMPURE or not all(value is None or isinstance(value, np.ndarray) for value in node.inputs):
        return False
    taken = [value.size for value in node.inputs if value is not None]
    if sum(taken) <= _SMALL and node.op not in ENLARGING:
        return True
    with Graph().as_default():
        values = _several(BUILDERS[node.domain, node.op](node, *node.inputs))
        sizes = [num_elements(shape_of(v)) if isinstance(v, (Tensor, np.ndarray)) else None for v in values]
    static_sizes = [size for size in sizes if size is not None]
    return len(static_sizes) == len(sizes) and node.scope.file.affords(taken, static_sizes, node.op in _PRODUCTS)


def _array(value: Value) -> Value:
    """A value that was computed at once, as an array."""
    if isinstance(value, Tensor):
        return np.asarray(value.numpy())  # type: ignore[attr-defined]  # it is an EagerTensor
    if isinstance(value, Listed):
        return value if value.items is None else Listed(value.dtype, value.shape, items=[*map(_array, value.items)])
    if isinstance(value, Optional_):
        return Optional_(value.present, _array(value.value))
    if isinstance(value, Mapped):
        return Mapped(_array(value.keys), _array(value.values), value.rows)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _known(value: Value) -> Value:
    """A short list of whole numbers as an array, where the graph decides it."""
    if isinstance(value, np.generic):
        return np.asarray(value)
    if not isinstance(value, Tensor) or not value.dtype.is_integer:
        return value
    shape = value.static_shape
    if shape is None or len(shape) > 1 or (num_elements(shape) or 0) > _LONGEST_STATIC:
        return value
    constant = static(value)
    return value if constant is None else np.asarray(constant, value.dtype.numpy_dtype).reshape(shape)


def dense(sparse: Any, file: ImportedFile) -> Any:
    """The array of a sparse tensor. Raises InvalidArgumentError for sizes that can't be, or that are too large to be loaded."""
    values, shape = array_of(sparse.values, file.folder), tuple(sparse.dims)
    if any(s < 0 for s in shape) or not file.affords([], [math.prod(shape)], False):
        raise InvalidArgumentError(f"dims of the sparse tensor {sparse.values.name!r} are {list(shape)}.")
    indices = array_of(sparse.indices, file.folder)
    array = np.zeros(shape, values.dtype)
    try:
        if indices.ndim == 1:
            array.reshape(-1)[indices] = values
        else:
            array[tuple(indices.T)] = values
    except (IndexError, ValueError) as error:
        raise InvalidArgumentError(f"indices of the sparse tensor {sparse.values.name!r} don't fit: {error}.") from None
    return array


class Probe(Scope):
    """A scope in a graph of its own, with placeholders for the values around it: what a body would give, without a trace."""

    def get(self, name: str) -> Value:
        if name not in self.values:
            assert self.parent is not None
            self.values[name] = stand_in(self.parent.get(name))
        return self.values[name]


def stand_in(value: Value) -> Value:
    """A placeholder of the type and shape of a value. Arrays stay, as they are in no graph."""
    if isinstance(value, Tensor):
        return (
            lists.reserve(np.int32(0))
            if value.dtype.name == "variant"
            else placeholder(value.dtype, value.static_shape)
        )
    if isinstance(value, Listed):
        return Listed(value.dtype, value.shape, flow=lists.reserve(np.int32(0)))
    if isinstance(value, Optional_):
        present = value.present if isinstance(value.present, (bool, np.bool_)) else stand_in(value.present)
        return Optional_(present, stand_in(value.value))
    if isinstance(value, Mapped):
        return Mapped(stand_in(value.keys), stand_in(value.values), value.rows)
    return value


def missing_ops(graph: Any, file: ImportedFile, opsets: Mapping[str, int]) -> Iterator[str]:
    """A line for each node whose op has no builder, in bodies and functions too."""
    yield from missing_in(graph.node, file, opsets)
    for function in file.functions.values():
        yield from missing_in(function.node, file, {i.domain: i.version for i in function.opset_import} or opsets)


def missing_in(nodes: Any, file: ImportedFile, opsets: Mapping[str, int]) -> Iterator[str]:
    from actorflow.exchange.onnx.upgrade import RENAMED

    for node in nodes:
        domain = "" if node.domain in _OWN else node.domain
        is_known = (domain, node.op_type) in BUILDERS or (not domain and node.op_type in RENAMED)
        if not is_known and (node.domain, node.op_type, node.overload) not in file.functions:
            name = node.name or (node.output[0] if node.output else "")
            yield f"{domain or 'ai.onnx'}.{node.op_type} (opset {opsets.get(domain, 1)}), node {name!r}"
        for attribute in node.attribute:
            for body in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from missing_in(body.node, file, opsets)
