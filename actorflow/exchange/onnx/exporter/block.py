"""`ExportedBlock`: a graph of ONNX while it is written. Nodes are written when a value that they give is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, as_dtype
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.exchange.onnx.protos import GraphProto, NodeProto, TensorProto
from actorflow.exchange.onnx.tensors import tensor_proto
from actorflow.exchange.onnx.types import code_of
from actorflow.graph.ops.static import get_static_value
from actorflow.graph.tensor import Operation, Tensor

Rule = Callable[["ExportedBlock", Operation], "str | Sequence[str]"]
RULES: dict[str, Rule] = {}
"""By op: `rule(block, operation)` writes the nodes for it, and gives the names of its outputs."""


def rule(*ops: str) -> Callable[[Rule], Rule]:
    """Enters a rule into the table."""

    def entered(function: Rule) -> Rule:
        for op in ops:
            RULES[op] = function
        return function

    return entered


@dataclass(slots=True)
class ExportedFile:
    """The parts that all blocks of a model share.

    Args:
        frames: the loops, by the names of their frames.
        names: those that are taken.
        weights: the initializers, by their names.
        constants: their names, by what they hold.
        opset: the version of ONNX's ops.
    """

    frames: Mapping[str, Any] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    weights: dict[str, Any] = field(default_factory=dict)
    constants: dict[Any, str] = field(default_factory=dict)
    opset: int = 21

    def fresh(self, name: str) -> str:
        """A name that is not taken yet."""
        name = re.sub(r"[^A-Za-z0-9_./-]", "_", name) or "value"
        candidate, number = name, 0
        while candidate in self.names:
            number += 1
            candidate = f"{name}_{number}"
        self.names.add(candidate)
        return candidate


class ExportedBlock:
    """A graph, a branch, or the body of a loop.

    Args:
        file: what it shares with the other blocks.
        parent: the block around it.
        nodes: the list to which it adds; a list of its own unless given.
        frame: the loop whose body it is.
        predicate: the tensor that decides about the branch that it is.
    """

    def __init__(
        self,
        file: ExportedFile,
        parent: ExportedBlock | None = None,
        *,
        nodes: list[Any] | None = None,
        frame: str | None = None,
        predicate: str | None = None,
    ) -> None:
        self.file = file
        self.parent = parent
        self.nodes: list[Any] = [] if nodes is None else nodes
        self.frame = frame
        self.predicate = predicate
        self.values: dict[str, str] = {}
        self._scope = ""

    def around(self) -> Iterator[ExportedBlock]:
        """This block, and those around it from the inside."""
        block: ExportedBlock | None = self
        while block is not None:
            yield block
            block = block.parent

    def get(self, tensor: Tensor) -> str:
        """The name of a tensor's value; what gives it is written first, unless it is written already."""
        stack = [(self, tensor)]
        while stack:  # without recursion along a graph that is deep; control flow and its bodies recurse
            block, current = stack[-1]
            if block.known(current) is not None:
                stack.pop()
                continue
            missing = [] if current.op.type in _CONTROL else [t for t in current.op.inputs if block.known(t) is None]
            if missing and len(stack) < 100_000:
                stack.extend((block, t) for t in reversed(missing))
                continue
            block.write(current.op)
            if block.known(current) is None:
                raise UnimplementedError(f"{current.name} ({current.op.type}) has no form in ONNX.")
            stack.pop()
        name = self.known(tensor)
        assert name is not None
        return name

    def known(self, tensor: Tensor) -> str | None:
        """The name of a value that is written already."""
        for block in self.around():
            if tensor.name in block.values:
                return block.values[tensor.name]
        return None

    def write(self, op: Operation) -> None:
        """Writes the nodes for an operation."""
        export = RULES.get(op.type)
        if export is None:
            raise UnimplementedError(f"{op.name} ({op.type}) has no form in ONNX.")
        if any(tensor.dtype.is_complex for tensor in (*op.inputs, *op.outputs)):
            raise UnimplementedError(f"{op.name} ({op.type}) is of complex numbers, which ONNX's ops don't know.")
        outer, self._scope = self._scope, op.name
        try:
            outputs = export(self, op)
        except (ValueError, TypeError, InvalidArgumentError, UnimplementedError) as error:
            error.add_note(f"  as the node {op.name!r} ({op.type}) was written for ONNX")
            raise
        finally:
            self._scope = outer
        names = [outputs] if isinstance(outputs, str) else outputs
        self.values |= {tensor.name: name for tensor, name in zip(op.outputs, names)}

    def inputs(self, op: Operation) -> list[str]:
        """The names of an operation's inputs."""
        return [self.get(tensor) for tensor in op.inputs]

    def node(self, kind: str, *inputs: str, count: int | None = None, domain: str = "", **attrs: Any) -> Any:
        """Writes a node, and gives the name of its output; a list of names with `count`."""
        name = self.file.fresh(f"{self._scope}/{kind}" if self._scope else kind)
        outputs = [self.file.fresh(f"{self._scope or kind}_out") for _ in range(1 if count is None else count)]
        proto = NodeProto(op_type=kind, name=name, input=list(inputs), output=outputs)
        if domain:
            proto.domain = domain
        for key, value in attrs.items():
            if value is not None:
                _set_attribute(proto.attribute.add(name=key), value)
        self.nodes.append(proto)
        return outputs[0] if count is None else outputs

    def constant(self, value: Any, dtype: DType | None = None, name: str = "const") -> str:
        """The name of an array among the weights."""
        array = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype.numpy_dtype)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.nbytes <= 64 and array.dtype != object else None
        if key is not None and key in self.file.constants:
            return self.file.constants[key]
        label = self.file.fresh(name)
        self.file.weights[label] = array
        if key is not None:
            self.file.constants[key] = label
        return label

    def cast(self, value: str, source: DType, target: DType) -> str:
        """A value in another element type."""
        return value if source.base_dtype is target.base_dtype else str(self.node("Cast", value, to=code_of(target)))

    def whole(self, tensor: Tensor) -> str:
        """Whole numbers as int64, in which ONNX has sizes and axes."""
        constant = static(tensor)
        if constant is not None:
            return self.constant(np.asarray(constant, np.int64))
        return self.cast(self.get(tensor), tensor.dtype, as_dtype("int64"))

    def graph(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """The message of a block with these inputs and outputs, which are `ValueInfoProto`."""
        proto = GraphProto(name=name)
        proto.node.extend(self.nodes)
        proto.input.extend(inputs)
        proto.output.extend(outputs)
        return proto


_CONTROL = ("Merge", "Exit", "Switch", "Enter")


def static(tensor: Tensor) -> Any:
    """The array that a tensor is known to be, or None."""
    return get_static_value(tensor)


def required(tensor: Tensor, what: str) -> list[int]:
    """Whole numbers that have to be known. Raises UnimplementedError where only a run knows them."""
    constant = static(tensor)
    if constant is None:
        raise UnimplementedError(f"{what} is computed in a run, but has to be known in ONNX.")
    return [int(number) for number in np.reshape(constant, -1)]


def rank_of(tensor: Tensor) -> int:
    """The rank. Raises UnimplementedError for an unknown rank."""
    if tensor.static_shape is None:
        raise UnimplementedError(f"The rank of {tensor.name} is not known.")
    return len(tensor.static_shape)


def _set_attribute(attribute: Any, value: Any) -> None:
    if isinstance(value, bool | int | np.integer):
        attribute.type, attribute.i = 2, int(value)
    elif isinstance(value, float | np.floating):
        attribute.type, attribute.f = 1, float(value)
    elif isinstance(value, str):
        attribute.type, attribute.s = 3, value.encode()
    elif isinstance(value, GraphProto):
        attribute.type = 5
        attribute.g.CopyFrom(value)
    elif isinstance(value, np.ndarray):
        attribute.type = 4
        attribute.t.CopyFrom(value if isinstance(value, TensorProto) else tensor_proto(value))
    elif value and isinstance(value[0], bytes):
        attribute.type = 8
        attribute.strings.extend(value)
    elif value and isinstance(value[0], float):
        attribute.type = 6
        attribute.floats.extend(value)
    else:
        attribute.type = 7
        attribute.ints.extend(int(number) for number in value)
