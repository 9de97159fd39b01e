"""Fourier transforms of lengths that are powers of two, of small primes, and prime."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import Model, Parts, model

RUNGS = (
    (1, 16),
    (7, 33),
    (8, 127),
    (64, 256),
    (10, 1000),
    (33, 1023),
    (16, 1021),
    (64, 4096),
    (8, 30_030),
    (4, 65_536),
)
"""Rows, and their length."""


def complex_filter(m: Model, rows: int, size: int) -> Parts:
    """A filter by complex transforms there and back."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [rows, size])
    window = lib.constant(m.np.exp(-m.np.arange(size) / 500).astype(m.np.complex64))
    return (x,), (m.floats(rows, size),), lib.real(lib.ifft(lib.fft(lib.cast(x, lib.complex64)) * window)), None


def real_filter(m: Model, rows: int, size: int) -> Parts:
    """A filter by transforms of real rows there and back."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [rows, size])
    window = lib.constant(m.np.exp(-m.np.arange(size // 2 + 1) / 500).astype(m.np.complex64))
    return (x,), (m.floats(rows, size),), lib.signal.irfft(lib.signal.rfft(x) * window, [size]), None


def power(m: Model, rows: int, size: int) -> Parts:
    """Absolute values of transforms of real rows."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [rows, size])
    return (x,), (m.floats(rows, size),), lib.abs(lib.signal.rfft(x)), None


PROGRAMS: tuple[Callable[..., Parts], ...] = (complex_filter, real_filter, power)
CASES = tuple(
    Case(
        f"{program.__name__}_{rows}x{size}",
        f"{program.__name__}: {rows} × {size}",
        model(program, rows=rows, size=size),
    )
    for program in PROGRAMS
    for rows, size in RUNGS
)
