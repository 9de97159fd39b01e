"""The library in C: arguments that it leaves to Python, references and buffers, random numbers, checksums and records."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
from native_cases import SEED, TRIES, Rng, check, same, shape

from actorflow.base.records import crc32c, tfrecord
from actorflow.kernels.native import elementwise, random, reduce, rows, scatter, softmax
from actorflow.kernels.native.library import loaded
from actorflow.kernels.shared import threads

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")


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


@pytest.mark.parametrize("name", random.FILLS)
def test_random_numbers_have_the_bits_that_are_defined(name: str) -> None:
    def make(rng: Rng) -> tuple[Any, ...]:
        key = rng.integers(0, 2**64 - 1, 2, dtype="u8")
        return np.array(shape(rng, 0, 3), "i4"), key, int(rng.integers(0, 2**40)), int(rng.integers(0, 2))

    python = random._python(random.FILLS[name])
    check(name, python, make)
    rng = np.random.default_rng(SEED)
    for count in (1, 9, 2047, 2049, 70_000, 100_003):
        _, key, run, kind = make(rng)
        sizes, out = np.array([count], "i4"), np.empty(count, "f4")
        for several in (1, 2, 4):
            assert loaded().call(name, several, sizes, key, run, kind, out) is out
            assert same(out, python(sizes, key, run, kind)), count


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
    monkeypatch.setattr(threads, "threaded", lambda *given: pytest.fail("a small call is measured"))
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
