"""Kernels that compute where elements go, by definitions element by element: points, frames, counts, orders, matches."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from actorflow.base import dtypes
from actorflow.kernels.array import gather, pad_tile, reverse
from actorflow.kernels.math import histogram
from actorflow.kernels.random import distributions, philox
from actorflow.kernels.strings import elementwise, regex

SEEDS = range(4)
TYPES = ("f4", "f8", "i4", "i8", "u1", "c8")


def numbers_of(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return (rng.normal(size=shape) * 50).astype(dtype) if dtype != "u1" else rng.integers(0, 256, shape, "u1")


def layouts(x: Any) -> list[Any]:
    """The same values in order, in Fortran's order, and as every second element of a wider array."""
    wide = np.repeat(x, 2, axis=-1)
    return [x, np.asfortranarray(x), wide[..., ::2]]


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1"])
@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (5, 1, 3, 2)])
@pytest.mark.parametrize("seed", SEEDS)
def test_points_are_numbered_in_row_major_order(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    for outer in ((0,), (1,), (33,), (3, 11)):
        columns = [rng.integers(0, size, outer) for size in shape]
        points = np.stack(columns, -1).astype(dtype) if shape else np.zeros((*outer, 0), dtype)
        expected = [
            np.ravel_multi_index(tuple(p), shape) if shape else 0
            for p in points.reshape(np.prod(outer), len(shape)).tolist()
        ]
        for form in layouts(points) if shape else [points]:
            assert gather.row_numbers(form, shape).tolist() == expected, (seed, outer)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("bad", [-1, 5, -(2**31), 2**31 - 1])
def test_points_outside_are_named(dtype: str, axis: int, bad: int) -> None:
    points = np.zeros((4, 2), dtype)
    points[2, axis] = bad
    with pytest.raises(ValueError, match=rf"indices\[2\] = \[.*{bad}.*\] does not index into param shape \(5, 5\)"):
        gather.row_numbers(points, (5, 5))


def framed_sums(dy: Any, paddings: Any, mode: str) -> Any:
    """Each element of `dy` goes to the place that it came from."""
    sizes = [size - sum(pair) for size, pair in zip(dy.shape, paddings)]
    places = np.arange(int(np.prod(sizes))).reshape(sizes)
    came = pad_tile.mirror_pad(np, places, np.array(paddings), mode=mode)
    sums = np.zeros(places.size, dy.dtype)
    np.add.at(sums, came.reshape(-1), dy.reshape(-1))
    return sums.reshape(sizes)


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c8"])
@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_of_mirrored_frames_come_back_to_their_places(mode: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for sizes in ((4,), (3, 7), (5, 3, 4)):
        most = [size - (mode == "REFLECT") for size in sizes]
        for paddings in (
            [(0, 0)] * len(sizes),
            [(0, 0)] * (len(sizes) - 1) + [(1, 2)],
            [tuple(rng.integers(0, m + 1, 2).tolist()) for m in most],
            [(m, m) for m in most],
        ):
            dy = numbers_of(rng, tuple(s + sum(p) for s, p in zip(sizes, paddings)), dtype)
            before = dy.copy()
            for form in layouts(dy):
                result = pad_tile.mirror_pad_grad(np, form, np.array(paddings), mode=mode)
                np.testing.assert_allclose(
                    result, framed_sums(dy, paddings, mode), 1e-5, 1e-4, err_msg=f"{seed} {paddings}"
                )
                assert not np.may_share_memory(result, form)
            np.testing.assert_array_equal(dy, before)


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_values_are_counted_below_the_length(dtype: str, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for count, length in itertools.product((0, 1, 33, 1000), (0, 1, 5, 40)):
        values = rng.integers(0, 12, count).astype("i4")
        weights = rng.integers(-3, 4, count if weighted else 0).astype(dtype)
        expected = np.zeros(length, dtype)
        for i, value in enumerate(values.tolist()):
            if value < length:
                expected[value] += weights[i] if weighted else 1
        result = histogram.bincount(np, values, np.int32(length), weights)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(
            result, expected if weights.size or not weighted else result, f"{seed} {count} {length}"
        )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (2, 0), (0, 2), (1, 2)])
@pytest.mark.parametrize("seed", SEEDS)
def test_sequences_are_reversed_up_to_their_lengths(dtype: str, kind: str, axes: tuple[int, int], seed: int) -> None:
    batch, along = axes
    rng = np.random.default_rng(seed)
    for shape in ((3, 5, 4), (1, 7, 1), (2, 0, 3), (0, 4, 2), (4, 3, 0)):
        x = numbers_of(rng, shape, dtype)
        lengths = rng.integers(0, shape[along] + 1, shape[batch]).astype(kind)
        expected = x.copy()
        for b, length in enumerate(lengths.tolist()):
            source, target = np.moveaxis(x, axes, (0, 1)), np.moveaxis(expected, axes, (0, 1))
            target[b, :length] = source[b, :length][::-1]
        for form in layouts(x):
            result = reverse.reverse_sequence(np, form, lengths, seq_dim=along, batch_dim=batch)
            np.testing.assert_array_equal(result, expected, f"{seed} {shape}")
            assert not np.may_share_memory(result, form)


@pytest.mark.parametrize("seed", SEEDS)
def test_words_are_ordered_and_equal_ones_stay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for count, high in ((0, 2), (1, 2), (33, 2**63), (1000, 7), (1000, 2**63)):
        words = rng.integers(0, high, count).astype("u8")
        order = distributions._order_of(words)
        assert order.tolist() == sorted(range(count), key=words.tolist().__getitem__), (seed, count)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (0, 3), (7, 33), (300, 129), (3, 40_000)])
@pytest.mark.parametrize("count", [0, 1, 10])
def test_classes_are_where_a_uniform_number_falls_among_the_sums(
    dtype: str, shape: tuple[int, int], count: int
) -> None:
    logits = np.random.default_rng(5).normal(size=shape).astype(dtype)
    logits[:1, -1:] = -np.inf if shape[1] > 1 else 0
    drawn = np.empty(shape[0] * count)
    philox.uniform(53)(philox.PhiloxStream([1, 2], 3), drawn)
    wide = logits.astype(np.float64)
    sums = np.cumsum(np.exp(wide - wide.max(1, keepdims=True)), 1)
    expected = [np.searchsorted(s, u * s[-1], "right").tolist() for s, u in zip(sums, drawn.reshape(shape[0], count))]
    before = logits.copy()
    result = distributions.classes(np, philox.PhiloxStream([1, 2], 3), logits, count, dtypes.int64)
    assert result.tolist() == expected and result.dtype == np.int64
    np.testing.assert_array_equal(logits, before)


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize(
    "pattern", [b"a", b"ab", b"w1", b" ", b"a-b", b"#&~", b"a.b", b"^a", b"a|b", b"[a]", b"a{2}", b"\\.", b"(a)"]
)
@pytest.mark.parametrize("rewrite", [b"", b"x", b"aa", b"\\\\", b"<\\0>", b"\xff"])
def test_literal_patterns_are_replaced_as_others(pattern: bytes, rewrite: bytes, everywhere: bool) -> None:
    values = np.empty(9, object)
    values[:] = [
        b"",
        b"a",
        b"aaa",
        b"abab w1 w12",
        b"a-b#&~a.b",
        b"\xff\xfea\xff",
        "äa€ab".encode(),
        b"a\nb\0ab",
        b"\\.",
    ]
    expression = regex.compiled(pattern)
    written = regex.rewriter(rewrite, expression)
    result = elementwise.regex_replace(
        np, values, np.array(pattern, object), np.array(rewrite, object), replace_global=everywhere
    )
    assert result.tolist() == [expression.replaced(value, written, not everywhere) for value in values.tolist()]
    assert regex.is_literal(pattern) == (re.escape(pattern) == pattern or pattern in (b" ", b"a-b", b"#&~"))
