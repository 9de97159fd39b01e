"""Elementwise functions in C: sums, products, activations, views, casts and choices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from native_cases import SEED, Rng, check, numbers, on, same, shape

from actorflow.kernels.math import arithmetic, logic
from actorflow.kernels.math import cast as casts
from actorflow.kernels.math import elementwise as unary
from actorflow.kernels.native import elementwise
from actorflow.kernels.native.library import loaded
from actorflow.kernels.nn import activation as nn

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")

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


def test_the_inverse_root_is_within_a_unit_in_the_last_place() -> None:
    rng = np.random.default_rng(SEED)
    x = np.exp(rng.uniform(-87, 87, 300_000)).astype("f4")
    x[:8] = [0, -0.0, np.inf, -1, np.nan, 1e-45, 1e-40, np.finfo("f4").max]
    with np.errstate(all="ignore"):
        wanted = 1 / np.sqrt(x.astype("f8"))
        for count in (1, 7, 16, 1000, x.size):
            found = elementwise._rsqrt(x[:count], np.empty(count, "f4"))
            np.testing.assert_allclose(found, wanted[:count], rtol=1.3e-7)
