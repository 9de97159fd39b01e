"""Products and LAPACK take one thread of OpenBLAS each, large ones those of the pool; the process's own number is left alone."""

from __future__ import annotations

import itertools
import threading
import types
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

from actorflow.base.process import machine
from actorflow.kernels.linalg import lapack
from actorflow.kernels.math import matmul as math_matmul
from actorflow.kernels.native.library import loaded
from actorflow.kernels.shared import blas, thread_count
from actorflow.kernels.shared import threads as pool


class Threads:
    """A thread count like OpenBLAS's, and what each product saw of it."""

    def __init__(self, count: int = 8) -> None:
        self.count = count
        self.seen: list[int] = []
        self.asked: list[int] = []

    def get(self) -> int:
        return self.count

    def set(self, count: int) -> None:
        self.count = count
        self.asked.append(count)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    """Products of every size are for the library, and their threads are counted."""
    made = Threads()
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    library = blas.Library("numpy", made.get, made.set)
    monkeypatch.setattr(blas, "openblas", lambda of: library)
    monkeypatch.setattr(blas, "WORTH_SPLITTING", 0)
    return made


def watch(monkeypatch: pytest.MonkeyPatch, product: Any) -> None:
    """Puts `product` in the place of numpy's, for the threaded products alone."""
    monkeypatch.setattr(blas, "np", types.SimpleNamespace(matmul=product, ndarray=np.ndarray))


SHAPES = [(1, 1, 1), (1, 7, 1), (3, 1, 5), (0, 3, 2), (2, 0, 3), (65, 67, 71), (128, 1, 127)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int32], ids=lambda d: d.__name__)
@pytest.mark.parametrize("transposed", list(itertools.product([False, True], repeat=2)), ids=str)
def test_f89_products_equal_numpys(threads: Threads, shape: tuple[int, ...], dtype: Any, transposed: Any) -> None:
    rng = np.random.default_rng(3)
    n, k, m = shape
    a = rng.integers(-9, 9, (k, n) if transposed[0] else (n, k)).astype(dtype)
    b = rng.integers(-9, 9, (m, k) if transposed[1] else (k, m)).astype(dtype)
    a, b = (a.T if transposed[0] else a), (b.T if transposed[1] else b)
    expected = np.matmul(a, b)
    for _ in range(3):
        np.testing.assert_array_equal(blas.matmul(a, b), expected)
        out = np.full((n, m), 99, dtype)
        assert blas.matmul(a, b, out) is out
        np.testing.assert_array_equal(out, expected)
    assert threads.count == 8


def test_f89_products_take_one_thread_of_the_library(threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    def product(a: Any, b: Any, out: Any = None) -> Any:
        threads.seen.append(threads.count)
        return np.matmul(a, b, out=out)

    watch(monkeypatch, product)
    monkeypatch.setattr(blas, "most_threads", lambda: 2)
    a = np.ones((4, 4), np.float32)
    for _ in range(3):
        blas.matmul(a, a)
    assert threads.seen == [1, 1, 1]
    assert threads.count == 8


def test_f89_without_the_pool_the_threads_of_the_library_go_by_the_work(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas, "most_threads", lambda: 1)
    monkeypatch.setattr(pool, "_counts", {})
    seen = []
    monkeypatch.setattr(thread_count.ThreadCount, "run", lambda self, work: [seen.append(self._most), work(4)][1])

    def product(a: Any, b: Any, out: Any = None) -> Any:
        threads.seen.append(threads.count)
        return np.matmul(a, b, out=out)

    watch(monkeypatch, product)
    a = np.ones((4, 4), np.float32)
    np.testing.assert_array_equal(blas.matmul(a, a), a * 4)
    assert (seen, threads.seen, threads.count) == ([8], [4], 8)


@pytest.mark.skipif(loaded() is None, reason="the library in C is not there")
@pytest.mark.parametrize("shape", [(65, 30, 7), (7, 30, 65), (40, 1, 40)], ids=str)
def test_f89_large_products_are_shared_by_threads_of_the_pool(
    threads: Threads, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], seed: int
) -> None:
    monkeypatch.setattr(blas, "WORTH_DIVIDING", 0)
    monkeypatch.setattr(blas, "most_threads", lambda: 3)
    monkeypatch.setattr(pool, "most_threads", lambda: 3)
    monkeypatch.setattr(thread_count.ThreadCount, "run", lambda self, work: work(3))
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=shape[:2]), rng.normal(size=shape[1:])
    np.testing.assert_allclose(blas.matmul(a, b), a @ b)
    out = np.empty((shape[0], shape[2]))
    assert blas.matmul(a, b, out) is out
    np.testing.assert_allclose(out, a @ b)
    assert threads.count == 8


def test_f89_the_thread_count_is_restored_when_the_product_raises(threads: Threads) -> None:
    a = np.ones((4, 4), np.float32)
    blas.matmul(a, a)
    for _ in range(3):
        with pytest.raises(ValueError, match="mismatch"):
            blas.matmul(a, a, np.empty((3, 3), np.float32))
        assert threads.count == 8


def test_f89_shapes_that_do_not_fit_raise_numpys_error(threads: Threads) -> None:
    with pytest.raises(ValueError, match="mismatch"):
        blas.matmul(np.ones((4, 4)), np.ones((5, 4)))
    assert threads.count == 8


def test_f89_the_thread_count_is_restored_when_products_overlap(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two devices compute at once, and the product that began first ends first."""
    inside = [threading.Event(), threading.Event()]
    leave = [threading.Event(), threading.Event()]

    def product(a: Any, b: Any, out: Any = None) -> Any:
        index = int(a[0, 0])
        inside[index].set()
        leave[index].wait(PATIENCE)
        threads.seen.append(threads.count)
        return b

    watch(monkeypatch, product)
    monkeypatch.setattr(blas, "most_threads", lambda: 2)
    workers = []
    for index in (0, 1):
        workers.append(
            threading.Thread(target=blas.matmul, args=(np.full((index + 2, 2), float(index)), np.ones((2, 2))))
        )
        workers[-1].start()
        assert inside[index].wait(PATIENCE)
    for index in (0, 1):
        leave[index].set()
        workers[index].join(PATIENCE)
    assert threads.seen == [1, 1], "both ran on one thread, the second one also after the first had ended"
    assert threads.count == 8


def test_f89_small_products_and_other_arrays_are_left_to_numpy(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas, "WORTH_SPLITTING", 65)
    seen: list[str] = []
    library = blas.openblas("numpy")
    monkeypatch.setattr(blas, "openblas", lambda of: seen.append(of) or library)
    blas.matmul(np.ones((4, 4)), np.ones((4, 4)))
    blas.matmul(np.ma.ones((5, 5)), np.ones((5, 5)))
    assert not seen
    blas.matmul(np.ones((5, 5)), np.ones((5, 5)))
    assert seen == ["numpy"]


def test_f89_fewer_threads_than_another_call_has_are_taken_for_both_and_more_are_not(threads: Threads) -> None:
    library = blas.openblas("numpy")
    assert library is not None
    with library.on_threads(4):
        with library.on_threads(8):
            assert threads.count == 4
        with library.on_threads(1):
            assert threads.count == 1
    assert threads.count == 8


def test_f89_each_wheel_has_a_library_of_its_own_and_keeps_its_threads() -> None:
    """Only where there are such wheels, with several threads."""
    pytest.importorskip("scipy.linalg.lapack")
    blas.openblas.cache_clear()
    libraries = [blas.openblas(of) for of in ("numpy", "scipy")]
    if None in libraries:
        pytest.skip("this processor has one core, or the libraries are others")
    before = [library._get() for library in libraries if library]
    x = np.random.default_rng(1).normal(size=(80, 80)).astype(np.float32)
    positive = x @ x.T + 80 * np.eye(80, dtype=np.float32)
    np.testing.assert_allclose(lapack.cholesky(positive) @ lapack.cholesky(positive).T, positive, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(lapack.inverse(positive) @ positive, np.eye(80), atol=1e-3)
    with pytest.raises(np.linalg.LinAlgError):
        lapack.cholesky(-positive)
    assert [library._get() for library in libraries if library] == before


def test_f89_numpys_own_library_keeps_its_threads() -> None:
    """Only if numpy has an OpenBLAS of several threads; elsewhere products are numpy's."""
    library = blas.openblas("numpy")
    before = library._get() if library else 1
    a = np.ones((80, 80), np.float32)
    for _ in range(4):
        np.testing.assert_array_equal(blas.matmul(a, a), np.full((80, 80), 80, np.float32))
        with pytest.raises(ValueError, match="mismatch"):
            blas.matmul(a, a, np.empty((3, 3), np.float32))
    assert (library._get() if library else 1) == before


PRODUCTS = {
    "two matrices": (blas.matmul_batch, [(4, 5), (5, 6)], "ij,jk->ik"),
    "a shared matrix": (blas.matmul_batch, [(3, 4, 5), (5, 6)], "nij,jk->nik"),
    "a shared matrix, two sizes of the batch": (blas.matmul_batch, [(2, 3, 4, 5), (5, 6)], "mnij,jk->mnik"),
    "pairs": (blas.matmul_batch, [(3, 4, 5), (3, 5, 6)], "nij,njk->nik"),
    "broadcast": (blas.matmul_batch, [(1, 4, 5), (3, 5, 6)], "mij,njk->nik"),
    "the kernel of batches": (
        lambda a, b, out=None: math_matmul.batch_matmul_on_cpu(np, a, b, adj_x=False, adj_y=False, out=out),
        [(4, 5), (5, 6)],
        "ij,jk->ik",
    ),
    "einsum": (
        lambda a, b, out=None: math_matmul.einsum(np, [a, b], equation="nij,jk->nik", out=out),
        [(3, 4, 5), (5, 6)],
        "nij,jk->nik",
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_each_form_of_a_product_takes_one_thread_of_the_library(threads: Threads, name: str, seed: int) -> None:
    product, shapes, equation = PRODUCTS[name]
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes)
    expected = np.einsum(equation, a, b)
    np.testing.assert_array_equal(product(a, b), expected)
    assert threads.asked == [1, 8]
    for out in (np.empty(expected.shape, np.float32), np.empty((*expected.shape[:-1], 12), np.float32)[..., ::2]):
        product(a, b, out=out)
        np.testing.assert_array_equal(out, expected)
    assert threads.count == 8
