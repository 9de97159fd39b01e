"""Compares kernels in C with those in Python, on random arguments, on one thread and on several."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import OpError
from actorflow.kernels.native.library import loaded

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


def agree(
    native: Callable[..., Any], reference: Callable[..., Any], *arguments: Any, exact: bool = True, **options: Any
) -> None:
    """Both give the same arrays of the arguments, or raise the same error. Not `exact`: floats may differ in last bits."""
    with np.errstate(all="ignore"):
        try:
            expected = reference(*arguments, **options)
        except (ValueError, IndexError, OpError) as error:
            with pytest.raises(type(error)) as raised:
                native(*arguments, **options)
            assert str(raised.value) == str(error)
            return
        result = native(*arguments, **options)
    for left, right in zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]:
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        if left.dtype == object:
            assert left.tolist() == right.tolist()
        elif exact:
            assert left.tobytes() == right.tobytes()
        else:
            np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
