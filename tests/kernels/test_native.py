"""Kernels in C: what they give is what the Python kernels give, on one thread and on several."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.kernels.array import gather as gathering
from actorflow.kernels.array import join as joining
from actorflow.kernels.array import one_hot as one_hots
from actorflow.kernels.array import sort
from actorflow.kernels.array import unique as distinct
from actorflow.kernels.math import arithmetic, logic, reduction, segment
from actorflow.kernels.math import cast as casts
from actorflow.kernels.math import elementwise as unary
from actorflow.kernels.native import elementwise, norm, random, reduce, rows, scatter, softmax, window
from actorflow.kernels.native.library import loaded
from actorflow.kernels.nn import activation as nn
from actorflow.kernels.nn import fused, normalization, pool
from actorflow.kernels.nn.conv import depthwise
from actorflow.kernels.shared import threads
from actorflow.kernels.state import scatter as numpy_scatter
from actorflow.records import crc32c, tfrecord
from actorflow.registry import kernel, library

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")

SEED = 20261121
TRIES = 150
Rng = np.random.Generator


def same(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return len(given) == len(wanted) and all(map(same, given, wanted))
    if (type(given), given.dtype, given.shape) != (type(wanted), wanted.dtype, wanted.shape):
        return False
    if given.dtype.kind == "f":
        nan = np.isnan(wanted)
        return (
            bool((np.isnan(given) == nan).all())
            and np.where(nan, 0, given).tobytes() == np.where(nan, 0, wanted).tobytes()
        )
    return bool(given.tobytes() == wanted.tobytes())


def shape(rng: Rng, least: int = 1, most: int = 4) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 8, rng.integers(least, most + 1)))


def numbers(rng: Rng, sizes: tuple[int, ...], dtype: str = "f4") -> Any:
    found = rng.normal(size=sizes).astype(dtype)
    if found.size and rng.random() < 0.3:
        found.reshape(-1)[rng.integers(0, found.size, 2)] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    return found


def outcome(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):
        try:
            return function(*given)
        except (ValueError, IndexError, af.errors.OpError) as error:
            return str(error)


def check(
    name: str,
    base: Callable[..., Any],
    make: Callable[[Rng], tuple[Any, ...]],
    least: int = TRIES // 3,
    several: bool = True,
) -> None:
    """Compares a kernel in C with the Python one; `least` of the calls must not have been left to that. On one thread, and on
    several, the results are the same."""
    rng = np.random.default_rng(SEED)
    calls = 0

    def python(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        return base(*given)

    function = loaded().bind(name, python)
    for attempt in range(TRIES):
        given = make(rng)
        found, wanted = outcome(function, given), outcome(base, given)
        told = f"seed {SEED}, attempt {attempt}: {given}"
        assert found == wanted if isinstance(wanted, str) else same(found, wanted), told
        divided = outcome(functools.partial(loaded().call, name, 3), given) if several else NotImplemented
        assert divided is NotImplemented or same(divided, wanted), told
    assert TRIES - calls >= least


def on(base: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A Python kernel on numpy's arrays."""
    return lambda *given: base(np, *given, **options)


UNARY = {
    "negative": unary.negative,
    "square": unary.square,
    "sqrt": unary.sqrt,
    "rsqrt": unary.rsqrt,
    "exp": unary.exp,
    "log": unary.log,
    "tanh": unary.tanh,
    "sigmoid": unary.sigmoid,
    "relu": nn.relu,
}
BINARY = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "divide": arithmetic.real_div,
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "relu_grad": nn.relu_grad,
    "tanh_grad": unary.tanh_grad,
    "sigmoid_grad": unary.sigmoid_grad,
}
WHOLE = ("add", "sub", "mul", "maximum", "minimum", "negative", "square", "relu")


@pytest.mark.parametrize("name", UNARY)
def test_elementwise_functions_of_one_tensor(name: str) -> None:
    for dtype in ("f4", "f8"):
        check(name, on(UNARY[name]), lambda rng, dtype=dtype: (numbers(rng, shape(rng), dtype),))


@pytest.mark.parametrize("name", BINARY)
def test_elementwise_functions_of_two_tensors(name: str) -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng)
        kind = int(rng.integers(6))
        other = (
            sizes
            if kind < 3
            else sizes[-1:]
            if kind == 3
            else ()
            if kind == 4
            else tuple(n if rng.random() < 0.6 else 1 for n in sizes[int(rng.integers(2)) :])
        )
        dtype = str(rng.choice(["f4", "f8"]))
        pair = numbers(rng, sizes, dtype), numbers(rng, other, dtype)
        return pair if rng.random() < 0.6 or name.endswith("grad") else pair[::-1]

    check(name, on(BINARY[name]), make)


def test_short_rows_that_repeat_are_as_those_of_numpy() -> None:
    """Rows of a few columns, of which one operand has fewer: they are computed several at a time."""

    def make(rng: Rng) -> tuple[Any, ...]:
        high, wide, few = int(rng.integers(1, 9)), int(rng.integers(1, 130)), int(rng.integers(1, 20))
        one = tuple(n if rng.random() < 0.7 else 1 for n in (high, wide, few))
        other = tuple(n if rng.random() < 0.5 else 1 for n in (high, wide, few))
        dtype = str(rng.choice(["f4", "f8"]))
        return numbers(rng, one, dtype), numbers(rng, other, dtype)

    check("sub", on(arithmetic.subtract), make)


def view(rng: Rng, dtype: str, sizes: tuple[int, ...]) -> Any:
    """An array of this shape that does not lie in order, most of the time: it has other columns beside it, its outer dimensions
    are exchanged, it is backwards, or its rows are the same number again and again."""
    high, wide, few = sizes
    kind = int(rng.integers(5))
    if kind == 0:
        return numbers(rng, (high, wide, few + 3), dtype)[..., 1 : few + 1]
    if kind == 1:
        return numbers(rng, (wide, high, few), dtype).swapaxes(0, 1)
    if kind == 2:
        return numbers(rng, (high, wide, few), dtype)[::-1, ::-1]
    if kind == 3:
        return np.broadcast_to(numbers(rng, (wide, 1), dtype), sizes)
    return numbers(rng, sizes, dtype)


def test_arrays_that_do_not_lie_in_order_are_computed_where_they_lie() -> None:
    def shapes(rng: Rng) -> tuple[int, ...]:
        return tuple(int(n) for n in rng.integers(1, (6, 40, 20)))

    def two(rng: Rng) -> tuple[Any, ...]:
        dtype, sizes = str(rng.choice(["f4", "f8"])), shapes(rng)
        return (
            view(rng, dtype, sizes),
            view(rng, dtype, sizes),
            *([np.empty(sizes, dtype)] if rng.random() < 0.5 else []),
        )

    def terms(rng: Rng) -> tuple[Any, ...]:
        dtype, sizes = str(rng.choice(["f4", "f8"])), shapes(rng)
        return [view(rng, dtype, sizes) for _ in range(int(rng.integers(2, 30)))], np.empty(sizes, dtype)

    for name in ("sub", "mul", "sigmoid_grad"):
        check(name, lambda x, y, *out, base=BINARY[name]: base(np, x, y), two)
    for name in UNARY:
        check(name, on(UNARY[name]), lambda rng: two(rng)[:1])
    check("add_n", lambda list_, out: arithmetic.add_n(np, list_), terms)


def test_a_result_that_lies_among_an_operands_elements_is_numpys() -> None:
    memory = np.arange(12, dtype="f4")
    out, turned = memory.reshape(2, 6)[:1].reshape(2, 3), memory.reshape(4, 3)[2::-2]
    given = memory.copy()
    turned_given = given.reshape(4, 3)[2::-2]
    found = elementwise._add(turned, turned, out)
    assert found is out and same(found, turned_given + turned_given)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_wrap_around(name: str) -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        kind = np.dtype(rng.choice(["i4", "i8"]))
        sizes, limits = shape(rng), np.iinfo(kind)
        return tuple(
            rng.integers(limits.min, limits.max, sizes, kind, endpoint=True) for _ in range(2 if name in BINARY else 1)
        )

    check(name, on((BINARY | UNARY)[name]), make)


def test_sums_of_a_list_choices_and_casts() -> None:
    def listed(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng)
        return ([numbers(rng, sizes) for _ in range(int(rng.integers(1, 5)))],)

    def choice(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng)
        return rng.random(sizes) < 0.5, numbers(rng, sizes), numbers(rng, sizes)

    check("add_n", on(arithmetic.add_n), listed)
    check("select", on(logic.select), choice)
    for target, name in elementwise._CAST.items():
        for dtype in ("f4", "f8", "i4", "i8", "b1"):
            cast = on(casts.cast, DstT=target)
            check(f"cast_{name}", cast, lambda rng, dtype=dtype: (rng.integers(-9, 9, shape(rng)).astype(dtype),))


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x[::-1],
        lambda x: x.T,
        lambda x: x.astype(">f4"),
        lambda x: np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape),
        lambda x: x.astype("f2"),
        np.ma.asarray,
        lambda x: x.tolist(),
        lambda x: None,
    ],
    ids=["backwards", "transposed", "swapped", "unaligned", "half", "subclass", "list", "nothing"],
)
def test_what_is_not_expected_is_left_to_python_untouched(made: Any) -> None:
    x = np.arange(12, dtype="f4").reshape(3, 4)
    seen: list[Any] = []
    for name in (
        "add",
        "negative",
        "sum",
        "softmax",
        "gather",
        "unique",
        "scatter_add",
        "max_pool",
        "batch_norm",
        "uniform",
    ):
        for strange in ((made(x),), (made(x), made(x)), (x, made(x)), (made(x), x, x), ()):

            def python(*given: Any, strange: Any = strange) -> str:
                assert len(given) == len(strange) and all(a is b for a, b in zip(given, strange))
                seen.append(given)
                return "python"

            if name in ("negative", "softmax") and strange and strange[0] is x:
                continue
            assert isinstance(loaded().bind(name, python)(*strange), str | np.ndarray), name
    assert len(seen) > 30
    np.testing.assert_array_equal(x, np.arange(12, dtype="f4").reshape(3, 4))


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
        x = rng.integers(0, 5, tuple(rng.integers(1, 9, rng.integers(2, 4)))).astype("f4")
        if rng.random() < 0.2:
            x.reshape(-1)[rng.integers(0, x.size)] = np.nan
        return x, np.array(rng.choice([-1, x.ndim - 1, 0]), "i4")

    def top(rng: Rng) -> tuple[Any, ...]:
        x, _ = largest(rng)
        return x, np.array(rng.integers(0, x.shape[-1] + 1), "i4")

    check("segment_sum", on(segment.segment_sum), segments)
    check("one_hot", on(one_hots.one_hot, axis=-1), one_hot)
    check("gather", on(gathering.gather), rows_of)
    check("argmax", on(reduction.argmax, output_type=af.int64), largest)
    check("top_k", on(sort.top_k), top)


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


def test_the_softmax_along_another_dimension(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for sizes, axis in (((4, 16, 80), 1), ((3, 7, 129), 1), ((40, 2, 5, 3), 0), ((2, 1, 600), 1), ((1, 9, 5, 64), -3)):
        x = (rng.normal(size=sizes) * 9).astype("f4")
        x.reshape(-1)[:3] = -np.inf, np.inf, np.nan
        with np.errstate(all="ignore"):
            wanted = nn.softmax(np, x, axis=axis)
        found = [loaded().call("softmax", several, x, None, axis) for several in (1, 2)]
        np.testing.assert_allclose(found[0], wanted, rtol=1e-5, atol=1e-6)
        assert same(*found)
    assert loaded().call("softmax", 1, x, None, 4) is NotImplemented
    assert loaded().call("softmax", 1, x.astype("f8"), None, 1) is NotImplemented


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


def test_random_numbers_have_the_bits_that_are_defined() -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        key = rng.integers(0, 2**64 - 1, 2, dtype="u8")
        return np.array(shape(rng, 0, 3), "i4"), key, int(rng.integers(0, 2**40))

    check("uniform", random._python, make)
    rng = np.random.default_rng(SEED)
    for count in (1, 9, 70_000, 100_003):
        _, key, run = make(rng)
        sizes, out = np.array([count], "i4"), np.empty(count, "f4")
        for several in (1, 2, 4):
            assert loaded().call("uniform", several, sizes, key, run, out) is out
            assert same(out, random._python(sizes, key, run)), count


def test_what_goes_into_a_buffer_is_the_buffer() -> None:
    rng = np.random.default_rng(SEED)
    params, ids = rng.normal(size=(50, 8)).astype("f4"), rng.integers(0, 50, 30).astype("i4")
    out = np.empty((30, 8), "f4")
    before = sys.getrefcount(out)
    assert rows._gather(params, ids, out) is out
    assert same(out, params[ids])
    assert sys.getrefcount(out) == before
    large, many = rng.normal(size=(300, 64)).astype("f4"), rng.integers(0, 300, 5000).astype("i4")
    out = np.empty((5000, 64), "f4")
    assert rows._gather(large, many, out) is out
    assert same(out, large[many])
    many[77] = 300
    with pytest.raises(ValueError, match="300"):
        rows._gather(large, many, out)


def test_functions_keep_and_lose_no_references() -> None:
    x, axis, five = np.ones((5, 6), "f4"), np.array([0], "i4"), np.array(5, "i4")
    before = [sys.getrefcount(one) for one in (x, axis, five)]
    for _ in range(200):
        elementwise._add(x, x)
        elementwise._add(x, x[::-1])
        reduce._sum(x, axis, True)
        rows._top_k(x, five)
        softmax._cross_entropy(x, np.zeros(5, "i4"))
        scatter._unique(np.zeros(3, "i4"), True)
        loaded().call("scatter_add", 1, x, axis, x[:1] * 0)
    gc.collect()
    assert [sys.getrefcount(one) for one in (x, axis, five)] == before
    assert sys.getrefcount(elementwise._add(x, x)) == sys.getrefcount(np.add(x, x))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_small_softmaxes_and_cross_entropies_of_few_classes_have_the_bits_of_numpys(dtype: str) -> None:
    check("softmax", on(nn.softmax, axis=-1), lambda rng: (numbers(rng, shape(rng)[:3], dtype),))

    def few(rng: Rng) -> tuple[Any, ...]:
        count, classes = int(rng.integers(1, 60)), int(rng.integers(1, 65))
        labels = rng.integers(0, classes + (rng.random() < 0.05), count).astype(rng.choice(["i4", "i8"]))
        return numbers(rng, (count, classes), dtype) * 9, labels

    check("cross_entropy", on(nn.sparse_softmax_cross_entropy), few)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_cross_entropies_of_fewer_than_1024_elements_have_the_bits_of_numpys(dtype: str) -> None:
    def some(rng: Rng) -> tuple[Any, ...]:
        classes = int(rng.integers(65, 600))
        count = int(rng.integers(1, 1 + 1023 // classes))
        labels = rng.integers(0, classes + (rng.random() < 0.1), count).astype(rng.choice(["i4", "i8"]))
        return numbers(rng, (count, classes), dtype) * 9, labels

    check("cross_entropy", on(nn.sparse_softmax_cross_entropy), some)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_softmax_and_the_cross_entropy_of_long_rows(dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    for attempt in range(12):
        high = (40, 90) if attempt % 3 else (10, 20)
        x = numbers(rng, (int(rng.integers(*high)), int(rng.integers(110, 400))), dtype) * 10
        labels = rng.integers(0, x.shape[1], len(x)).astype("i4" if attempt % 2 else "i8")
        with np.errstate(all="ignore"):
            close = {"rtol": 1e-5 if dtype == "f4" else 1e-12, "atol": 1e-6 if dtype == "f4" else 1e-13}
            found = [loaded().call("softmax", several, x) for several in (1, 2, 4)]
            np.testing.assert_allclose(found[0], nn.softmax(np, x, axis=-1), **close)
            assert same(found[0], found[1]) and same(found[0], found[2])
            both = loaded().call("cross_entropy", 2, x, labels)
            for given, wanted in zip(both, nn.sparse_softmax_cross_entropy(np, x, labels), strict=True):
                np.testing.assert_allclose(given, wanted, **close)
    assert loaded().call("cross_entropy", 1, x, labels + x.shape[1]) is NotImplemented


def test_large_arrays_one_after_the_other() -> None:
    rng = np.random.default_rng(SEED)
    for shapes, axis in (
        (((1000, 500), (1000, 500)), 1),
        (((1000, 500), (1000, 500)), -1),
        (((300, 700), (1, 700), (299, 700)), 0),
        (((7, 40, 900), (7, 3, 900), (7, 0, 900), (7, 57, 900)), 1),
        (((1 << 19,), (5,)), 0),
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
    with pytest.raises(ValueError, match="axis 2"):
        rows.concat(np, values, np.array(2, "i4"), out=out)


def test_the_batch_normalization_of_a_training_step_and_its_gradient() -> None:
    rng = np.random.default_rng(SEED)
    nothing = np.zeros(0, "f4")
    attrs = {"epsilon": 1e-3, "data_format": "NHWC", "is_training": True}
    for sizes in ((3, 7, 9, 5), (2, 3, 3, 64), (1, 1, 9, 300), (32, 14, 14, 16)):
        x, dy = (rng.normal(size=sizes).astype("f4") for _ in range(2))
        scale, offset = rng.uniform(0.5, 2, sizes[3]).astype("f4"), rng.normal(size=sizes[3]).astype("f4")
        found = norm.fused_batch_norm(np, x * 3 + 2, scale, offset, nothing, nothing, **attrs)
        wanted = normalization.fused_batch_norm(np, x * 3 + 2, scale, offset, nothing, nothing, **attrs)
        mean, variance = wanted[3], wanted[4]
        slopes = norm.fused_batch_norm_grad(np, dy, x, scale, mean, variance, nothing, **attrs)
        expected = normalization.fused_batch_norm_grad(np, dy, x, scale, mean, variance, nothing, **attrs)
        for one, other in zip((*found, *slopes), (*wanted, *expected), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-4)


@pytest.mark.parametrize("sizes", [(1, 1), (3, 5), (4, 70), (2, 3, 64), (2, 9000), (900, 300), (40_000, 3)])
def test_layer_norms_and_their_gradients(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(SEED)
    x, dy = (rng.normal(size=sizes).astype("f4") for _ in range(2))
    scale, offset = (rng.uniform(0.5, 2, sizes[-1]).astype("f4") for _ in range(2))
    calls = (
        ("standardized", (x, scale, offset, 1e-3, None), fused.layer_norm, (x, scale, offset)),
        ("standardized", (x, scale, None, 1e-3, None), fused.rms_norm, (x, scale)),
        ("layer_norm_grad", (dy, x, scale, 1e-3, None), fused.layer_norm_grad, (dy, x, scale)),
        ("layer_norm_scale_grad", (dy, x, 1e-3), fused.layer_norm_scale_grad, (dy, x)),
    )
    for name, given, python, inputs in calls:
        wanted = python(np, *(one.astype("f8") for one in inputs), epsilon=1e-3)
        found = [loaded().call(name, several, *given) for several in (1, 2, 4, 8)]
        assert all(same(one, found[0]) for one in found[1:]), name
        np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-6 * (1 + np.abs(wanted).max()), err_msg=name)
    for wrong in (dy[:, :1], dy.astype("f8"), scale):
        assert (
            loaded().call("layer_norm_grad", 1, wrong, x[:, 1:] if sizes[-1] == 1 else x, scale, 1e-3, None)
            is NotImplemented
        )
        assert loaded().call("layer_norm_scale_grad", 1, scale, x, 1e-3) is NotImplemented


@pytest.mark.parametrize("activation", ["", "Relu", "Relu6"])
@pytest.mark.parametrize("channels", [1, 3, 8, 16, 24, 64, 100, 200])
def test_a_batch_normalization_and_its_activation(activation: str, channels: int) -> None:
    """Channels that fill a group of vectors, several rows that fill one, and those that are left over."""
    rng = np.random.default_rng(SEED)
    x, dy = (rng.normal(size=(3, 6, 10, channels)).astype("f4") for _ in range(2))
    scale, offset = rng.uniform(0.5, 4, channels).astype("f4"), rng.normal(size=channels).astype("f4")
    nothing: Any = np.zeros(0, np.float32)
    attrs = {"epsilon": 1e-3, "data_format": "NHWC", "activation": activation}
    how: dict[str, Any] = {**attrs, "is_training": True}
    found = norm.fused_batch_norm_and_activation(np, x, scale, offset, nothing, nothing, **how)
    wanted = fused.fused_batch_norm(np, x, scale, offset, nothing, nothing, **how)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    y, _, _, mean, variance, _ = wanted
    given = (np, dy, x, scale, mean, variance, nothing, y)
    gradients = norm.fused_batch_norm_and_activation_grad(*given, **how)
    for one, other in zip(gradients, fused.fused_batch_norm_grad(*given, **how), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    how["is_training"] = False
    stored = norm.fused_batch_norm_and_activation(np, x, scale, offset, mean, variance, **how)
    for one, other in zip(stored, fused.fused_batch_norm(np, x, scale, offset, mean, variance, **how), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    number = norm._NUMBERS[activation]
    for count in (1, 2, 4):
        y, average, spread = np.empty_like(x), np.empty_like(scale), np.empty_like(scale)
        threads._pool().call("batch_norm", count, x, scale, offset, y, average, spread, 1e-3, number)
        np.testing.assert_array_equal(y, found[0])


def test_large_tensors_have_the_same_bits_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(SEED)
    x, y = (rng.uniform(0.5, 2, (600, 500)).astype("f4") for _ in range(2))
    cases: list[tuple[str, tuple[Any, ...], Any]] = [
        ("add", (x, y), x + y),
        ("add", (x, y[0].copy()), x + y[0]),
        ("exp", (x,), np.exp(x)),
        ("sigmoid", (x,), unary.sigmoid(np, x)),
        ("add_n", ([x, y, x],), x + y + x),
        ("select", (x > 1, x, y), np.where(x > 1, x, y)),
        ("maximum", (x, np.array(1, "f4")), np.maximum(x, 1)),
    ]
    for name, given, wanted in cases:
        for several in (1, 2, 4, 8):
            assert same(loaded().call(name, several, *given, np.empty_like(x)), wanted), (name, several)
            assert same(loaded().call(name, several, *given), wanted), (name, several)


def test_pools_of_maxima_go_before_those_of_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACTORFLOW_KERNELS", raising=False)
    attrs = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
    images, pooled = (8, 28, 28, 32), (8, 14, 14, 32)
    for op, shapes in (("MaxPool", [images]), ("MaxPoolGrad", [images, pooled, pooled])):
        base = kernel.lookup(op, "CPU", [af.float32])
        assert library.best(base, "CPU", [af.float32], attrs, shapes).library == "native"


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


def test_transposed_matrices_are_copied_in_blocks_and_computed_in_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for height, width in [(64, 64), (300, 301), (17, 300), (5, 1000), (1000, 5), (1, 5000), (600, 900)]:
        x = rng.normal(size=(width, height)).astype("f4")
        x.flat[:3] = np.nan, np.inf, -0.0
        out, before = np.empty((height, width), "f4"), x.copy()
        found = elementwise.negative(np, x.T, out=out)
        assert found is out and same(out, -x.T), (height, width)
        assert same(x, before), "the input changed"
        whole = rng.integers(-9, 9, (width, height), dtype="i4")
        assert same(elementwise.square(np, whole.T, out=np.empty((height, width), "i4")), whole.T**2)
        wide = whole.astype("f8")
        assert same(elementwise.square(np, wide.T), np.ascontiguousarray(wide.T**2))
        assert same(
            elementwise.subtract(np, whole.T, whole.reshape(height, width)), whole.T - whole.reshape(height, width)
        )
        assert same(
            elementwise.subtract(np, whole.reshape(height, width), whole.T), whole.reshape(height, width) - whole.T
        )
    square = rng.normal(size=(80, 80)).astype("f4")
    wanted = -square.T
    assert same(elementwise.negative(np, square.T, out=square), wanted), "into the memory that it reads"
    for other in (square.astype("f8").T, square[::2, ::2].T, square.T[1:]):
        out = np.empty(other.shape, other.dtype)
        assert same(elementwise.negative(np, other, out=out), -other)


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


def test_pools_of_maxima_and_their_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """With NaN, with equal maxima, with windows that overlap or leave gaps, and with elements that no window has."""
    rng = np.random.default_rng(SEED)
    tried = {False: 0, True: 0}
    windows = ((2, 2, 2, 2), (3, 2, 3, 2), (1, 3, 1, 3), (3, 3, 2, 2), (2, 1, 3, 1))
    monkeypatch.setattr(window, "onednn_pool", None)  # whatever does not fit would fail
    for attempt in range(TRIES):
        high, wide, down, right = windows[int(rng.integers(len(windows)))]
        sizes = (*(int(n) for n in rng.integers((1, 3, 3), (4, 9, 9))), int(rng.choice([1, 8, 16, 19, 32])))
        x = rng.integers(-3, 3, sizes).astype("f4") if rng.random() < 0.5 else numbers(rng, sizes)
        attrs: dict[str, Any] = {"ksize": (1, high, wide, 1), "strides": (1, down, right, 1)}
        attrs["padding"] = str(rng.choice(["SAME", "VALID"]))
        y = pool.max_pool(np, x, **attrs)
        dy = rng.normal(size=y.shape).astype("f4")
        told = f"seed {SEED}, attempt {attempt}: {sizes}, {attrs}"
        for gradient, can in ((False, window._can_pool), (True, window._can_pool_grad)):
            if not can(attrs, [sizes]):
                continue
            tried[gradient] += 1
            if gradient:
                found, wanted = window.max_pool_grad(np, x, y, dy, **attrs), pool.max_pool_grad(np, x, y, dy, **attrs)
            else:
                found, wanted = window.max_pool(np, x, **attrs), y
            np.testing.assert_array_equal(found, wanted, told)
    assert min(tried.values()) > 20


def test_convolutions_of_single_channels_and_their_gradients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        count, height, width, high, wide, stride, far = (int(n) for n in rng.integers(1, (4, 12, 12, 4, 4, 3, 3)))
        channels = int(rng.choice([1, 3, 16, 21, 64]))
        attrs: dict[str, Any] = {
            "strides": (1, stride, stride, 1),
            "padding": str(rng.choice(["SAME", "VALID"])),
            "explicit_paddings": (),
            "data_format": "NHWC",
            "dilations": (1, 1, 1, 1) if stride > 1 else (1, far, far, 1),
        }
        x = rng.normal(size=(count, height + 8, width + 8, channels)).astype("f4")
        w = rng.normal(size=(high, wide, channels, 1)).astype("f4")
        y = depthwise.depthwise(np, x, w, **attrs)
        dy = rng.normal(size=y.shape).astype("f4")
        sizes = np.array(x.shape, "i4"), np.array(w.shape, "i4")
        for found, wanted in (
            (window.depthwise(np, x, w, **attrs), y),
            (
                window.depthwise_to_input(np, sizes[0], w, dy, **attrs),
                depthwise.depthwise_to_input(np, sizes[0], w, dy, **attrs),
            ),
            (
                window.depthwise_to_filter(np, x, sizes[1], dy, **attrs),
                depthwise.depthwise_to_filter(np, x, sizes[1], dy, **attrs),
            ),
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4, err_msg=str((x.shape, w.shape, attrs)))


def test_the_inverse_root_is_within_a_unit_in_the_last_place() -> None:
    rng = np.random.default_rng(SEED)
    x = np.exp(rng.uniform(-87, 87, 300_000)).astype("f4")
    x[:8] = [0, -0.0, np.inf, -1, np.nan, 1e-45, 1e-40, np.finfo("f4").max]
    with np.errstate(all="ignore"):
        wanted = 1 / np.sqrt(x.astype("f8"))
        for count in (1, 7, 16, 1000, x.size):
            found = elementwise._rsqrt(x[:count], np.empty(count, "f4"))
            np.testing.assert_allclose(found, wanted[:count], rtol=1.3e-7)


# ---- checksums


def test_checksums_by_the_instruction_and_by_tables_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert loaded().crc32c(b"123456789") == loaded().crc32c_by_tables(b"123456789") == 0xE3069283
    for size in (0, 1, 7, 8, 9, 63, 1000, 30_001):
        data = rng.bytes(size + 3)[3:]
        assert loaded().crc32c(data) == loaded().crc32c_by_tables(memoryview(data)), size
        cut = int(rng.integers(size + 1))
        assert loaded().crc32c(data[cut:], loaded().crc32c(data[:cut])) == loaded().crc32c(data)
    with pytest.raises(TypeError):
        loaded().crc32c("text")


def test_checksums_of_records_are_the_librarys_where_no_other_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    crc32c._library.cache_clear()
    try:
        assert crc32c._library() == loaded().crc32c
        assert crc32c.crc32c(memoryview(b"123456789")) == 0xE3069283
        assert crc32c.crc32c_each([b"", b"123456789"]) == [0, 0xE3069283]
    finally:
        monkeypatch.undo()
        crc32c._library.cache_clear()


def test_a_kernel_that_there_is_not_is_an_error() -> None:
    with pytest.raises(KeyError, match="no native kernel 'nothing'"):
        loaded().bind("nothing", print)
    with pytest.raises(TypeError):
        loaded().call("add")
    with pytest.raises(ZeroDivisionError):  # what Python raises is passed on
        loaded().bind("add", lambda *given: 1 // 0)(1, 2)


def test_small_calls_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "governed", lambda *given: pytest.fail("a small call is measured"))
    x = np.ones((10, 10), "f4")
    assert same(elementwise._add(x, x.T), x + x.T)


def test_records_are_cut_as_in_python(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(TRIES):
        data = bytearray(tfrecord.join([rng.bytes(int(n)) for n in rng.integers(0, 40, rng.integers(0, 9))]))
        if len(data) and rng.random() < 0.6:
            data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        cut = bytes(data[: int(rng.integers(len(data) + 1))]) if rng.random() < 0.5 else bytes(data)
        assert loaded().cut_records(cut) == tfrecord.cut(cut)


def test_a_library_of_other_sources_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was compiled before a change of its sources lacks functions, or computes by other rules."""
    from actorflow.kernels.native import library as module

    monkeypatch.delenv("ACTORFLOW_NATIVE", raising=False)
    monkeypatch.setattr(module, "_digest", lambda otherwise: "of others")
    logged: list[str] = []
    monkeypatch.setattr(module, "_without", logged.append)
    module.loaded.__wrapped__()
    assert len(logged) == 1 and "other sources" in logged[0]


def test_a_library_that_does_not_say_its_sources_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from actorflow.kernels.native import library as module

    monkeypatch.delenv("ACTORFLOW_NATIVE", raising=False)
    monkeypatch.setattr(module, "_imported", lambda build: object())
    logged: list[str] = []
    monkeypatch.setattr(module, "_without", logged.append)
    module.loaded.__wrapped__()
    assert len(logged) == 1 and "other sources" in logged[0]
