"""From a recipe to the text of a module of LLVM: a function over arrays, as plain a loop as its optimizer likes.

Nothing is marked as fast math, so that no operation is reordered or contracted: the results are those of the same
operations in numpy, bit for bit, up to the bits of a NaN. A minimum and a maximum are as numpy's vectors have them: a NaN wins,
and of two zeros the second does.

The functions take the arrays themselves. They look into numpy's array objects, whose layout is part of its binary interface,
for what a call from Python would spend a microsecond on: the address, and that type, size and order are as expected.
"""

from __future__ import annotations

import numpy as np

from actorflow.runtime.jit_recipe import COMPARISONS, Instruction, Recipe

_HEADER = object.__basicsize__
"""What stands before an array's own fields; the last of it is the object's type."""
_FIELDS = {"data": 0, "rank": 8, "sizes": 16, "dtype": 40, "flags": 48}
_IN_ORDER = 0x1 | 0x100  # C-contiguous, and aligned
_TYPES = {"f4": "float", "f8": "double", "b1": "i1", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64"}
_TYPES |= {"u1": "i8", "u2": "i16", "u4": "i32", "u8": "i64"}
_FLOAT_OPS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_FLOAT_CALLS = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "rint": "rint"}
_FLOAT_TESTS = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def module_text(recipe: Recipe) -> str:
    """A module with `@loop(rows, columns, arrays...)`; where it works in place, also `@share(state, columns, chunk, wait,
    arrays...)`.

    The arrays are those of the operands, then one for each fresh output. `@loop` gives 1, and does nothing, where an operand is
    no array as it should be. `@share` is for several threads that call it with one `state`, two zeroed counters: each takes
    chunks until none is left. With `wait` it gives 1 as long as another one is at work on its last chunk.
    """
    arrays = len(recipe.operands) + recipe.fresh
    parts = [_INTRINSICS, _body(recipe), _check(), _loop(recipe, arrays)]
    if recipe.in_place:
        parts.append(_share(recipe, arrays))
    return "\n".join(parts)


_INTRINSICS = "\n".join(
    f"declare {kind} @llvm.{name}.{suffix}({kind})"
    for name in ("fabs", "sqrt", "floor", "ceil", "rint")
    for kind, suffix in (("float", "f32"), ("double", "f64"))
)


def _stored(dtype: str) -> str:
    """The type in memory: a bool takes a byte."""
    return "i8" if dtype == "b1" else _TYPES[dtype]


# ---- the loop over one block of rows and columns


def _body(recipe: Recipe) -> str:
    count = len(recipe.operands)
    written = {into for _, into in recipe.outputs if into is not None}
    parameters = [f"ptr noalias {'' if i in written else 'readonly '}%p{i}" for i in range(count)]
    parameters += [f"ptr noalias %p{count + i}" for i in range(recipe.fresh)]
    lines = [
        f"define internal void @body(i64 %rows, i64 %begin, i64 %end, {', '.join(parameters)}) noinline {{",
        "entry:",
    ]
    for i, operand in enumerate(recipe.operands):
        if operand.layout == "scalar":
            lines += _load(i, operand.dtype, f"%p{i}")
    lines += ["  %some = icmp slt i64 %begin, %end", "  br i1 %some, label %row, label %done", "row:"]
    lines += ["  %r = phi i64 [ 0, %entry ], [ %r.next, %row.end ]", "  %base = mul nsw i64 %r, %end"]
    for i, operand in enumerate(recipe.operands):
        if operand.layout == "column":
            lines.append(f"  %q{i} = getelementptr inbounds {_stored(operand.dtype)}, ptr %p{i}, i64 %r")
            lines += _load(i, operand.dtype, f"%q{i}")
    lines += ["  br label %column", "column:", "  %c = phi i64 [ %begin, %row ], [ %c.next, %column ]"]
    lines.append("  %at = add nsw i64 %base, %c")
    for i, operand in enumerate(recipe.operands):
        if operand.layout in ("full", "row"):
            place = "%at" if operand.layout == "full" else "%c"
            lines.append(f"  %q{i} = getelementptr inbounds {_stored(operand.dtype)}, ptr %p{i}, i64 {place}")
            lines += _load(i, operand.dtype, f"%q{i}")
    names = [f"%v{i}" for i in range(count)]
    for instruction in recipe.body:
        name = f"%v{len(names)}"
        if instruction.op == "const":
            names.append(_literal(instruction))
            continue
        lines += [f"  {line}" for line in _instruction(recipe, instruction, name, names)]
        names.append(name)
    fresh = count
    for k, (value, into) in enumerate(recipe.outputs):
        target = fresh if into is None else into
        fresh += into is None
        dtype = recipe.type_of(value)
        kind, spelled = _stored(dtype), names[value]
        lines.append(f"  %o{k} = getelementptr inbounds {kind}, ptr %p{target}, i64 %at")
        if dtype == "b1":
            lines.append(f"  %b{k} = zext i1 {spelled} to i8")
            spelled = f"%b{k}"
        lines.append(f"  store {kind} {spelled}, ptr %o{k}")
    lines += ["  %c.next = add nsw i64 %c, 1", "  %c.over = icmp eq i64 %c.next, %end"]
    lines += ["  br i1 %c.over, label %row.end, label %column", "row.end:", "  %r.next = add nsw i64 %r, 1"]
    lines += ["  %r.over = icmp eq i64 %r.next, %rows", "  br i1 %r.over, label %done, label %row"]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def _load(index: int, dtype: str, pointer: str) -> list[str]:
    if dtype != "b1":
        return [f"  %v{index} = load {_TYPES[dtype]}, ptr {pointer}"]
    return [f"  %m{index} = load i8, ptr {pointer}", f"  %v{index} = icmp ne i8 %m{index}, 0"]


def _literal(instruction: Instruction) -> str:
    value = np.frombuffer(instruction.value, instruction.dtype)[0]
    if instruction.dtype[0] == "f":  # LLVM writes both types as the bits of a double
        return f"0x{int(np.float64(value).view(np.uint64)):016X}"
    if instruction.dtype == "b1":
        return "true" if value else "false"
    return str(int(value))


def _instruction(recipe: Recipe, instruction: Instruction, name: str, names: list[str]) -> list[str]:
    op = instruction.op
    given = [names[i] for i in instruction.arguments]
    source = recipe.type_of(instruction.arguments[0])
    kind, floating = _TYPES[source], source[0] == "f"
    if op == "convert":
        return _conversion(name, given[0], source, instruction.dtype)
    if op == "select":
        kind = _TYPES[instruction.dtype]
        return [f"{name} = select i1 {given[0]}, {kind} {given[1]}, {kind} {given[2]}"]
    if op == "not":
        return [f"{name} = xor {kind} {given[0]}, {'true' if source == 'b1' else '-1'}"]
    if op in ("and", "or", "xor"):
        return [f"{name} = {op} {kind} {given[0]}, {given[1]}"]
    if op in COMPARISONS:
        return [f"{name} = {_test(op, source)} {given[0]}, {given[1]}"]
    if op in ("min", "max"):
        best = f"{name}.best" if floating else name
        lines = [f"{name}.first = {_test('lt' if op == 'min' else 'gt', source)} {given[0]}, {given[1]}"]
        lines.append(f"{best} = select i1 {name}.first, {kind} {given[0]}, {kind} {given[1]}")
        if floating:
            lines.append(f"{name}.nan = fcmp uno {kind} {given[0]}, {given[0]}")
            lines.append(f"{name} = select i1 {name}.nan, {kind} {given[0]}, {kind} {best}")
        return lines
    if floating:
        if op == "neg":
            return [f"{name} = fneg {kind} {given[0]}"]
        if op in _FLOAT_CALLS:
            suffix = "f32" if source == "f4" else "f64"
            return [f"{name} = call {kind} @llvm.{_FLOAT_CALLS[op]}.{suffix}({kind} {given[0]})"]
        return [f"{name} = {_FLOAT_OPS[op]} {kind} {given[0]}, {given[1]}"]
    if op == "neg":
        return [f"{name} = sub {kind} 0, {given[0]}"]
    if op == "abs":
        lines = [f"{name}.minus = sub {kind} 0, {given[0]}", f"{name}.below = icmp slt {kind} {given[0]}, 0"]
        return [*lines, f"{name} = select i1 {name}.below, {kind} {name}.minus, {kind} {given[0]}"]
    assert op in ("add", "sub", "mul"), op  # a division of whole numbers may fail: it is no part of loops
    return [f"{name} = {op} {kind} {given[0]}, {given[1]}"]


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
        # What does not fit has no defined result, in C either: the machine's instruction decides, as it does in numpy.
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


def _check() -> str:
    """Whether an object is an array of this type and so many elements, in order."""
    lines = ["define internal i1 @fits(ptr %array, i64 %dtype, i64 %elements) noinline {", "entry:"]
    lines.append(f"  %kind.at = getelementptr i8, ptr %array, i64 {_HEADER - 8}")
    lines += ["  %kind = load i64, ptr %kind.at", f"  %is.array = icmp eq i64 %kind, {id(np.ndarray)}"]
    lines += ["  br i1 %is.array, label %look, label %no", "look:"]
    for field, llvm in (("dtype", "i64"), ("flags", "i32"), ("rank", "i32"), ("sizes", "ptr")):
        lines.append(f"  %{field}.at = getelementptr i8, ptr %array, i64 {_HEADER + _FIELDS[field]}")
        lines.append(f"  %its.{field} = load {llvm}, ptr %{field}.at")
    lines += ["  %same = icmp eq i64 %its.dtype, %dtype", f"  %bits = and i32 %its.flags, {_IN_ORDER}"]
    lines += [f"  %ordered = icmp eq i32 %bits, {_IN_ORDER}", "  %good = and i1 %same, %ordered"]
    lines += ["  %rank = sext i32 %its.rank to i64", "  br label %count", "count:"]
    lines += ["  %i = phi i64 [ 0, %look ], [ %i.next, %times ]", "  %n = phi i64 [ 1, %look ], [ %n.next, %times ]"]
    lines += ["  %over = icmp eq i64 %i, %rank", "  br i1 %over, label %all, label %times", "times:"]
    lines += ["  %size.at = getelementptr i64, ptr %its.sizes, i64 %i", "  %size = load i64, ptr %size.at"]
    lines += ["  %n.next = mul i64 %n, %size", "  %i.next = add i64 %i, 1", "  br label %count", "all:"]
    lines += ["  %enough = icmp eq i64 %n, %elements", "  %fits = and i1 %good, %enough", "  ret i1 %fits"]
    return "\n".join([*lines, "no:", "  ret i1 false", "}"])


def _pointers(arrays: int) -> list[str]:
    lines = []
    for i in range(arrays):
        lines.append(f"  %d{i}.at = getelementptr i8, ptr %a{i}, i64 {_HEADER + _FIELDS['data']}")
        lines.append(f"  %d{i} = load ptr, ptr %d{i}.at")
    return lines


def _loop(recipe: Recipe, arrays: int) -> str:
    parameters = ", ".join(f"ptr %a{i}" for i in range(arrays))
    lines = [f"define i32 @loop(i64 %rows, i64 %columns, {parameters}) {{", "entry:"]
    lines.append("  %all = mul i64 %rows, %columns")
    counts = {"full": "%all", "scalar": "1", "row": "%columns", "column": "%rows"}
    for i, operand in enumerate(recipe.operands):
        dtype = id(np.dtype(operand.dtype))  # numpy has one object for each
        lines.append(f"  %f{i} = call i1 @fits(ptr %a{i}, i64 {dtype}, i64 {counts[operand.layout]})")
        lines += [f"  br i1 %f{i}, label %next{i}, label %no", f"next{i}:"]
    lines += _pointers(arrays)
    given = "".join(f", ptr %d{i}" for i in range(arrays))
    lines += [f"  call void @body(i64 %rows, i64 0, i64 %columns{given})", "  ret i32 0"]
    return "\n".join([*lines, "no:", "  ret i32 1", "}"])


def _share(recipe: Recipe, arrays: int) -> str:
    parameters = ", ".join(f"ptr %a{i}" for i in range(arrays))
    lines = [f"define i32 @share(ptr %state, i64 %columns, i64 %chunk, i64 %wait, {parameters}) {{", "entry:"]
    lines += ["  %active = getelementptr i64, ptr %state, i64 1", *_pointers(arrays)]
    lines += ["  %more = atomicrmw add ptr %active, i64 1 seq_cst", "  br label %claim", "claim:"]
    lines += ["  %begin = atomicrmw add ptr %state, i64 %chunk seq_cst", "  %left = icmp slt i64 %begin, %columns"]
    lines += ["  br i1 %left, label %work, label %over", "work:", "  %full.end = add i64 %begin, %chunk"]
    lines += ["  %short = icmp slt i64 %full.end, %columns"]
    lines.append("  %end = select i1 %short, i64 %full.end, i64 %columns")
    given = "".join(f", ptr %d{i}" for i in range(arrays))
    lines += [f"  call void @body(i64 1, i64 %begin, i64 %end{given})", "  br label %claim", "over:"]
    lines += ["  %less = atomicrmw sub ptr %active, i64 1 seq_cst", "  %waits = icmp ne i64 %wait, 0"]
    lines += ["  br i1 %waits, label %look, label %free", "look:"]
    lines += ["  %turn = phi i64 [ 0, %over ], [ %turn.next, %again ]"]
    lines += ["  %others = load atomic i64, ptr %active seq_cst, align 8", "  %busy = icmp ne i64 %others, 0"]
    lines += ["  br i1 %busy, label %again, label %free", "again:", "  %turn.next = add i64 %turn, 1"]
    lines += ["  %tired = icmp eq i64 %turn.next, 20000", "  br i1 %tired, label %late, label %look"]
    return "\n".join([*lines, "late:", "  ret i32 1", "free:", "  ret i32 0", "}"])
