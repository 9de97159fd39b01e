"""Elementwise kernels as builtin functions: the loops of `emit`, with the arguments' checks around them.

The recipes are those of `rules`, so the results are the same bits as numpy's kernels'. `ops_elementwise` makes the kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorflow.dtypes import DType
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import RUNS, background
from actorflow.runtime.codegen.jit_recipe import CALLED, Block, Recipe

from ..shared.helping import WORTH_SHARING
from . import estimates
from .arrays import HEADER
from .blocks import arrays_of, stored
from .builtin import EAGER, Kernel, Native, Types
from .emit import module_text
from .rules import RULES, SAME_SHAPE, TYPES
from .sharing import Parallel, address
from .turning import turner
from .ufuncs import inner_loop

_PIECE = 1 << 15


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
        if out.size < WORTH_SHARING or not out.flags.c_contiguous:
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


def native(op: str, base: Callable[..., Any], target: DType | None = None, listed: bool = False) -> Elementwise:
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
        f.refuse(first.elements() < WORTH_SHARING)
    made = f.result(result, first.sizes, rank, count if into else None)
    given = ", ".join(f"ptr {one.text}" for one in (*objects, made.object))
    work = f"call i32 @loop(i64 {rows.text}, i64 {columns.text}, {given})"
    f.released(rows * columns, lambda: f.do(work))
    f.give(made.object)
    return f.module(loop)
