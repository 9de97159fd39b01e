"""Writes the text of one function for LLVM: values with operators, loops and branches as `with` blocks.

Variables live on the stack until LLVM puts them into registers, so nothing here knows of phi nodes. Whole numbers are signed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, Union

Operand: TypeAlias = Union["Value", int, float]
_FLOATING = ("float", "double")


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What an instruction gave, or a parameter. A plain number beside it has its type."""

    routine: Routine
    text: str
    type: str

    def __add__(self, other: Operand) -> Value:
        return self._binary("add", other)

    def __sub__(self, other: Operand) -> Value:
        return self._binary("sub", other)

    def __mul__(self, other: Operand) -> Value:
        return self._binary("mul", other)

    def __truediv__(self, other: Operand) -> Value:
        return self._binary("div", other)

    def __floordiv__(self, other: Operand) -> Value:
        return self._binary("sdiv", other)

    def __and__(self, other: Operand) -> Value:
        return self._binary("and", other)

    def __or__(self, other: Operand) -> Value:
        return self._binary("or", other)

    def __xor__(self, other: Operand) -> Value:
        return self._binary("xor", other)

    def __rshift__(self, other: Operand) -> Value:
        return self._binary("lshr", other)

    def __lt__(self, other: Operand) -> Value:
        return self._test("lt", other)

    def __le__(self, other: Operand) -> Value:
        return self._test("le", other)

    def __gt__(self, other: Operand) -> Value:
        return self._test("gt", other)

    def __ge__(self, other: Operand) -> Value:
        return self._test("ge", other)

    def equals(self, other: Operand) -> Value:
        return self._test("eq", other)

    def differs(self, other: Operand) -> Value:
        return self._test("ne", other)

    def below(self, other: Operand) -> Value:
        """Whether it is less, both seen without a sign: a negative number is a huge one."""
        return self.routine.add(f"icmp ult {self.type} {self.text}, {self.routine.spelled(other, self.type)}", "i1")

    def is_nan(self) -> Value:
        return self.routine.add(f"fcmp uno {self.type} {self.text}, {self.text}", "i1")

    def to(self, kind: str) -> Value:
        """The number in another type: whole numbers by their sign, except bits and bytes of flags (`i1`)."""
        if kind == self.type:
            return self
        return self.routine.add(f"{_conversion(self.type, kind)} {self.type} {self.text} to {kind}", kind)

    def _binary(self, op: str, other: Operand) -> Value:
        if self.routine.is_floating(self.type):
            op = f"f{op}"
        return self.routine.add(f"{op} {self.type} {self.text}, {self.routine.spelled(other, self.type)}", self.type)

    def _test(self, op: str, other: Operand) -> Value:
        if self.routine.is_floating(self.type):
            kind = f"fcmp {'une' if op == 'ne' else 'o' + op}"
        else:
            kind = f"icmp {op if op in ('eq', 'ne') else 's' + op}"
        return self.routine.add(f"{kind} {self.type} {self.text}, {self.routine.spelled(other, self.type)}", "i1")


def _conversion(source: str, target: str) -> str:
    if source in _FLOATING:
        if target in _FLOATING:
            return "fpext" if target == "double" else "fptrunc"
        return "fptosi"
    if target in _FLOATING:
        return "uitofp" if source == "i1" else "sitofp"
    if source == "ptr" or target == "ptr":
        return "ptrtoint" if source == "ptr" else "inttoptr"
    narrower = int(target[1:]) < int(source[1:])
    return "trunc" if narrower else "zext" if source == "i1" else "sext"


@dataclass(frozen=True, slots=True)
class Variable:
    """A place on the stack."""

    routine: Routine
    place: str
    type: str

    @property
    def value(self) -> Value:
        return self.routine.add(f"load {self.type}, ptr {self.place}", self.type)

    def set(self, value: Operand) -> None:
        self.routine.do(f"store {self.type} {self.routine.spelled(value, self.type)}, ptr {self.place}")


class Routine:
    """One function that is being written: parameters as (type, name), and the type that it gives."""

    def __init__(self, name: str, parameters: Sequence[tuple[str, str]], gives: str, internal: bool = False) -> None:
        given = ", ".join(f"{kind} %{parameter}" for kind, parameter in parameters)
        self._head = f"define {'internal ' if internal else ''}{gives} @{name}({given}) {{"
        self._places: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self.given = [Value(self, f"%{parameter}", kind) for kind, parameter in parameters]

    @staticmethod
    def is_floating(kind: str) -> bool:
        return kind in _FLOATING or kind.endswith(("float>", "double>"))

    def text(self) -> str:
        return "\n".join([self._head, "entry:", *self._places, "  br label %b.first", "b.first:", *self._lines, "}"])

    def spelled(self, value: Operand, kind: str) -> str:
        if isinstance(value, Value):
            assert value.type == kind, (value.type, kind)
            return value.text
        if kind in _FLOATING:
            return f"{float(value)!r}" if float(value).is_integer() else _hexadecimal(float(value))
        return str(int(value)) if kind != "ptr" else f"inttoptr (i64 {int(value)} to ptr)"

    def number(self, value: float, kind: str = "i64") -> Value:
        return Value(self, self.spelled(value, kind), kind)

    def do(self, line: str) -> None:
        self._lines.append(f"  {line}")

    def add(self, expression: str, kind: str) -> Value:
        """A line that gives a value."""
        name = self.name("v")
        self.do(f"%{name} = {expression}")
        return Value(self, f"%{name}", kind)

    def name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    # ---- memory

    def variable(self, kind: str, value: Operand | None = None) -> Variable:
        place = f"%{self.name('p')}"
        self._places.append(f"  {place} = alloca {kind}")
        found = Variable(self, place, kind)
        if value is not None:
            found.set(value)
        return found

    def buffer(self, kind: str, count: int) -> Value:
        """Memory for so many elements, until the function ends."""
        place = f"%{self.name('p')}"
        self._places.append(f"  {place} = alloca [{count} x {kind}], align 64")
        return Value(self, place, "ptr")

    def at(self, pointer: Value, kind: str, index: Operand) -> Value:
        """The address of an element."""
        return self.add(f"getelementptr {kind}, ptr {pointer.text}, i64 {self.spelled(index, 'i64')}", "ptr")

    def load(self, pointer: Value, kind: str, index: Operand = 0) -> Value:
        return self.add(f"load {kind}, ptr {self.at(pointer, kind, index).text}, align {_aligned(kind)}", kind)

    def store(self, value: Operand, pointer: Value, kind: str, index: Operand = 0) -> None:
        place = self.at(pointer, kind, index)
        self.do(f"store {kind} {self.spelled(value, kind)}, ptr {place.text}, align {_aligned(kind)}")

    # ---- control

    def select(self, condition: Value, one: Value, other: Operand) -> Value:
        chosen = f"{one.type} {one.text}, {one.type} {self.spelled(other, one.type)}"
        return self.add(f"select i1 {condition.text}, {chosen}", one.type)

    def smaller(self, one: Value, other: Operand) -> Value:
        return self.select(one < other, one, other)

    def copy(self, target: Value, source: Value, count: Value, kind: str) -> None:
        """Copies elements that do not overlap."""
        size = {"float": 4, "double": 8}.get(kind) or int(kind[1:]) // 8
        given = f"ptr {target.text}, ptr {source.text}, i64 {(count * size).text}, i1 false"
        self.do(f"call void @llvm.memcpy.p0.p0.i64({given})")

    @contextmanager
    def loop(self, count: Operand, start: Operand = 0) -> Iterator[Value]:
        """The block once for each whole number from `start` on, up to `count`."""
        at = self.variable("i64", start)
        head, body, after = (self.name(name) for name in ("head", "body", "after"))
        self.do(f"br label %{head}")
        self._lines.append(f"{head}:")
        index = at.value
        more = index < count
        self.do(f"br i1 {more.text}, label %{body}, label %{after}")
        self._lines.append(f"{body}:")
        yield index
        at.set(self.add(f"add nsw i64 {index.text}, 1", "i64"))
        self.do(f"br label %{head}")
        self._lines.append(f"{after}:")

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        yes, after = self.name("yes"), self.name("after")
        self.do(f"br i1 {condition.text}, label %{yes}, label %{after}")
        self._lines.append(f"{yes}:")
        yield
        self.do(f"br label %{after}")
        self._lines.append(f"{after}:")

    def demand(self, condition: Value, otherwise: str) -> None:
        """Goes to the block `otherwise` where the condition does not hold."""
        on = self.name("on")
        self.do(f"br i1 {condition.text}, label %{on}, label %{otherwise}")
        self._lines.append(f"{on}:")

    def block(self, name: str) -> None:
        """Begins a block that other code goes to; what came before has ended with `give`."""
        self._lines.append(f"{name}:")

    def give(self, value: Operand, kind: str = "ptr") -> None:
        self.do(f"ret {kind} {self.spelled(value, kind)}")

    def call(self, address: int, gives: str, *arguments: Value | tuple[str, str]) -> Value:
        """Calls the C function at an address."""
        given = ", ".join(f"{a.type} {a.text}" if isinstance(a, Value) else f"{a[0]} {a[1]}" for a in arguments)
        text = f"call {gives} inttoptr (i64 {address} to ptr)({given})"
        if gives == "void":
            self.do(text)
            return Value(self, "", "void")
        return self.add(text, gives)


def _aligned(kind: str) -> int:
    """Vectors are read where an element may lie."""
    element = kind.rpartition(" ")[2].rstrip(">")
    return {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "float": 4}.get(element, 8)


def _hexadecimal(value: float) -> str:
    import struct

    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
