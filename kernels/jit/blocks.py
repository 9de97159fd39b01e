"""How a recipe that calls numpy's functions becomes several loops, and the walk over blocks that keeps them in the cache.

A function of numpy takes a whole array. So what comes before a call is one loop, which leaves the function's argument in a
small buffer, and what comes after it another. All of them go over one block of some hundred elements after the other: a
buffer takes a few kilobytes, whatever the size of the arrays. A recipe without calls is one loop, over everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from actorflow.engine.runtime.codegen.jit_recipe import CALLED, Operand, Recipe

from .ufuncs import inner_loop

TYPES = {"f4": "float", "f8": "double", "b1": "i1", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64"}
TYPES |= {"u1": "i8", "u2": "i16", "u4": "i32", "u8": "i64"}
BLOCK = 512
"""Elements: a call of a function costs as much as some 20 of them."""


def stored(dtype: str) -> str:
    """LLVM's type of an element in memory: a bool takes a byte."""
    return "i8" if dtype == "b1" else TYPES[dtype]


def arrays_of(recipe: Recipe) -> list[Operand]:
    """The arrays of a recipe: its operands, then its fresh outputs."""
    fresh = [Operand(recipe.type_of(value)) for value, into in recipe.outputs if into is None]
    return [*recipe.operands, *fresh]


@dataclass(slots=True)
class Body:
    """One loop: the `instructions` (as values), and the `operands` that they read. Values come from a buffer (`loads`) and go
    to a buffer (`kept`), each with the buffer's number; results have their array's number (`stores`)."""

    instructions: list[int] = field(default_factory=list)
    operands: list[int] = field(default_factory=list)
    loads: list[tuple[int, int]] = field(default_factory=list)
    kept: list[tuple[int, int]] = field(default_factory=list)
    stores: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Phases:
    """The loops of a recipe, the calls after each (function, argument's buffer, result's buffer, element type), and the
    element types of the buffers."""

    bodies: list[Body]
    calls: list[list[tuple[str, int, int, str]]]
    scratch: list[str]


def phases(recipe: Recipe) -> Phases:
    """Each instruction goes into the first loop in which its arguments are known."""
    count = len(recipe.operands)
    level = [0] * (count + len(recipe.body))
    for i, instruction in enumerate(recipe.body, count):
        level[i] = max((level[a] for a in instruction.arguments), default=0) + (instruction.op in CALLED)
    last = max((level[value] for value, _ in recipe.outputs), default=0)
    plan = Phases([Body() for _ in range(last + 1)], [[] for _ in range(last + 1)], [])
    buffers: dict[int, int] = {}

    def is_constant(value: int) -> bool:
        return value >= count and recipe.body[value - count].op == "const"

    def buffer(value: int) -> int:
        if value not in buffers:
            buffers[value] = len(plan.scratch)
            plan.scratch.append(recipe.type_of(value))
        return buffers[value]

    def use(value: int, at: int) -> None:
        """Makes a value known to the loop `at`."""
        body = plan.bodies[at]
        if value < count:
            if value not in body.operands:
                body.operands.append(value)
        elif not is_constant(value) and (level[value] < at or recipe.body[value - count].op in CALLED):
            if all(value != load for load, _ in body.loads):
                body.loads.append((value, buffer(value)))
            if recipe.body[value - count].op not in CALLED:
                keep(value, level[value])

    def keep(value: int, at: int) -> None:
        body = plan.bodies[at]
        if all(value != load for load, _ in body.kept):
            body.kept.append((value, buffer(value)))

    for i, instruction in enumerate(recipe.body, count):
        if instruction.op == "const":
            continue
        if instruction.op in CALLED:
            (argument,) = instruction.arguments
            at = level[argument]
            use(argument, at)
            keep(argument, at)
            plan.calls[at].append((instruction.op, buffer(argument), buffer(i), instruction.dtype))
            continue
        for argument in instruction.arguments:
            use(argument, level[i])
        plan.bodies[level[i]].instructions.append(i)
    fresh = count
    for value, into in recipe.outputs:
        target = fresh if into is None else into
        fresh += into is None
        use(value, level[value])
        plan.bodies[level[value]].stores.append((value, target))
    assert last == 0 or not recipe.in_place, "an operand would change under a later loop"
    return plan


def blocks_text(recipe: Recipe, plan: Phases) -> str:
    """`@blocks(rows, columns, arrays..., pitches...)`: the loops over all blocks, and the calls between them."""
    arrays = arrays_of(recipe)
    full = [i for i, array in enumerate(arrays) if array.layout == "full"]
    parameters = ", ".join([*(f"ptr %p{i}" for i in range(len(arrays))), *(f"i64 %pitch{i}" for i in full)])
    lines = [f"define internal void @blocks(i64 %rows, i64 %columns, {parameters}) {{", "entry:"]
    lines += ["  %all = mul i64 %rows, %columns", "  %some = icmp sgt i64 %all, 0"]
    pitches = "".join(f", i64 %pitch{i}" for i in full)
    if len(plan.bodies) == 1:
        arguments = "".join(f", ptr %p{i}" for i in range(len(arrays)))
        lines += ["  br i1 %some, label %work, label %done", "work:"]
        lines += [f"  call void @body0(i64 %rows, i64 %columns{arguments}{pitches})", "  br label %done"]
        return "\n".join([*lines, "done:", "  ret void", "}"])
    lines += ["  %args = alloca [2 x ptr]", "  %count = alloca i64", "  %steps = alloca [2 x i64]"]
    lines += [f"  %s{i} = alloca [{BLOCK} x {stored(dtype)}], align 64" for i, dtype in enumerate(plan.scratch)]
    lines += [f"  %narrow = icmp slt i64 %columns, {BLOCK}"]
    lines += [f"  %wide = select i1 %narrow, i64 %columns, i64 {BLOCK}"]
    lines += [
        "  br i1 %some, label %begin, label %done",
        "begin:",
        f"  %high = sdiv i64 {BLOCK}, %wide",
        "  br label %row",
    ]
    lines += ["row:", "  %r = phi i64 [ 0, %begin ], [ %r.next, %row.end ]", *_least("height", "%high", "%rows", "%r")]
    lines += ["  br label %column", "column:", "  %c = phi i64 [ 0, %row ], [ %c.next, %column ]"]
    lines += [*_least("width", "%wide", "%columns", "%c"), "  %size = mul i64 %height, %width"]
    lines.append("  store i64 %size, ptr %count")
    arguments = ""
    for i, array in enumerate(arrays):
        at = {"scalar": "0", "row": "%c", "column": "%r", "full": f"%at{i}"}[array.layout]
        if array.layout == "full":
            lines += [f"  %from{i} = mul i64 %r, %pitch{i}", f"  %at{i} = add i64 %from{i}, %c"]
        lines.append(f"  %q{i} = getelementptr {stored(array.dtype)}, ptr %p{i}, i64 {at}")
        arguments += f", ptr %q{i}"
    arguments += pitches + "".join(f", ptr %s{i}" for i in range(len(plan.scratch)))
    for number in range(len(plan.bodies)):
        lines.append(f"  call void @body{number}(i64 %height, i64 %width{arguments})")
        for call in plan.calls[number]:
            lines += _call(*call)
    lines += ["  %c.next = add i64 %c, %width", "  %c.more = icmp slt i64 %c.next, %columns"]
    lines += ["  br i1 %c.more, label %column, label %row.end", "row.end:", "  %r.next = add i64 %r, %height"]
    lines += ["  %r.more = icmp slt i64 %r.next, %rows", "  br i1 %r.more, label %row, label %done"]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def _least(name: str, most: str, end: str, at: str) -> list[str]:
    return [
        f"  %{name}.rest = sub i64 {end}, {at}",
        f"  %{name}.less = icmp slt i64 %{name}.rest, {most}",
        f"  %{name} = select i1 %{name}.less, i64 %{name}.rest, i64 {most}",
    ]


def _call(name: str, argument: int, result: int, dtype: str) -> Sequence[str]:
    """A call of numpy's function: of the addresses of its arguments, how many elements there are, and their steps."""
    loop = inner_loop(name, dtype)
    assert loop is not None, name
    address, data = loop
    lines = []
    for i, buffer in enumerate((argument, result)):
        lines.append(f"  %args.{name}.{argument}.{i} = getelementptr ptr, ptr %args, i64 {i}")
        lines.append(f"  store ptr %s{buffer}, ptr %args.{name}.{argument}.{i}")
        lines.append(f"  %steps.{name}.{argument}.{i} = getelementptr i64, ptr %steps, i64 {i}")
        lines.append(f"  store i64 {dtype[1]}, ptr %steps.{name}.{argument}.{i}")
    pointer = f"inttoptr (i64 {address} to ptr)"
    lines.append(f"  call void {pointer}(ptr %args, ptr %count, ptr %steps, ptr inttoptr (i64 {data} to ptr))")
    return lines
