"""Elements that are picked, put, counted, mirrored and aligned by numbers that a step is fed, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import BATCHES, Model, Parts, model

RUNGS = ((3, 5, 7), (17, 33, 9), (64, 129, 33), (100, 1000, 16))
"""Sequences, their length, and the numbers of each place."""


def points(m: Model, batch: int, length: int, width: int) -> Parts:
    """Rows at points of a tensor, and the gradient of their squares for it."""
    lib, np = m.lib, m.np
    x, at = lib.placeholder(lib.float32, [batch, length, width]), lib.placeholder(lib.int32, [batch * length, 2])
    rows = lib.gather_nd(x, at)
    high = np.array([batch, length])
    places = [m.data.integers(0, high, (batch * length, 2)).astype(np.int32) for _ in range(BATCHES)]
    gradient = lib.gradients(lib.reduce_sum(lib.square(rows)), x)[0]
    return (x, at), (m.floats(batch, length, width), places), [rows, gradient], None


def mirrored(m: Model, batch: int, length: int, width: int) -> Parts:
    """Frames of mirrored elements around images, and the gradient of their squares."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [batch, length, width])
    y = lib.pad(x, [[0, 0], [1, 1], [2, 2]], "REFLECT")
    return (x,), (m.floats(batch, length, width),), [y, lib.gradients(lib.reduce_sum(lib.square(y)), x)[0]], None


def counted(m: Model, batch: int, length: int, width: int) -> Parts:
    """How often each number is there."""
    lib = m.lib
    x = lib.placeholder(lib.int32, [batch * length])
    return (x,), (m.ints(width + 2, batch * length),), lib.bincount(x, minlength=width, maxlength=width), None


def reversed_up_to(m: Model, batch: int, length: int, width: int) -> Parts:
    """Sequences of unequal lengths, backwards."""
    lib = m.lib
    x, lengths = lib.placeholder(lib.float32, [batch, length, width]), lib.placeholder(lib.int32, [batch])
    y = lib.reverse_sequence(x, lengths, seq_axis=1)
    return (x, lengths), (m.floats(batch, length, width), m.ints(length + 1, batch)), y, None


def aligned(m: Model, batch: int, length: int, width: int) -> Parts:
    """The loss of labels whose places in time are not known, and its gradient."""
    lib, np = m.lib, m.np
    count = max(2, length // 5)
    x = lib.placeholder(lib.float32, [length, batch, width])
    indices = np.stack(np.meshgrid(np.arange(batch), np.arange(count), indexing="ij"), -1).reshape(-1, 2)
    labels: Any = lib.SparseTensor(
        indices, m.data.integers(0, width - 1, len(indices)).astype(np.int32), [batch, count]
    )
    loss = lib.nn.ctc_loss(labels, x, np.full(batch, length, np.int32))
    return (x,), (m.floats(length, batch, width),), [loss, lib.gradients(lib.reduce_sum(loss), x)[0]], None


PROGRAMS: tuple[Callable[..., Parts], ...] = (points, mirrored, counted, reversed_up_to, aligned)
CASES = tuple(
    Case(
        f"{program.__name__}_{batch}x{length}x{width}",
        f"{program.__name__}: {batch} × {length} × {width}",
        model(program, batch=batch, length=length, width=width),
    )
    for program in PROGRAMS
    for batch, length, width in RUNGS
)
