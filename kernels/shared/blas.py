"""How many threads a matrix product takes, decided by what the last ones cost.

OpenBLAS splits a product over its threads and lets them wait for each other in a loop. On idle cores that halves the time.
As soon as anything else wants a core, one of them waits for a whole time slice of the operating system, and a product of
50 µs takes 10 ms. Nothing says beforehand which it will be, so each size of product is measured: it runs on all threads
while that pays, and when it does not, on one for a while that doubles with each disappointment.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

import numpy as np

WORTH_SPLITTING = 250_000
"""Below this number of multiplications OpenBLAS itself takes one thread."""

_SHORTEST, _LONGEST = 16, 4096
_MOST_SIZES = 256
_SPLITS_VECTORS = 9216  # elements of a matrix, times a vector
_MOST_ONES = 8192


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """`a @ b` of two matrices, on as many threads as pay at present."""
    size = a.shape[0] * a.shape[1] * b.shape[1]
    if size < WORTH_SPLITTING or type(a) is not np.ndarray or a.shape[1] != b.shape[0]:
        return np.matmul(a, b, out=out)
    library = _library()
    if library is None:
        return np.matmul(a, b, out=out)
    return library.governed(a, b, out)


def column_sums(x: Any) -> Any:
    """The sums of the columns of a contiguous matrix: the product of a row of ones with it, on one thread.

    OpenBLAS would take several for 40 KB already, which pays little where memory is what one waits for."""
    ones = _ones(x.dtype)
    if ones.size < x.shape[0]:
        ones = np.ones(x.shape[0], x.dtype)
    library = _library() if x.size >= _SPLITS_VECTORS else None
    if library is None:
        return np.dot(ones[: x.shape[0]], x)
    with library.on_one_thread():
        return np.dot(ones[: x.shape[0]], x)


@functools.cache
def _ones(dtype: Any) -> Any:
    return np.ones(_MOST_ONES, dtype)


class Governor:
    """The costs of one size of product on one thread and on all."""

    __slots__ = ("_many", "_one", "_patience", "_rest")

    def __init__(self) -> None:
        self._one = 0.0
        self._many = 0.0
        self._rest = 0
        self._patience = _SHORTEST

    def splits(self) -> bool:
        """Whether the next product should take all threads."""
        if self._rest > 0:
            self._rest -= 1
            return False
        return self._many == 0.0 or self._one > 0.0

    def add(self, split: bool, nanoseconds: int) -> None:
        """Takes a measurement in, and decides what the next products do."""
        if not split:
            self._one = (
                nanoseconds if self._one == 0.0 else min(nanoseconds, self._one + (nanoseconds - self._one) * 0.1)
            )
            return
        self._many = nanoseconds if self._many == 0.0 else self._many + (nanoseconds - self._many) * 0.2
        if self._one and (nanoseconds > 2 * self._one or self._many > self._one):
            self._rest = self._patience
            self._patience = min(2 * self._patience, _LONGEST)
            self._many = min(self._many, self._one * 0.9)  # one try, later, does not fail for the past
        elif self._patience > _SHORTEST:
            self._patience -= 1


class Library:
    """The OpenBLAS that numpy came with, and the governors of its products."""

    def __init__(self, get: Callable[[], int], set_: Callable[[int], None]) -> None:
        self._get = get
        self._set = set_
        self._governors: dict[tuple[int, ...], Governor] = {}
        self._lock = threading.Lock()
        self._held = 0
        self._own = 1

    def governed(self, a: Any, b: Any, out: Any) -> Any:
        """One product, measured. The number of threads is the process's own afterwards."""
        key = (*a.shape, b.shape[1], a.dtype.num)
        governor = self._governors.get(key)
        if governor is None:
            if len(self._governors) >= _MOST_SIZES:
                self._governors.clear()
            governor = self._governors[key] = Governor()
        split = governor.splits()
        begun = perf_counter_ns()
        if split:
            result = np.matmul(a, b, out=out)
        else:
            with self.on_one_thread():
                result = np.matmul(a, b, out=out)
        governor.add(split, perf_counter_ns() - begun)
        return result

    @contextmanager
    def on_one_thread(self) -> Iterator[None]:
        """Products run on one thread meanwhile. Uses may overlap where several threads compute: the last one ends it."""
        with self._lock:
            if self._held == 0:
                self._own = self._get()
                self._set(1)
            self._held += 1
        try:
            yield
        finally:
            with self._lock:
                self._held -= 1
                if self._held == 0:
                    self._set(self._own)


@functools.cache
def _library() -> Library | None:
    """numpy's OpenBLAS, where it has more than one thread and `threadpoolctl` (of the extras `jit` and `onednn`) finds it."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    found = ThreadpoolController().select(internal_api="openblas").lib_controllers
    for each in sorted(found, key=lambda each: "numpy" not in each.filepath):  # scipy may have one of its own
        name = next((name for name in each.check_symbols if hasattr(each.dynlib, name)), "")
        if name and each.threading_layer == "pthreads":
            # its own setter takes the calls of one thread only, and four times as long
            get, set_ = getattr(each.dynlib, name), getattr(each.dynlib, name.replace("get_num", "set_num"))
            return Library(get, set_) if get() > 1 else None
    return None
