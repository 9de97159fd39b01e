"""Updates of parts of a variable: rows, elements, slices. The expected values are TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from running import Run, start

import actorflow as af
from actorflow import errors
from actorflow.graph.graph import Graph
from actorflow.graph.ops.state import scatter_nd as state_scatter

__all__ = ["start"]

Start = Callable[[Graph], Run]
BASE = [[8, 9], [10, -12], [24, 7]]


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


def updated(graph: Graph, start: Start, build: Callable[[af.Variable], Any], value: Any) -> Any:
    """The variable after an update, which gave the same."""
    v = af.Variable(np.array(value))
    update = build(v)
    run = start(graph)
    run(v.initializer)
    given = run(update)
    after = run(v)
    np.testing.assert_array_equal(given, after)
    assert given.dtype == np.asarray(value).dtype
    return after.tolist()


ROWS: dict[str, tuple[Any, Any]] = {
    "mul": ([[32, -54], [50, -60], [24, 7]], [[32, 36], [10, -12], [24, 7]]),
    "min": ([[2, -2], [5, -12], [24, 7]], [[2, 2], [10, -12], [24, 7]]),
    "max": ([[8, 9], [10, 5], [24, 7]], [[8, 9], [10, -12], [24, 7]]),
    "div": ([[2, -1], [2, -2], [24, 7]], [[2, 2], [10, -12], [24, 7]]),
}


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_rows(graph: Graph, start: Start, name: str, dtype: str) -> None:
    kind = af.as_dtype(dtype).numpy_dtype
    rows = np.array([[2, 3], [5, 5], [2, -2]], kind)
    function, (several, one) = getattr(af, f"scatter_{name}"), ROWS[name]
    if name == "div" and kind.kind != "i":
        several, one = [[2, -1.5], [2, -2.4], [24, 7]], [[2, 2.25], [10, -12], [24, 7]]
    found = updated(graph, start, lambda v: function(v, [0, 1, 0], rows), np.array(BASE, kind))
    np.testing.assert_allclose(np.array(found, float), several, rtol=5e-3)
    found = updated(graph, start, lambda v: function(v, [0, 0], kind.type(2)), np.array(BASE, kind))
    np.testing.assert_allclose(np.array(found, float), one)
    by_method = getattr(af.Variable, f"scatter_{name}")
    slices = af.IndexedSlices(af.constant(rows), af.constant([0, 1, 0]))
    found = updated(graph, start, lambda v: by_method(v, slices), np.array(BASE, kind))
    np.testing.assert_allclose(np.array(found, float), several, rtol=5e-3)


def test_integers_are_divided_towards_zero(graph: Graph, start: Start) -> None:
    values = np.array([7, -7, 7, -7, -2147483648])
    found = updated(graph, start, lambda v: af.scatter_div(v, [0, 1, 2, 3, 4], np.array([2, 2, -2, -2, 3])), values)
    assert found == [3, -3, -3, 3, -715827882]
    assert updated(graph, start, lambda v: af.scatter_div(v, [0, 0], np.uint8(2)), np.array([255], np.uint8)) == [63]


@pytest.mark.parametrize("name", [*ROWS, "nd_update", "nd_add", "nd_sub"])
def test_targets_give_nothing(graph: Graph, start: Start, name: str) -> None:
    v, w = af.Variable([8.0, 9.0, 10.0]), af.Variable([8.0, 9.0, 10.0])
    at = [[0], [2]] if name.startswith("nd") else [0, 2]
    target = getattr(state_scatter, f"scatter_{name}_target")(v, at, [12.0, 4.0])
    value = getattr(state_scatter, f"scatter_{name}_value")(w, at, [12.0, 4.0])
    assert isinstance(target, af.Operation) and target.outputs == ()
    run = start(graph)
    run([v.initializer, w.initializer])
    assert run(target) is None
    np.testing.assert_array_equal(run(v), run(value))
    assert run(v).tolist() != [8.0, 9.0, 10.0]


# ---- elements and slices by full indices


@pytest.mark.parametrize(
    ("name", "elements", "rows"),
    [
        ("update", [[8, 3], [10, -12], [2, 7]], [[3, 4], [10, -12], [24, 7]]),
        ("add", [[8, 13], [10, -12], [26, 7]], [[12, 15], [10, -12], [24, 7]]),
        ("sub", [[8, 5], [10, -12], [22, 7]], [[4, 3], [10, -12], [24, 7]]),
    ],
)
def test_full_indices(graph: Graph, start: Start, name: str, elements: Any, rows: Any) -> None:
    function, method = getattr(af, f"scatter_nd_{name}"), getattr(af.Variable, f"scatter_nd_{name}")
    base = np.array(BASE, np.float32)
    for build in (
        lambda v: function(v, [[0, 1], [2, 0], [0, 1]], [1.0, 2.0, 3.0]),
        lambda v: method(v, np.array([[0, 1], [2, 0], [0, 1]]), [1.0, 2.0, 3.0]),
    ):
        assert updated(graph, start, build, base) == elements
    assert updated(graph, start, lambda v: function(v, [[0], [0]], [[1.0, 2.0], [3.0, 4.0]]), base) == rows
    nothing = np.zeros((0, 2), np.int32)
    assert updated(graph, start, lambda v: function(v, nothing, np.zeros(0, np.float32)), base) == base.tolist()
    empty = np.zeros((3, 0), np.float32)
    assert updated(graph, start, lambda v: function(v, [[1]], np.zeros((1, 0), np.float32)), empty) == empty.tolist()


def test_in_each_element_of_a_batch(graph: Graph, start: Start) -> None:
    base = np.arange(12.0).reshape(2, 3, 2)
    rows = np.ones((2, 2, 2)) * [[[1], [2]], [[3], [4]]]
    expected = [[[1.0, 1.0], [2.0, 3.0], [2.0, 2.0]], [[6.0, 7.0], [4.0, 4.0], [10.0, 11.0]]]
    assert updated(graph, start, lambda v: af.batch_scatter_update(v, [[0, 2], [1, 1]], rows), base) == expected
    slices = af.IndexedSlices(af.constant(rows), af.constant([[0, 2], [1, 1]]))
    assert updated(graph, start, lambda v: v.batch_scatter_update(slices), base) == expected
    flat = updated(graph, start, lambda v: af.batch_scatter_update(v, [0, 2], np.ones((2, 2))), np.array(BASE, float))
    assert flat == [[1.0, 1.0], [10.0, -12.0], [1.0, 1.0]]


def test_scatter_mistakes(graph: Graph, start: Start) -> None:
    v, whole = af.Variable(np.array(BASE, np.float32)), af.Variable(np.array([4, 5]))
    with pytest.raises(ValueError, match=r"The outer 1 dimensions of indices"):
        af.scatter_nd_add(v, [[0, 1]], [1.0, 2.0])
    with pytest.raises(ValueError, match="updates of a scatter by full indices have one dimension"):
        af.scatter_nd_add(v, [[0, 1]], 1.0)
    with pytest.raises(ValueError, match="indices of a scatter by full indices have one dimension"):
        af.scatter_nd_add(v, 0, [1.0])
    with pytest.raises(TypeError):
        af.scatter_max(af.Variable([1j]), [0], [1j])
    at, rows = af.placeholder(af.int32), af.placeholder(af.float32)
    nd, by_row = af.scatter_nd_add(v, at, rows), af.scatter_mul(v, at, rows)
    zero = af.scatter_div(whole, [0, 1], np.array([2, 0]))
    run = start(graph)
    with pytest.raises(errors.FailedPreconditionError):
        run(nd, {at: [[0, 0]], rows: [1.0]})
    run([v.initializer, whole.initializer])
    wrong = errors.InvalidArgumentError
    for update, feeds, message in (
        (nd, {at: [[0, 2]], rows: [1.0]}, r"indices\[0\] = \[0, 2\] does not index into shape .3,\s?2."),
        (nd, {at: [[0, -1]], rows: [1.0]}, "does not index into shape"),
        (nd, {at: [[0, 1, 0]], rows: [1.0]}, "have 3 numbers each"),
        (nd, {at: np.zeros((1, 0)), rows: np.zeros((1, 3, 2))}, "have 0 numbers each"),
        (nd, {at: [[0, 1]], rows: [1.0, 2.0]}, "The outer 1 dimensions of indices"),
        (by_row, {at: [3], rows: [[1.0, 2.0]]}, r"indices\[0\] = 3 is not in \[0, 3\)"),
        (zero, {}, "divided by zero"),
    ):
        with pytest.raises(wrong, match=message):
            run(update, feeds)
    np.testing.assert_array_equal(run(v), BASE)
    np.testing.assert_array_equal(run(whole), [4, 5])


# ---- slices


@pytest.mark.parametrize(
    ("value", "assign", "expected"),
    [
        (np.arange(5.0), lambda v: v[1:3].assign([7.0, 8.0]), [0, 7, 8, 3, 4]),
        (np.arange(5.0), lambda v: v[1:3].assign(7.0), [0, 7, 7, 3, 4]),
        (np.arange(5.0), lambda v: v[1:3].assign([7.0]), [0, 7, 7, 3, 4]),
        (np.arange(5.0), lambda v: v[3:3].assign(np.zeros(0)), [0, 1, 2, 3, 4]),
        (np.arange(5.0), lambda v: v[::-2].assign([7.0, 8.0, 9.0]), [9, 1, 8, 3, 7]),
        (np.arange(6.0).reshape(2, 3), lambda v: v[:, 1:].assign([7.0, 8.0]), [[0, 7, 8], [3, 7, 8]]),
        (np.arange(6.0).reshape(2, 3), lambda v: v[1].assign([7.0, 8.0, 9.0]), [[0, 1, 2], [7, 8, 9]]),
        (np.arange(6.0).reshape(2, 3), lambda v: v[1, 2].assign(9.0), [[0, 1, 2], [3, 4, 9]]),
        (np.arange(6.0).reshape(2, 3), lambda v: v[:, None, 1].assign([[7.0], [9.0]]), [[0, 7, 2], [3, 9, 5]]),
        (np.arange(6.0).reshape(2, 3), lambda v: v[None, 1].assign([[7.0, 8.0, 9.0]]), [[0, 1, 2], [7, 8, 9]]),
        (
            np.arange(8.0).reshape(2, 2, 2),
            lambda v: v[..., 0].assign([[7.0, 8.0], [9.0, 10.0]]),
            [[[7, 1], [8, 3]], [[9, 5], [10, 7]]],
        ),
        (np.array(3.0), lambda v: v[...].assign(4.0), 4),
        (np.array([b"a", b"b"], object), lambda v: v[1:].assign([b"c"]), [b"a", b"c"]),
    ],
)
def test_assigned_slices(graph: Graph, start: Start, value: Any, assign: Any, expected: Any) -> None:
    assert updated(graph, start, assign, value) == expected


def test_a_slice_is_a_tensor_too(graph: Graph, start: Start) -> None:
    v = af.Variable(np.arange(6.0), name="v")
    bound = af.placeholder(af.int32, [])
    part = v[1:bound]
    assert isinstance(part, af.Tensor) and graph.get_tensor_by_name(part.name) is part
    assert not hasattr(v[af.constant([True] * 6)], "assign")
    (slope,) = af.gradients(part * 2.0, v)
    target = part.assign(part + 10.0, read_value=False)
    assert isinstance(target, af.Operation)
    run = start(graph)
    run(v.initializer)
    np.testing.assert_array_equal(run([part, slope], {bound: 3})[1], [0, 2, 2, 0, 0, 0])
    assert run(target, {bound: 3}) is None
    np.testing.assert_array_equal(run(v), [0, 11, 12, 3, 4, 5])


def test_a_read_before_keeps_its_value(graph: Graph, start: Start) -> None:
    v = af.Variable(np.zeros(100))
    before = v.read_value()
    with af.control_dependencies([before]):
        after = v[10:20].assign(1.0)
    run = start(graph)
    run(v.initializer)
    first, second = run([before, after])
    assert first.sum() == 0 and second.sum() == 10


def test_slice_mistakes(graph: Graph, start: Start) -> None:
    v = af.Variable(np.arange(5.0))
    with pytest.raises(ValueError, match="slice index 7 of dimension 0 out of bounds"):
        v[7].assign(1.0)
    bound = af.placeholder(af.int32, [])
    wrong, outside = v[1:3].assign([7.0, 8.0, 9.0]), v[bound].assign(1.0)
    run = start(graph)
    run(v.initializer)
    with pytest.raises(errors.InvalidArgumentError, match=r"slice has shape .2,?., to which a value of shape .3,?."):
        run(wrong)
    with pytest.raises(errors.InvalidArgumentError, match="out of bounds"):
        run(outside, {bound: 5})
    np.testing.assert_array_equal(run(v), np.arange(5.0))
