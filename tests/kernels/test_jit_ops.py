"""Kernels as builtin functions, and on two threads: what they give is what the Python kernels give."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.registry import kernel, library
from actorflow.runtime.codegen import jit

pytest.importorskip("llvmlite", reason="the extra `jit` is not installed")

from actorflow.kernels.array import index as indexing
from actorflow.kernels.jit import (
    builtin,
    ops_arrays,
    ops_elementwise,
    ops_gathering,
    ops_joining,
    ops_norm,
    ops_pool,
    ops_random,
    ops_reduce,
    ops_rows,
    ops_slices,
    sums,
    turning,
)
from actorflow.kernels.jit import sharing as parallel
from actorflow.kernels.nn import activation as nn
from actorflow.kernels.nn import normalization, pool

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


def check(native: Any, make: Callable[[Rng], tuple[Any, ...]], least: int = TRIES // 3) -> None:
    """Compares a kernel as a builtin function with the Python one; `least` of the calls must not have been left to that."""
    rng = np.random.default_rng(SEED)
    python = native._python
    calls = 0

    def counted(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        return python(*given)

    native._python = counted
    try:
        for attempt in range(TRIES):
            given = make(rng)
            native.compile(native._types(given))
            found, wanted = outcome(native.call, given), outcome(python, given)
            told = f"seed {SEED}, attempt {attempt}: {given}"
            assert found == wanted if isinstance(wanted, str) else same(found, wanted), told
    finally:
        native._python = python
    assert TRIES - calls >= least


UNARY = ("_negative", "_square", "_sqrt", "_rsqrt", "_exp", "_log", "_tanh", "_sigmoid", "_relu")
BINARY = (
    "_add",
    "_subtract",
    "_multiply",
    "_divide",
    "_maximum",
    "_minimum",
    "_relu_grad",
    "_tanh_grad",
    "_sigmoid_grad",
)


@pytest.mark.parametrize("name", UNARY)
def test_elementwise_functions_of_one_tensor(name: str) -> None:
    check(getattr(ops_elementwise, name), lambda rng: (numbers(rng, shape(rng)),))


@pytest.mark.parametrize("name", BINARY)
def test_elementwise_functions_of_two_tensors(name: str) -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng)
        other = sizes if rng.random() < 0.6 else sizes[-1:] if rng.random() < 0.5 else ()
        pair = numbers(rng, sizes), numbers(rng, other)
        return pair if rng.random() < 0.8 or name.endswith("grad") else pair[::-1]

    check(getattr(ops_elementwise, name), make)


def test_sums_of_a_list_choices_casts_and_biases() -> None:
    def listed(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng)
        return ([numbers(rng, sizes) for _ in range(3)],)

    def choice(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng)
        return rng.random(sizes) < 0.5, numbers(rng, sizes), numbers(rng, sizes)

    def bias(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng, 2)
        return numbers(rng, sizes), numbers(rng, sizes[-1:])

    check(ops_elementwise._add_n, listed)
    check(ops_elementwise._select, choice)
    check(ops_elementwise._bias_add, bias)
    check(ops_elementwise._casts[af.float32], lambda rng: (rng.integers(-9, 9, shape(rng)).astype("i4"),))


def test_an_order_or_a_type_that_is_not_expected_is_left_to_python() -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        sizes = (3, 4)
        x = numbers(rng, sizes)
        return x.T if rng.random() < 0.5 else numbers(rng, sizes[::-1])[::-1], numbers(rng, sizes[::-1])

    check(ops_elementwise._add, make, 0)


@pytest.mark.parametrize("name", ["_sum", "_mean", "_max", "_min"])
def test_reductions_have_the_bits_of_numpys(name: str) -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        sizes = shape(rng) if rng.random() < 0.7 else tuple(int(n) for n in rng.integers(1, (5, 200)))
        if name in ("_sum", "_mean") and np.prod(sizes) >= 1024:
            sizes = sizes[:2]  # longer sums go another way
        x = rng.normal(size=sizes).astype(rng.choice(["f4", "f8"]))
        first = int(rng.integers(0, x.ndim))
        axes = np.arange(first, int(rng.integers(first, x.ndim)) + 1, dtype="i4")
        if rng.random() < 0.2:
            axes = rng.permutation(axes).astype("i4") - np.int32(x.ndim)
        return x, axes if axes.size > 1 or rng.random() < 0.5 else axes[0:1].reshape(()), bool(rng.random() < 0.5)

    check(getattr(ops_reduce, name), make)


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

    def rows(rng: Rng) -> tuple[Any, ...]:
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

    check(ops_arrays._segment_sum, segments)
    check(ops_arrays._one_hot, one_hot)
    check(ops_gathering._gather, rows)
    check(ops_arrays._argmax, largest)
    check(ops_arrays._top_k, top)


def test_segments_of_many_rows_are_close() -> None:
    rng = np.random.default_rng(SEED)
    data, ids = rng.normal(size=(900, 40)), np.sort(rng.integers(0, 50, 900)).astype("i4")
    wanted = np.zeros((int(ids[-1]) + 1, 40))
    np.add.at(wanted, ids, data)
    native = ops_arrays._segment_sum
    for dtype in ("f4", "f8"):
        native.compile((dtype, "i4"))
        np.testing.assert_allclose(native.call(data.astype(dtype), ids), wanted, rtol=1e-4, atol=1e-4)


def test_random_numbers_have_the_bits_that_are_defined() -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        key = rng.integers(0, 2**64 - 1, 2, dtype="u8")
        return np.array(shape(rng, 0, 3), "i4"), key, int(rng.integers(0, 2**40))

    check(ops_random._small, make)
    rng = np.random.default_rng(SEED)
    ops_random._large.work.make()
    for count in (1, 9, 70_000, 100_003):
        _, key, run = make(rng)
        sizes, out = np.array([count], "i4"), np.empty(count, "f4")
        assert same(ops_random._large.fill(sizes, key, run, out), ops_random._python(sizes, key, run)), count


def test_what_goes_into_a_buffer_is_the_buffer() -> None:
    rng = np.random.default_rng(SEED)
    params, ids = rng.normal(size=(50, 8)).astype("f4"), rng.integers(0, 50, 30).astype("i4")
    out = np.empty((30, 8), "f4")
    ops_gathering._gather_into.compile(("f4", "i4", "f4"))
    before = sys.getrefcount(out)
    assert ops_gathering._gather_into.call(params, ids, out) is out
    assert same(out, params[ids])
    assert sys.getrefcount(out) == before
    ops_gathering._large_gather.work.make()
    large, many = rng.normal(size=(300, 64)).astype("f4"), rng.integers(0, 300, 5000).astype("i4")
    out = np.empty((5000, 64), "f4")
    assert same(ops_gathering._large_gather.into(large, many, out), large[many])
    many[77] = 300
    with pytest.raises(ValueError, match="300"):
        ops_gathering._large_gather.into(large, many, out)


def test_builtin_functions_keep_and_lose_no_references() -> None:
    x = np.ones((5, 6), "f4")
    axis = np.array([0], "i4")
    ops_elementwise._add.compile(("f4:full", "f4:full"))
    ops_reduce._sum.compile(("f4", "i4", ""))
    ops_arrays._top_k.compile(("f4", "i4"))
    five = np.array(5, "i4")
    kept = [x, axis, five, x.dtype, True, None]
    before = [sys.getrefcount(one) for one in kept[:3]]
    for _ in range(200):
        ops_elementwise._add.call(x, x)
        ops_reduce._sum.call(x, axis, True)
        ops_arrays._top_k.call(x, five)
    gc.collect()
    assert [sys.getrefcount(one) for one in kept[:3]] == before
    assert sys.getrefcount(ops_elementwise._add.call(x, x)) == sys.getrefcount(np.add(x, x))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_softmax_and_the_cross_entropy_of_long_rows(dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    for labels in ("", "i4", "i8"):
        ops_rows.rows_of(dtype, labels).make()
    for attempt in range(12):
        x = numbers(rng, (int(rng.integers(40, 90)), int(rng.integers(110, 400))), dtype) * 10
        labels = rng.integers(0, x.shape[1], len(x)).astype("i4" if attempt % 2 else "i8")
        with np.errstate(all="ignore"):
            close = {"rtol": 1e-5 if dtype == "f4" else 1e-12, "atol": 1e-6 if dtype == "f4" else 1e-13}
            np.testing.assert_allclose(ops_rows.softmax_of(x, -1, None), nn.softmax(np, x, axis=-1), **close)
            found = ops_rows.cross_entropy(x, labels)
            assert found is not None
            for given, wanted in zip(found, nn.sparse_softmax_cross_entropy(np, x, labels), strict=True):
                np.testing.assert_allclose(given, wanted, **close)
    assert ops_rows.cross_entropy(x, labels + x.shape[1]) is None


def test_large_arrays_one_after_the_other() -> None:
    rng = np.random.default_rng(SEED)
    ops_joining.work.make()
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
            out = np.full_like(wanted, 77)
            done = ops_joining.joined(values, axis, out)
            assert done == (wanted.nbytes >= ops_joining.LEAST)
            assert not done or np.array_equal(out, wanted)


def test_a_concatenation_that_does_not_fit_is_numpys() -> None:
    ops_joining.work.make()
    out, values = np.empty((12, 50_000), "f4"), [np.ones((12, 25_000), "f4")] * 2
    assert ops_joining.joined(values, 1, out)
    for wrong, axis in (
        ([*values, values[0]], 1),
        (values[:1], 1),
        ([v.reshape(6, 50_000) for v in values], 1),
        ([v.astype("f8") for v in values], 1),
        ([np.asfortranarray(v) for v in values], 1),
        (values, 2),
        (values, -3),
    ):
        assert not ops_joining.joined(wrong, axis, out)
    with pytest.raises(ValueError, match="axis 2"):
        ops_joining.concat(np, values, np.array(2, "i4"), out=out)


def test_the_batch_normalization_of_a_training_step() -> None:
    rng = np.random.default_rng(SEED)
    ops_norm._work.parts.make()
    nothing = np.zeros(0, "f4")
    attrs = {"epsilon": 1e-3, "data_format": "NHWC", "is_training": True}
    for sizes in ((3, 7, 9, 5), (2, 3, 3, 64), (1, 1, 9, 300), (32, 14, 14, 16)):
        x = (rng.normal(size=sizes) * 3 + 2).astype("f4")
        given = (
            x,
            rng.uniform(0.5, 2, sizes[3]).astype("f4"),
            rng.normal(size=sizes[3]).astype("f4"),
            nothing,
            nothing,
        )
        found = ops_norm.fused_batch_norm(np, *given, **attrs)
        for one, other in zip(found, normalization.fused_batch_norm(np, *given, **attrs), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_large_tensors_have_the_same_bits_on_one_thread_and_on_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    rng = np.random.default_rng(SEED)
    x, y = (rng.uniform(0.5, 2, (600, 500)).astype("f4") for _ in range(2))
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("_add", (x, y)),
        ("_exp", (x,)),
        ("_sigmoid", (x,)),
        ("_add_n", ([x, y, x],)),
        ("_select", (x > 1, x, y)),
        ("_bias_add", (x, y[0].copy())),
        ("_maximum", (x, np.array(1, "f4"))),
    ]
    for name, given in cases:
        native = getattr(ops_elementwise, name)
        native.compile_large(native._types(given))
        wanted = native._base(np, *given, out=np.empty_like(x))
        work = native._large[native._types(given)]
        for both in (False, True):
            monkeypatch.setattr(work, "run", work.together if both else work.alone)
            assert same(native.into(*given, out=np.empty_like(x)), wanted), (name, both)


def test_pools_of_maxima_go_before_those_of_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACTORFLOW_KERNELS", raising=False)
    attrs = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
    images, pooled = (8, 28, 28, 32), (8, 14, 14, 32)
    for op, shapes in (("MaxPool", [images]), ("MaxPoolGrad", [images, pooled, pooled])):
        base = kernel.lookup(op, "CPU", [af.float32])
        assert library.best(base, "CPU", [af.float32], attrs, shapes).library == "jit"


def test_slices_with_steps_are_those_of_the_kernel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks = [(0, 0), (1, 2), (3, 0), (0, 7)]
    functions = {}
    for pair in masks:
        native = ops_slices.slice_of(*pair)
        native.compile(("f4", "i4", "i4", "i4"))
        functions[pair] = native.call
        assert type(native.call).__name__ == "builtin_function_or_method"
    for attempt in range(TRIES):
        shape = tuple(int(n) for n in rng.integers(0, 8, int(rng.integers(1, 5))))
        x = rng.normal(size=shape).astype("f4")
        begin, end = (rng.integers(-9, 10, len(shape)).astype("i4") for _ in range(2))
        steps = rng.choice([1, 1, 2, 3, 50] + [-1] * (attempt % 5 == 0), len(shape)).astype("i4")
        pair = masks[attempt % len(masks)]
        given = {"begin_mask": pair[0], "end_mask": pair[1]}
        none = {"ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}
        wanted = indexing.strided_slice(np, x, begin, end, steps, **given, **none)
        found = functions[pair](x, begin, end, steps)
        told = f"seed {seed}, attempt {attempt}: {shape}, {begin}, {end}, {steps}, {pair}"
        assert found.shape == wanted.shape and found.tobytes() == wanted.tobytes(), told
    with pytest.raises((ValueError, IndexError, af.errors.OpError)):
        functions[0, 0](x, begin, end, np.zeros_like(steps))


def test_transposed_matrices_are_copied_in_blocks_and_computed_in_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turning.turner.work.make()
    shapes = [(64, 64), (300, 301), (17, 300), (5, 1000), (1000, 5), (1, 5000), (600, 900)]
    for rows, columns in shapes:
        x = rng.normal(size=(columns, rows)).astype("f4")
        x.flat[:3] = np.nan, np.inf, -0.0
        out = np.empty((rows, columns), "f4")
        before = x.copy()
        found = ops_elementwise.negative(np, x.T, out=out)
        assert found is out and same(out, -x.T), (rows, columns)
        assert same(x, before), "the input changed"
        whole = rng.integers(-9, 9, (columns, rows), dtype="i4")
        assert turning.turner.suits(whole.T, np.empty((rows, columns), "i4")) == (min(rows, columns) > 1)
        assert same(ops_elementwise.square(np, whole.T, out=np.empty((rows, columns), "i4")), whole.T**2)
    square = rng.normal(size=(80, 80)).astype("f4")
    wanted = -square.T
    assert same(ops_elementwise.negative(np, square.T, out=square), wanted), "into the memory that it reads"
    for other in (square.astype("f8").T, square[::2, ::2].T, square.T[1:]):
        out = np.empty(other.shape, other.dtype)
        assert not turning.turner.suits(other, out)
        assert same(ops_elementwise.negative(np, other, out=out), -other)


def test_pools_of_maxima_and_their_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """With NaN, with equal maxima, with windows that overlap or leave gaps, and with elements that no window has."""
    rng = np.random.default_rng(SEED)
    tried = {False: 0, True: 0}
    windows = ((2, 2, 2, 2), (3, 2, 3, 2), (1, 3, 1, 3), (3, 3, 2, 2), (2, 1, 3, 1))
    monkeypatch.setattr(ops_pool, "library", None)  # whatever does not fit would fail
    for attempt in range(TRIES):
        high, wide, down, right = windows[int(rng.integers(len(windows)))]
        sizes = (*(int(n) for n in rng.integers((1, 3, 3), (4, 9, 9))), int(rng.choice([8, 16, 24, 32])))
        x = rng.integers(-3, 3, sizes).astype("f4") if rng.random() < 0.5 else numbers(rng, sizes)
        attrs: dict[str, Any] = {"ksize": (1, high, wide, 1), "strides": (1, down, right, 1)}
        attrs["padding"] = str(rng.choice(["SAME", "VALID"]))
        y = pool.max_pool(np, x, **attrs)
        dy = rng.normal(size=y.shape).astype("f4")
        told = f"seed {SEED}, attempt {attempt}: {sizes}, {attrs}"
        for gradient, can in ((False, ops_pool._can), (True, ops_pool._can_gradient)):
            if not can(attrs, [sizes]):
                continue
            window = high, wide, down, right
            made = ops_pool.pool_of(window, ops_pool._fits(window, sizes[3]), gradient)
            if made.work.made is None:
                made.work.make()
            tried[gradient] += 1
            if gradient:
                found, wanted = ops_pool.max_pool_grad(np, x, y, dy, **attrs), pool.max_pool_grad(np, x, y, dy, **attrs)
            else:
                found, wanted = ops_pool.max_pool(np, x, **attrs), y
            np.testing.assert_array_equal(found, wanted, told)
    assert min(tried.values()) > 20


MEDIUM = ("_add", "_square", "_relu", "_sigmoid", "_maximum", "_select", "_add_n", "_bias_add", "_cast", "_exp")


@pytest.mark.parametrize("name", MEDIUM)
def test_what_goes_into_a_buffer_has_the_bits_of_numpys(name: str) -> None:
    rng = np.random.default_rng(SEED)
    x, y = numbers(rng, (150, 200)), numbers(rng, (150, 200))
    given: dict[str, tuple[Any, ...]] = {
        "_add": (x, y),
        "_maximum": (x, np.array(0.5, "f4")),
        "_select": (rng.random(x.shape) < 0.5, x, y),
        "_add_n": ([x, y, x],),
        "_bias_add": (x, y[0].copy()),
        "_cast": ((x * 100).astype("i4"),),
    }
    arguments = given.get(name, (x,))
    native = ops_elementwise._casts[af.float32] if name == "_cast" else getattr(ops_elementwise, name)
    native.medium.compile(native._types(arguments))
    assert (native.medium.call == native.medium._counted) == (
        name == "_exp"
    )  # numpy's own function takes it as a whole
    with np.errstate(all="ignore"):
        out, wanted = np.empty_like(x), native._base(np, *arguments, out=np.empty_like(x))
        assert native.into(*arguments, out=out) is out
        assert same(out, wanted)
        turned = np.empty((200, 150), "f4").T  # an order that it leaves to Python
        assert same(np.ascontiguousarray(native.into(*arguments, out=turned)), wanted)


def test_the_inverse_root_is_within_a_unit_in_the_last_place() -> None:
    rng = np.random.default_rng(SEED)
    x = np.exp(rng.uniform(-87, 87, 300_000)).astype("f4")
    x[:8] = [0, -0.0, np.inf, -1, np.nan, 1e-45, 1e-40, np.finfo("f4").max]
    native = ops_elementwise._rsqrt
    native.medium.compile(("f4:full",))
    native.compile_large(("f4:full",))
    with np.errstate(all="ignore"):
        wanted = 1 / np.sqrt(x.astype("f8"))
        for count in (1, 7, 16, 1000, x.size):
            found = native.into(x[:count], out=np.empty(count, "f4"))
            np.testing.assert_allclose(found, wanted[:count], rtol=1.3e-7)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_long_sums_are_close(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    rng = np.random.default_rng(SEED)
    for native in (ops_reduce._sum, ops_reduce._mean):
        native.compile((dtype, "i4", ""))
    sums.sums_of(dtype).work.make()
    exact = {"f4": 2e-6, "f8": 1e-14}[dtype]
    for sizes in ((300, 300), (1, 1031), (1500,), (40, 50, 60), (7, 65_536), (700, 400), (300_001,), (3, 90, 1000)):
        x = rng.uniform(0.5, 1.5, sizes).astype(dtype)
        for axes in {(0,), (x.ndim - 1,), tuple(range(x.ndim))}:
            wanted = x.astype(np.longdouble).sum(axes)
            for keep in (False, True):
                total = ops_reduce._sum.call(x, np.array(axes, "i4"), keep)
                assert (total.dtype, total.shape) == (x.dtype, x.sum(axes, keepdims=keep).shape)
                np.testing.assert_allclose(np.reshape(total, wanted.shape), wanted.astype("f8"), rtol=exact)
                mean = ops_reduce._mean.call(x, np.array(axes, "i4"), keep)
                np.testing.assert_allclose(mean, x.mean(axes, dtype="f8", keepdims=keep), rtol=exact)
    x[0, 0, 0] = np.nan
    assert np.isnan(ops_reduce._sum.call(x, np.array((0, 1, 2), "i4"), False))


def test_a_session_gives_the_same_before_and_after_its_kernels_are_compiled() -> None:
    async def program() -> None:
        graph = af.Graph()
        with graph.as_default():
            x = af.placeholder(af.float32, [6, 7])
            y = af.reduce_sum(af.tanh(x * 2.0 + 1.0), 1)
        value = np.random.default_rng(SEED).normal(size=(6, 7)).astype("f4")
        async with af.Session(graph=graph) as session:
            call = await session.make_callable(y, [x])
            first = await call(value)
            for _ in range(builtin.PATIENCE):
                await call(value)
            await asyncio.to_thread(jit.background.wait, 30)
            assert same(await call(value), first)

    asyncio.run(program())
