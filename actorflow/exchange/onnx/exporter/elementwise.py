"""Rules of arithmetic, comparisons, logic, activations and reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype, string
from actorflow.errors import UnimplementedError
from actorflow.exchange.onnx.exporter.block import ExportedBlock, Rule, rank_of, required, rule, static
from actorflow.graph.tensor import Operation

_SAME = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Floor Log Neg Reciprocal Relu Sigmoid Sign Sin Sinh Softplus Softsign "
    "Sqrt Tan Tanh Identity Ceil Sub Mul Pow Equal Less Greater"
)
"""Ops that ONNX has under the same name."""

_RENAMED = {
    "LogicalNot": "Not", "LogicalAnd": "And", "LogicalOr": "Or", "LogicalXor": "Xor", "Rint": "Round", "Round": "Round",
    "IsNan": "IsNaN", "IsInf": "IsInf", "StopGradient": "Identity", "CheckNumerics": "Identity", "EnsureShape": "Identity",
    "GuaranteeConst": "Identity", "CustomGradient": "Identity", "Invert": "BitwiseNot", "RealDiv": "Div",
    "TruncateDiv": "Div", "LessEqual": "LessOrEqual", "GreaterEqual": "GreaterOrEqual", "Maximum": "Max", "Minimum": "Min",
    "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor", "AddN": "Sum", "SelectV2": "Where",
}  # fmt: skip


def _named(kind: str) -> Rule:
    return lambda block, op: str(block.node(kind, *block.inputs(op)))


for _name in _SAME.split():
    rule(_name)(_named(_name))
for _name, _kind in _RENAMED.items():
    rule(_name)(_named(_kind))


def number(block: ExportedBlock, value: float, op: Operation) -> str:
    """A number in the type of an operation's first input."""
    return block.constant(value, op.inputs[0].dtype.base_dtype)


@rule("Add")
def add(block: ExportedBlock, op: Operation) -> str:
    if op.outputs[0].dtype is not string:
        return str(block.node("Add", *block.inputs(op)))
    if block.file.opset < 20:
        raise UnimplementedError(f"ONNX joins strings since opset 20, and the model is of opset {block.file.opset}.")
    return str(block.node("StringConcat", *block.inputs(op)))


@rule("Square")
def square(block: ExportedBlock, op: Operation) -> str:
    (x,) = block.inputs(op)
    return str(block.node("Mul", x, x))


@rule("Rsqrt")
def rsqrt(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Reciprocal", block.node("Sqrt", *block.inputs(op))))


@rule("Expm1")
def expm1(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Sub", block.node("Exp", *block.inputs(op)), number(block, 1, op)))


@rule("Log1p")
def log1p(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Log", block.node("Add", *block.inputs(op), number(block, 1, op))))


@rule("Erfc")
def erfc(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Sub", number(block, 1, op), block.node("Erf", *block.inputs(op))))


@rule("Relu6")
def relu6(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Clip", *block.inputs(op), number(block, 0, op), number(block, 6, op)))


@rule("LeakyRelu")
def leaky_relu(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("LeakyRelu", *block.inputs(op), alpha=float(op.attrs["alpha"])))


@rule("Elu")
def elu(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Elu", *block.inputs(op), alpha=1.0))


@rule("Selu")
def selu(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Selu", *block.inputs(op), alpha=1.6732632423543772, gamma=1.0507009873554805))


@rule("IsFinite")
def is_finite(block: ExportedBlock, op: Operation) -> str:
    (x,) = block.inputs(op)
    return str(block.node("Not", block.node("Or", block.node("IsNaN", x), block.node("IsInf", x))))


@rule("NotEqual")
def not_equal(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Not", block.node("Equal", *block.inputs(op))))


@rule("SquaredDifference")
def squared_difference(block: ExportedBlock, op: Operation) -> str:
    difference = block.node("Sub", *block.inputs(op))
    return str(block.node("Mul", difference, difference))


@rule("FloorMod")
def floor_mod(block: ExportedBlock, op: Operation) -> str:
    x, y = block.inputs(op)
    if op.inputs[0].dtype.is_integer:
        return str(block.node("Mod", x, y))
    rest = block.node("Mod", x, y, fmod=1)  # of the sign of x; where that is not the sign of y, one y more
    other = block.node("Less", block.node("Mul", rest, y), number(block, 0, op))
    return str(block.node("Where", other, block.node("Add", rest, y), rest))


@rule("TruncateMod")
def truncate_mod(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Mod", *block.inputs(op), fmod=1))


@rule("FloorDiv")
def floor_div(block: ExportedBlock, op: Operation) -> str:
    x, y = block.inputs(op)
    if not op.inputs[0].dtype.is_integer:
        return str(block.node("Floor", block.node("Div", x, y)))
    return str(block.node("Div", block.node("Sub", x, block.node("Mod", x, y)), y))


def _without_zero(block: ExportedBlock, op: Operation, zero: str, of: str) -> str:
    return str(block.node("Where", block.node("Equal", zero, number(block, 0, op)), number(block, 0, op), of))


@rule("DivNoNan")
def div_no_nan(block: ExportedBlock, op: Operation) -> str:
    x, y = block.inputs(op)
    return _without_zero(block, op, y, block.node("Div", x, y))


@rule("MulNoNan")
def mul_no_nan(block: ExportedBlock, op: Operation) -> str:
    x, y = block.inputs(op)
    return _without_zero(block, op, y, block.node("Mul", x, y))


@rule("Xdivy")
def xdivy(block: ExportedBlock, op: Operation) -> str:
    x, y = block.inputs(op)
    return _without_zero(block, op, x, block.node("Div", x, y))


@rule("Xlogy")
def xlogy(block: ExportedBlock, op: Operation) -> str:
    x, y = block.inputs(op)
    return _without_zero(block, op, x, block.node("Mul", x, block.node("Log", y)))


@rule("LeftShift", "RightShift")
def shift(block: ExportedBlock, op: Operation) -> str:
    if not op.inputs[0].dtype.is_unsigned:
        raise UnimplementedError("ONNX shifts numbers without a sign alone.")
    return str(block.node("BitShift", *block.inputs(op), direction="LEFT" if op.type == "LeftShift" else "RIGHT"))


@rule("Select")
def select(block: ExportedBlock, op: Operation) -> str:
    """A vector of conditions chooses whole rows."""
    condition, x, y = block.inputs(op)
    rank = rank_of(op.inputs[1])
    if rank_of(op.inputs[0]) == 1 and rank > 1:
        condition = block.node("Unsqueeze", condition, block.constant(np.arange(1, rank, dtype=np.int64)))
    return str(block.node("Where", condition, x, y))


_REDUCTIONS = {"Sum": "ReduceSum", "Mean": "ReduceMean", "Max": "ReduceMax", "Min": "ReduceMin", "Prod": "ReduceProd"}


@rule(*_REDUCTIONS)
def reduction(block: ExportedBlock, op: Operation) -> str:
    constant = static(op.inputs[1])
    if constant is not None and not np.size(constant):
        return str(block.node("Identity", block.get(op.inputs[0])))
    axes = (
        block.constant(np.reshape(constant, -1).astype(np.int64)) if constant is not None else block.whole(op.inputs[1])
    )
    if constant is None and rank_of(op.inputs[1]) == 0:
        axes = block.node("Unsqueeze", axes, block.constant(np.zeros(1, np.int64)))
    return str(
        block.node(
            _REDUCTIONS[op.type],
            block.get(op.inputs[0]),
            axes,
            keepdims=int(op.attrs["keep_dims"]),
            noop_with_empty_axes=1,
        )
    )


@rule("All", "Any")
def truth(block: ExportedBlock, op: Operation) -> str:
    axes = required(op.inputs[1], "The axis of a reduction")
    if not axes:
        return str(block.node("Identity", block.get(op.inputs[0])))
    number = block.node("Cast", block.get(op.inputs[0]), to=6)
    kind = "ReduceMin" if op.type == "All" else "ReduceMax"
    reduced = block.node(kind, number, block.constant(np.array(axes, np.int64)), keepdims=int(op.attrs["keep_dims"]))
    return str(block.node("Cast", reduced, to=9))


@rule("ArgMax", "ArgMin")
def arg_extreme(block: ExportedBlock, op: Operation) -> str:
    (axis,) = required(op.inputs[1], "The axis of an extreme")
    index = block.node(op.type, block.get(op.inputs[0]), axis=axis, keepdims=0)
    return block.cast(index, as_dtype("int64"), op.outputs[0].dtype)


@rule("L2Loss")
def l2_loss(block: ExportedBlock, op: Operation) -> str:
    squares = block.node("ReduceSumSquare", *block.inputs(op), keepdims=0)
    return str(block.node("Mul", squares, number(block, 0.5, op)))


@rule("Cumsum")
def cumsum(block: ExportedBlock, op: Operation) -> str:
    attrs: dict[str, Any] = {name: int(op.attrs[name]) for name in ("exclusive", "reverse")}
    return str(block.node("CumSum", block.get(op.inputs[0]), block.whole(op.inputs[1]), **attrs))


@rule("Softmax", "LogSoftmax")
def softmax(block: ExportedBlock, op: Operation) -> str:
    return str(block.node(op.type, *block.inputs(op), axis=-1))
