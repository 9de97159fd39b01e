"""Generated code's view of numpy's array objects, whose layout is part of numpy's binary interface."""

from __future__ import annotations

import numpy as np

HEADER = object.__basicsize__
"""The header before an array's own fields; the last of it is the object's type."""
FIELDS = {"data": 0, "rank": 8, "sizes": 16, "strides": 24, "dtype": 40, "flags": 48}
_ALIGNED = 0x100
_IN_ORDER = 0x1 | _ALIGNED  # C-contiguous, and aligned


def _looked_at(no: str) -> list[str]:
    """Code that reads the fields of `%array`, and goes to `no` unless it is an array of the type `%dtype`."""
    lines = [f"  %kind.at = getelementptr i8, ptr %array, i64 {HEADER - 8}"]
    lines += ["  %kind = load i64, ptr %kind.at", f"  %is.array = icmp eq i64 %kind, {id(np.ndarray)}"]
    lines += [f"  br i1 %is.array, label %look, label %{no}", "look:"]
    for field, llvm in (("dtype", "i64"), ("flags", "i32"), ("rank", "i32"), ("sizes", "ptr"), ("strides", "ptr")):
        lines.append(f"  %{field}.at = getelementptr i8, ptr %array, i64 {HEADER + FIELDS[field]}")
        lines.append(f"  %its.{field} = load {llvm}, ptr %{field}.at")
    return [*lines, "  %rank = sext i32 %its.rank to i64", "  %same = icmp eq i64 %its.dtype, %dtype"]


def _fits() -> str:
    """Whether an object is an array of this type with `elements` elements, in order."""
    lines = ["define internal i1 @fits(ptr %array, i64 %dtype, i64 %elements) noinline {", "entry:", *_looked_at("no")]
    lines += [f"  %bits = and i32 %its.flags, {_IN_ORDER}", f"  %ordered = icmp eq i32 %bits, {_IN_ORDER}"]
    lines += ["  %good = and i1 %same, %ordered", "  br label %count", "count:"]
    lines += ["  %i = phi i64 [ 0, %look ], [ %i.next, %times ]", "  %n = phi i64 [ 1, %look ], [ %n.next, %times ]"]
    lines += ["  %over = icmp eq i64 %i, %rank", "  br i1 %over, label %all, label %times", "times:"]
    lines += ["  %size.at = getelementptr i64, ptr %its.sizes, i64 %i", "  %size = load i64, ptr %size.at"]
    lines += ["  %n.next = mul i64 %n, %size", "  %i.next = add i64 %i, 1", "  br label %count", "all:"]
    lines += ["  %enough = icmp eq i64 %n, %elements", "  %fits = and i1 %good, %enough", "  ret i1 %fits"]
    return "\n".join([*lines, "no:", "  ret i1 false", "}"])


def _pitch() -> str:
    """How many elements lie between the beginnings of an array's rows, each of `columns` side by side; -1 for any other array.
    An array in order has any rows."""
    lines = ["define internal i64 @pitch(ptr %array, i64 %dtype, i64 %width, i64 %rows, i64 %columns) noinline {"]
    lines += ["entry:", "  %all = mul i64 %rows, %columns"]
    lines.append("  %whole = call i1 @fits(ptr %array, i64 %dtype, i64 %all)")
    lines += ["  br i1 %whole, label %simple, label %closer", "simple:", "  ret i64 %columns", "closer:"]
    lines += [
        *_looked_at("no"),
        f"  %bits = and i32 %its.flags, {_ALIGNED}",
        f"  %placed = icmp eq i32 %bits, {_ALIGNED}",
    ]
    lines += ["  %good = and i1 %same, %placed", "  %deep = icmp sge i64 %rank, 2", "  %fine = and i1 %good, %deep"]
    lines += [
        "  br i1 %fine, label %last, label %no",
        "last:",
        "  %end = sub i64 %rank, 1",
        "  %before = sub i64 %rank, 2",
    ]
    for name, field, index in (("size", "sizes", "end"), ("step", "strides", "end"), ("jump", "strides", "before")):
        lines.append(f"  %{name}.at = getelementptr i64, ptr %its.{field}, i64 %{index}")
        lines.append(f"  %{name} = load i64, ptr %{name}.at")
    lines += ["  %wide = icmp eq i64 %size, %columns", "  %close = icmp eq i64 %step, %width"]
    lines += ["  %rest = srem i64 %jump, %width", "  %even = icmp eq i64 %rest, 0", "  %ahead = icmp sge i64 %jump, 0"]
    lines += ["  %b0 = and i1 %wide, %close", "  %b1 = and i1 %even, %ahead", "  %b2 = and i1 %b0, %b1"]
    lines += ["  br i1 %b2, label %walk, label %no", "walk:"]
    lines += [
        "  %i = phi i64 [ %before, %last ], [ %up, %same.pitch ]",
        "  %n = phi i64 [ 1, %last ], [ %m, %same.pitch ]",
    ]
    lines += ["  %its.size.at = getelementptr i64, ptr %its.sizes, i64 %i", "  %its.size = load i64, ptr %its.size.at"]
    lines += [
        "  %m = mul i64 %n, %its.size",
        "  %top = icmp eq i64 %i, 0",
        "  br i1 %top, label %found, label %more",
        "more:",
    ]
    lines += ["  %up = sub i64 %i, 1", "  %next.at = getelementptr i64, ptr %its.strides, i64 %up"]
    lines += ["  %next = load i64, ptr %next.at", "  %due = mul i64 %m, %jump", "  %regular = icmp eq i64 %next, %due"]
    lines += ["  br i1 %regular, label %same.pitch, label %no", "same.pitch:", "  br label %walk", "found:"]
    lines += ["  %right = icmp eq i64 %m, %rows", "  br i1 %right, label %yes, label %no", "yes:"]
    lines += ["  %pitch = sdiv i64 %jump, %width", "  ret i64 %pitch"]
    return "\n".join([*lines, "no:", "  ret i64 -1", "}"])


CHECKS = f"{_fits()}\n{_pitch()}"
