"""Calls of OpenBLAS, numpy's and scipy's: products of matrices, and LAPACK.

OpenBLAS splits a call over threads of its own, which wait for each other in a loop, and for the next call as well, for some
25 ms. As soon as anything else wants a core, a thread waits for a whole time slice of the operating system, and a product of
50 µs takes 10 ms. So its calls take one thread each. Large products are divided among threads of the pool. Without the pool, and
in LAPACK's large routines, OpenBLAS's own threads are used for large matrices (`threads.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from actorflow.base.process import forks, machine

from .threads import in_pieces, most_threads, threaded

T = TypeVar("T")

WORTH_SPLITTING = 250_000
"""Below this number of multiplications OpenBLAS itself takes one thread."""
WORTH_DIVIDING = 4_000_000
"""Multiplications from which on threads of the pool share a product: to wake one costs as much as half of them."""

_SPLITS_VECTORS = 9216  # elements of a matrix, times a vector
_MOST_ONES = 8192


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """`a @ b` of two matrices, on as many threads as pay at present."""
    size = a.shape[0] * a.shape[1] * b.shape[1]
    if size < WORTH_SPLITTING or type(a) is not np.ndarray or a.shape[1] != b.shape[0]:
        return np.matmul(a, b, out=out)
    library = openblas("numpy")
    if library is None or a.dtype != b.dtype or a.dtype.char not in "fdFD":
        return np.matmul(a, b, out=out)
    key = (*a.shape, b.shape[1], a.dtype.num)
    if most_threads() < 2:
        return library.threaded(key, lambda: np.matmul(a, b, out=out))
    with library.on_threads(1):
        return np.matmul(a, b, out=out) if size < WORTH_DIVIDING else _in_pieces(key, a, b, out)


def matmul_batch(a: Any, b: Any, out: Any = None) -> Any:
    """`a @ b` of matrices in the last two dimensions. A second matrix for all is a product of two matrices."""
    if a.ndim == b.ndim == 2:
        return matmul(a, b, out)
    in_order = a.flags.c_contiguous and (out is None or out.flags.c_contiguous)
    if b.ndim == 2 and in_order and a.size and b.size and a.shape[-1] == b.shape[0]:
        rows = matmul(a.reshape(-1, a.shape[-1]), b, None if out is None else out.reshape(-1, b.shape[1]))
        return rows.reshape(*a.shape[:-1], b.shape[1]) if out is None else out
    if a.shape[-2] * a.shape[-1] * b.shape[-1] < WORTH_SPLITTING:
        return np.matmul(a, b, out=out)
    with one_thread():
        return np.matmul(a, b, out=out)


@contextmanager
def one_thread() -> Iterator[None]:
    """Calls of numpy's OpenBLAS take one thread meanwhile."""
    library = openblas("numpy")
    if library is None:
        yield
        return
    with library.on_threads(1):
        yield


def _in_pieces(key: Hashable, a: Any, b: Any, out: Any) -> Any:
    """A product of which threads of the pool take some rows each, or some columns."""
    result = np.empty((a.shape[0], b.shape[1]), a.dtype) if out is None else out
    by_rows = a.shape[0] >= b.shape[1]
    count = max(a.shape[0], b.shape[1])
    size = -(-count // most_threads())

    def piece(number: int) -> None:
        some = slice(number * size, (number + 1) * size)
        if by_rows:
            np.matmul(a[some], b, out=result[some])
        else:
            np.matmul(a, b[:, some], out=result[:, some])

    in_pieces(piece, -(-count // size), ("matmul", key), lambda: _whole(a, b, result))
    return result


def _whole(a: Any, b: Any, result: Any) -> None:
    np.matmul(a, b, out=result)


def column_sums(x: Any) -> Any:
    """The sums of the columns of a contiguous matrix: the product of a row of 1s with it, on one thread.

    OpenBLAS would take several for 40 KB already, which pays little where memory is what one waits for."""
    ones = _ones(x.dtype)
    if ones.size < x.shape[0]:
        ones = np.ones(x.shape[0], x.dtype)
    library = openblas("numpy") if x.size >= _SPLITS_VECTORS else None
    if library is None:
        return np.dot(ones[: x.shape[0]], x)
    with library.on_threads(1):
        return np.dot(ones[: x.shape[0]], x)


@functools.cache
def _ones(dtype: Any) -> Any:
    return np.ones(_MOST_ONES, dtype)


class Library:
    """An OpenBLAS. Its number of threads is the process's own outside of calls."""

    def __init__(self, name: str, get: Callable[[], int], set_: Callable[[int], None]) -> None:
        self._name = name
        self._get = get
        self._set = set_
        self._most = min(get(), machine.usable_cores())
        self._lock = forks.new_lock()
        self._held = 0
        self._own = 1
        forks.register(self)

    def forked(self) -> None:
        """In a child that was forked no other thread has a call."""
        if self._held:
            self._held = 0
            self._set(self._own)

    def threaded(self, key: Hashable, work: Callable[[], T]) -> T:
        """Does some work, measured. Calls with one key are the same amount of the same work."""

        def some(threads: int) -> T:
            with self.on_threads(threads):
                return work()

        # One thread in a simulation, where more would leave things to chance.
        return threaded((self._name, key), some, self._most if machine.current().is_real else 1)

    @contextmanager
    def on_threads(self, count: int) -> Iterator[None]:
        """Calls take `count` threads meanwhile. Uses may overlap where several threads compute: the first one says how many,
        unless another wants fewer, and the last one ends it."""
        with self._lock:
            now = self._get()
            if self._held == 0:
                self._own = now
            if count != now and (self._held == 0 or count < now):
                self._set(count)
            self._held += 1
        try:
            yield
        finally:
            with self._lock:
                self._held -= 1
                if self._held == 0:
                    self._set(self._own)


@functools.cache
def openblas(of: str) -> Library | None:
    """The OpenBLAS that a package came with, if it has more than one thread and `threadpoolctl` (of the extras `jit` and
    `onednn`) finds it."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    libraries = ThreadpoolController().select(internal_api="openblas").lib_controllers
    for each in sorted(
        libraries, key=lambda each: f"{of}.libs" not in each.filepath
    ):  # each wheel has its own library; others share a library
        name = next((name for name in each.check_symbols if hasattr(each.dynlib, name)), "")
        if name and each.threading_layer == "pthreads":
            # its own setter takes the calls of one thread only, and four times as long
            get, set_ = getattr(each.dynlib, name), getattr(each.dynlib, name.replace("get_num", "set_num"))
            return Library(of, get, set_) if get() > 1 else None
    return None
