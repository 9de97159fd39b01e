"""1 / √x of many float32 numbers by the processor's estimate and one step that makes it exact to a unit in the last place.

A division and a root take a processor with AVX-512 five times as long. The last bits may differ from numpy's, which rounds
twice.
"""

from __future__ import annotations

from actorflow.runtime.codegen import llvm

from .arrays import FIELDS, HEADER

_LANES = "<16 x float>"
_ESTIMATE = "@llvm.x86.avx512.rsqrt14.ps.512"


def available() -> bool:
    """Whether this processor has the estimate."""
    return llvm.available() and llvm.has_feature("avx512f")


def _vector(suffix: str, source: str) -> list[str]:
    """`%r<suffix>` of the vector `source`. With e for the estimate and u = 1 - x e², the result is e + e u (1/2 + 3/8 u)."""
    e, u = f"%e{suffix}", f"%u{suffix}"
    fma = f"call {_LANES} @llvm.fma.v16f32({_LANES}"
    lines = [f"{e} = call {_LANES} {_ESTIMATE}({_LANES} {source}, {_LANES} zeroinitializer, i16 -1)"]
    lines += [f"%t{suffix} = fmul {_LANES} {source}, {e}", f"%m{suffix} = fneg {_LANES} %t{suffix}"]
    lines += [f"{u} = {fma} %m{suffix}, {_LANES} {e}, {_LANES} {_all(1.0)})"]
    lines += [f"%p{suffix} = {fma} {u}, {_LANES} {_all(0.375)}, {_LANES} {_all(0.5)})"]
    lines += [f"%q{suffix} = fmul {_LANES} {e}, {u}"]
    lines += [f"%s{suffix} = {fma} %q{suffix}, {_LANES} %p{suffix}, {_LANES} {e})"]
    # Of zeros, infinities, NaNs and what has no root the estimate is the result.
    lines += [f"%odd{suffix} = fcmp uno {_LANES} {u}, {u}"]
    return [*lines, f"%r{suffix} = select <16 x i1> %odd{suffix}, {_LANES} {e}, {_LANES} %s{suffix}"]


def _all(number: float) -> str:
    return f"<{', '.join([f'float {number}'] * 16)}>"


def _walk() -> str:
    """`@walk(n, x, y)`."""
    numbers = ", ".join(f"i64 {i}" for i in range(16))
    lines = ["define internal void @walk(i64 %n, ptr %x, ptr %y) {", "entry:", "  %whole = and i64 %n, -16"]
    lines += ["  br label %head", "head:", "  %i = phi i64 [ 0, %entry ], [ %i.next, %body ]"]
    lines += ["  %more = icmp slt i64 %i, %whole", "  br i1 %more, label %body, label %rest", "body:"]
    lines += ["  %xi = getelementptr float, ptr %x, i64 %i", f"  %v = load {_LANES}, ptr %xi, align 4"]
    lines += [*_vector("", "%v"), "  %yi = getelementptr float, ptr %y, i64 %i"]
    lines += [f"  store {_LANES} %r, ptr %yi, align 4", "  %i.next = add i64 %i, 16", "  br label %head", "rest:"]
    lines += ["  %left = sub i64 %n, %whole", "  %one = insertelement <16 x i64> poison, i64 %left, i32 0"]
    lines += ["  %all = shufflevector <16 x i64> %one, <16 x i64> poison, <16 x i32> zeroinitializer"]
    lines += [f"  %mask = icmp slt <16 x i64> <{numbers}>, %all", "  %xr = getelementptr float, ptr %x, i64 %whole"]
    given = f"ptr %xr, i32 4, <16 x i1> %mask, {_LANES} {_all(1.0)}"
    lines += [f"  %w = call {_LANES} @llvm.masked.load.v16f32.p0({given})", *_vector(".w", "%w")]
    lines += ["  %yr = getelementptr float, ptr %y, i64 %whole"]
    lines += [f"  call void @llvm.masked.store.v16f32.p0({_LANES} %r.w, ptr %yr, i32 4, <16 x i1> %mask)"]
    return "\n".join([*lines, "  ret void", "}"])


def part_text() -> str:
    """`@part(begin, count, columns, x, y)` of `parallel`."""
    lines = ["define internal void @part(i64 %begin, i64 %count, i64 %columns, ptr %x, ptr %y) {"]
    lines += ["  %from = getelementptr float, ptr %x, i64 %begin", "  %to = getelementptr float, ptr %y, i64 %begin"]
    return "\n".join([_walk(), *lines, "  call void @walk(i64 %count, ptr %from, ptr %to)", "  ret void", "}"])


def loop_text() -> str:
    """`@loop(rows, columns, x, y)` over two arrays in order, as of a recipe."""
    lines = ["define i32 @loop(i64 %rows, i64 %columns, ptr %a, ptr %b) {", "  %n = mul i64 %rows, %columns"]
    for name in "ab":
        lines += [f"  %{name}.at = getelementptr i8, ptr %{name}, i64 {HEADER + FIELDS['data']}"]
        lines += [f"  %{name}.data = load ptr, ptr %{name}.at"]
    return "\n".join([_walk(), *lines, "  call void @walk(i64 %n, ptr %a.data, ptr %b.data)", "  ret i32 0", "}"])
