"""Products that two threads compute without the interpreter: what they give is what one thread gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

pytest.importorskip("llvmlite", reason="the extra `jit` is not installed")

from actorflow.kernels.jit.team import team
from actorflow.kernels.onednn import matmul, together
from actorflow.kernels.onednn.binding import loaded
from actorflow.runtime.codegen.jit import RUNS, TieredCache, background

library = loaded()
pytestmark = pytest.mark.skipif(
    library is None or library.addresses() is None, reason="oneDNN with OpenMP is not installed"
)


class Decided:
    """A balance that was decided beforehand, and what it was told."""

    def __init__(self, both: bool) -> None:
        self._both = both
        self.told: list[bool] = []

    def divides(self) -> bool:
        return self._both

    def add(self, divided: bool, nanoseconds: int) -> None:
        self.told.append(divided)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code is there, and there are two cores."""
    if together.code.made is None:
        together.code.make()
    monkeypatch.setattr(together, "cores", lambda: 2)
    assert background.wait(PATIENCE)


def product(m: int, n: int, k: int, turned: tuple[bool, bool], by_rows: bool, both: bool) -> Any:
    whole = matmul._gemm(library, m, n, k, *turned)  # type: ignore[arg-type]
    made = together.Product(library, (m, n, k), turned, by_rows, whole)  # type: ignore[arg-type]
    made._balance = Decided(both)  # type: ignore[assignment]
    return made


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_parts_make_up_the_product(
    turned: tuple[bool, bool], by_rows: bool, both: bool, compiled: None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    for m, n, k in ((130, 70, 40), (1, 50, 3), (50, 1, 3), (16, 16, 1), (*rng.integers(1, 200, 3).tolist(),)):
        a = rng.normal(size=(k, m) if turned[0] else (m, k)).astype(np.float32)
        b = rng.normal(size=(n, k) if turned[1] else (k, n)).astype(np.float32)
        c = rng.normal(size=(m, n)).astype(np.float32)
        right = (a.T if turned[0] else a) @ (b.T if turned[1] else b)
        made = product(m, n, k, turned, by_rows, both)
        for alpha, beta in ((1.0, 1.0), (-0.25, 1.0), (1.0, 0.0)):
            found = c.copy()
            assert made.run(a, b, found, alpha, beta)
            np.testing.assert_allclose(found, alpha * right + beta * c, rtol=1e-3, atol=1e-3)
        assert made._balance.told == [both] * 3


def test_nan_and_infinity_stay_where_they_are(compiled: None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(64, 32)).astype(np.float32), rng.normal(size=(32, 48)).astype(np.float32)
    a[3, 1], a[40, 5] = np.nan, np.inf
    found = np.full((64, 48), np.nan, np.float32)
    assert product(64, 48, 32, (False, False), True, True).run(a, b, found, 1.0, 0.0)
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    assert np.isnan(found[3]).all() and np.isinf(found[40]).any()


def test_the_number_of_threads_is_the_callers_afterwards(compiled: None) -> None:
    assert library is not None
    own = library.set_threads(2)
    try:
        for both in (False, True):
            x = np.ones((64, 64), np.float32)
            assert product(64, 64, 64, (False, False), True, both).run(x, x, np.empty_like(x), 1.0, 0.0)
            assert library.set_threads(2) == 2
    finally:
        library.set_threads(own)


def test_a_refusal_of_the_library_is_an_error(compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made = product(64, 64, 64, (False, False), True, True)
    made._words[together._AT["a_kind"]] = ord("?")
    x = np.ones((64, 64), np.float32)
    with pytest.raises(Exception, match="a product"):
        made.run(x, x, np.empty_like(x), 1.0, 0.0)


def test_the_code_is_compiled_after_some_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Any] = []
    code = TieredCache(together._compiled)
    monkeypatch.setattr(together, "code", code)
    monkeypatch.setattr(background, "add", jobs.append)
    made = product(64, 64, 64, (False, False), True, True)
    x = np.ones((64, 64), np.float32)
    for _ in range(2 * RUNS):
        assert not made.run(x, x, np.empty_like(x), 1.0, 0.0)
    assert jobs == [code.make]


@pytest.mark.parametrize("looks", [False, True])
def test_the_caller_does_more_than_half_where_the_other_thread_sleeps(
    looks: bool, compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[int] = []
    monkeypatch.setattr(type(team), "looks", property(lambda self: looks))
    monkeypatch.setattr(together.code, "made", lambda desk, count, piece, words: pieces.append(piece))
    x = np.ones((256, 256), np.float32)
    product(256, 256, 256, (False, False), True, True).run(x, x, np.empty_like(x), 1.0, 0.0)
    assert pieces[0] == 128 if looks else pieces[0] > 128


def test_nothing_is_divided_or_measured_as_long_as_a_compiler_works(
    compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(background), "idle", property(lambda self: False))
    made = product(64, 64, 64, (False, False), True, True)
    monkeypatch.setattr(team, "desk", lambda: pytest.fail("it is divided"))
    x = np.ones((64, 64), np.float32)
    assert made.run(x, x, y := np.empty_like(x), 1.0, 0.0)
    assert made._balance.told == [] and y[0, 0] == 64
