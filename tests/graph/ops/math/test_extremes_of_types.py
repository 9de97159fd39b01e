"""Reductions at the ends of their types: means of integers, sums of halves, and extremes beside NaN. The answers are exact."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan, trunc
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.blocking import Session

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def evaluate(build: Any) -> Any:
    with af.Graph().as_default() as graph:
        fetched = build()
        with Session(graph=graph) as session:
            return session.run(fetched)


def integers(dtype: str, kind: str, seed: int) -> Any:
    bounds = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    return {
        "largest": np.full((16, 20), bounds.max, dtype),
        "smallest": np.full((16, 20), bounds.min, dtype),
        "both": np.array([[bounds.max, bounds.min]] * 7, dtype),
        "negative and odd": np.array([[-1, -2, -4], [7, 0, 1]]).astype(dtype),
        "more than the type counts": np.full((300, 300), 7, dtype),
        "drawn": rng.integers(bounds.min, bounds.max, (6, 7), dtype, endpoint=True),
    }[kind]


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    "kind", ["largest", "smallest", "both", "negative and odd", "more than the type counts", "drawn"]
)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_mean_of_integers_neither_wraps_nor_overflows(
    dtype: str, kind: str, keepdims: bool, axis: int | None, seed: int
) -> None:
    """It is the exact mean, rounded towards zero."""
    values = integers(dtype, kind, seed)
    rows = [values.reshape(-1)] if axis is None else np.moveaxis(values, axis, -1)
    exact = [trunc(Fraction(sum(map(int, row)), len(row))) for row in rows]
    mean = evaluate(lambda: af.reduce_mean(af.constant(values), axis, keepdims=keepdims))
    assert mean.dtype == dtype
    assert [int(v) for v in np.reshape(mean, -1)] == exact, f"ACTORFLOW_TEST_SEED={seed}"
    assert np.shape(mean) == np.sum(values, axis, keepdims=keepdims).shape


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_segments_mean_of_integers(dtype: str, seed: int) -> None:
    values = integers(dtype, "drawn", seed)
    exact = [[trunc(Fraction(sum(map(int, c)), len(c))) for c in rows.T] for rows in (values[:4], values[4:])]
    mean = evaluate(lambda: af.segment_mean(af.constant(values), [0, 0, 0, 0, 1, 1]))
    assert mean.dtype == dtype
    assert mean.tolist() == exact, f"ACTORFLOW_TEST_SEED={seed}"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_loss_of_halves_whose_squares_sum_beyond_them(dtype: str) -> None:
    np.testing.assert_allclose(
        float(evaluate(lambda: af.nn.l2_loss(af.cast(af.fill([1000], 10.0), dtype)))), 50000, rtol=4e-3
    )


@pytest.mark.parametrize("width", [3, 40], ids=["narrow", "wide"])
@pytest.mark.parametrize("output", ["int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_nan_is_the_extreme_only_of_nothing_else(dtype: str, axis: int, output: str, width: int) -> None:
    rows = [
        ([nan, 1.0, 2.0], 2, 1),
        ([1.0, nan, nan], 0, 0),
        ([2.0, nan, 1.0], 0, 2),
        ([nan, nan, nan], 0, 0),
        ([nan, -inf, inf], 2, 1),
        ([3.0, 3.0, 1.0], 0, 2),
    ]
    values = np.array([row + [row[0]] * (width - 3) for row, _, _ in rows])
    values = values if axis == 1 else values.T
    found = evaluate(
        lambda: [f(af.cast(values, dtype), axis, output_type=af.as_dtype(output)) for f in (af.argmax, af.argmin)]
    )
    assert [list(places) for places in found] == [[most for _, most, _ in rows], [least for _, _, least in rows]]
    assert found[0].dtype == output


EXTREMES: dict[str, Any] = {
    "reduce_max": af.reduce_max,
    "reduce_min": af.reduce_min,
    "maximum, first": lambda x: af.reduce_sum(af.maximum(x, 1.0)),
    "maximum, second": lambda x: af.reduce_sum(af.maximum(1.0, x)),
    "minimum, first": lambda x: af.reduce_sum(af.minimum(x, 1.0)),
    "minimum, second": lambda x: af.reduce_sum(af.minimum(1.0, x)),
    "clip_by_value": lambda x: af.reduce_sum(af.clip_by_value(x, 0.0, 1.0)),
    "clip_by_value, bound": lambda x: af.reduce_sum(af.clip_by_value(af.ones([4]), x, 5.0)),
    "norm": lambda x: af.norm(x, ord=inf),
    "segment_max": lambda x: af.segment_max(x, [0] * 4),
    "segment_min": lambda x: af.segment_min(x, [0] * 4),
    "unsorted_segment_max": lambda x: af.unsorted_segment_max(x, [0] * 4, 1),
    "unsorted_segment_min": lambda x: af.unsorted_segment_min(x, [0] * 4, 1),
    "max_pool": lambda x: af.nn.max_pool(af.reshape(x, [1, 1, 4, 1]), [1, 1, 4, 1], [1] * 4, "VALID"),
    "max_pool3d": lambda x: af.nn.max_pool3d(af.reshape(x, [1, 1, 1, 4, 1]), [1, 1, 1, 4, 1], [1] * 5, "VALID"),
    "max_pool_with_argmax": lambda x: af.nn.max_pool_with_argmax(
        af.reshape(x, [1, 1, 4, 1]), [1, 1, 4, 1], [1] * 4, "VALID"
    )[0],
    "sparse_reduce_max": lambda x: af.sparse.reduce_max(af.SparseTensor([[0], [1], [2], [3]], x, [4])),
    "sparse_maximum": lambda x: af.reduce_sum(af.sparse.maximum(*_beside(x)).values),
    "sparse_minimum": lambda x: af.reduce_sum(af.sparse.minimum(*_beside(x)[::-1]).values),
    "top_k": lambda x: af.nn.top_k(x, 1).values,
    "sort, ascending": lambda x: af.sort(x)[0],
    "sort, descending": lambda x: af.sort(x, direction="DESCENDING")[0],
    "argsort": lambda x: af.gather(x, af.argsort(x))[0],
}


def _beside(x: Any) -> list[Any]:
    return [af.SparseTensor([[0], [1], [2], [3]], values, [4]) for values in (x, af.zeros([4]))]


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("name", EXTREMES)
def test_a_nan_is_not_lost_among_extremes(name: str, place: int) -> None:
    """TensorFlow leaves it out, or not, by its place."""
    values = np.array([1.0, 3.0, 2.0, 4.0], np.float32)
    values[place] = nan
    assert np.isnan(evaluate(lambda: EXTREMES[name](af.placeholder_with_default(values, [4])))).all()
