"""From a recipe to the text of a module of LLVM: a function over arrays, as plain a loop as its optimizer likes.

Nothing is marked as fast math, so that no operation is reordered or contracted: the results are those of the same
operations in numpy, bit for bit, up to the bits of a NaN. A minimum and a maximum are as numpy's vectors have them: a NaN wins,
and of two zeros the second does.

If a recipe calls numpy's functions, it is several loops over a block that stays in the cache (`blocks`).

The functions take the arrays themselves. They look into numpy's array objects, whose layout is part of its binary interface,
for what a call from Python would spend a microsecond on: the address, and that type, size and order are as expected (`arrays`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from actorflow.engine.runtime.codegen.jit_recipe import COMPARISONS, Operand, Recipe, RecipeInstruction

from .arrays import CHECKS, FIELDS, HEADER
from .blocks import TYPES as _TYPES
from .blocks import Phases, arrays_of, blocks_text, phases, stored

_FLOAT_OPS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_FLOAT_CALLS = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "rint": "rint"}
_FLOAT_TESTS = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def module_text(recipe: Recipe) -> str:
    """A module with `@loop(rows, columns, arrays...)`; for a recipe that works in place, also `@part(begin, count, addresses)`.

    The arrays are those of the operands, then an array for each fresh output. `@loop` gives 1, and does nothing, where an
    operand is no array as it should be. `@part` does some elements of arrays that are in order.
    """
    arrays = arrays_of(recipe)
    plan = phases(recipe)
    parts = [_INTRINSICS, *(_body(recipe, plan, i) for i in range(len(plan.bodies)))]
    parts += [blocks_text(recipe, plan), CHECKS, _loop(recipe, arrays)]
    if recipe.in_place:
        parts.append(_part(arrays))
    return "\n".join(parts)


_INTRINSICS = "\n".join(
    f"declare {kind} @llvm.{name}.{suffix}({kind})"
    for name in ("fabs", "sqrt", "floor", "ceil", "rint")
    for kind, suffix in (("float", "f32"), ("double", "f64"))
)
_INTRINSICS += "\ndeclare float @llvm.copysign.f32(float, float)\ndeclare double @llvm.copysign.f64(double, double)"


# ---- one loop over a block of rows and columns


def _body(recipe: Recipe, plan: Phases, number: int) -> str:
    """`@body<number>(rows, columns, arrays, pitches, scratch...)`: one loop's part of the recipe."""
    body = plan.bodies[number]
    arrays = arrays_of(recipe)
    written = {target for _, target in body.stores}
    parameters = [f"ptr noalias {'' if i in written else 'readonly '}%p{i}" for i in range(len(arrays))]
    parameters += [f"i64 %pitch{i}" for i, array in enumerate(arrays) if array.layout == "full"]
    parameters += [f"ptr noalias %s{i}" for i in range(len(plan.scratch))]
    lines = [
        f"define internal void @body{number}(i64 %rows, i64 %columns, {', '.join(parameters)}) noinline {{",
        "entry:",
    ]
    for i in body.operands:
        if arrays[i].layout == "scalar":
            lines += _load(i, arrays[i].dtype, f"%p{i}")
    lines += ["  br label %row", "row:", "  %r = phi i64 [ 0, %entry ], [ %r.next, %row.end ]"]
    lines.append("  %base = mul nsw i64 %r, %columns")
    for i in sorted({*body.operands, *written}):
        if arrays[i].layout == "full":
            lines.append(f"  %base{i} = mul nsw i64 %r, %pitch{i}")
        elif arrays[i].layout == "column":
            lines.append(f"  %q{i} = getelementptr inbounds {stored(arrays[i].dtype)}, ptr %p{i}, i64 %r")
            lines += _load(i, arrays[i].dtype, f"%q{i}")
    lines += ["  br label %column", "column:", "  %c = phi i64 [ 0, %row ], [ %c.next, %column ]"]
    lines.append("  %at = add nsw i64 %base, %c")
    for i in sorted({*body.operands, *written}):
        if arrays[i].layout == "full":
            lines.append(f"  %at{i} = add nsw i64 %base{i}, %c")
    for i in body.operands:
        if arrays[i].layout in ("full", "row"):
            place = f"%at{i}" if arrays[i].layout == "full" else "%c"
            lines.append(f"  %q{i} = getelementptr inbounds {stored(arrays[i].dtype)}, ptr %p{i}, i64 {place}")
            lines += _load(i, arrays[i].dtype, f"%q{i}")
    for value, scratch in body.loads:
        dtype = recipe.type_of(value)
        lines.append(f"  %w{value} = getelementptr inbounds {stored(dtype)}, ptr %s{scratch}, i64 %at")
        lines += _load(value, dtype, f"%w{value}")
    names = [f"%v{i}" for i in range(len(recipe.operands) + len(recipe.body))]
    for i, instruction in enumerate(recipe.body, len(recipe.operands)):
        if instruction.op == "const":
            names[i] = _literal(instruction)
    for i in body.instructions:
        lines += [f"  {line}" for line in _instruction(recipe, recipe.body[i - len(recipe.operands)], names[i], names)]
    places = [(value, f"%p{target}", f"%at{target}") for value, target in body.stores]
    places += [(value, f"%s{place}", "%at") for value, place in body.kept]
    for k, (value, pointer, at) in enumerate(places):
        dtype = recipe.type_of(value)
        kind, spelled = stored(dtype), names[value]
        lines.append(f"  %o{k} = getelementptr inbounds {kind}, ptr {pointer}, i64 {at}")
        if dtype == "b1":
            lines.append(f"  %b{k} = zext i1 {spelled} to i8")
            spelled = f"%b{k}"
        lines.append(f"  store {kind} {spelled}, ptr %o{k}")
    lines += ["  %c.next = add nsw i64 %c, 1", "  %c.over = icmp eq i64 %c.next, %columns"]
    lines += ["  br i1 %c.over, label %row.end, label %column", "row.end:", "  %r.next = add nsw i64 %r, 1"]
    lines += ["  %r.over = icmp eq i64 %r.next, %rows", "  br i1 %r.over, label %done, label %row"]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def _load(index: int, dtype: str, pointer: str) -> list[str]:
    if dtype != "b1":
        return [f"  %v{index} = load {_TYPES[dtype]}, ptr {pointer}"]
    return [f"  %m{index} = load i8, ptr {pointer}", f"  %v{index} = icmp ne i8 %m{index}, 0"]


def _literal(instruction: RecipeInstruction) -> str:
    value = np.frombuffer(instruction.value, instruction.dtype)[0]
    if instruction.dtype[0] == "f":  # LLVM writes both types as the bits of a double
        return f"0x{int(np.float64(value).view(np.uint64)):016X}"
    if instruction.dtype == "b1":
        return "true" if value else "false"
    return str(int(value))


def _instruction(recipe: Recipe, instruction: RecipeInstruction, name: str, names: list[str]) -> list[str]:
    op = instruction.op
    arguments = [names[i] for i in instruction.arguments]
    source = recipe.type_of(instruction.arguments[0])
    kind, floating = _TYPES[source], source[0] == "f"
    if op == "convert":
        return _conversion(name, arguments[0], source, instruction.dtype)
    if op == "select":
        kind = _TYPES[instruction.dtype]
        return [f"{name} = select i1 {arguments[0]}, {kind} {arguments[1]}, {kind} {arguments[2]}"]
    if op == "not":
        return [f"{name} = xor {kind} {arguments[0]}, {'true' if source == 'b1' else '-1'}"]
    if op in ("and", "or", "xor"):
        return [f"{name} = {op} {kind} {arguments[0]}, {arguments[1]}"]
    if op in COMPARISONS:
        return [f"{name} = {_test(op, source)} {arguments[0]}, {arguments[1]}"]
    if op in ("min", "max"):
        best = f"{name}.best" if floating else name
        lines = [f"{name}.first = {_test('lt' if op == 'min' else 'gt', source)} {arguments[0]}, {arguments[1]}"]
        lines.append(f"{best} = select i1 {name}.first, {kind} {arguments[0]}, {kind} {arguments[1]}")
        if floating:
            lines.append(f"{name}.nan = fcmp uno {kind} {arguments[0]}, {arguments[0]}")
            lines.append(f"{name} = select i1 {name}.nan, {kind} {arguments[0]}, {kind} {best}")
        return lines
    if op == "sign":
        zero, unit = ("0.0", "1.0") if floating else ("0", "1")
        lines = [f"{name}.zero = {_test('eq', source)} {arguments[0]}, {zero}"]
        lines.append(f"{name}.least = select i1 {name}.zero, {kind} {zero}, {kind} {arguments[0]}")  # a NaN stays
        lines.append(f"{name}.below = {_test('lt', source)} {arguments[0]}, {zero}")
        lines.append(f"{name}.rest = select i1 {name}.below, {kind} -{unit}, {kind} {name}.least")
        lines.append(f"{name}.above = {_test('gt', source)} {arguments[0]}, {zero}")
        return [*lines, f"{name} = select i1 {name}.above, {kind} {unit}, {kind} {name}.rest"]
    if floating:
        if op == "copysign":
            suffix = "f32" if source == "f4" else "f64"
            return [f"{name} = call {kind} @llvm.copysign.{suffix}({kind} {arguments[0]}, {kind} {arguments[1]})"]
        if op == "neg":
            return [f"{name} = fneg {kind} {arguments[0]}"]
        if op in _FLOAT_CALLS:
            suffix = "f32" if source == "f4" else "f64"
            return [f"{name} = call {kind} @llvm.{_FLOAT_CALLS[op]}.{suffix}({kind} {arguments[0]})"]
        return [f"{name} = {_FLOAT_OPS[op]} {kind} {arguments[0]}, {arguments[1]}"]
    if op == "neg":
        return [f"{name} = sub {kind} 0, {arguments[0]}"]
    if op == "abs":
        lines = [f"{name}.minus = sub {kind} 0, {arguments[0]}", f"{name}.below = icmp slt {kind} {arguments[0]}, 0"]
        return [*lines, f"{name} = select i1 {name}.below, {kind} {name}.minus, {kind} {arguments[0]}"]
    assert op in ("add", "sub", "mul"), op  # a division of whole numbers may fail: it is no part of loops
    return [f"{name} = {op} {kind} {arguments[0]}, {arguments[1]}"]


def _test(op: str, dtype: str) -> str:
    if dtype[0] == "f":
        return f"fcmp {_FLOAT_TESTS[op]} {_TYPES[dtype]}"
    if op in ("eq", "ne"):
        return f"icmp {op} {_TYPES[dtype]}"
    return f"icmp {'s' if dtype[0] == 'i' else 'u'}{op} {_TYPES[dtype]}"


def _conversion(name: str, value: str, source: str, target: str) -> list[str]:
    old, new = _TYPES[source], _TYPES[target]
    if target == "b1":
        return [f"{name} = {_test('ne', source)} {value}, {'0.0' if source[0] == 'f' else '0'}"]
    if source[0] == "f":
        if target[0] == "f":
            return [f"{name} = {'fpext' if target == 'f8' else 'fptrunc'} {old} {value} to {new}"]
        # A value that does not fit has no defined result, in C either: the machine's instruction decides, as it does in numpy.
        return [f"{name}.open = fptosi {old} {value} to {new}", f"{name} = freeze {new} {name}.open"]
    signed = source[0] == "i"
    if target[0] == "f":
        return [f"{name} = {'si' if signed else 'ui'}tofp {old} {value} to {new}"]
    bits = 1 if source == "b1" else 8 * int(source[1])
    if 8 * int(target[1]) == bits:
        return [f"{name} = or {new} {value}, 0"]
    how = "trunc" if 8 * int(target[1]) < bits else "sext" if signed else "zext"
    return [f"{name} = {how} {old} {value} to {new}"]


# ---- the functions that Python calls


def _pointers(arrays: Sequence[Operand]) -> list[str]:
    lines = []
    for i in range(len(arrays)):
        lines.append(f"  %d{i}.at = getelementptr i8, ptr %a{i}, i64 {HEADER + FIELDS['data']}")
        lines.append(f"  %d{i} = load ptr, ptr %d{i}.at")
    return lines


def _loop(recipe: Recipe, arrays: Sequence[Operand]) -> str:
    parameters = ", ".join(f"ptr %a{i}" for i in range(len(arrays)))
    lines = [f"define i32 @loop(i64 %rows, i64 %columns, {parameters}) {{", "entry:"]
    lines.append("  %all = mul i64 %rows, %columns")
    counts = {"scalar": "1", "row": "%columns", "column": "%rows"}
    flat = []  # whether the array's rows follow each other
    for i, array in enumerate(arrays):
        dtype = np.dtype(array.dtype)  # numpy has one object for each
        if array.layout == "full":
            arguments = f"ptr %a{i}, i64 {id(dtype)}, i64 {dtype.itemsize}, i64 %rows, i64 %columns"
            lines.append(f"  %pitch{i} = call i64 @pitch({arguments})")
            lines.append(f"  %f{i} = icmp sge i64 %pitch{i}, 0")
            lines.append(f"  %flat{i} = icmp eq i64 %pitch{i}, %columns")
            flat.append(f"%flat{i}")
        else:
            lines.append(f"  %f{i} = call i1 @fits(ptr %a{i}, i64 {id(dtype)}, i64 {counts[array.layout]})")
        lines += [f"  br i1 %f{i}, label %next{i}, label %no", f"next{i}:"]
    lines += _pointers(arrays)
    arguments = "".join(f", ptr %d{i}" for i in range(len(arrays)))
    pitches = "".join(f", i64 %pitch{i}" for i, array in enumerate(arrays) if array.layout == "full")
    if not any(array.layout in ("row", "column") for array in arrays):
        together = "true"
        for k, name in enumerate(flat):
            lines.append(f"  %together{k} = and i1 {together}, {name}")
            together = f"%together{k}"
        lines += [f"  br i1 {together}, label %one, label %several", "one:"]
        whole = ", i64 %all" * len(flat)
        lines += [f"  call void @blocks(i64 1, i64 %all{arguments}{whole})", "  ret i32 0", "several:"]
    lines += [f"  call void @blocks(i64 %rows, i64 %columns{arguments}{pitches})", "  ret i32 0"]
    return "\n".join([*lines, "no:", "  ret i32 1", "}"])


def _part(arrays: Sequence[Operand]) -> str:
    """`@part(begin, count, addresses)`: the loop over some elements of arrays in order, for threads that share the work."""
    lines = ["define void @part(i64 %begin, i64 %some, ptr %addresses) {"]
    parameters = ""
    for i, array in enumerate(arrays):
        begin = "%begin" if array.layout == "full" else "0"
        lines.append(f"  %d{i}.at = getelementptr ptr, ptr %addresses, i64 {i}")
        lines.append(f"  %d{i} = load ptr, ptr %d{i}.at")
        lines.append(f"  %e{i} = getelementptr {stored(array.dtype)}, ptr %d{i}, i64 {begin}")
        parameters += f", ptr %e{i}"
    parameters += ", i64 %some" * sum(array.layout == "full" for array in arrays)
    lines += [f"  call void @blocks(i64 1, i64 %some{parameters})", "  ret void", "}"]
    return "\n".join(lines)
