"""Matrix products take all threads while that pays; the process's own number of threads is never changed for others."""

from __future__ import annotations

import itertools
import threading
import types
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

from actorflow.kernels.shared import blas

FAST, ONE, SLOW = 60, 100, 1000  # ns: a product on all threads that pay, on one thread, on all where they wait
SHORTEST, LONGEST = blas._SHORTEST, blas._LONGEST


def measured() -> blas.Governor:
    """A governor that has seen the product once on all threads and once on one."""
    governor = blas.Governor()
    assert governor.splits()
    governor.add(True, FAST)
    assert not governor.splits()
    governor.add(False, ONE)
    return governor


def rests(governor: blas.Governor) -> int:
    """Makes a split slow, and counts the products that then run on one thread."""
    governor.add(True, SLOW)
    count = 0
    while not governor.splits():
        governor.add(False, ONE)
        count += 1
        assert count <= LONGEST
    return count


# ---- the decisions


def test_f89_the_first_product_splits_and_the_second_one_does_not() -> None:
    measured()


def test_f89_products_go_on_splitting_while_it_pays() -> None:
    governor = measured()
    for _ in range(1000):
        assert governor.splits()
        governor.add(True, FAST)


def test_f89_one_slow_split_makes_the_next_products_rest() -> None:
    assert rests(measured()) == SHORTEST
    governor = measured()
    governor.add(True, 22 * ONE // 10)  # more than twice one thread, though the mean is still below it
    assert not governor.splits()


def test_f89_splits_that_are_a_little_slower_than_one_thread_rest_too() -> None:
    governor = measured()
    for _ in range(100):
        if not governor.splits():
            return
        governor.add(True, ONE * 3 // 2)
    pytest.fail("it kept splitting although one thread is faster")


def test_f89_patience_doubles_with_each_disappointment_up_to_a_bound() -> None:
    governor = measured()
    found = [rests(governor) for _ in range(12)]
    assert found == [min(SHORTEST << i, LONGEST) for i in range(12)]


def test_f89_one_good_try_after_a_rest_is_enough_to_split_again() -> None:
    governor = measured()
    rests(governor)
    governor.add(True, FAST)
    for _ in range(100):
        assert governor.splits()
        governor.add(True, FAST)


def test_f89_patience_recovers_while_splits_pay() -> None:
    governor = measured()
    for _ in range(6):
        rests(governor)
    for _ in range(LONGEST):
        governor.add(True, FAST)
    assert rests(governor) == SHORTEST


def test_f89_one_slow_measurement_of_one_thread_counts_little_and_a_fast_one_at_once() -> None:
    governor = measured()
    governor.add(False, 10 * ONE)
    assert rests(governor) == SHORTEST  # with its whole weight, ten times ONE would be as slow as SLOW
    governor = measured()
    governor.add(False, FAST // 2)
    governor.add(True, FAST)
    assert not governor.splits()


# ---- the products


class Threads:
    """A thread count like OpenBLAS's, and what each product saw of it."""

    def __init__(self, count: int = 8) -> None:
        self.count = count
        self.seen: list[int] = []

    def get(self) -> int:
        return self.count

    def set(self, count: int) -> None:
        self.count = count


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    """Products of every size are governed, and their threads are counted."""
    made = Threads()
    library = blas.Library(made.get, made.set)
    monkeypatch.setattr(blas, "_library", lambda: library)
    monkeypatch.setattr(blas, "WORTH_SPLITTING", 0)
    return made


def watch(monkeypatch: pytest.MonkeyPatch, product: Any) -> None:
    """Puts `product` in the place of numpy's, for the governed products alone."""
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
    for _ in range(3):  # on all threads, on one, and on those that pay
        np.testing.assert_array_equal(blas.matmul(a, b), expected)
        out = np.full((n, m), 99, dtype)
        assert blas.matmul(a, b, out) is out
        np.testing.assert_array_equal(out, expected)
    assert threads.count == 8


def test_f89_the_second_product_of_a_size_runs_on_one_thread(threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    def product(a: Any, b: Any, out: Any = None) -> Any:
        threads.seen.append(threads.count)
        return np.matmul(a, b, out=out)

    watch(monkeypatch, product)
    a = np.ones((4, 4), np.float32)
    blas.matmul(a, a)
    blas.matmul(a, a)
    blas.matmul(np.ones((5, 4), np.float32), a)  # another size, measured by itself
    assert threads.seen == [8, 1, 8]
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
        if index >= 0:
            inside[index].set()
            leave[index].wait(PATIENCE)
            threads.seen.append(threads.count)
        return b

    watch(monkeypatch, product)
    for rows in (2, 3):  # the first product of each size is the one on all threads
        blas.matmul(np.full((rows, 2), -1), np.ones((2, 2)))
    workers = []
    for index in (0, 1):
        workers.append(threading.Thread(target=blas.matmul, args=(np.full((index + 2, 2), index), np.ones((2, 2)))))
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
    library = blas._library()
    assert library is not None
    blas.matmul(np.ones((4, 4)), np.ones((4, 4)))
    blas.matmul(np.ma.ones((5, 5)), np.ones((5, 5)))
    assert not library._governors
    blas.matmul(np.ones((5, 5)), np.ones((5, 5)))
    assert len(library._governors) == 1


def test_f89_the_sizes_that_are_remembered_are_bounded(threads: Threads) -> None:
    library = blas._library()
    assert library is not None
    for rows in range(1, blas._MOST_SIZES + 50):
        blas.matmul(np.ones((rows, 1)), np.ones((1, 1)))
    assert len(library._governors) <= blas._MOST_SIZES


def test_f89_numpys_own_library_keeps_its_threads() -> None:
    """Only if numpy has an OpenBLAS of several threads; elsewhere products are numpy's."""
    library = blas._library()
    before = library._get() if library else 1
    a = np.ones((80, 80), np.float32)
    for _ in range(4):
        np.testing.assert_array_equal(blas.matmul(a, a), np.full((80, 80), 80, np.float32))
        with pytest.raises(ValueError, match="mismatch"):
            blas.matmul(a, a, np.empty((3, 3), np.float32))
    assert (library._get() if library else 1) == before
