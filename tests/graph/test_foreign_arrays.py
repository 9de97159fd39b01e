"""Arrays of other libraries are fed and become constants; results are offered to others."""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors

MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)


class DLPack:
    """An array that offers DLPack alone, as torch and CuPy name it."""

    def __init__(self, values: np.ndarray[Any, Any], device: tuple[int, int] = (1, 0)) -> None:
        self.values, self.device = values, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class OldDLPack(DLPack):
    """Before DLPack 1.0, which could not say whether an array may be written to."""

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.values.__dlpack__()


class Array:
    """As pandas and Arrow offer theirs."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype, copy=copy)


class Interface:
    """numpy's older protocol."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    @property
    def __array_interface__(self) -> Any:
        return self.values.__array_interface__


MAKERS: list[Callable[[np.ndarray[Any, Any]], Any]] = [DLPack, OldDLPack, Array, Interface, memoryview]


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


@pytest.mark.parametrize("make", MAKERS)
def test_is_fed_without_a_copy(make: Callable[[Any], Any]) -> None:
    seen = []
    x = af.placeholder(af.float32, [None, 3])
    y = af.py_func(lambda a: seen.append(a) or a + 1, [x], af.float32)
    values = MATRIX.copy()
    with af.blocking.Session() as session:
        assert session.run(y, {x: make(values)}).tolist() == (MATRIX + 1).tolist()
    assert np.shares_memory(seen[0], values)


@pytest.mark.parametrize("make", MAKERS)
def test_is_converted_where_it_fits(make: Callable[[Any], Any]) -> None:
    x = af.placeholder(af.float64, [2, 3])
    with af.blocking.Session() as session:
        found = session.run(x, {x: make(MATRIX.copy())})
    assert found.dtype == np.float64 and found.tolist() == MATRIX.tolist()


@pytest.mark.parametrize("make", MAKERS)
def test_what_was_fed_stays_its_owner_s_to_write(make: Callable[[Any], Any]) -> None:
    x = af.placeholder(af.float32, [2, 3])
    v = af.Variable(af.zeros([2, 3]))
    queue = af.FIFOQueue(1, [af.float32])
    values = MATRIX.copy()
    with af.blocking.Session() as session:
        found, _, _ = session.run([x, v.assign(x), queue.enqueue(x)], {x: make(values)})
        values[:] = 9
        assert found.tolist() == session.run(v).tolist() == session.run(queue.dequeue()).tolist() == MATRIX.tolist()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8])
def test_a_constant_has_its_type(make: Callable[[Any], Any], dtype: Any) -> None:
    values = MATRIX.astype(dtype)
    c = af.constant(make(values))
    values[:] = 9
    assert c.dtype.numpy_dtype == dtype and c.shape.as_list() == [2, 3]
    assert af.convert_to_tensor(make(values), af.float64).dtype is af.float64
    with af.blocking.Session() as session:
        assert session.run(c).tolist() == MATRIX.tolist()


def test_buffers_and_texts() -> None:
    assert af.constant(array.array("d", [1, 2])).dtype is af.float64
    texts = af.constant(Array(np.array(["a", "bc"], object)))
    with af.blocking.Session() as session:
        assert session.run(texts).tolist() == [b"a", b"bc"]


def test_the_result_of_a_python_function_may_be_one() -> None:
    y = af.py_func(lambda: DLPack(MATRIX.copy()), [], af.float32)
    with af.blocking.Session() as session:
        assert session.run(y).tolist() == MATRIX.tolist()


@pytest.mark.parametrize(
    ("device", "name"), [((2, 1), "CUDA device 1"), ((8, 0), "Metal device 0"), ((99, 0), "DLPack's kind 99, 0")]
)
def test_memory_of_a_device_is_refused(device: tuple[int, int], name: str) -> None:
    x = af.placeholder(af.float32)
    there = DLPack(MATRIX, device)
    said = rf"it is in the memory of .*{name}\. Copy it to the host first \(torch: x\.cpu\(\), CuPy: x\.get\(\)\)\."
    with af.blocking.Session() as session:
        with pytest.raises(errors.FeedError, match=said):
            session.run(x, {x: there})
        with pytest.raises(errors.InvalidArgumentError, match=said):
            session.run(af.py_func(lambda: there, [], af.float32))
    with pytest.raises(TypeError, match=f"A DLPack can't become a tensor: {said}"):
        af.constant(there)


def test_what_the_other_library_refuses_is_told() -> None:
    class Tracked(Array):
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            raise RuntimeError("Use detach() first.")

    x = af.placeholder(af.float32)
    with af.blocking.Session() as session:
        with pytest.raises(errors.FeedError, match=r"can't become an array: Use detach\(\) first"):
            session.run(x, {x: Tracked(MATRIX)})
    with pytest.raises(TypeError, match=r"A Tracked can't become a tensor: Use detach\(\) first"):
        af.constant(Tracked(MATRIX))


def test_results_are_offered() -> None:
    """By DLPack to those who know that an array may be read-only; others take a copy."""
    with af.blocking.Session() as session:
        found = session.run(af.constant(MATRIX) + 1.0)
    there = np.from_dlpack(found)
    assert np.shares_memory(there, found) and not there.flags.writeable
    with pytest.raises(BufferError, match="readonly"):
        found.__dlpack__()
    assert np.from_dlpack(OldDLPack(found.copy())).tolist() == found.tolist()
    assert memoryview(found).readonly and found.__array_interface__["data"][1] is True
