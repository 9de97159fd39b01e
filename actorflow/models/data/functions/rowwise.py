"""A function of one element as a function of a block of them: the same ops, with one more dimension in front.

An op is *row-wise* where its result for stacked rows is the stack of its results for each row, bit by bit. A table has the ops
for which that is sure, each with a rule that adds its node for a block. A function whose nodes are all in the table is called
once for a block of elements. Others, such as those that draw random numbers, are called for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.dtypes import string
from actorflow.base.shapes import is_static
from actorflow.engine.eager.functions.func_graph import FuncGraph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import constant, placeholder_op
from actorflow.graph.ops.array.shape import expand_dims, reshape
from actorflow.graph.ops.building import known_value
from actorflow.graph.tensor import Operation, Tensor

Traced: TypeAlias = "tuple[Graph, list[Tensor], list[Tensor], list[Tensor], list[bool]]"
"""A graph with its arguments, captured values and outputs, and which of the outputs are stacks."""
Rule: TypeAlias = "Callable[[Operation, BlockGraph], Sequence[Tensor] | None]"
"""Adds the node of a block for an operation, some of whose inputs are stacked."""


def of_rows(arguments: Sequence[Any], captured: Sequence[Tensor], outputs: Sequence[Tensor]) -> Traced | None:
    """The graph of a function for a block of elements, or None: its arguments have one more dimension in front.

    Args:
        arguments: the placeholders of an element's leaves.
        captured: the placeholders of values that are the same for all elements.
        outputs: what it computes.
    """
    if not all(isinstance(argument, Tensor) and argument.static_shape is not None for argument in arguments):
        return None
    block = BlockGraph(FuncGraph("rows", may_make=False))
    with block.graph.as_default():
        stacks = [block.placeholder(tensor, (None, *tensor.static_shape)) for tensor in arguments]
        block.stacked.update(arguments)
        same = [block.same(tensor) for tensor in captured]
        for operation in needed(outputs, block.known):
            definition = operation.definition
            rule = RULES.get(operation.type)
            if not block.stacked.isdisjoint(operation.inputs):
                rows = None if rule is None else rule(operation, block)
            elif definition.stateful or definition.asynchronous or operation.type.startswith("Placeholder"):
                rows = None
            else:
                rows = block.again(operation, [block.known[tensor] for tensor in operation.inputs])
            if rows is None or operation.control_inputs:
                return None
            block.known.update(zip(operation.outputs, rows))
            if not block.stacked.isdisjoint(operation.inputs):
                block.stacked.update(operation.outputs)
    return block.graph, stacks, same, [block.known[t] for t in outputs], [t in block.stacked for t in outputs]


def needed(outputs: Sequence[Tensor], known: Collection[Tensor]) -> list[Operation]:
    """The operations that outputs need beside tensors that are `known`, each behind its inputs."""
    ordered: dict[str, Operation] = {}
    stack = [(tensor.op, False) for tensor in outputs if tensor not in known]
    while stack:
        operation, inputs_are_there = stack.pop()
        if operation.name in ordered:
            continue
        if inputs_are_there:
            ordered[operation.name] = operation
        else:
            stack.append((operation, True))
            stack.extend([(tensor.op, False) for tensor in operation.inputs if tensor not in known])
    return list(ordered.values())


class BlockGraph:
    """The graph of a block, while it is made."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: dict[Tensor, Tensor] = {}
        """Its tensors, by those of the function of one element."""
        self.stacked: set[Tensor] = set()
        """The tensors of the function of one element whose values for a block are stacks of rows."""

    def placeholder(self, tensor: Tensor, shape: Any) -> Tensor:
        """A parameter for a tensor."""
        rows = self.known[tensor] = placeholder_op(dtype=tensor.dtype, shape=shape, name="rows")
        return rows

    def same(self, tensor: Tensor) -> Tensor:
        """A parameter, or the handle of a table, that is the same for all elements."""
        if not tensor.dtype.is_ref:
            return self.placeholder(tensor, tensor.static_shape)
        (copy,) = self.again(tensor.op, ())
        self.known[tensor] = copy
        return copy

    def again(self, operation: Operation, inputs: Sequence[Tensor], **attrs: Any) -> Sequence[Tensor]:
        """The same operation with other inputs and some other attributes."""
        return self.graph.create_op(operation.type, inputs, {**operation.attrs, **attrs}).outputs


# ---- rules


def _alike(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    """Of one stacked input, and others that are the same for all."""
    if any(tensor in block.stacked for tensor in operation.inputs[1:]):
        return None
    return block.again(operation, [block.known[tensor] for tensor in operation.inputs])


def _broadcast(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    """Stacks get the rank of the result: behind the dimension of the block, where rows of smaller rank are widened."""
    shapes = [tensor.static_shape for tensor in operation.inputs]
    if any(shape is None for shape in shapes):
        return None
    rank = max(len(shape) for shape in shapes)  # type: ignore[arg-type]
    inputs = []
    for tensor, shape in zip(operation.inputs, shapes):
        rows = block.known[tensor]
        if tensor in block.stacked:
            for _ in range(rank - len(shape)):  # type: ignore[arg-type]
                rows = expand_dims(rows, 1)
        inputs.append(rows)
    return block.again(operation, inputs)


def _substring(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    """Of positions and lengths that are both stacked or both the same for all: the op needs them of one shape."""
    _, pos, length = operation.inputs
    if (pos in block.stacked) != (length in block.stacked):
        return None
    return _broadcast(operation, block)


def _reshape(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    source, _ = operation.inputs
    shape = operation.outputs[0].static_shape
    if not is_static(shape):
        return None
    return [reshape(block.known[source], [-1, *shape])]  # type: ignore[misc]


def _axes(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    """With axes in its second input, which are counted from behind now."""
    source, axes = operation.inputs
    value, shape = known_value(axes), source.static_shape
    if source not in block.stacked or value is None or shape is None:
        return None
    if operation.type == "ExpandDims":
        rank = len(shape) + 1
    elif operation.type in ("Sum", "Prod", "Mean") and source.dtype.kind not in "biu":
        return None  # numpy adds the numbers of a larger array in another order
    else:
        rank = len(shape)
    behind = np.where(value < 0, value, value - rank)
    return block.again(operation, [block.known[source], constant(behind.astype(value.dtype))])


def _squeeze(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    (source,) = operation.inputs
    shape = operation.outputs[0].static_shape
    return None if not is_static(shape) else [reshape(block.known[source], [-1, *shape])]  # type: ignore[misc]


def _sliced(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    source, *bounds = operation.inputs
    values = [known_value(bound) for bound in bounds]
    if source not in block.stacked or any(value is None for value in values):
        return None
    longer = [
        constant(np.concatenate((np.array([first], value.dtype), value)))
        for first, value in zip((0, 0, 1), values)
        if value is not None
    ]
    masks = {name: operation.attrs[name] << 1 for name in operation.attrs if name.endswith("_mask")}
    masks["begin_mask"] |= 1
    masks["end_mask"] |= 1
    return block.again(operation, [block.known[source], *longer], **masks)


def _parsed(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    serialized, *defaults = operation.inputs
    attrs = operation.attrs
    if attrs["sparse_keys"] or not all(map(is_static, attrs["dense_shapes"])):
        return None
    if not block.stacked.isdisjoint(defaults):
        return None
    names = constant(np.zeros(0, object), string)
    inputs = [block.known[serialized], names, *[block.known[default] for default in defaults]]
    return block.graph.create_op("ParseExample", inputs, attrs).outputs


def _gathered(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    """Rows of one table for all elements."""
    params, _, *axis = operation.inputs
    if params in block.stacked or axis and (axis[0] in block.stacked or known_value(axis[0]) != 0):
        return None
    return block.again(operation, [block.known[tensor] for tensor in operation.inputs])


def _joined(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    """Stacks joined, none of which is the same for all."""
    values = operation.inputs[: len(operation.inputs) - (operation.type == "ConcatV2")]
    if not block.stacked.issuperset(values):
        return None
    parts = [block.known[tensor] for tensor in values]
    if operation.type == "Pack":
        axis = operation.attrs["axis"]
        return block.again(operation, parts, axis=axis if axis < 0 else axis + 1)
    along = known_value(operation.inputs[-1])
    return None if along is None else block.again(operation, [*parts, constant(np.where(along < 0, along, along + 1))])


def _looked_up(operation: Operation, block: BlockGraph) -> Sequence[Tensor] | None:
    table, keys, default = operation.inputs
    if default in block.stacked:
        return None
    return block.again(operation, [block.known[table], block.known[keys], block.known[default]])


_ALIKE = (
    "Identity StopGradient GuaranteeConst Relu Relu6 LeakyRelu Elu Selu Softplus Softsign ZerosLike OnesLike Cast Real Imag "
    "Conj ComplexAbs LogicalNot Invert Neg Abs Sign Square Sqrt Rsqrt Reciprocal Exp Expm1 Log Log1p Sigmoid Floor Ceil "
    "Rint Round IsNan IsInf IsFinite Sin Cos Tan Tanh AsString StringLower StringUpper StringStrip StringLength "
    "StringToNumber StringToHashBucket StringToHashBucketFast EncodeBase64 DecodeBase64 RegexReplace RegexFullMatch "
    "DecodeRaw DecodeCSV DecodeCompressed"
)
_BROADCAST = (
    "Add Sub Mul RealDiv DivNoNan FloorDiv FloorMod TruncateDiv TruncateMod Maximum Minimum SquaredDifference MulNoNan "
    "Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalXor BitwiseAnd BitwiseOr BitwiseXor "
    "SelectV2"
)
RULES: dict[str, Rule] = {
    **dict.fromkeys(_ALIKE.split(), _alike),
    **dict.fromkeys(_BROADCAST.split(), _broadcast),
    **dict.fromkeys(("Sum", "Prod", "Max", "Min", "Any", "All", "ExpandDims"), _axes),
    "ConcatV2": _joined,
    "Gather": _gathered,
    "GatherV2": _gathered,
    "LookupTableFindV2": _looked_up,
    "Pack": _joined,
    "ParseSingleExample": _parsed,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "StridedSlice": _sliced,
    "Substr": _substring,
}
"""By the type of the op. A rule gives None for what it does not know."""
