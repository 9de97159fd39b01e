"""Elementwise ops of small tensors as builtin functions: the loops of `emit`, with the arguments' checks around them.

The recipes are those of `rules`, so the results are the same bits as numpy's kernels'.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from actorflow.dtypes import DType
from actorflow.registry.kernel import kernel
from actorflow.runtime import llvm
from actorflow.runtime.jit import RUNS, background
from actorflow.runtime.jit_recipe import CALLED, Block, Recipe
from actorflow.shapes import num_elements

from .. import cast as casts
from .. import logic, math, nn, unary
from . import estimates
from .arrays import HEADER
from .blocks import arrays_of, stored
from .builtin import EAGER, Kernel, Native, Types
from .emit import module_text
from .parallel import Parallel, address
from .rules import RULES, SAME_SHAPE, TYPES
from .turning import turner
from .ufuncs import inner_loop

F = TypeVar("F", bound=Callable[..., Any])
LEAST = 2
"""Elements: with one, numpy's scalars cost no more."""
LARGE = 1 << 18
"""Elements: the work of two threads."""
_PIECE = 1 << 15
KNOWN = frozenset(TYPES)


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether these are a few elements, in one array at least."""
    return max((num_elements(s) or 0 for s in shapes), default=0) >= LEAST


class Elementwise(Native):
    """A kernel of an elementwise op: small tensors by a builtin function, large ones by two threads, and those between, which
    go into a buffer, by another builtin function."""

    __slots__ = ("_base", "_large", "_loop_of", "_seen", "medium")

    def __init__(
        self,
        base: Callable[..., Any],
        write: Callable[[Types, Any, bool], str | None],
        types: Callable[[Sequence[Any]], Types],
        loop_of: Callable[[Types], str | None],
    ) -> None:
        super().__init__(lambda *given: base(np, *given), lambda kinds, rest: write(kinds, rest, False), types)
        self._base = base
        self._loop_of = loop_of
        self._large: dict[Types, Parallel | None] = {}
        self._seen: dict[Types, int] = {}
        self.medium = Native(
            lambda *given: self._into(*given[:-1], out=given[-1]),
            lambda kinds, rest: write(kinds, rest, True),
            lambda given: types(given[:-1]),
            EAGER,
        )

    def into(self, *given: Any, out: Any) -> Any:
        """The result in `out`, which may be one of the tensors."""
        return self.medium.call(*given, out)

    def _into(self, *given: Any, out: Any) -> Any:
        if len(given) == 1 and turner.suits(given[0], out) and turner.into(given[0], out):
            return self._base(np, out, out=out)
        if out.size < LARGE or not out.flags.c_contiguous:
            return self._base(np, *given, out=out)
        arrays = given[0] if type(given[0]) is list else given
        types = self._types(given)
        work = self._large.get(types)
        sizes = {"full": out.size, "row": out.shape[-1], "scalar": 1}
        fit = all(a.flags.c_contiguous and a.size == sizes.get(t[3:]) for a, t in zip(arrays, types, strict=True))
        if work is None or not fit:
            self._ask(types)
            return self._base(np, *given, out=out)
        if "row" in "".join(types):
            work.run(
                out.size // out.shape[-1], max(1, _PIECE // out.shape[-1]), out.shape[-1], *map(address, (*arrays, out))
            )
        else:
            work.run(out.size, _PIECE, out.size, *map(address, (*arrays, out)))
        return out

    def _ask(self, types: Types) -> None:
        seen = self._seen[types] = self._seen.get(types, 0) + 1
        if seen == RUNS:
            background.add(functools.partial(self.compile_large, types))

    def compile_large(self, types: Types) -> None:
        """Makes the two threads' function for these types."""
        part = self._loop_of(types) if llvm.available() else None
        self._large[types] = None if part is None else Parallel(part, ["i64", *["ptr"] * (len(types) + 1)])


def _native(op: str, base: Callable[..., Any], target: DType | None = None, listed: bool = False) -> Elementwise:
    """The kernel `base` of an op, as a builtin function where its inputs have the result's shape, or are numbers, or rows of
    the result's."""
    attrs = {"DstT": target, "data_format": "NHWC"}

    def types(arguments: Sequence[Any]) -> Types:
        given = arguments[0] if listed else arguments
        deepest = max(one.ndim for one in given)
        return tuple([_layout(one, deepest) for one in given])

    def recipe_of(types: Types) -> Recipe | None:
        kinds, layouts = [t[:2] for t in types], [t[3:] for t in types]
        accepted, lower = RULES[op]
        if any(kind not in TYPES.values() for kind in kinds) or kinds[0] not in accepted or "full" not in layouts:
            return None
        if len(set(kinds[1:] if op == "Select" else kinds)) > 1 or (op in SAME_SHAPE and len(set(layouts)) > 1):
            return None
        block = Block()
        found = lower([block.operand(*of) for of in zip(kinds, layouts)], attrs)
        return None if found is None else block.finish([(found, None)])

    def write(types: Types, otherwise: Any, into: bool) -> str | None:
        recipe = recipe_of(types)
        if recipe is None or (into and _is_call(recipe)):  # which numpy makes over the whole array at once
            return None
        own = estimates.loop_text() if into and _estimates(op, types) else ""
        return _module(recipe, listed, otherwise, into, own)

    def loop_of(types: Types) -> str | None:
        recipe = recipe_of(types)
        if recipe is None:
            return None
        return estimates.part_text() if _estimates(op, types) else _part(recipe)

    return Elementwise(base, write, types, loop_of)


def _layout(one: Any, deepest: int) -> str:
    if not isinstance(one, np.ndarray):
        return ""
    layout = "full" if one.ndim == deepest else "row" if one.ndim == 1 else "scalar" if one.ndim == 0 else ""
    return f"{one.dtype.str[1:]}:{layout}"


def _is_call(recipe: Recipe) -> bool:
    """Whether all is one function of numpy's."""
    return len(recipe.body) == 1 and recipe.body[0].op in CALLED


def _part(recipe: Recipe) -> str:
    """`@part(begin, count, columns, addresses...)` of `parallel`: some elements, or with a row among the operands, some rows."""
    arrays = arrays_of(recipe)
    if _is_call(recipe):
        return _called(recipe.body[0].op, arrays[0].dtype)
    rows = any(array.layout == "row" for array in arrays)
    declared = "".join(f", ptr %x{i}" for i in range(len(arrays)))
    lines = [f"define internal void @part(i64 %begin, i64 %count, i64 %columns{declared}) {{"]
    lines.append(f"  %at = mul i64 %begin, {'%columns' if rows else '1'}")
    given = ""
    for i, array in enumerate(arrays):
        place = "%at" if array.layout == "full" else "0"
        lines.append(f"  %p{i} = getelementptr {stored(array.dtype)}, ptr %x{i}, i64 {place}")
        given += f", ptr %p{i}"
    given += ", i64 %columns" * sum(array.layout == "full" for array in arrays)
    size = "i64 %count, i64 %columns" if rows else "i64 1, i64 %count"
    return "\n".join([module_text(recipe), *lines, f"  call void @blocks({size}{given})", "  ret void", "}"])


def _called(name: str, dtype: str) -> str:
    """The same for a function of numpy's, which needs no loop around it."""
    found = inner_loop(name, dtype)
    assert found is not None, name
    pointer, data = (f"inttoptr (i64 {one} to ptr)" for one in found)
    lines = ["define internal void @part(i64 %begin, i64 %count, i64 %columns, ptr %x0, ptr %x1) {"]
    lines += [
        "  %args = alloca [2 x ptr]",
        "  %size = alloca i64",
        "  %steps = alloca [2 x i64]",
        "  store i64 %count, ptr %size",
    ]
    for i in range(2):
        lines += [f"  %p{i} = getelementptr {stored(dtype)}, ptr %x{i}, i64 %begin"]
        lines += [f"  %a{i} = getelementptr ptr, ptr %args, i64 {i}", f"  store ptr %p{i}, ptr %a{i}"]
        lines += [f"  %s{i} = getelementptr i64, ptr %steps, i64 {i}", f"  store i64 {dtype[1]}, ptr %s{i}"]
    return "\n".join(
        [*lines, f"  call void {pointer}(ptr %args, ptr %size, ptr %steps, ptr {data})", "  ret void", "}"]
    )


def _estimates(op: str, types: Types) -> bool:
    return op == "Rsqrt" and types == ("f4:full",) and estimates.available()


def _module(recipe: Recipe, listed: bool, otherwise: Any, into: bool, own: str) -> str:
    """A builtin function of the operands, and of the result's buffer with `into`. `own` is another loop than the recipe's."""
    loop, result = own or module_text(recipe), recipe.type_of(recipe.outputs[0][0])
    kinds, layouts = [o.dtype for o in recipe.operands], [o.layout for o in recipe.operands]
    count = 1 if listed else len(kinds)
    f = Kernel(count + into, otherwise)
    if listed:
        values = f.object(0)
        f.refuse(f.load(f.at(values, "i8", HEADER - 8), "i64").equals(id(list)))
        f.refuse(f.load(f.at(values, "i8", HEADER), "i64").equals(len(kinds)))
        items = f.load(f.at(values, "i8", HEADER + 8), "ptr")
        objects = [f.load(items, "ptr", i) for i in range(len(kinds))]
    else:
        objects = [f.object(i) for i in range(len(kinds))]
    arrays = [f.array_at(one, kind) for one, kind in zip(objects, kinds, strict=True)]
    first = arrays[layouts.index("full")]
    rank, rows, columns = first.rank, f.number(1), first.elements()
    f.refuse(rank > ("row" in layouts))
    if "row" in layouts:
        width = first.size(rank - 1)
        f.refuse(width > 0)
        rows, columns = columns // width, width
    for other, layout in zip(arrays, layouts, strict=True):
        if layout == "scalar":
            f.refuse(other.rank.equals(0))
        elif layout == "row":
            f.refuse(other.rank.equals(1))
            f.refuse(other.size(0).equals(columns))
        elif other is not first:
            f.refuse(other.rank.equals(rank))
            with f.loop(rank) as axis:
                f.refuse(other.size(axis).equals(first.size(axis)))
    if into:
        f.refuse(first.elements() < LARGE)
    made = f.result(result, first.sizes, rank, count if into else None)
    given = ", ".join(f"ptr {one.text}" for one in (*objects, made.object))
    work = f"call i32 @loop(i64 {rows.text}, i64 {columns.text}, {given})"
    f.released(rows * columns, lambda: f.do(work))
    f.give(made.object)
    return f.module(loop)


def _same(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether these are several tensors of one shape. (A list whose elements are not known has no shape.)"""
    return bool(shapes and shapes[0]) and all(s == shapes[0] for s in shapes)


def _fitting(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether each input has the result's shape, or is a number or a row of it."""
    most = max(shapes, key=len)
    rows = ((), most, most[-1:])
    return len(most) > 0 and attrs.get("data_format", "") != "NCHW" and all(s in rows for s in shapes)


def _fast(op: str, can: Callable[..., bool] = _fitting) -> Callable[[F], F]:
    return kernel(op, device="CPU", dtypes=KNOWN, library="jit", can=can, pays=_pays)


# Each kernel is one expression, which generated code contains as it is.

_add = _native("Add", math.add)
_subtract = _native("Sub", math.subtract)
_multiply = _native("Mul", math.multiply)
_divide = _native("RealDiv", math.real_div)
_maximum = _native("Maximum", math.maximum)
_minimum = _native("Minimum", math.minimum)
_add_n = _native("AddN", math.add_n, listed=True)
_negative = _native("Neg", unary.negative)
_square = _native("Square", unary.square)
_sqrt = _native("Sqrt", unary.sqrt)
_rsqrt = _native("Rsqrt", unary.rsqrt)
_exp = _native("Exp", unary.exp)
_log = _native("Log", unary.log)
_tanh = _native("Tanh", unary.tanh)
_sigmoid = _native("Sigmoid", unary.sigmoid)
_relu = _native("Relu", nn.relu)
_relu_grad = _native("ReluGrad", nn.relu_grad)
_tanh_grad = _native("TanhGrad", unary.tanh_grad)
_sigmoid_grad = _native("SigmoidGrad", unary.sigmoid_grad)


@_fast("Add")
def add(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _add.call(x, y) if out is None else _add.into(x, y, out=out)


@_fast("Sub")
def subtract(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _subtract.call(x, y) if out is None else _subtract.into(x, y, out=out)


@_fast("Mul")
def multiply(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _multiply.call(x, y) if out is None else _multiply.into(x, y, out=out)


@_fast("RealDiv")
def real_div(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _divide.call(x, y) if out is None else _divide.into(x, y, out=out)


@_fast("Maximum")
def maximum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _maximum.call(x, y) if out is None else _maximum.into(x, y, out=out)


@_fast("Minimum")
def minimum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _minimum.call(x, y) if out is None else _minimum.into(x, y, out=out)


@_fast("AddN", _same)
def add_n(xp: Any, inputs: Any, *, out: Any = None) -> Any:
    return _add_n.call(inputs) if out is None else _add_n.into(inputs, out=out)


@_fast("Neg", _same)
def negative(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _negative.call(x) if out is None else _negative.into(x, out=out)


@_fast("Square", _same)
def square(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _square.call(x) if out is None else _square.into(x, out=out)


@_fast("Sqrt", _same)
def sqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _sqrt.call(x) if out is None else _sqrt.into(x, out=out)


@_fast("Rsqrt", _same)
def rsqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _rsqrt.call(x) if out is None else _rsqrt.into(x, out=out)


@_fast("Exp", _same)
def exp(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _exp.call(x) if out is None else _exp.into(x, out=out)


@_fast("Log", _same)
def log(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _log.call(x) if out is None else _log.into(x, out=out)


@_fast("Tanh", _same)
def tanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _tanh.call(x) if out is None else _tanh.into(x, out=out)


@_fast("Sigmoid", _same)
def sigmoid(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _sigmoid.call(x) if out is None else _sigmoid.into(x, out=out)


@_fast("Relu", _same)
def relu(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _relu.call(x) if out is None else _relu.into(x, out=out)


@_fast("ReluGrad", _same)
def relu_grad(xp: Any, dy: Any, x: Any, *, out: Any = None) -> Any:
    return _relu_grad.call(dy, x) if out is None else _relu_grad.into(dy, x, out=out)


@_fast("TanhGrad", _same)
def tanh_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return _tanh_grad.call(y, dy) if out is None else _tanh_grad.into(y, dy, out=out)


@_fast("SigmoidGrad", _same)
def sigmoid_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return _sigmoid_grad.call(y, dy) if out is None else _sigmoid_grad.into(y, dy, out=out)


def _bias(xp: Any, value: Any, bias: Any, *, out: Any = None) -> Any:
    return nn.bias_add(xp, value, bias, data_format="NHWC", out=out)


_bias_add = _native("BiasAdd", _bias)


@_fast("BiasAdd")
def bias_add(xp: Any, value: Any, bias: Any, *, data_format: str, out: Any = None) -> Any:
    return _bias_add.call(value, bias) if out is None else _bias_add.into(value, bias, out=out)


_select = _native("Select", logic.select)


@_fast("Select", _same)
def select(xp: Any, condition: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _select.call(condition, x, y) if out is None else _select.into(condition, x, y, out=out)


# A type of results has a function of its own, in front of which that of each type of elements goes.
_casts = {dtype: _native("Cast", functools.partial(casts.cast, DstT=dtype), dtype) for dtype in TYPES}


@_fast("Cast", _same)
def cast(xp: Any, x: Any, *, DstT: DType, out: Any = None) -> Any:
    return _casts[DstT].call(x) if out is None else _casts[DstT].into(x, out=out)
