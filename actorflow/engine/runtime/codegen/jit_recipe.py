"""The computation of a generated loop, told element by element: a list of typed instructions without names or shapes.

A recipe says nothing of sizes or of the graph, so equal recipes of different regions and sessions share one compiled loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType

COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
CALLED = frozenset(("exp", "expm1", "log", "log1p", "tanh"))
"""Functions of floats that a compiler may leave to the array module, which has them for whole arrays."""
UNARY = frozenset(("neg", "abs", "sign", "sqrt", "floor", "ceil", "rint", "not")) | CALLED
BINARY = frozenset(("add", "sub", "mul", "div", "min", "max", "and", "or", "xor", "copysign", "pow")) | COMPARISONS
"""Not every compiler has "pow"; no rule for an op's kernel uses it."""
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
"""The element types of loops, as numpy writes them. Half precision is left out."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An array that a loop reads. A loop goes over rows and columns: `layout` is "full" for an array of all of them
    (with the elements of a row side by side), "scalar" for one element, "row" for one row, "column" for one column."""

    dtype: str
    layout: str = "full"


@dataclass(frozen=True, slots=True)
class RecipeInstruction:
    """One operation on one element: of `UNARY`, `BINARY`, or "const" (with its `value`'s bytes), "select", "convert"."""

    op: str
    arguments: tuple[int, ...]
    dtype: str
    value: bytes = b""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A loop. Values are numbered: the operands, then the results of the instructions. `outputs` are the values that it
    writes, in order: each into an array of its own, or over the operand whose number stands beside it."""

    operands: tuple[Operand, ...]
    body: tuple[RecipeInstruction, ...]
    outputs: tuple[tuple[int, int | None], ...]

    @property
    def fresh(self) -> int:
        """How many outputs have an array of their own."""
        return sum(into is None for _, into in self.outputs)

    @property
    def in_place(self) -> bool:
        """Whether it changes operands. Such loops have no rows: their operands are "full" or "scalar"."""
        return any(into is not None for _, into in self.outputs)

    def type_of(self, value: int) -> str:
        count = len(self.operands)
        return self.operands[value].dtype if value < count else self.body[value - count].dtype


@dataclass(frozen=True, slots=True)
class RecipeValue:
    """A value of a recipe that is being written. Operators write instructions; numbers beside it have its type."""

    block: RecipeWriter
    key: object
    dtype: str

    def __add__(self, other: Any) -> RecipeValue:
        return self.block.binary("add", self, other)

    def __radd__(self, other: Any) -> RecipeValue:
        return self.block.binary("add", other, self)

    def __sub__(self, other: Any) -> RecipeValue:
        return self.block.binary("sub", self, other)

    def __rsub__(self, other: Any) -> RecipeValue:
        return self.block.binary("sub", other, self)

    def __mul__(self, other: Any) -> RecipeValue:
        return self.block.binary("mul", self, other)

    def __rmul__(self, other: Any) -> RecipeValue:
        return self.block.binary("mul", other, self)

    def __neg__(self) -> RecipeValue:
        return self.block.unary("neg", self)

    def __truediv__(self, other: Any) -> RecipeValue:
        return self.block.binary("div", self, other)

    def __rtruediv__(self, other: Any) -> RecipeValue:
        return self.block.binary("div", other, self)

    def __and__(self, other: Any) -> RecipeValue:
        return self.block.binary("and", self, other)

    def __lt__(self, other: Any) -> RecipeValue:
        return self.block.binary("lt", self, other)

    def __gt__(self, other: Any) -> RecipeValue:
        return self.block.binary("gt", self, other)

    def __abs__(self) -> RecipeValue:
        return self if self.dtype[0] == "u" else self.block.unary("abs", self)

    def equals(self, other: Any) -> RecipeValue:
        """Whether it equals another value; `==` compares records."""
        return self.block.binary("eq", self, other)

    def apply(self, function: str, *others: Any) -> RecipeValue:
        """A function of `UNARY`, or of `BINARY` with one other value or number."""
        return self.block.binary(function, self, *others) if others else self.block.unary(function, self)

    def choose(self, x: Any, y: Any) -> RecipeValue:
        """x for elements that are true, else y."""
        return self.block.select(self, x, y)

    def convert(self, dtype: str) -> RecipeValue:
        """It as another element type."""
        return self.block.convert(self, dtype)


class RecipeWriter:
    """Writes a recipe."""

    def __init__(self) -> None:
        self._operands: list[Operand] = []
        self._body: list[tuple[str, tuple[RecipeValue, ...], str, bytes]] = []

    @property
    def work(self) -> int:
        """How many instructions compute something."""
        return sum(op != "const" for op, _, _, _ in self._body)

    def operand(self, dtype: str, layout: str = "full") -> RecipeValue:
        self._operands.append(Operand(dtype, layout))
        return RecipeValue(self, ("operand", len(self._operands) - 1), dtype)

    def constant(self, value: Any, dtype: str) -> RecipeValue:
        return self._add("const", (), dtype, np.asarray(value).astype(dtype).tobytes())

    def unary(self, op: str, x: RecipeValue) -> RecipeValue:
        assert op in UNARY, op
        return self._add(op, (x,), x.dtype)

    def binary(self, op: str, x: Any, y: Any) -> RecipeValue:
        """A number as one of the arguments has the type of the other."""
        assert op in BINARY, op
        if not isinstance(x, RecipeValue):
            x = self.constant(x, y.dtype)
        if not isinstance(y, RecipeValue):
            y = self.constant(y, x.dtype)
        return self._add(op, (x, y), "b1" if op in COMPARISONS else x.dtype)

    def select(self, condition: RecipeValue, x: Any, y: Any) -> RecipeValue:
        dtype = x.dtype if isinstance(x, RecipeValue) else y.dtype
        x, y = (v if isinstance(v, RecipeValue) else self.constant(v, dtype) for v in (x, y))
        return self._add("select", (condition, x, y), dtype)

    def convert(self, x: RecipeValue, dtype: str) -> RecipeValue:
        return x if x.dtype == dtype else self._add("convert", (x,), dtype)

    def finish(self, outputs: Sequence[tuple[RecipeValue, RecipeValue | None]]) -> Recipe:
        """The recipe that writes `outputs`: each value into its own array, or over the operand beside it."""

        def number(value: RecipeValue) -> int:
            kind, index = value.key  # type: ignore[misc]
            return index if kind == "operand" else index + len(self._operands)  # type: ignore[has-type,no-any-return]

        body = [
            RecipeInstruction(op, tuple(map(number, arguments)), dtype, data)
            for op, arguments, dtype, data in self._body
        ]
        written = [(number(v), None if into is None else number(into)) for v, into in outputs]
        return Recipe(tuple(self._operands), tuple(body), tuple(written))

    def _add(self, op: str, arguments: tuple[RecipeValue, ...], dtype: str, value: bytes = b"") -> RecipeValue:
        self._body.append((op, arguments, dtype, value))
        return RecipeValue(self, ("result", len(self._body) - 1), dtype)
