"""Exponentials of float32 numbers that are not above zero, as code that LLVM makes vectors of.

2ⁿ eʳ with n = x / log 2 rounded, and a polynomial of r, the rest: right to one or two units in the last place, denormal results
too. numpy's own function takes longer, but its bits are numpy's: those of ops whose results may not differ from it.
The coefficients are those of Cephes, as everywhere.
"""

from __future__ import annotations

from .routine import Routine, Value

_LEAST = -105.0
"""The exponential of what is less rounds to zero."""
_ROUNDS = 12582912.0  # 1.5 · 2²³: a sum with it has no fraction
_ROUNDS_BITS = 0x4B400000
_LOG2E, _LN2_HIGH, _LN2_LOW = 1.44269504088896341, 0.693359375, -2.12194440e-4
_COEFFICIENTS = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)

POWER_NEEDS = "declare float @llvm.fmuladd.f32(float, float, float)"
"""Stands once in a module with `power`."""


def power(f: Routine, x: Value) -> Value:
    """e to the power of `x`, where that is no more than zero, or NaN."""

    def fused(a: Value, b: Value, c: Value) -> Value:
        return f.add(f"call float @llvm.fmuladd.f32(float {a.text}, float {b.text}, float {c.text})", "float")

    def number(value: float) -> Value:
        return f.number(_single(value), "float")

    x = f.select(x < number(_LEAST), number(_LEAST), x)  # a NaN stays
    shifted = fused(x, number(_LOG2E), number(_ROUNDS))
    n = f.add(f"bitcast float {shifted.text} to i32", "i32") - _ROUNDS_BITS
    whole = shifted - number(_ROUNDS)
    rest = fused(whole, number(-_LN2_LOW), fused(whole, number(-_LN2_HIGH), x))
    total = number(_COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        total = fused(total, rest, number(coefficient))
    total = fused(total, rest * rest, rest + number(1.0))
    # Denormal results are scaled in two steps, of which only the second one rounds.
    half = f.add(f"ashr i32 {n.text}, 1", "i32")
    for part in (half, n - half):
        bits = f.add(f"shl i32 {(part + 127).text}, 23", "i32")
        total = total * f.add(f"bitcast i32 {bits.text} to float", "float")
    return total


def _single(value: float) -> float:
    """A constant of float32, of which LLVM takes no more digits."""
    import struct

    return float(struct.unpack("<f", struct.pack("<f", value))[0])
