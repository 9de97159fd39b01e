"""`map_fn`, `scan`, `foldl` and `foldr`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph.control_flow.flows import Run, run

import actorflow as af
from actorflow import errors

__all__ = ["run"]

NO_FUNCTION: Any = 3


def ints(*values: int) -> Any:
    return af.placeholder_with_default(np.array(values, np.int32), [len(values)])


# ---- map_fn


def test_a_function_of_each_row(run: Run) -> None:
    assert run(af.map_fn(lambda x: x * x, ints(1, 2, 3))).tolist() == [1, 4, 9]
    x = af.placeholder(af.float32, [None, 2])
    y = af.map_fn(lambda row: af.reduce_sum(row), x)
    assert y.static_shape == (None,)
    assert run(y, {x: [[1, 2], [3, 4], [5, 6]]}).tolist() == [3, 7, 11]
    assert af.map_fn(lambda row: row * 2.0, af.zeros([4, 2])).static_shape == (4, 2)


def test_structures_of_rows(run: Run) -> None:
    pair = (ints(1, 2, 3), ints(4, 5, 6))
    product, total = run(af.map_fn(lambda x: (x[0] * x[1], x[0] + x[1]), pair))
    assert product.tolist() == [4, 10, 18] and total.tolist() == [5, 7, 9]
    assert run(af.map_fn(lambda x: x[0] * x[1], pair, dtype=af.int32)).tolist() == [4, 10, 18]
    made = run(
        af.map_fn(lambda x: {"f": af.cast(x, af.float32), "i": x}, pair[0], dtype={"f": af.float32, "i": "int32"})
    )
    assert made["f"].dtype == np.float32 and made["i"].tolist() == [1, 2, 3]


def test_no_rows(run: Run) -> None:
    x = af.placeholder(af.float32, [None, 2])
    assert run(af.map_fn(lambda row: row * 2.0, x), {x: np.zeros((0, 2))}).shape == (0, 2)
    assert run(af.foldl(lambda a, x: a + x, af.zeros([0]), initializer=10.0)) == 10.0
    with pytest.raises(errors.InvalidArgumentError, match="array size is: 0"):
        run(af.foldl(lambda a, x: a + x, af.zeros([0])))


def test_maps_nest(run: Run) -> None:
    x = af.placeholder(af.float32, [2, 3])
    y = af.map_fn(lambda row: af.map_fn(lambda e: e + af.reduce_max(row), row), x)
    assert run(y, {x: [[1, 2, 3], [4, 5, 6]]}).tolist() == [[4, 5, 6], [10, 11, 12]]


# ---- scan and folds

TWICE_PLUS = [  # what TensorFlow gives for a * 2 + x over 1, 2, 3, 4
    (af.scan, {}, [1, 4, 11, 26]),
    (af.scan, {"reverse": True}, [49, 24, 11, 4]),
    (af.scan, {"initializer": 10}, [21, 44, 91, 186]),
    (af.scan, {"initializer": 10, "reverse": True}, [209, 104, 51, 24]),
    (af.foldl, {}, 26),
    (af.foldl, {"initializer": 10}, 186),
    (af.foldr, {}, 49),
    (af.foldr, {"initializer": 10}, 209),
]


@pytest.mark.parametrize(("function", "options", "want"), TWICE_PLUS)
def test_states(run: Run, function: Any, options: Any, want: Any) -> None:
    assert np.array_equal(run(function(lambda a, x: a * 2 + x, ints(1, 2, 3, 4), **options)), want)


def test_structures_of_states(run: Run) -> None:
    first, second = run(af.scan(lambda a, _: (a[1], a[0] + a[1]), af.zeros([6]), initializer=(0, 1)))
    assert first.tolist() == [1, 1, 2, 3, 5, 8] and second.tolist() == [1, 2, 3, 5, 8, 13]
    folded = run(af.foldl(lambda a, x: (a[0] + x[0], a[1] * x[1]), (ints(1, 2), ints(3, 4))))
    assert folded == (3, 12)
    assert af.scan(lambda a, x: a + x, af.zeros([4, 2])).static_shape == (4, 2)


@pytest.mark.parametrize("parallel", [1, 32])
@pytest.mark.parametrize("swap", [True, False])
def test_f81_gradients(run: Run, parallel: int, swap: bool) -> None:
    options: Any = {"parallel_iterations": parallel, "swap_memory": swap}
    x, w = af.placeholder(af.float64, [3]), af.placeholder(af.float64, [])
    feeds = {x: [1.0, 2.0, 3.0], w: 0.5}
    mapped = af.gradients(af.map_fn(lambda e: e * e * w, x, **options), [x, w])
    np.testing.assert_allclose(run(mapped[0], feeds), [1, 2, 3])
    np.testing.assert_allclose(run(mapped[1], feeds), 14)
    scanned = af.gradients(af.scan(lambda a, e: a * w + e, x, **options), [x, w])
    np.testing.assert_allclose(run(scanned[0], feeds), [1.75, 1.5, 1.0])
    np.testing.assert_allclose(run(scanned[1], feeds), 1 + (2 * 0.5 * 1 + 2))
    folded = af.gradients(af.foldr(lambda a, e: a * e * w, x, **options), [x, w])
    np.testing.assert_allclose(run(folded[0], feeds), [1.5, 0.75, 0.5])
    np.testing.assert_allclose(run(folded[1], feeds), 6.0)


def test_no_gradient_where_none_is_wanted(run: Run) -> None:
    x = af.placeholder(af.float64, [3])
    assert af.gradients(af.map_fn(lambda e: e * e, x, back_prop=False), x) == [None]


# ---- bad input


@pytest.mark.parametrize(
    ("kind", "words", "build"),
    [
        (TypeError, "fn is a function", lambda x: af.map_fn(NO_FUNCTION, x)),
        (TypeError, "fn is a function", lambda x: af.scan(NO_FUNCTION, x)),
        (ValueError, "scalar", lambda x: af.map_fn(lambda e: e, af.constant(1))),
        (ValueError, "no tensors", lambda x: af.foldl(lambda a, e: a, [])),
        (ValueError, "different numbers of rows", lambda x: af.map_fn(lambda e: e[0], (x, af.zeros([2])), af.int32)),
        (TypeError, "float32.*int32", lambda x: af.map_fn(lambda e: af.cast(e, af.float32), x)),
        (ValueError, "fn gives another structure", lambda x: af.map_fn(lambda e: (e, e), x)),
        (ValueError, "fn gives another structure", lambda x: af.scan(lambda a, e: (a, a), x)),
        (TypeError, "float32.*int32", lambda x: af.scan(lambda a, e: af.cast(a, af.float32), x)),
        (ValueError, "another structure", lambda x: af.foldr(lambda a, e: (a, a), x)),
        (ValueError, "shape", lambda x: af.foldl(lambda a, e: af.concat([a, [e]], 0), x, initializer=[0])),
    ],
)
def test_bad_input(kind: type[Exception], words: str, build: Any) -> None:
    with af.Graph().as_default(), pytest.raises(kind, match=words):
        build(af.constant([1, 2, 3]))
