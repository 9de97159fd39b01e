"""Packed lists of whole numbers: all values come back, in little memory, and broken lists are refused."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorflow.base.records import wire
from actorflow.base.records.wire import (
    BrokenMessageError,
    varint_pieces,
    varints,
    write_field,
    write_varint,
    write_varints,
)
from actorflow.frontends.grpc.tensors import of_contents, to_contents
from actorflow.frontends.serving.protocols.pieces import USUAL

EDGES = [0, 1, 127, 128, 300, 2**31 - 1, -(2**31), 2**63 - 1, -1, -(2**63)]
COUNT = 1 << 20


@pytest.mark.parametrize("lead", [0, 1, wire.PIECE - 5, wire.PIECE, 2 * wire.PIECE - 1])
@pytest.mark.parametrize("last", EDGES)
def test_numbers_of_all_lengths_come_back_wherever_a_piece_ends(lead: int, last: int) -> None:
    numbers = np.array([1] * lead + [last, 5, *EDGES], np.int64)
    packed = write_varints(numbers)
    assert packed == b"".join([write_varint(int(number)) for number in numbers])
    np.testing.assert_array_equal(varints(packed), numbers)
    assert all(len(piece) <= wire.PIECE for piece in varint_pieces(packed))


@pytest.mark.parametrize(
    ("packed", "words"),
    [
        (b"\x80", "cut off"),
        (b"\x01" * wire.PIECE + b"\x80", "cut off"),
        (b"\x80" * 11 + b"\x01", "more than ten bytes"),
        (b"\x80" * (2 * wire.PIECE), "more than ten bytes"),
        (b"\x01" * (wire.PIECE - 3) + b"\x80" * 12 + b"\x01", "more than ten bytes"),
    ],
)
def test_a_broken_list_is_refused(packed: bytes, words: str) -> None:
    with pytest.raises(BrokenMessageError, match=words):
        varints(packed)


SMALL = np.full(COUNT, 100, np.int64)
LARGE = np.full(COUNT, 1000, np.int64)
PACKED = {name: write_varints(numbers) for name, numbers in {"small": SMALL, "large": LARGE}.items()}
WORKS: dict[str, tuple[Callable[[], Any], int]] = {
    # the bytes of the result for each number
    "numbers of a byte": (lambda: varints(PACKED["small"]), 2 * 8),
    "numbers of two bytes": (lambda: varints(PACKED["large"]), 2 * 8),
    "numbers that are written": (lambda: write_varints(LARGE), 2 * 2),
    "an int8 tensor": (
        lambda: of_contents("it", "INT8", [COUNT], COUNT, write_field(2, PACKED["small"]), USUAL),
        1 + 1,
    ),
    "an int32 tensor": (
        lambda: of_contents("it", "INT32", [COUNT], COUNT, write_field(2, PACKED["large"]), USUAL),
        4 + 2,
    ),
    "an int32 tensor that is written": (lambda: to_contents(LARGE.astype(np.int32), "INT32"), 4 + 2 * 2),
}


@pytest.mark.parametrize("work", WORKS)
def test_a_list_needs_little_memory_beside_its_result(work: str) -> None:
    run, by_number = WORKS[work]
    tracemalloc.start()
    try:
        run()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < by_number * COUNT + (4 << 20), f"{peak / COUNT:.1f} bytes by number"


@pytest.mark.parametrize(("count", "size"), [(3, 2), (2, 3), (1 << 40, 3)])
def test_a_list_of_another_length_than_its_shape_says_is_refused(count: int, size: int) -> None:
    with pytest.raises(ValueError, match=rf"it has {size} elements, but the shape \[{count}\] has {count}\."):
        of_contents("it", "INT32", [count], count, write_field(2, b"\x01" * size), USUAL)
