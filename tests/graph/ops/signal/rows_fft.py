"""Rows of Fourier transforms, against the sums that define them."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32
from graph.ops.table import COMPLEXES, NUMBERS, Case, Literal, Reject

from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.ops.signal import fft

REALS = "float32 float64"
Z = [1 + 0j, 2 + 1j, 3 - 1j, 4 + 2j]
Z2 = [Z, [0 + 1j, 1 + 2j, -1 + 3j, 2 + 4j]]
CUBE = np.arange(8.0, dtype=np.float32).reshape(2, 2, 2)
# Of CUBE² + i·CUBE.
TRANSFORMED = [[[140 + 28j, -28 - 4j], [-56 - 8j, 8 + 0j]], [[-112 - 16j, 16 + 0j], [32 + 0j, 0j]]]
SHAPES = {1: [((4,),), ((2, 5),), ((1,),)], 2: [((2, 4),), ((2, 3, 3),)], 3: [((2, 3, 2),), ((2, 1, 2, 3),)]}


def along(x: Any, axis: int, size: int, sign: int) -> Any:
    """Σ x[n] exp(± 2πi k n / size) for each k, of x cut or filled up to that size."""
    moved = np.moveaxis(x, axis, -1)[..., :size]
    k, n = np.arange(size), np.arange(moved.shape[-1])
    wave = np.exp(sign * 2j * np.pi * np.outer(n, k) / size) if size else np.zeros((len(n), 0))
    return np.moveaxis(moved @ wave, -1, axis)


def transform(rank: int, inverse: bool = False) -> Any:
    def reference(x: Any) -> Any:
        for axis in range(-rank, 0):
            x = along(x, axis, x.shape[axis], 1 if inverse else -1)
        return x / np.prod(x.shape[-rank:]) if inverse else x

    return reference


def of_real(rank: int) -> Any:
    def reference(x: Any, lengths: Any = None) -> Any:
        sizes = x.shape[-rank:] if lengths is None else lengths.tolist()
        for axis in range(-rank, 0):
            x = along(x, axis, sizes[axis], -1)
        return x[..., : sizes[-1] // 2 + 1]

    return reference


def to_real(rank: int) -> Any:
    """The transform back of the whole: the half, and its conjugates for the negative frequencies."""

    def reference(x: Any, lengths: Any = None) -> Any:
        sizes = list(x.shape[-rank:]) if lengths is None else lengths.tolist()
        if lengths is None:
            sizes[-1] = 2 * (sizes[-1] - 1)
        for axis in range(-rank, -1):
            x = along(x, axis, sizes[axis], 1) / sizes[axis]
        size = sizes[-1]
        half = np.zeros((*x.shape[:-1], size // 2 + 1), x.dtype)
        kept = min(half.shape[-1], x.shape[-1])
        half[..., :kept] = x[..., :kept]
        half[..., 0] = half[..., 0].real
        if size % 2 == 0:
            half[..., -1] = half[..., -1].real
        whole = np.concatenate([half, np.conj(half[..., 1 : (size + 1) // 2][..., ::-1])], -1)
        return along(whole, -1, size, 1).real / size

    return reference


def complex_row(rank: int, name: str, build: Any, inverse: bool, literal: Literal) -> Case:
    few = [1.0] if rank > 1 else 1.0
    return Case(
        name,
        build,
        transform(rank, inverse),
        SHAPES[rank],
        dtypes=COMPLEXES,
        loose=10,
        literal=literal,
        rejects=[Reject(EITHER, (few,)), Reject(TypeError, (CUBE,))],
    )


CASES = [
    complex_row(1, "FFT", fft.fft, False, Literal((Z,), [10 + 2j, -3 + 3j, -2 - 4j, -1 - 1j])),
    complex_row(1, "IFFT", fft.ifft, True, Literal((Z,), [2.5 + 0.5j, -0.25 - 0.25j, -0.5 - 1j, -0.75 + 0.75j])),
    complex_row(
        2,
        "FFT2D",
        fft.fft2d,
        False,
        Literal((Z2,), [[12 + 12j, -4 + 2j, -6 - 6j, 2 - 4j], [8 - 8j, -2 + 4j, 2 - 2j, -4 + 2j]]),
    ),
    complex_row(
        2,
        "IFFT2D",
        fft.ifft2d,
        True,
        Literal(
            (Z2,),
            [
                [1.5 + 1.5j, 0.25 - 0.5j, -0.75 - 0.75j, -0.5 + 0.25j],
                [1 - 1j, -0.5 + 0.25j, 0.25 - 0.25j, -0.25 + 0.5j],
            ],
        ),
    ),
    complex_row(3, "FFT3D", fft.fft3d, False, Literal(((CUBE**2 + 1j * CUBE).tolist(),), TRANSFORMED)),
    complex_row(
        3, "IFFT3D", fft.ifft3d, True, Literal(((CUBE**2 + 1j * CUBE).tolist(),), (np.array(TRANSFORMED) / 8).tolist())
    ),
    Case(
        "FFT",
        fft.fft,
        transform(1),
        [((2, 0),)],
        note="of nothing",
        dtypes=COMPLEXES,
        gradient=None,
        literal=Literal((np.zeros((2, 0), np.complex64),), np.zeros((2, 0), np.complex64)),
    ),
    # ---- real tensors
    *[
        Case(
            name,
            build,
            of_real(rank),
            SHAPES[rank],
            dtypes=REALS,
            loose=10,
            literal=literal,
            rejects=[
                Reject(EITHER, ([1.0] if rank > 1 else 1.0,)),
                Reject(ValueError, (CUBE,), build=lambda x, build=build, rank=rank: build(x, [2] * (rank + 1))),
                Reject(EITHER, (CUBE,), build=lambda x, build=build, rank=rank: build(x, [-3] * rank)),
                Reject(TypeError, (CUBE.astype(np.int32),)),
            ],
        )
        for rank, name, build, literal in [
            (1, "RFFT", fft.rfft, Literal(([1.0, 2.0, 3.0, 4.0],), [10 + 0j, -2 + 2j, -2 + 0j])),
            (
                2,
                "RFFT2D",
                fft.rfft2d,
                Literal(
                    ([[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, -1.0, 2.0]],),
                    [[12 + 0j, -1 + 3j, -6 + 0j], [8 + 0j, -3 + 1j, 2 + 0j]],
                ),
            ),
            (3, "RFFT3D", fft.rfft3d, Literal((CUBE**2,), (np.real(TRANSFORMED) + 0j).tolist())),
        ]
    ],
    *[
        Case(
            name,
            build,
            of_real(rank),
            [(entry, lengths) for entry in shapes for lengths in sizes],
            note="of given lengths",
            dtypes=REALS,
            loose=10,
            literal=literal,
        )
        for rank, name, build, shapes, sizes, literal in [
            (
                1,
                "RFFT",
                fft.rfft,
                [(4,), (2, 5)],
                [i32(3), i32(6), i32(1)],
                Literal(([1.0, 2.0, 3.0, 4.0], i32(6)), [10 + 0j, -3.5 - 4.3301268j, 2.5 + 0.8660254j, -2 + 0j]),
            ),
            (
                2,
                "RFFT2D",
                fft.rfft2d,
                [(2, 4)],
                [i32(3, 3), i32(1, 6)],
                Literal(([[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, -1.0, 2.0]], i32(2, 2)), [[4 + 0j, -2 + 0j], [2 + 0j, 0j]]),
            ),
        ]
    ],
    *[
        Case(
            name,
            build,
            to_real(rank),
            [((3,) * rank,), ((2, *(2,) * rank),)],
            dtypes=COMPLEXES,
            loose=10,
            literal=literal,
            rejects=[
                Reject(EITHER, ([1j] if rank > 1 else 1j,)),
                Reject(ValueError, (CUBE + 0j,), build=lambda x, build=build, rank=rank: build(x, [2] * (rank + 1))),
                Reject(TypeError, (CUBE,)),
            ],
        )
        for rank, name, build, literal in [
            (1, "IRFFT", fft.irfft, Literal((Z[:3],), [2.0, -1.0, 0.0, 0.0])),
            (
                2,
                "IRFFT2D",
                fft.irfft2d,
                Literal(([row[:3] for row in Z2],), [[1.125, -0.875, -0.375, 0.625], [0.875, -0.125, 0.375, -0.625]]),
            ),
            (
                3,
                "IRFFT3D",
                fft.irfft3d,
                Literal(((CUBE**2 + 1j * CUBE).tolist(),), (np.real(TRANSFORMED) / 8).tolist()),
            ),
        ]
    ],
    *[
        Case(
            name,
            build,
            to_real(rank),
            [(entry, lengths) for entry in shapes for lengths in sizes],
            note="of given lengths",
            dtypes=COMPLEXES,
            loose=10,
            literal=literal,
        )
        for rank, name, build, shapes, sizes, literal in [
            (
                1,
                "IRFFT",
                fft.irfft,
                [(3,), (2, 4)],
                [i32(2), i32(5), i32(6), i32(8), i32(1)],
                Literal((Z[:3], i32(5)), [2.2, -0.6689154, -0.6919299, 0.5391435, -0.3782983]),
            ),
            (
                2,
                "IRFFT2D",
                fft.irfft2d,
                [(2, 3)],
                [i32(3, 3), i32(1, 6)],
                Literal(
                    ([row[:3] for row in Z2], i32(3, 3)),
                    [
                        [0.7777778, -0.7995725, 0.3551280],
                        [-0.0366808, -0.1259972, 0.2073362],
                        [0.9255698, 0.0148861, -0.3184473],
                    ],
                ),
            ),
        ]
    ],
    # ---- the order of frequencies
    Case(
        "",
        lambda x: [fft.fftshift(reshape(x, [2, 3])), fft.ifftshift(reshape(x, [2, 3]))],
        lambda x: (np.roll(x.reshape(2, 3), (1, 1), (0, 1)), np.roll(x.reshape(2, 3), (-1, -1), (0, 1))),
        [((6,),)],
        note="fftshift",
        dtypes=NUMBERS,
        exact=True,
        literal=Literal(([0, 1, 2, 3, 4, 5],), ([[5, 3, 4], [2, 0, 1]], [[4, 5, 3], [1, 2, 0]]), "int32"),
    ),
    Case(
        "",
        lambda x: [fft.fftshift(x, axes=0), fft.ifftshift(x, axes=[0]), fft.fftshift(x, axes=-1)],
        lambda x: (np.roll(x, len(x) // 2, 0), np.roll(x, -(len(x) // 2), 0), np.roll(x, x.shape[-1] // 2, -1)),
        [((5,),), ((2, 3),), ((4,),)],
        note="fftshift of named axes",
        dtypes=NUMBERS,
        exact=True,
        literal=Literal(([0, 1, 2, 3, 4],), ([3, 4, 0, 1, 2], [2, 3, 4, 0, 1], [3, 4, 0, 1, 2]), "int32"),
    ),
]
