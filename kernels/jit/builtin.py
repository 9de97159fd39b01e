"""Kernels of small tensors as functions of C: what a call costs in Python is most of what such a kernel costs.

A builtin function gets its arguments as a C array of objects, and makes its result by numpy's own C functions: 0.15 µs with
the arithmetic of a hundred elements, where an operator of numpy takes 0.4 and a kernel of some lines several. Its code looks at
the arguments first. Whatever it does not know (another type, an order of elements, a value that is an error) it hands, untouched,
to the Python kernel that it stands for, and so it never fails by itself.

A `Native` counts the calls of a kernel. When there have been so many that compiling pays, it has the code for the types that it
sees compiled in the background, and puts the function in the kernel's place. Another type's function goes in front of it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import background

from .arrays import FIELDS, HEADER
from .blocks import TYPES, stored
from .routine import Operand, Routine, Value

PATIENCE = 300
"""Calls before a function is compiled, which takes some 20 ms on another thread."""
EAGER = 20
"""The same where a call takes so long that few of them are worth it."""
DEEPEST = 8
"""The largest rank that functions take which look at each dimension."""
_MOST_TYPES = 4
HELD = 20_000
"""Operations up to which a function keeps the interpreter: to give it up and get it back may take longer."""

Types = tuple[str, ...]
"""The element types of arguments, as numpy writes them; "" for what is no array."""


class Native:
    """A kernel that becomes a builtin function. `call` is the function of the moment.

    `write` gives the text of a module with `@call` for the types of the arguments, or None where there is none. `types` finds
    those.
    """

    __slots__ = ("_asked", "_left", "_patience", "_python", "_types", "_write", "call")

    def __init__(
        self,
        python: Callable[..., Any],
        write: Callable[[Types, Any], str | None],
        types: Callable[[Sequence[Any]], Types] | None = None,
        patience: int = PATIENCE,
    ) -> None:
        self._python = python
        self._write = write
        self._types = types or types_of
        self._asked: set[Types] = set()
        self._left = self._patience = patience
        self.call: Callable[..., Any] = self._counted

    def _counted(self, *arguments: Any) -> Any:
        self._left -= 1
        if not self._left:
            self._patience = self._left = 4 * self._patience
            types = self._types(arguments)
            if types not in self._asked and len(self._asked) < _MOST_TYPES:
                background.add(functools.partial(self.compile, types))
        return self._python(*arguments)

    def compile(self, types: Types) -> None:
        """Puts the function for arguments of these types in front, if there is one."""
        if types in self._asked:
            return
        self._asked.add(types)
        before = self.call  # to which the code refers
        text = self._write(types, before)
        if text is not None and llvm.available():
            self.call = function_of(text, before)


def types_of(arguments: Sequence[Any]) -> Types:
    """The element type of each argument."""
    return tuple([one.dtype.str[1:] if isinstance(one, np.ndarray) else "" for one in arguments])


class _Definition(ctypes.Structure):
    """What describes a builtin function to the interpreter (`PyMethodDef`)."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL = 0x80
_kept: list[Any] = []
"""Code, and what it refers to: builtin functions live as long as the process."""


def function_of(text: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The builtin function of a module's `@call(self, arguments, count)`; its code refers to `otherwise` by its address."""
    code = llvm.compiled(text, unrolled=False)
    definition = _Definition(b"kernel", code.engine.get_function_address("call"), _FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    _kept.append((code, definition, otherwise))
    found: Callable[..., Any] = make(ctypes.addressof(definition), None, None)
    return found


@functools.cache
def python_address(name: str) -> int:
    """Where a function of Python's C interface lies."""
    found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert found is not None, name
    return found


@functools.cache
def numpy_address(number: int) -> int:
    """Where a function of numpy's C interface lies, by its number, which is part of the binary interface."""
    table = ctypes.pythonapi.PyCapsule_GetPointer
    table.restype, table.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    functions = table(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    found = ctypes.c_void_p.from_address(functions + 8 * number).value
    assert found is not None, number
    return found


_NEW_FROM_DESCR = 94


class Kernel(Routine):
    """The text of a builtin function's `@call`. `count` arguments are objects; where one is not as it should be, all of them
    go to `otherwise`."""

    def __init__(self, count: int, otherwise: Callable[..., Any]) -> None:
        super().__init__("call", (("ptr", "self"), ("ptr", "args"), ("i64", "count")), "ptr")
        self._otherwise = otherwise
        self._args, self._number = self.given[1], self.given[2]
        self.demand(self._number.equals(count), "otherwise")

    def module(self, *others: str) -> str:
        """The whole module, with the functions of `others`."""
        self.block("otherwise")
        given = (self._args, self._number, self.number(0, "ptr"))
        callee = self.number(id(self._otherwise), "ptr")
        self.give(self.call(python_address("PyObject_Vectorcall"), "ptr", callee, *given))
        return "\n".join([*others, self.text()])

    def object(self, index: int) -> Value:
        return self.load(self._args, "ptr", index)

    def refuse(self, unless: Value) -> None:
        """Leaves the call to Python unless the condition holds. Nothing must have been made by then."""
        self.demand(unless, "otherwise")

    def array(self, index: int, dtype: str, rank: int | None = None) -> Array:
        """An argument that is an array of this type, in order, and of this rank."""
        return self.array_at(self.object(index), dtype, rank)

    def array_at(self, given: Value, dtype: str, rank: int | None = None) -> Array:
        kind = self.load(self.at(given, "i8", HEADER - 8), "i64")
        self.refuse(kind.equals(id(np.ndarray)))
        found = Array(self, given, dtype)
        self.refuse(found.field("dtype", "i64").equals(id(np.dtype(dtype))))
        self.refuse((found.field("flags", "i32") & 0x101).equals(0x101))
        if rank is not None:
            self.refuse(found.rank.equals(rank))
        return found

    def flag(self, index: int) -> Value:
        """An argument that is True or False."""
        given = self.object(index)
        true = given.to("i64").equals(id(True))
        self.refuse(true | given.to("i64").equals(id(False)))
        return true

    def whole(self, index: int, *types: str) -> Value:
        """A rank-0 array of a whole number."""
        return self.load(self.array(index, types[0], 0).data, TYPES[types[0]]).to("i64")

    def make(self, dtype: str, sizes: Value, rank: Operand) -> Array:
        """A fresh array; its failure, for lack of memory, is the call's."""
        kind = np.dtype(dtype)
        self.call(python_address("Py_IncRef"), "void", self.number(id(kind), "ptr"))
        nothing = self.number(0, "ptr")
        made = self.call(
            numpy_address(_NEW_FROM_DESCR),
            "ptr",
            self.number(id(np.ndarray), "ptr"),
            self.number(id(kind), "ptr"),
            rank.to("i32") if isinstance(rank, Value) else self.number(rank, "i32"),
            sizes,
            nothing,
            nothing,
            self.number(0, "i32"),
            nothing,
        )
        with self.when(made.equals(0)):
            self.give(0)
            self.block(self.name("never"))
        return Array(self, made, dtype)

    def result(self, dtype: str, sizes: Value, rank: Value, into: int | None) -> Array:
        """A fresh array, or the argument with this number if it has this type and these sizes."""
        if into is None:
            return self.make(dtype, sizes, rank)
        found = self.array(into, dtype)
        self.refuse(found.rank.equals(rank))
        with self.loop(rank) as axis:
            self.refuse(found.size(axis).equals(self.load(sizes, "i64", axis)))
        self.call(python_address("Py_IncRef"), "void", found.object)
        return found

    def drop(self, value: Value) -> None:
        """Lets go of an object that the code made."""
        self.call(python_address("Py_DecRef"), "void", value)

    def pair(self, one: Array, other: Array) -> None:
        """Gives two arrays."""
        made = self.call(python_address("PyTuple_New"), "ptr", self.number(2))
        for i, array in enumerate((one, other)):  # the tuple takes over what it is given
            self.call(python_address("PyTuple_SetItem"), "i32", made, self.number(i), array.object)
        self.give(made)

    def released(self, work: Value, body: Callable[[], None]) -> None:
        """Does something that takes so much work: where that is much, other threads run Python meanwhile."""
        much = work > HELD
        state = self.variable("ptr", 0)
        with self.when(much):
            state.set(self.call(python_address("PyEval_SaveThread"), "ptr"))
        body()
        with self.when(much):
            self.call(python_address("PyEval_RestoreThread"), "void", state.value)


class Array:
    """An array object in generated code."""

    __slots__ = ("_routine", "dtype", "object", "type")

    def __init__(self, routine: Kernel, value: Value, dtype: str) -> None:
        self._routine = routine
        self.object = value
        self.dtype = dtype
        self.type = stored(dtype)

    def field(self, name: str, kind: str) -> Value:
        return self._routine.load(self._routine.at(self.object, "i8", HEADER + FIELDS[name]), kind)

    @property
    def rank(self) -> Value:
        return self.field("rank", "i32").to("i64")

    @property
    def sizes(self) -> Value:
        return self.field("sizes", "ptr")

    @property
    def data(self) -> Value:
        return self.field("data", "ptr")

    def size(self, axis: Operand) -> Value:
        return self._routine.load(self.sizes, "i64", axis)

    def elements(self) -> Value:
        """How many there are."""
        routine = self._routine
        total = routine.variable("i64", 1)
        with routine.loop(self.rank) as axis:
            total.set(total.value * self.size(axis))
        return total.value
