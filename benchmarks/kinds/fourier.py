"""Fourier transforms, and their gradients, of lengths that are powers of two, of small primes, and prime."""

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


def slopes(m: Model, rows: int, size: int) -> Parts:
    """The gradient of the difference of a filter's rows from others."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [rows, size])
    window = lib.constant(m.np.exp(-m.np.arange(size) / 500).astype(m.np.complex64))
    y = lib.real(lib.ifft(lib.fft(lib.cast(x, lib.complex64)) * window))
    return (x,), (m.floats(rows, size),), lib.gradients(lib.reduce_sum(lib.square(y - 1.0)), x)[0], None


def real_slopes(m: Model, rows: int, size: int) -> Parts:
    """The gradient of the difference of the spectra of real rows from others."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [rows, size])
    loss = lib.reduce_sum(lib.square(lib.abs(lib.signal.rfft(x)) - 1.0))
    return (x,), (m.floats(rows, size),), lib.gradients(loss, x)[0], None


def filter_slopes(m: Model, rows: int, size: int) -> Parts:
    """The gradient of a filter of real rows, by transforms there and back."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [rows, size])
    window = lib.constant(m.np.exp(-m.np.arange(size // 2 + 1) / 500).astype(m.np.complex64))
    loss = lib.reduce_sum(lib.square(lib.signal.irfft(lib.signal.rfft(x) * window, [size]) - 1.0))
    return (x,), (m.floats(rows, size),), lib.gradients(loss, x)[0], None


def planes(m: Model, rows: int, size: int) -> Parts:
    """The gradient of the difference of the spectra of real matrices from others."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [rows, size])
    loss = lib.reduce_sum(lib.square(lib.abs(lib.signal.rfft2d(x)) - 1.0))
    return (x,), (m.floats(rows, size),), lib.gradients(loss, x)[0], None


PROGRAMS: tuple[Callable[..., Parts], ...] = (
    *(complex_filter, real_filter, power),
    *(slopes, real_slopes, filter_slopes, planes),
)
CASES = tuple(
    Case(
        f"{program.__name__}_{rows}x{size}",
        f"{program.__name__}: {rows} × {size}",
        model(program, rows=rows, size=size),
    )
    for program in PROGRAMS
    for rows, size in RUNGS
)
