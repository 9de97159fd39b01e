"""Kernels that compute large arrays in another way than small ones: the same values by loops and by the plainest numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import nn
from actorflow.kernels.array import gather as gathering
from actorflow.kernels.array import sort as array_sort
from actorflow.kernels.math import elementwise as unary
from actorflow.kernels.nn import activation as nn_kernels
from actorflow.kernels.nn import pool
from actorflow.kernels.nn.conv import depthwise as conv_depthwise
from actorflow.kernels.nn.conv import functions as conv
from actorflow.kernels.random.philox import PhiloxStream
from actorflow.kernels.shared import thread_count, threads
from actorflow.kernels.shared.elementwise import chosen, with_vector
from actorflow.kernels.shared.reducing import largest, smallest, sum_over

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3.0)


def value(build: Callable[[], Any]) -> Any:
    graph = af.Graph()
    with graph.as_default():
        tensor = build()
    with af.blocking.Session(graph=graph) as session:
        return session.run(tensor)


def numbers(seed: int, *shape: int, dtype: str = "float32") -> Any:
    """Some of which are special."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape).astype(dtype)
    x.reshape(-1)[rng.integers(0, x.size, 50)] = rng.choice(SPECIAL, 50)
    return x


# ---- elementwise


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64", "float64", "complex64", "complex128"])
def test_a_choice_takes_each_element_as_it_is(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (np.frombuffer(rng.bytes(600 * 16), np.uint8)[: 600 * np.dtype(dtype).itemsize] for _ in range(2))
    if dtype == "bool":
        x, y = x & 1, y & 1
    x, y = x.view(dtype).reshape(30, 20), y.view(dtype).reshape(30, 20)
    condition = rng.uniform(size=(30, 20)) < 0.5
    wanted = np.array([[a if c else b for c, a, b in zip(*rows)] for rows in zip(condition, x, y)], dtype)
    for out in (None, np.empty_like(x), x.copy(), y.copy()):
        left = out if out is not None and out.tobytes() == x.tobytes() else x
        right = out if out is not None and out.tobytes() == y.tobytes() else y
        assert chosen(np, condition, left, right, out).tobytes() == wanted.tobytes()
    row, whole = chosen(np, condition[:, :1], x[:, :1], y), np.repeat(condition[:, :1], 20, 1)
    np.testing.assert_array_equal(row[whole[:, 0]], np.repeat(x[:, :1], 20, 1)[whole[:, 0]])
    np.testing.assert_array_equal(row[~whole[:, 0]], y[~whole[:, 0]])


@pytest.mark.parametrize("bound", [0.0, -0.5, np.inf, -np.inf, np.nan])
def test_extremes_with_a_number_know_nan_and_infinity(bound: float, seed: int) -> None:
    x = numbers(seed, 171, 200)
    number = np.float32(bound)
    got = value(lambda: [af.maximum(x, number), af.minimum(number, x), nn.relu(x), nn.relu6(x)])
    above = np.where(np.isnan(x) | (x > number), x, number)
    below = np.where(np.isnan(x) | (x < number), x, number)
    np.testing.assert_array_equal(got[0], np.where(np.isnan(number), number, above))
    np.testing.assert_array_equal(got[1], np.where(np.isnan(number), number, below))
    np.testing.assert_array_equal(got[2], np.where(x < 0, np.float32(0), x))
    np.testing.assert_array_equal(got[3], np.where(x < 0, np.float32(0), np.where(x > 6, np.float32(6), x)))


@pytest.mark.parametrize("length", [1, 3, 16, 1000, 5000])
def test_a_vector_is_added_to_each_row(length: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, vector = rng.normal(size=(40_000 // length + 1, length)), rng.normal(size=length)
    wanted = np.array([row - vector for row in x])
    np.testing.assert_array_equal(with_vector(np, np.subtract, x, vector, np.empty_like(x)), wanted)
    np.testing.assert_array_equal(with_vector(np, np.subtract, x, vector, x), wanted)


# ---- reductions


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((5000,), 0),
        ((7, 3001), -1),
        ((7, 3001), 0),
        ((7, 3001), (0, 1)),
        ((40, 5, 30), (1, 2)),
        ((40, 5, 30), (0, 1)),
        ((40, 5, 30), (2, 0)),
        ((40, 5, 30), 1),
        ((40, 5, 30), ()),
        ((2048, 1), 0),
    ],
)
def test_reductions_give_what_numpy_gives(shape: tuple[int, ...], axis: Any, dtype: str, seed: int) -> None:
    x = np.random.default_rng(seed).uniform(0.5, 2, shape).astype(dtype)
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    for keep in (False, True):
        wide = np.add.reduce(x, axis, np.float64 if dtype == "float32" else np.longdouble, keepdims=keep)
        for function, wanted, rtol in (
            (sum_over, wide.astype(dtype), tolerance),
            (largest, x.max(axis, keepdims=keep), 0),
            (smallest, x.min(axis, keepdims=keep), 0),
        ):
            got = function(np, x, axis, keep)
            assert got.shape == wanted.shape and got.dtype == x.dtype
            np.testing.assert_allclose(got, wanted, rtol=rtol)
            out = np.empty(wanted.shape, dtype)
            assert function(np, x, axis, keep, out) is out
            np.testing.assert_allclose(out, wanted, rtol=rtol)


def test_a_sum_of_a_million_is_near_the_true_one(seed: int) -> None:
    x = np.random.default_rng(seed).uniform(0.5, 2, 1_000_003).astype(np.float32)
    assert abs(float(sum_over(np, x, 0)) / float(x.sum(dtype=np.float64)) - 1) < 1e-6


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_a_special_number_stays_in_its_sum(special: float) -> None:
    x = np.ones((50, 100), np.float32)
    x[3, 7] = special
    for axis, place in ((0, 7), (1, 3)):
        got = sum_over(np, x, axis)
        np.testing.assert_array_equal(got[place], np.float32(special))
        assert np.isfinite(np.delete(got, place)).all()
    np.testing.assert_array_equal(largest(np, x, 1)[3], np.float32(special))


# ---- order and places


def best(row: Any, count: int) -> list[int]:
    """By a sort of pairs: NaN is the largest, and of equals the first comes first."""
    return sorted(range(len(row)), key=lambda i: (not np.isnan(row[i]), -np.nan_to_num(row[i], nan=0.0), i))[:count]


@pytest.mark.parametrize("kind", ["normal", "ties", "equal", "nan", "infinite", "int32", "uint8"])
@pytest.mark.parametrize("width", [200, 203])
def test_top_k_of_long_rows(kind: str, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x: Any = rng.normal(size=(3, 8, width)).astype(np.float32)
    if kind == "ties":
        x = np.round(4 * x) / 4
    elif kind == "equal":
        x[0] = 1
    elif kind == "nan":
        x[0, 0, 5], x[1, 2, width - 1] = np.nan, np.nan
    elif kind == "infinite":
        x[0], x[1, :, 3:7], x[2] = -np.inf, np.inf, np.where(rng.uniform(size=x[2].shape) < 0.99, -np.inf, x[2])
    elif kind != "normal":
        x = rng.integers(0, 200, x.shape).astype(kind)
    values, places = array_sort.top_k(np, x, np.int32(4))
    wanted = np.array([best(row, 4) for row in x.reshape(-1, width).astype(np.float64)]).reshape(3, 8, 4)
    np.testing.assert_array_equal(places, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, -1))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_one_hot_of_many(axis: int, seed: int) -> None:
    indices = np.random.default_rng(seed).integers(-2, 62, (50, 40))
    got = value(lambda: af.one_hot(indices, 60, on_value=2.5, off_value=-1.0, axis=axis))
    assert got.dtype == np.float32
    rows = np.moveaxis(got, axis, -1)
    wanted = np.full((50, 40, 60), -1.0, np.float32)
    for place, index in np.ndenumerate(indices):
        if 0 <= index < 60:
            wanted[place][index] = 2.5
    np.testing.assert_array_equal(rows, wanted)


@pytest.mark.parametrize("with_scipy", [True, False])
@pytest.mark.parametrize("ids_type", ["int32", "int64"])
def test_rows_are_summed_by_segment(
    with_scipy: bool, ids_type: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_scipy:
        pytest.importorskip("scipy")
    else:
        monkeypatch.setattr(gathering, "_sparse_tools", lambda: None)
    rng = np.random.default_rng(seed)
    data = rng.uniform(0.5, 2, (900, 5, 7)).astype(np.float32)
    data[100] = np.nan
    ids = np.sort(rng.integers(1, 40, 900)).astype(ids_type)
    mixed = rng.integers(-1, 40, 900).astype(ids_type)
    for given, build in ((ids, af.segment_sum), (mixed, lambda d, i: af.unsorted_segment_sum(d, i, int(ids[-1]) + 1))):
        wanted = np.zeros((int(ids[-1]) + 1, 5, 7))
        for index, row in zip(given, data):
            if 0 <= index < len(wanted):
                wanted[index] += row
        if given is mixed:
            given = np.where(mixed < len(wanted), mixed, -1).astype(ids_type)
        np.testing.assert_allclose(value(lambda b=build, g=given: b(data, g)), wanted, rtol=1e-5)


def test_batch_norm_of_many_images(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(9, 20, 21, 12)) * 3 + 5).astype(np.float32)
    scale, offset = (rng.uniform(0.5, 2, 12).astype(np.float32) for _ in range(2))
    y, mean, variance = value(lambda: nn.fused_batch_norm(x, scale, offset, is_training=True)[:3])
    wide = x.astype(np.float64)
    spread = wide.var((0, 1, 2))
    wanted = (wide - wide.mean((0, 1, 2))) / np.sqrt(spread + 0.001) * scale + offset
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(mean, wide.mean((0, 1, 2)), rtol=1e-5)
    np.testing.assert_allclose(variance, spread * 3780 / 3779, rtol=1e-5)


def test_streams_side_by_side_do_not_mix() -> None:
    alone = [PhiloxStream((3, 4), run=run).words64(96).tolist() for run in range(2)]
    streams = [PhiloxStream((3, 4), run=run) for run in range(2)]
    drawn: list[list[int]] = [[], []]
    for _ in range(12):
        for stream, words in zip(streams, drawn):
            words += stream.words64(8).tolist()
    assert drawn == alone
    del stream, streams
    assert PhiloxStream((3, 4)).words32(192).view(np.uint64).tolist() == alone[0]


def test_a_generator_outlives_its_stream() -> None:
    generator = PhiloxStream((3, 4)).generator()
    first = generator.bit_generator.random_raw(3).tolist()
    PhiloxStream((5, 6)).words64(8)
    assert first + generator.bit_generator.random_raw(3).tolist() == PhiloxStream((3, 4)).words64(6).tolist()


# ---- several threads


@pytest.fixture(params=["pool", "python_pool"])
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads take part wherever they may: those of the pool in C, or those of Python."""
    if request.param == "python_pool":
        monkeypatch.setattr(threads, "_pool", lambda: None)
        monkeypatch.setattr(threads, "_thread_limit", lambda: 2)
    elif threads.loaded() is None:
        pytest.skip("the library in C is not there, and so its pool is not either")
    monkeypatch.setattr(threads, "most_threads", lambda: 2)
    monkeypatch.setattr(thread_count.ThreadCount, "run", lambda self, work: work(2))


def test_pieces_are_done_once_each_by_whichever_thread(both: None) -> None:
    done: list[int] = []
    for count in range(40):
        done.clear()
        threads.in_pieces(done.append, count, "once")
        assert sorted(done) == list(range(count))


def test_what_a_piece_raises_ends_the_work(both: None) -> None:
    def work(number: int) -> None:
        if number == 3:
            raise ValueError("the third")

    for _ in range(20):
        with pytest.raises(ValueError, match="the third"):
            threads.in_pieces(work, 50, "raises")


def test_each_thread_treats_floating_point_errors_as_the_caller_does(both: None) -> None:
    seen: list[str] = []
    with np.errstate(divide="ignore"):
        threads.in_pieces(lambda number: seen.append(np.geterr()["divide"]), 100, "errors")
    assert set(seen) == {"ignore"}


def test_one_thread_does_the_whole_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "most_threads", lambda: 1)
    done: list[Any] = []
    threads.in_pieces(done.append, 3, "whole", lambda: done.append("whole"))
    assert done == ["whole"]


def test_large_functions_of_elements_are_the_same_on_two_threads(both: None, seed: int) -> None:
    x = np.random.default_rng(seed).uniform(0.25, 4, (600, 700)).astype("f4")
    turned = np.ascontiguousarray(x.T).T
    for kernel in (unary.exp, unary.rsqrt, unary.negative, unary.sigmoid, unary.is_finite):
        wanted = np.array(kernel(np, x))
        for given in (x, turned, x[::-1]):
            out = np.empty(x.shape, wanted.dtype)
            assert kernel(np, given, out=out) is out
            expected = wanted[::-1] if given.strides[0] < 0 else wanted
            np.testing.assert_allclose(out, expected, rtol=3e-7)
    y = np.empty_like(x)
    nn_kernels.softmax(np, x, axis=-1, out=y)
    powers = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_large_choices_convolutions_and_pools_are_the_same_on_two_threads(both: None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = numbers(seed, 600, 500), numbers(seed + 1, 600, 500)
    condition = rng.random(x.shape) < 0.5
    assert chosen(np, condition, x, y, np.empty_like(x)).tobytes() == np.where(condition, x, y).tobytes()

    attrs = conv.attributes((1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1))
    images, filters = rng.normal(size=(5, 40, 40, 40)).astype("f4"), rng.normal(size=(3, 3, 40, 1)).astype("f4")
    whole = conv_depthwise.depthwise(np, images, filters, **attrs)
    apart = [conv_depthwise.depthwise(np, one[None], filters, **attrs)[0] for one in images]
    assert whole.tobytes() == np.stack(apart).tobytes()

    window = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "SAME"}
    maxima = pool.max_pool(np, images, **window)
    slopes = rng.normal(size=maxima.shape).astype("f4")
    whole = pool.max_pool_grad(np, images, maxima, slopes, **window)
    apart = [pool.max_pool_grad(np, *(one[None] for one in some), **window)[0] for some in zip(images, maxima, slopes)]
    assert whole.tobytes() == np.stack(apart).tobytes()


# ---- depthwise convolutions as products over a view


@pytest.mark.parametrize(
    ("stride", "dilation", "padding"), [(1, 1, "SAME"), (1, 2, "VALID"), (2, 1, "SAME"), (3, 1, "VALID")]
)
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_each_channel_is_convolved_by_itself(stride: int, dilation: int, padding: str, layout: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images, filters = rng.normal(size=(2, 9, 11, 5)).astype("f4"), rng.normal(size=(3, 2, 5, 1)).astype("f4")
    attrs = conv.attributes((1, stride, stride, 1), padding, "NHWC", (1, dilation, dilation, 1))
    wanted = np.stack(  # of one channel, a depthwise convolution is an ordinary one
        [conv.conv2d(np, images[..., c : c + 1], filters[:, :, c : c + 1], **attrs)[..., 0] for c in range(5)], -1
    )
    if layout == "NCHW":
        images, wanted = images.transpose(0, 3, 1, 2), wanted.transpose(0, 3, 1, 2)
        attrs = conv.attributes((1, 1, stride, stride), padding, layout, (1, 1, dilation, dilation))
    np.testing.assert_allclose(conv_depthwise.depthwise(np, images, filters, **attrs), wanted, rtol=1e-5, atol=1e-5)
