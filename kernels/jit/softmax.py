"""The cross entropy of a few classes, and its derivative, in one walk over the rows.

The operations are those of `kernels/nn/activation.py` in their order, with numpy's own exponential and logarithm (`ufuncs`),
so the results are the same bits. That kernel computes the first ones, until the function is there, and says what is wrong
with labels.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.registry.kernel import kernel
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache

from ..nn import activation as nn
from .arrays import CHECKS, FIELDS, HEADER
from .blocks import TYPES
from .builtin import Kernel, Native, Types
from .ops_rows import cross_entropy
from .ufuncs import inner_loop

_BLOCK = 512
_HOLDING = 4096
"""Up to so many elements the function holds the interpreter."""


class CrossEntropy:
    """The function for one type of logits and one of labels, compiled in the background when it has been asked for a few
    times: `f(rows, classes, logits, labels, loss, derivative)` gives 0, or 1 where it did nothing."""

    def __init__(self, dtype: str, labels: str) -> None:
        self._types = dtype, labels
        self.work = TieredCache(self._compiled)

    def run(self, logits: Any, labels: Any) -> Any:
        """The loss and its derivative, or None where numpy has to compute them."""
        work = self.work.get()
        if work is None:
            return None
        function = work[logits.size > _HOLDING]
        loss, derivative = np.empty(labels.shape, logits.dtype), np.empty(logits.shape, logits.dtype)
        refused = function(*logits.shape, logits, labels, loss, derivative)
        return None if refused else (loss, derivative)

    def _compiled(self) -> tuple[Any, Any] | None:
        """The function that holds the interpreter, and the one that releases it."""
        import ctypes

        if inner_loop("exp", self._types[0]) is None or inner_loop("log", self._types[0]) is None:
            return None
        code = llvm.compiled(module_text(*self._types))
        kinds = [ctypes.c_ssize_t] * 2 + [ctypes.py_object] * 4
        held, released = (code.bind("cross_entropy", *kinds, releases=releases) for releases in (False, True))
        return held, released


@functools.cache
def cross_entropy_of(dtype: str, labels: str) -> CrossEntropy:
    """The one function of these types."""
    return CrossEntropy(dtype, labels)


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) == 2


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return bool(shapes[0][1] > 0)


@kernel(
    "SparseSoftmaxCrossEntropyWithLogits",
    device="CPU",
    dtypes=frozenset((dtypes.float32, dtypes.float64)),
    library="jit",
    can=_can,
    pays=_pays,
)
def sparse_softmax_cross_entropy(xp: Any, logits: Any, labels: Any) -> Any:
    return _few.call(logits, labels)


def _computed(logits: Any, labels: Any) -> Any:
    if type(logits) is type(labels) is np.ndarray and logits.ndim == 2 and 0 < logits.shape[1] <= nn.FEW_CLASSES:
        types = logits.dtype.str[1:], labels.dtype.str[1:]
        found = cross_entropy_of(*types).run(logits, labels) if labels.shape == logits.shape[:1] else None
        if found is not None:
            return found
    elif type(logits) is type(labels) is np.ndarray and logits.ndim == 2 and labels.shape == logits.shape[:1]:
        found = cross_entropy(logits, labels)
        if found is not None:
            return found
    return nn.sparse_softmax_cross_entropy(np, logits, labels)


def _few_text(types: Types, otherwise: Any) -> str | None:
    """The builtin function for a few rows: the same walk, with its arguments' checks and its results around it."""
    if types[0] not in ("f4", "f8") or types[1] not in ("i4", "i8"):
        return None
    if inner_loop("exp", types[0]) is None or inner_loop("log", types[0]) is None:
        return None
    f = Kernel(2, otherwise)
    logits, labels = f.array(0, types[0], 2), f.array(1, types[1], 1)
    rows, classes = logits.size(0), logits.size(1)
    f.refuse(labels.size(0).equals(rows))
    f.refuse((classes > 0) & (classes <= nn.FEW_CLASSES))
    f.refuse(rows * classes <= _HOLDING)
    loss, derivative = f.make(types[0], labels.sizes, 1), f.make(types[0], logits.sizes, 2)
    given = ", ".join(f"ptr {one.object.text}" for one in (logits, labels, loss, derivative))
    done = f.add(f"call i32 @cross_entropy(i64 {rows.text}, i64 {classes.text}, {given})", "i32").equals(0)
    with f.when(done ^ 1):
        f.drop(loss.object)
        f.drop(derivative.object)
    f.refuse(done)
    f.pair(loss, derivative)
    return f.module(module_text(*types))


_few = Native(_computed, _few_text)


def module_text(dtype: str, labels: str) -> str:
    """A module with `@cross_entropy`."""
    real, whole, width = TYPES[dtype], TYPES[labels], int(dtype[1])
    names = ("logits", "labels", "loss", "derivative")
    lines = [CHECKS, f"define i32 @cross_entropy(i64 %rows, i64 %classes, {', '.join(f'ptr %{n}' for n in names)}) {{"]
    lines += ["entry:", f"  %shifted = alloca [{_BLOCK} x {real}], align 64", f"  %logs = alloca [{_BLOCK} x {real}]"]
    lines += [f"  %total = alloca [{_BLOCK} x {real}]", "  %args = alloca [2 x ptr]", "  %steps = alloca [2 x i64]"]
    lines += ["  %count = alloca i64", "  %second = getelementptr ptr, ptr %args, i64 1"]
    lines += ["  %step = getelementptr i64, ptr %steps, i64 1", f"  store i64 {width}, ptr %steps"]
    lines += [f"  store i64 {width}, ptr %step", "  %all = mul i64 %rows, %classes"]
    for name, kind, size in (("logits", dtype, "all"), ("labels", labels, "rows")):
        lines.append(f"  %{name}.fit = call i1 @fits(ptr %{name}, i64 {id(np.dtype(kind))}, i64 %{size})")
    lines += ["  %fit = and i1 %logits.fit, %labels.fit", "  br i1 %fit, label %look, label %no", "look:"]
    for name in names:
        lines.append(f"  %{name}.at = getelementptr i8, ptr %{name}, i64 {HEADER + FIELDS['data']}")
        lines.append(f"  %x.{name} = load ptr, ptr %{name}.at")
    lines += [f"  %many = sdiv i64 {_BLOCK}, %classes", "  %any = icmp sgt i64 %rows, 0"]
    lines += ["  br i1 %any, label %check, label %done"]
    # Whether each label is one of the classes.
    lines += ["check:", "  %l = phi i64 [ 0, %look ], [ %l.next, %right ]"]
    lines += _label(whole, "check", "%l")
    lines += [
        "  %is.class = icmp ult i64 %check.label, %classes",
        "  br i1 %is.class, label %right, label %no",
        "right:",
    ]
    lines += ["  %l.next = add i64 %l, 1", "  %l.more = icmp slt i64 %l.next, %rows"]
    lines += ["  br i1 %l.more, label %check, label %block"]
    # A block of rows: what is left of each when its maximum is taken off.
    lines += ["block:", "  %first = phi i64 [ 0, %right ], [ %first.next, %block.end ]"]
    lines += ["  %rest = sub i64 %rows, %first", "  %less = icmp slt i64 %rest, %many"]
    lines += ["  %high = select i1 %less, i64 %rest, i64 %many", "  %begin = mul i64 %first, %classes"]
    lines += ["  %size = mul i64 %high, %classes", f"  %in = getelementptr {real}, ptr %x.logits, i64 %begin"]
    lines += [f"  %out = getelementptr {real}, ptr %x.derivative, i64 %begin", "  br label %row", "row:"]
    lines += ["  %r = phi i64 [ 0, %block ], [ %r.next, %row.end ]", "  %at = mul i64 %r, %classes"]
    lines += [f"  %in.row = getelementptr {real}, ptr %in, i64 %at", f"  %m0 = load {real}, ptr %in.row"]
    lines += [f"  %to.row = getelementptr {real}, ptr %shifted, i64 %at", "  br label %most", "most:"]
    lines += ["  %c = phi i64 [ 0, %row ], [ %c.next, %most ]", f"  %m = phi {real} [ %m0, %row ], [ %m.next, %most ]"]
    lines += [f"  %v.at = getelementptr {real}, ptr %in.row, i64 %c", f"  %v = load {real}, ptr %v.at"]
    lines += [f"  %m.more = fcmp ogt {real} %m, %v", f"  %m.nan = fcmp uno {real} %m, %m"]
    lines += ["  %m.stays = or i1 %m.more, %m.nan", f"  %m.next = select i1 %m.stays, {real} %m, {real} %v"]
    lines += ["  %c.next = add i64 %c, 1", "  %c.more = icmp slt i64 %c.next, %classes"]
    lines += ["  br i1 %c.more, label %most, label %take", "take:", "  %k = phi i64 [ 0, %most ], [ %k.next, %take ]"]
    lines += [f"  %w.at = getelementptr {real}, ptr %in.row, i64 %k", f"  %w = load {real}, ptr %w.at"]
    lines += [f"  %w.less = fsub {real} %w, %m.next", f"  %w.to = getelementptr {real}, ptr %to.row, i64 %k"]
    lines += [
        f"  store {real} %w.less, ptr %w.to",
        "  %k.next = add i64 %k, 1",
        "  %k.more = icmp slt i64 %k.next, %classes",
    ]
    lines += ["  br i1 %k.more, label %take, label %row.end", "row.end:", "  %r.next = add i64 %r, 1"]
    lines += ["  %r.more = icmp slt i64 %r.next, %high", "  br i1 %r.more, label %row, label %powers", "powers:"]
    lines += _called("exp", dtype, "%shifted", "%out", "%size")
    # The sum of each row's powers.
    lines += ["  br label %sum", "sum:", "  %s = phi i64 [ 0, %powers ], [ %s.next, %sum.end ]"]
    lines += ["  %s.at = mul i64 %s, %classes", f"  %s.row = getelementptr {real}, ptr %out, i64 %s.at"]
    lines += [f"  %t0 = load {real}, ptr %s.row", "  br label %term", "term:"]
    lines += ["  %j = phi i64 [ 1, %sum ], [ %j.next, %more ]", f"  %t = phi {real} [ %t0, %sum ], [ %t.next, %more ]"]
    lines += ["  %j.more = icmp slt i64 %j, %classes", "  br i1 %j.more, label %more, label %sum.end", "more:"]
    lines += [f"  %p.at = getelementptr {real}, ptr %s.row, i64 %j", f"  %p = load {real}, ptr %p.at"]
    lines += [f"  %t.next = fadd {real} %t, %p", "  %j.next = add i64 %j, 1", "  br label %term", "sum.end:"]
    lines += [f"  %t.to = getelementptr {real}, ptr %total, i64 %s", f"  store {real} %t, ptr %t.to"]
    lines += ["  %s.next = add i64 %s, 1", "  %s.more = icmp slt i64 %s.next, %high"]
    lines += ["  br i1 %s.more, label %sum, label %logarithms", "logarithms:"]
    lines += _called("log", dtype, "%total", "%logs", "%high")
    # The loss of each row, and its derivative.
    lines += ["  br label %end", "end:", "  %e = phi i64 [ 0, %logarithms ], [ %e.next, %end.end ]"]
    lines += ["  %e.at = mul i64 %e, %classes", f"  %e.row = getelementptr {real}, ptr %out, i64 %e.at"]
    lines += [f"  %u.at = getelementptr {real}, ptr %total, i64 %e", f"  %u = load {real}, ptr %u.at"]
    lines += ["  br label %part", "part:", "  %q = phi i64 [ 0, %end ], [ %q.next, %part ]"]
    lines += [f"  %q.at = getelementptr {real}, ptr %e.row, i64 %q", f"  %power = load {real}, ptr %q.at"]
    lines += [f"  %share = fdiv {real} %power, %u", f"  store {real} %share, ptr %q.at", "  %q.next = add i64 %q, 1"]
    lines += ["  %q.more = icmp slt i64 %q.next, %classes", "  br i1 %q.more, label %part, label %end.end", "end.end:"]
    lines += ["  %row.number = add i64 %first, %e", *_label(whole, "end", "%row.number")]
    lines += [f"  %true.at = getelementptr {real}, ptr %e.row, i64 %end.label", f"  %true = load {real}, ptr %true.at"]
    lines += [f"  %true.less = fsub {real} %true, 1.0", f"  store {real} %true.less, ptr %true.at"]
    lines += ["  %place = add i64 %e.at, %end.label", f"  %d.at = getelementptr {real}, ptr %shifted, i64 %place"]
    lines += [f"  %d = load {real}, ptr %d.at", f"  %g.at = getelementptr {real}, ptr %logs, i64 %e"]
    lines += [f"  %g = load {real}, ptr %g.at", f"  %lost = fsub {real} %g, %d"]
    lines += [f"  %lost.at = getelementptr {real}, ptr %x.loss, i64 %row.number", f"  store {real} %lost, ptr %lost.at"]
    lines += ["  %e.next = add i64 %e, 1", "  %e.more = icmp slt i64 %e.next, %high"]
    lines += ["  br i1 %e.more, label %end, label %block.end", "block.end:", "  %first.next = add i64 %first, %high"]
    lines += ["  %blocks = icmp slt i64 %first.next, %rows", "  br i1 %blocks, label %block, label %done"]
    return "\n".join([*lines, "done:", "  ret i32 0", "no:", "  ret i32 1", "}"])


def _label(whole: str, name: str, row: str) -> list[str]:
    lines = [f"  %{name}.at = getelementptr {whole}, ptr %x.labels, i64 {row}"]
    if whole == "i64":
        return [*lines, f"  %{name}.label = load i64, ptr %{name}.at"]
    lines.append(f"  %{name}.short = load {whole}, ptr %{name}.at")
    return [*lines, f"  %{name}.label = sext {whole} %{name}.short to i64"]


def _called(name: str, dtype: str, argument: str, result: str, count: str) -> list[str]:
    found = inner_loop(name, dtype)
    assert found is not None, name
    pointer, data = (f"inttoptr (i64 {address} to ptr)" for address in found)
    return [
        f"  store ptr {argument}, ptr %args",
        f"  store ptr {result}, ptr %second",
        f"  store i64 {count}, ptr %count",
        f"  call void {pointer}(ptr %args, ptr %count, ptr %steps, ptr {data})",
    ]
