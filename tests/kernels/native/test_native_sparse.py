"""Sparse tensors in C against numpy: order, joints, parts, dense tensors, sums and softmax."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from native_cases import agree

from actorflow.kernels.native import sparse
from actorflow.kernels.native.library import loaded
from actorflow.kernels.sparse import math, shape, tensor

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")

KINDS = ["f4", "f8", "i4", "i8", "?", object]


class Cells:
    """A random sparse tensor: in order and without doubles, unless something else is drawn."""

    def __init__(
        self, rng: Any, kind: Any, sizes: tuple[int, ...], count: int | None = None, plain: bool = False
    ) -> None:
        total = int(np.prod(sizes))
        count = int(rng.integers(0, min(total, 40) + 1)) if count is None else count
        numbers = np.sort(rng.choice(total, count, replace=False)) if total else np.zeros(0, np.int64)
        odd = 1.0 if plain else rng.random()
        if odd < 0.2:
            rng.shuffle(numbers)
        elif odd < 0.3 and count:
            numbers = np.sort(rng.choice(numbers, count))
        self.places = np.stack(np.unravel_index(numbers, sizes), 1).astype(np.int64)
        if odd > 0.95 and count and not plain:
            self.places[rng.integers(0, count), 0] = rng.choice([-1, sizes[0], 2**62])
        self.shape = np.array(sizes, np.int64)
        values = np.round(rng.normal(size=len(numbers)) * 4, 1)
        self.values = np.array([b"%.1f" % v for v in values], object) if kind is object else values.astype(kind)
        if kind in ("f4", "f8") and len(values) and not plain and rng.random() < 0.3:
            self.values[rng.integers(0, len(values))] = rng.choice([np.nan, np.inf, -0.0, 1e-40])

    def triple(self) -> tuple[Any, Any, Any]:
        return self.places, self.values, self.shape


def sizes_of(rng: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 5)))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_moved_elements_are_numpys(kind: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(150):
        sizes = sizes_of(rng)
        x = Cells(rng, kind, sizes)
        rank = len(sizes)
        agree(sparse.sparse_reorder, tensor.sparse_reorder, np, *x.triple())
        begins, most = (np.array(rng.integers(0, 5, rank), np.int64) for _ in range(2))
        agree(sparse.sparse_slice, shape.sparse_slice, np, *x.triple(), begins, most)
        standard = (
            np.array(x.values[0] if len(x.values) else b"s", x.values.dtype).reshape(())
            if kind is object
            else np.zeros((), kind)
        )
        agree(sparse.sparse_fill_empty_rows, shape.sparse_fill_empty_rows, np, *x.triple(), standard)
        axis = int(rng.integers(0, rank))
        others = [Cells(rng, kind, (*sizes[:axis], int(rng.integers(1, 4)), *sizes[axis + 1 :])) for _ in range(2)]
        inputs = [part for parts in zip(x.triple(), *(other.triple() for other in others)) for part in parts]
        agree(sparse.sparse_concat, shape.sparse_concat, np, inputs, concat_dim=axis - rank)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("validate", [False, True])
def test_dense_tensors_are_numpys(kind: Any, validate: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100):
        x = Cells(rng, kind, sizes_of(rng))
        for standard in (np.zeros((), kind), np.ones((), kind)):
            if kind is object:
                standard = np.array(b"-", object).reshape(())
            memory = np.empty(tuple(x.shape), kind) if rng.random() < 0.3 else None
            arguments = (x.places, x.shape, x.values, standard)
            native = functools.partial(sparse.sparse_to_dense, out=memory)
            agree(native, tensor.sparse_to_dense, np, *arguments, validate_indices=validate)


@pytest.mark.parametrize("kind", KINDS[:-1], ids=str)
def test_arithmetic_is_numpys(kind: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100 if kind != "?" else 0):
        sizes = sizes_of(rng)
        x, y = Cells(rng, kind, sizes), Cells(rng, kind, sizes)
        pair = (*x.triple(), *y.triple())
        limit = np.asarray(rng.choice([0, 1]), kind)
        agree(sparse.sparse_add, math.sparse_add, np, *pair, limit)
        agree(sparse.sparse_maximum, math.sparse_maximum, np, *pair, exact=False)  # but for -0.0
        agree(sparse.sparse_minimum, math.sparse_minimum, np, *pair, exact=False)  # but for -0.0
        dense = np.asarray(rng.integers(1, 5, sizes), kind)
        agree(
            sparse.sparse_tensor_dense_add,
            math.sparse_tensor_dense_add,
            np,
            *x.triple(),
            dense,
            exact=len(np.unique(x.places, axis=0)) == len(x.places),
        )
        spread = dense[tuple(slice(None) if rng.random() < 0.5 else slice(1) for _ in sizes)][
            (0,) * int(rng.integers(0, len(sizes)))
        ]
        for native, reference in (
            (sparse.sparse_dense_mul, math.sparse_dense_mul),
            (sparse.sparse_dense_div, math.sparse_dense_div),
        ):
            agree(native, reference, np, *x.triple(), np.ascontiguousarray(spread))


@pytest.mark.parametrize("kind", ["f4", "f8", "i4"])
def test_reductions_are_numpys(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(150):
        sizes = sizes_of(rng)
        x = Cells(rng, kind, sizes)
        axes = rng.choice(len(sizes), rng.integers(0, len(sizes) + 1), replace=False).astype("i4")
        for keep in (False, True):
            for native, reference in (
                (sparse.sparse_reduce_sum, math.sparse_reduce_sum),
                (sparse.sparse_reduce_max, math.sparse_reduce_max),
            ):
                agree(native, reference, np, *x.triple(), axes, keep_dims=keep, exact=False)
        if kind != "i4":
            agree(sparse.sparse_softmax, math.sparse_softmax, np, *x.triple(), exact=False)


def test_gradients_of_sums_are_numpys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        sizes = sizes_of(rng)
        x, y = Cells(rng, "f4", sizes, plain=True), Cells(rng, "f4", sizes, plain=True)
        places, values, _ = math.sparse_add(np, *x.triple(), *y.triple(), np.float32(rng.choice([0, 2])))
        agree(sparse.sparse_add_grad, math.sparse_add_grad, np, values, x.places, y.places, places)


def test_other_shapes_are_numpys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for before in ((4, 6), (24,), (2, 3, 4), (2**31, 2**31), (1, 24, 1)):
        for after in ((-1,), (8, 3), (3, -1, 2), (2**40, -1), (5, -1)):
            x = Cells(rng, "f4", before, plain=True) if np.prod(before) < 100 else Cells(rng, "f4", (2, 3), plain=True)
            dense_shape, target = np.array(before, np.int64), np.array(after, np.int64)
            agree(sparse.sparse_reshape, shape.sparse_reshape, np, x.places, dense_shape, target)


def test_many_elements_in_no_order_are_sorted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for sizes, count in (((9, 7), 1000), ((5000, 3000), 3000), ((2**31, 2**31), 500), ((2**20, 2**20, 2**20), 500)):
        places = np.stack([rng.integers(0, size, count) for size in sizes], 1)
        values, dense_shape = np.arange(count), np.array(sizes, np.int64)
        agree(sparse.sparse_reorder, tensor.sparse_reorder, np, places, values, dense_shape)
