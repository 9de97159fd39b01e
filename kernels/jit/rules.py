"""The computations of elementwise ops, as instructions of a loop: the same operations in the same order as their numpy kernels.

Exponentials and the like are numpy's own inner loops (`ufuncs`). Left out is what may fail on its values (divisions of whole
numbers), and half-precision types. Casts from floats to whole numbers are those that one instruction does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from actorflow import dtypes
from actorflow.dtypes import DType
from actorflow.registry.kernel import KernelDef
from actorflow.runtime.codegen.jit_recipe import Value

from .ufuncs import inner_loop

Rule: TypeAlias = Callable[[Sequence[Value], Mapping[str, Any]], "Value | None"]
Rules: TypeAlias = Mapping[str, tuple[frozenset[str], Rule]]
"""By op: the types of its first input for which there is a rule, and the rule."""

TYPES: Mapping[DType, str] = {
    dtypes.float32: "f4",
    dtypes.float64: "f8",
    dtypes.int8: "i1",
    dtypes.int16: "i2",
    dtypes.int32: "i4",
    dtypes.int64: "i8",
    dtypes.uint8: "u1",
    dtypes.uint16: "u2",
    dtypes.uint32: "u4",
    dtypes.uint64: "u8",
    dtypes.bool: "b1",
}
NUMERIC = frozenset(TYPES) - {dtypes.bool}
INDEX = ("i4", "i8")
"""The types of indices."""
_FLOATS = frozenset(("f4", "f8"))
_NUMBERS = frozenset(TYPES.values()) - {"b1"}
_WHOLE = _NUMBERS - _FLOATS
_BOOL = frozenset(("b1",))
_ALL = _NUMBERS | _BOOL
_CAST_FROM_FLOAT = _FLOATS | _BOOL | {"i4", "i8"}

RULES: dict[str, tuple[frozenset[str], Rule]] = {}
SAME_SHAPE = frozenset(("AddN", "Select"))
"""Ops that do not broadcast. (Select's condition may be a scalar.)"""
_KERNELS = f"{__name__.split('.jit.')[0]}."


class Ruled:
    """The common answers of compilers that go by a table of rules (`actorflow.runtime.codegen.jit.Rules`)."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def follows(self, kernel: KernelDef) -> bool:
        return kernel.function.__module__.startswith(_KERNELS)

    def type_of(self, dtype: DType) -> str | None:
        return TYPES.get(dtype)

    def accepts(self, op: str, dtypes: Sequence[DType]) -> bool:
        types, _ = self._rules.get(op, (frozenset(), None))
        return bool(dtypes) and TYPES.get(dtypes[0]) in types

    def broadcasts(self, op: str) -> bool:
        return op not in SAME_SHAPE

    def lower(self, op: str, given: Sequence[Value], attrs: Mapping[str, Any]) -> Value | None:
        return self._rules[op][1](given, attrs)


def rule(*ops: str, types: frozenset[str]) -> Callable[[Rule], Rule]:
    def decorate(function: Rule) -> Rule:
        RULES.update((op, (types, function)) for op in ops)
        return function

    return decorate


def _binary(op: str) -> Rule:
    return lambda given, attrs: given[0].block.binary(op, *given)


def _unary(op: str) -> Rule:
    return lambda given, attrs: given[0].block.unary(op, *given)


for _op, _name in {"Add": "add", "Sub": "sub", "Mul": "mul", "Maximum": "max", "Minimum": "min"}.items():
    rule(_op, types=_NUMBERS)(_binary(_name))
for _op, _name in {"Less": "lt", "LessEqual": "le", "Greater": "gt", "GreaterEqual": "ge"}.items():
    rule(_op, types=_NUMBERS)(_binary(_name))
for _op, _name in {"Equal": "eq", "NotEqual": "ne"}.items():
    rule(_op, types=_ALL)(_binary(_name))
for _op, _name in {"And": "and", "Or": "or", "Xor": "xor"}.items():
    rule(f"Logical{_op}", types=_BOOL)(_binary(_name))
    rule(f"Bitwise{_op}", types=_WHOLE)(_binary(_name))
for _op, _name in {"Sqrt": "sqrt", "Floor": "floor", "Ceil": "ceil", "Rint": "rint", "Round": "rint"}.items():
    rule(_op, types=_FLOATS)(_unary(_name))
rule("RealDiv", types=_FLOATS)(_binary("div"))
rule("LogicalNot", types=_BOOL)(_unary("not"))
rule("Invert", types=_WHOLE)(_unary("not"))
rule("Neg", types=_NUMBERS)(_unary("neg"))
rule("Sign", types=_NUMBERS)(_unary("sign"))


@rule("Identity", "StopGradient", types=_ALL)
def identity(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    return given[0]


@rule("Cast", types=_ALL)
def cast(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value | None:
    target = TYPES[attrs["DstT"]]
    if given[0].dtype in _FLOATS and target not in _CAST_FROM_FLOAT:
        return None
    return given[0].block.convert(given[0], target)


@rule("Abs", types=_NUMBERS)
def absolute(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    (x,) = given
    return x if x.dtype[0] == "u" else x.block.unary("abs", x)


@rule("Square", types=_NUMBERS)
def square(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    return given[0] * given[0]


@rule("SquaredDifference", types=_NUMBERS)
def squared_difference(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    difference = given[0] - given[1]
    return difference * difference


@rule("Reciprocal", types=_FLOATS)
def reciprocal(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    return 1 / given[0]


@rule("Rsqrt", types=_FLOATS)
def rsqrt(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    return 1 / given[0].block.unary("sqrt", given[0])


@rule("DivNoNan", types=_FLOATS)
def div_no_nan(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    x, y = given
    return x.block.select(x.block.binary("eq", y, 0), 0, x / y)


@rule("AddN", types=_NUMBERS)
def add_n(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    total = given[0]
    for other in given[1:]:
        total = total + other
    return total  # left to right


@rule("IsNan", types=_FLOATS)
def is_nan(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    return given[0].block.binary("ne", given[0], given[0])


@rule("IsInf", types=_FLOATS)
def is_inf(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    block = given[0].block
    return block.binary("eq", block.unary("abs", given[0]), math.inf)


@rule("IsFinite", types=_FLOATS)
def is_finite(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    block = given[0].block
    return block.binary("lt", block.unary("abs", given[0]), math.inf)


@rule("Select", "SelectV2", types=_BOOL)
def select(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    return given[0].block.select(*given)


# ---- activations, whose gradients multiply where numpy's kernels do: an infinite dy times 0 is NaN there too


@rule("Relu", types=_NUMBERS)
def relu(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    return given[0].block.binary("max", given[0], 0)


@rule("ReluGrad", types=_NUMBERS)
def relu_grad(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    dy, x = given
    return dy * x.block.convert(x.block.binary("gt", x, 0), dy.dtype)


@rule("Relu6", types=_NUMBERS)
def relu6(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    block = given[0].block
    return block.binary("min", block.binary("max", given[0], 0), 6)


@rule("Relu6Grad", types=_NUMBERS)
def relu6_grad(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    dy, x = given
    block = x.block
    inside = block.binary("and", block.binary("gt", x, 0), block.binary("lt", x, 6))
    return dy * block.convert(inside, dy.dtype)


@rule("LeakyRelu", types=_FLOATS)
def leaky_relu(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    (x,) = given
    return x.block.select(x.block.binary("gt", x, 0), x, x * attrs["alpha"])


@rule("LeakyReluGrad", types=_FLOATS)
def leaky_relu_grad(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    dy, x = given
    return x.block.select(x.block.binary("gt", x, 0), dy, dy * attrs["alpha"])


@rule("Softsign", types=_FLOATS)
def softsign(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    (x,) = given
    return x / (1 + x.block.unary("abs", x))


def _called(name: str) -> Rule:
    def lower(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value | None:
        (x,) = given
        return x.block.unary(name, x) if inner_loop(name, x.dtype) is not None else None

    return lower


for _op in ("Exp", "Expm1", "Log", "Log1p", "Tanh"):
    rule(_op, types=_FLOATS)(_called(_op.lower()))


@rule("Sigmoid", types=_FLOATS)
def sigmoid(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value | None:
    (x,) = given
    if inner_loop("exp", x.dtype) is None:
        return None
    return 1 / (x.block.unary("exp", x.block.unary("neg", x)) + 1)


@rule("SigmoidGrad", types=_FLOATS)
def sigmoid_grad(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    y, dy = given
    return (1 - y) * y * dy


@rule("Elu", types=_FLOATS)
def elu(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value | None:
    (x,) = given
    block = x.block
    if inner_loop("expm1", x.dtype) is None:
        return None
    return block.select(block.binary("lt", x, 0), block.unary("expm1", x), x)


@rule("TanhGrad", types=_FLOATS)
def tanh_grad(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    y, dy = given
    return dy * (1 - y * y)


@rule("BiasAdd", types=_NUMBERS)
def bias_add(given: Sequence[Value], attrs: Mapping[str, Any]) -> Value | None:
    return given[0] + given[1] if attrs["data_format"] != "NCHW" else None
