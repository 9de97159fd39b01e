"""Reductions in C: sums, means, extremes, sums of rows so far, and the gradients of biases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_cases import SEED, Rng, check, numbers, on, same, shape

from actorflow.kernels.math import reduction
from actorflow.kernels.native import reduce
from actorflow.kernels.native.library import loaded
from actorflow.kernels.nn import activation as nn

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")

REDUCTIONS = {"sum": reduction.sum_of, "mean": reduction.mean_of, "max": reduction.max_of, "min": reduction.min_of}


def reduced(name: str) -> Callable[..., Any]:
    def python(x: Any, axis: Any, keep: bool, out: Any = None) -> Any:
        return REDUCTIONS[name](np, x, axis, keep_dims=keep, out=None if out is None else np.empty_like(out))

    return python


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_have_the_bits_of_numpys(name: str) -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng) if rng.random() < 0.7 else tuple(int(n) for n in rng.integers(1, (5, 200)))
        if name in ("sum", "mean") and np.prod(sizes) >= 1024:
            sizes = sizes[:2]  # longer sums are added in another order
        x = rng.normal(size=sizes).astype(rng.choice(["f4", "f8"]))
        if x.size and name in ("max", "min") and rng.random() < 0.3:
            x.reshape(-1)[rng.integers(0, x.size)] = np.nan
        first = int(rng.integers(0, x.ndim))
        axes = np.arange(first, int(rng.integers(first, x.ndim)) + 1, dtype="i4")
        if rng.random() < 0.2:
            axes = rng.permutation(axes).astype("i4") - np.int32(x.ndim)
        keep = bool(rng.random() < 0.5)
        out = [np.empty_like(x.sum(tuple(axes.tolist()), keepdims=keep)[...])] if rng.random() < 0.3 else []
        return x, axes if axes.size > 1 or rng.random() < 0.5 else axes[0:1].reshape(()), keep, *out

    check(name, reduced(name), make)


def test_gradients_of_biases() -> None:
    def small(rng: Rng) -> tuple[Any, ...]:
        sizes = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 6, int(rng.integers(1, 5))))
        return (rng.normal(size=sizes).astype(rng.choice(["f4", "f8"])),)

    python = on(nn.bias_add_grad, data_format="NHWC")
    check("bias_add_grad", python, small)
    rng = np.random.default_rng(SEED)
    for sizes in ((300, 7), (256, 64), (5, 9, 40), (8, 20, 20, 16), (2000, 300)):
        dy = rng.normal(size=sizes).astype("f4")
        found = [loaded().call("bias_add_grad", several, dy) for several in (1, 2, 4)]
        assert same(found[0], found[1]) and same(found[0], found[2])
        np.testing.assert_allclose(found[0], python(dy.astype("f8")), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_extremes_of_rows_and_columns_of_every_length(name: str, dtype: str, seed: int) -> None:
    """Short rows are taken side by side, the last vector of a long one reaches back, and narrow columns become wide ones."""
    rng = np.random.default_rng(seed)
    for height, width in [*((37, n) for n in range(1, 140)), (3, 40_000), (2000, 3), (40_000, 1), (1, 40_000)]:
        x = rng.permutation(height * width).reshape(height, width).astype(dtype)
        if dtype != "i4":
            x.flat[rng.integers(0, x.size, 1 + x.size // 500)] = rng.choice([np.nan, np.inf, -np.inf])
        for axes in ((0,), (1,), (0, 1)):
            given = x, np.array(axes, "i4"), False
            for several in (1, 3):
                found = loaded().call(name, several, *given)
                assert same(found, reduced(name)(*given)), (height, width, axes, several)


def test_a_reduction_leaves_memory_alone_that_it_reads() -> None:
    x = np.arange(12, dtype="f4").reshape(3, 4)
    assert loaded().call("max", 1, x, np.array([0], "i4"), False, x[0]) is NotImplemented
    out = np.empty(4, "f4")
    assert reduce.max_of(np, x, np.array([0], "i4"), keep_dims=False, out=out) is out and same(out, x[2].copy())


def test_cumulative_sums_have_the_bits_of_numpys() -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng) if rng.random() < 0.7 else (int(rng.integers(1, 40)), int(rng.integers(1, 300)))
        x = numbers(rng, sizes, str(rng.choice(["f4", "f8"]))) if rng.random() < 0.6 else rng.integers(-9, 9, sizes)
        axis = np.array(rng.integers(-x.ndim, x.ndim), rng.choice(["i4", "i8"]))
        switches = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
        return x, axis, *switches, *([np.full(sizes, 7, x.dtype)] if rng.random() < 0.3 else [])

    def python(x: Any, axis: Any, exclusive: bool, reverse: bool, out: Any = None) -> Any:
        return reduction.cumsum(np, x, axis, exclusive=exclusive, reverse=reverse)

    check("cumsum", python, make)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_long_sums_are_close_and_do_not_depend_on_threads(dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    exact = {"f4": 2e-6, "f8": 1e-14}[dtype]
    for sizes in (
        (300, 300),
        (1, 1031),
        (1500,),
        (40, 50, 60),
        (7, 65_536),
        (700, 400),
        (300_001,),
        (900, 2),
        (3, 701, 5),
        (3, 90, 1000),
    ):
        x = rng.uniform(0.5, 1.5, sizes).astype(dtype)
        for axes in {(0,), (x.ndim - 1,), tuple(range(x.ndim))}:
            wanted = x.astype(np.longdouble).sum(axes)
            for keep in (False, True):
                given = x, np.array(axes, "i4"), keep
                found = [loaded().call("sum", count, *given) for count in (1, 2, 4, 8)]
                assert all(same(one, found[0]) for one in found)
                assert (found[0].dtype, found[0].shape) == (x.dtype, x.sum(axes, keepdims=keep).shape)
                np.testing.assert_allclose(np.reshape(found[0], wanted.shape), wanted.astype("f8"), rtol=exact)
                mean = reduce._mean(*given)
                np.testing.assert_allclose(mean, x.mean(axes, dtype="f8", keepdims=keep), rtol=exact)
    x[0, 0, 0] = np.nan
    assert np.isnan(reduce._sum(x, np.array((0, 1, 2), "i4"), False))
