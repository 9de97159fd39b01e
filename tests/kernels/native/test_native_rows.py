"""Rows in C: gathered, scattered, added by segments, joined, cut and put in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from native_cases import SEED, TRIES, Rng, check, numbers, on, same, shape

import actorflow as af
from actorflow.kernels.array import gather as gathering
from actorflow.kernels.array import join as joining
from actorflow.kernels.array import one_hot as one_hots
from actorflow.kernels.array import shape as array_shape
from actorflow.kernels.array import sort
from actorflow.kernels.array import unique as distinct
from actorflow.kernels.math import reduction, segment
from actorflow.kernels.native import rows, scatter
from actorflow.kernels.native.library import loaded
from actorflow.kernels.state import scatter as numpy_scatter

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")


def test_segments_one_hot_vectors_rows_and_the_largest() -> None:
    def segments(rng: Rng) -> tuple[Any, ...]:
        count = int(rng.integers(0, 30))
        ids = np.sort(rng.integers(0, max(1, count // int(rng.integers(1, 4))), count)).astype("i4")
        return rng.normal(size=(count, int(rng.integers(0, 5)))).astype("f4"), ids[
            ::-1
        ].copy() if rng.random() < 0.1 else ids

    def one_hot(rng: Rng) -> tuple[Any, ...]:
        one, zero = np.array(1, "f4"), np.array(0, "f4")
        return rng.integers(-2, 9, shape(rng, 1, 2)).astype("i4"), np.array(rng.integers(-1, 9), "i4"), one, zero

    def rows_of(rng: Rng) -> tuple[Any, ...]:
        params = numbers(rng, (int(rng.integers(1, 6)), *shape(rng, 0, 2)))
        return params, rng.integers(-1 if rng.random() < 0.2 else 0, len(params), shape(rng, 1, 2)).astype("i4")

    def largest(rng: Rng) -> tuple[Any, ...]:
        sizes = rng.integers(1, 9, rng.integers(2, 4))
        if rng.random() < 0.3:
            sizes[rng.integers(len(sizes))] = rng.integers(30, 200)
        x = (rng.integers(0, 5, tuple(sizes)) * rng.choice([1, -1])).astype(rng.choice(["f4", "f8"]))
        if rng.random() < 0.3:
            x.reshape(-1)[rng.integers(0, x.size, 3)] = rng.choice([np.nan, 7.0, np.inf])
        return x, np.array(rng.integers(-x.ndim, x.ndim), "i4")

    def top(rng: Rng) -> tuple[Any, ...]:
        x, _ = largest(rng)
        return x, np.array(rng.integers(0, x.shape[-1] + 1), "i4")

    check("segment_sum", on(segment.segment_sum), segments)
    check("segment_mean", on(segment.segment_mean), segments)
    check("one_hot", on(one_hots.one_hot, axis=-1), one_hot)
    check("gather", on(gathering.gather), rows_of)
    check("argmax", on(reduction.argmax, output_type=af.int64), largest)
    check("top_k", on(sort.top_k), top)


def test_dimensions_backwards(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(TRIES):
        kind = str(rng.choice(["f4", "f8", "u1", "i2", "c16", "f2", "?"]))
        x = (rng.normal(size=shape(rng, 1, 5)) * 9).astype(kind)
        axes = rng.permutation(x.ndim)[: rng.integers(0, x.ndim + 1)].astype("i4") - x.ndim * int(rng.integers(2))
        for view in (x, x.T):
            wanted = array_shape.reverse(np, view, axes)
            assert same(rows.reverse(np, view, axes), wanted)
            assert same(rows.reverse(np, view, axes, out=np.empty(view.shape, kind)), wanted)
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    assert same(rows.reverse(np, x, np.array([1, 2]), out=x), np.arange(24, dtype="f4").reshape(2, 3, 4)[:, ::-1, ::-1])


def test_an_axis_may_be_a_number_of_numpy_as_constants_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any, **options: Any) -> None:
        raise AssertionError("left to the Python kernel")

    monkeypatch.setattr(gathering, "gather_v2", refused)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for axis in (np.int32(1), np.array(1, np.int64)):
        assert same(rows.gather_v2(np, x, np.array([2, 0]), axis, batch_dims=0), x[:, [2, 0]])
    large = np.zeros((64, 4096), np.float32)
    monkeypatch.setattr(joining, "concat", refused)
    out = np.empty((64, 8192), np.float32)
    assert rows.concat(np, [large, large + 1], np.int32(1), out=out) is out
    assert same(out, np.concatenate([large, large + 1], 1))


def test_rows_are_gathered_along_any_dimension(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for kind in ("f4", "f8", "i4"):
        params = rng.normal(size=(3, 5, 7, 2)).astype(kind)
        for axis in (0, 1, 2, 3, -1, -3):
            numbers_ = rng.integers(0, params.shape[axis], (4, 3)).astype("i8")
            wanted = params.take(numbers_, axis)
            for several in (1, 3):
                assert same(loaded().call("gather", several, params, numbers_, None, axis), wanted), (kind, axis)
            beyond = numbers_ + params.shape[axis]
            assert loaded().call("gather", 1, params, beyond, None, axis) is NotImplemented
        assert loaded().call("gather", 1, params, numbers_, None, 4) is NotImplemented


def test_a_number_below_zero_is_no_row_of_more_than_an_int32_counts() -> None:
    params = np.empty((2**31 + 64, 0), "f4")
    assert loaded().call("gather", 1, params, np.array([-(2**31)], "i4")) is NotImplemented
    assert loaded().call("gather", 1, params, np.array([2**31 - 1], "i4")).shape == (1, 0)
    assert loaded().call("gather", 1, params, np.array([2**31 + 63], "i8")).shape == (1, 0)


def test_segments_of_many_rows_are_close() -> None:
    rng = np.random.default_rng(SEED)
    data, ids = rng.normal(size=(900, 40)), np.sort(rng.integers(0, 50, 900)).astype("i4")
    wanted = np.zeros((int(ids[-1]) + 1, 40))
    np.add.at(wanted, ids, data)
    for dtype in ("f4", "f8"):
        np.testing.assert_allclose(scatter._segment_sum(data.astype(dtype), ids), wanted, rtol=1e-4, atol=1e-4)


def test_unsorted_segments_leave_out_what_is_below_zero_and_refuse_what_is_too_large() -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        sizes, row = shape(rng, 1, 2), shape(rng, 0, 2)
        height = int(rng.integers(0, 9))
        ids = rng.integers(-2, height + (rng.random() < 0.1), sizes).astype(rng.choice(["i4", "i8"]))
        whole = rng.integers(-50, 50, (*sizes, *row)).astype(rng.choice(["f4", "f8", "i4", "i8"]))
        return whole, ids, np.array(height, "i4")

    check("unsorted_segment_sum", on(segment.unsorted_segment_sum), make)


@pytest.mark.parametrize("name", ["scatter_add", "scatter_sub", "scatter_update"])
def test_rows_are_added_one_after_the_other_on_any_number_of_threads(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        height, width, count = (int(n) for n in rng.integers((1, 1, 1), (60, 40, 200)))
        kind = rng.choice(["f4", "f8", "i4", "i8"])
        before = rng.integers(-9, 9, (height, width)).astype(kind)
        numbers = rng.integers(0, height, count).astype(rng.choice(["i4", "i8"]))
        one = rng.random() < 0.2
        updates = np.array(3, kind) if one else rng.integers(-9, 9, (count, width)).astype(kind)
        wanted = before.copy()
        each = np.broadcast_to(updates, (count, width))
        for number, update in zip(numbers, each):
            wanted[number] = {"scatter_add": wanted[number] + update, "scatter_sub": wanted[number] - update}.get(
                name, update
            )
        for several in (1, 2, 4):
            found = before.copy()
            assert loaded().call(name, several, found, numbers, updates) is found
            np.testing.assert_array_equal(found, wanted)
        for wrong in (-1, height):
            numbers[int(rng.integers(count))] = wrong
            untouched = before.copy()
            assert loaded().call(name, 1, untouched, numbers, updates) is NotImplemented
            np.testing.assert_array_equal(untouched, before)


def test_distinct_numbers_in_the_order_of_their_first_appearance() -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        kind = np.dtype(rng.choice(["i4", "i8"]))
        x = rng.integers(-9, 9, int(rng.integers(0, 60))).astype(kind)
        if x.size:
            x[0] = np.iinfo(kind).min
        return x, bool(rng.random() < 0.5)

    def python(x: Any, wide: bool) -> Any:
        return distinct.unique_with_counts(np, x, out_idx=af.int64 if wide else af.int32)

    check("unique", python, make, TRIES)


def test_the_sums_of_duplicates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        numbers = rng.integers(0, 30, int(rng.integers(1, 60))).astype("i4")
        updates = rng.normal(size=(numbers.size, 5)).astype("f4")
        found, wanted = scatter.sum_duplicates(np, numbers, updates), numpy_scatter.sum_duplicates(np, numbers, updates)
        dense = [np.zeros((30, 5), "f4") for _ in range(2)]
        for (at, sums), into in zip((found, wanted), dense):
            assert len(set(at.tolist())) == at.size
            into[at] = sums
        np.testing.assert_allclose(*dense, rtol=1e-5, atol=1e-5)


def test_arrays_one_after_the_other() -> None:
    rng = np.random.default_rng(SEED)
    for shapes, axis in (
        (((1000, 500), (1000, 500)), 1),
        (((1000, 500), (1000, 500)), -1),
        (((300, 700), (1, 700), (299, 700)), 0),
        (((7, 40, 900), (7, 3, 900), (7, 0, 900), (7, 57, 900)), 1),
        (((1 << 19,), (5,)), 0),
        (((3, 1), (3, 2), (3, 4), (3, 8), (3, 0), (3, 5)), 1),
        (((9, 16), (2, 16)), 0),
        (((2, 3, 1), (2, 3, 1)), -1),
        (((200, 1), (200, 2)), 1),
    ):
        for dtype in ("f4", "f8", "u1", "i2"):
            values = [rng.integers(0, 100, shape).astype(dtype) for shape in shapes]
            wanted = np.concatenate(values, axis)
            for several in (1, 2, 3):
                out = np.full_like(wanted, 77)
                assert loaded().call("join", several, values, np.array(axis, "i4"), out) is out
                assert np.array_equal(out, wanted)


def test_a_concatenation_that_does_not_fit_is_numpys() -> None:
    out, values = np.empty((12, 50_000), "f4"), [np.ones((12, 25_000), "f4")] * 2
    for wrong, axis in (
        ([*values, values[0]], 1),
        (values[:1], 1),
        ([v.reshape(6, 50_000) for v in values], 1),
        ([v.astype("f8") for v in values], 1),
        ([np.asfortranarray(v) for v in values], 1),
        (values, 2),
        (values, -3),
        ([out[:, :25_000], values[0]], 1),
        (tuple(values), 1),
    ):
        assert loaded().call("join", 1, wrong, np.array(axis, "i4"), out) is NotImplemented
    columns = [np.ones((300, 1), "f4")] * 2  # numpy copies single elements with steps
    assert loaded().call("join", 1, columns, np.array(1, "i4"), np.empty((300, 2), "f4")) is NotImplemented
    with pytest.raises(ValueError, match="axis 2"):
        rows.concat(np, values, np.array(2, "i4"), out=out)


def test_slices_with_steps_are_those_of_the_kernel() -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        shape = tuple(int(n) for n in rng.integers(0, 8, int(rng.integers(1, 5))))
        x = rng.normal(size=shape).astype(rng.choice(["f4", "f8"]))
        begin, end = (rng.integers(-9, 10, len(shape)).astype("i4") for _ in range(2))
        steps = rng.choice([1, 1, 2, 3, 50] + [-1] * bool(rng.random() < 0.2), len(shape)).astype("i4")
        masks = ((0, 0), (1, 2), (3, 0), (0, 7))[int(rng.integers(4))]
        return x, begin, end, steps, *masks

    def python(*given: Any) -> Any:
        return np.array(rows._sliced(*given))

    check("slice", python, make)


def test_copies_in_order_of_tensors_that_lie_in_another(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [(1, 3, 64, 64), (2, 84, 8, 8), (3, 17, 5, 33), (4, 4, 16, 16), (2, 1, 30, 40), (40, 50), (5, 2, 3, 4, 20)]
    for sizes in shapes:
        x = rng.integers(-9, 9, sizes).astype(rng.choice(["f4", "i4", "f8"]))
        for order in (np.roll(range(len(sizes)), -1), rng.permutation(len(sizes))):
            turned = x.transpose(tuple(int(axis) for axis in order))
            for several in (1, 3):
                found = loaded().call("ordered", several, turned)
                if found is not NotImplemented:
                    assert found.flags.c_contiguous and same(found, np.ascontiguousarray(turned)), (sizes, order)
    for several in (1, 2):  # the common ones are copied here
        assert (
            loaded().call("ordered", several, np.zeros((1, 3, 64, 64), "f4").transpose(0, 2, 3, 1))
            is not NotImplemented
        )
    for other in (x[::-1], x.astype("f2").T, np.zeros((40, 50), "f4"), np.zeros((40, 50), "f4")[:, ::2]):
        assert loaded().call("ordered", 1, other) is NotImplemented
