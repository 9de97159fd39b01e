"""The values under arrays and loops' histories, `Items` and `Stack`, and the ops that work on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph.control_flow.flows import Run, run
from hypothesis import given, settings
from hypothesis import strategies as st

import actorflow as af
from actorflow import errors
from actorflow.graph.ops.flow import lists
from actorflow.kernels.flow.lists import Items, Stack

__all__ = ["run"]

SIZE = 5
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["set", "clear", "get", "items", "grow"]), st.integers(0, 100), st.integers(0, SIZE - 1)),
    max_size=60,
)


@settings(max_examples=150)
@given(ACTIONS)
def test_f79_each_version_of_an_array_stays_what_it_was(actions: list[tuple[str, int, int]]) -> None:
    """Against copied dictionaries, in any order of writes to and reads of any version."""
    versions: list[tuple[Items, int, dict[int, int]]] = [(Items(SIZE), SIZE, {})]
    for number, (action, which, index) in enumerate(actions, 1):
        items, size, model = versions[which % len(versions)]
        match action:
            case "set":
                versions.append((items.set(index, number), size, {**model, index: number}))
            case "clear":
                versions.append((items.set(index, None), size, {k: v for k, v in model.items() if k != index}))
            case "grow":
                versions.append((items.set(size, number, size + 1), size + 1, {**model, size: number}))
            case "get":
                assert items.get(index) == model.get(index)
            case _:
                assert dict(items.items()) == model
    for items, size, model in versions:
        assert items.size == size and dict(items.items()) == model
        assert all(items.get(i) == model.get(i) for i in range(size))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 100)), max_size=40))
def test_f81_each_version_of_a_stack_stays_what_it_was(actions: list[tuple[bool, int]]) -> None:
    versions: list[tuple[Stack, list[int]]] = [(Stack(), [])]
    for number, (push, which) in enumerate(actions):
        stack, model = versions[which % len(versions)]
        if push:
            versions.append((stack.push(number), [*model, number]))
        elif model:
            below, item = stack.pop()
            assert item == model[-1]
            versions.append((below, model[:-1]))
    for stack, model in versions:
        assert stack.size == len(model)
        for item in reversed(model):
            stack, top = stack.pop()
            assert top == item
        with pytest.raises(errors.InvalidArgumentError, match="empty list"):
            stack.pop()


def test_a_long_chain_of_versions_goes_without_recursion() -> None:
    items, stack = Items(1), Stack()
    first = items.set(0, -1)
    latest = first
    for i in range(50_000):
        latest = latest.set(0, i)
        stack = stack.push(i)
    assert first.get(0) == -1 and latest.get(0) == 49_999
    del first, latest, items, stack


def test_a_large_array_is_not_copied_by_a_write() -> None:
    content = np.zeros(1000)
    items = Items.of([content] * 100)
    assert items.set(3, np.ones(2)).get(4) is content and items.get(3) is content


# ---- zeros and sums


def test_zeros_have_the_shapes_of_what_they_stand_for() -> None:
    zeros = Items.of([np.ones(2), np.ones((1, 3))]).zeros()
    assert [z.shape for z in zeros] == [(2,), (1, 3)] and not any(z.any() for z in zeros)
    below, top = Stack().push(np.ones(2)).push(np.ones((1, 3))).zeros().pop()
    assert top.shape == (1, 3) and below.pop()[1].tolist() == [0, 0]


def test_sums_of_arrays() -> None:
    like = Items.of([np.ones(2)] * 3)
    left, right = like.zeros().set(0, np.array([1.0, 2.0])), like.zeros().set(0, np.array([10.0, 0.0]))
    total = left + right.set(2, np.array([5.0, 5.0]))
    assert [v.tolist() for v in total] == [[11, 2], [0, 0], [5, 5]]
    assert [v.tolist() for v in left] == [[1, 2], [0, 0], [0, 0]], "the parts stay"
    assert (Items(1) + Items(4)).size == 4


def test_sums_of_stacks() -> None:
    left = Stack().push(np.array(1.0)).push(np.array(2.0))
    right = Stack().push(np.array(10.0)).push(np.array(20.0))
    below, top = (left + right).pop()
    assert top == 22 and below.pop()[1] == 11
    assert left + left.zeros() is left and left.zeros() + right is right


# ---- the ops


def test_a_stack_of_tensors(run: Run) -> None:
    x = af.placeholder(af.float64, [2])
    full = lists.push_back(lists.push_back(lists.empty_list(), x), x * 2.0)
    rest, top = lists.pop_back(full, element_dtype=af.float64, element_shape=[2])
    assert top.static_shape == (2,)
    assert run(top, {x: [1, 2]}).tolist() == [2, 4]
    _, bottom = lists.pop_back(rest, element_dtype=af.float64)
    slopes = af.gradients(af.reduce_sum(top * bottom), x)
    assert run(slopes, {x: [1, 2]})[0].tolist() == [4, 8]
    with pytest.raises(errors.InvalidArgumentError, match="empty list"):
        run(lists.pop_back(lists.empty_list(), element_dtype=af.float64)[1])


def _elements(handle: Any, shape: Any = ()) -> dict[str, Any]:
    return {"input_handle": handle, "element_dtype": af.float64, "element_shape": shape}


def test_an_array_of_tensors(run: Run) -> None:
    x = af.placeholder(af.float64, [3])
    feeds = {x: [1.0, 2.0, 3.0]}
    made = lists.from_tensor(x)
    assert run(lists.length(made), feeds) == 3
    changed = lists.clear_item(lists.set_item(made, 1, x[0] * 10.0), 2)
    assert run(lists.stack_list(**_elements(changed)), feeds).tolist() == [1, 10, 0]
    cleared = lists.clear_items(made, [0, 1])
    assert run(lists.stack_list(**_elements(cleared)), feeds).tolist() == [0, 0, 3]
    added = lists.scatter_list(made, [0, 0, 2], x, adds=True)
    assert run(lists.gather_list(**_elements(added), indices=[0, 2]), feeds).tolist() == [4, 6]
    both = lists.add_lists(made, changed)
    assert run(lists.stack_list(**_elements(both)), feeds).tolist() == [2, 12, 3]
    zeros = lists.list_zeros_like(made)
    assert run(lists.stack_list(**_elements(zeros, None)), feeds).tolist() == [0, 0, 0]
    assert run(lists.get_item(**_elements(lists.reserve(2)), index=1), feeds) == 0


def test_an_array_of_pieces(run: Run) -> None:
    x = af.placeholder(af.float64, [None])
    feeds = {x: [1.0, 2.0, 3.0]}
    pieces = lists.split_list(x, af.constant([2, 0, 1], af.int64))
    assert run(lists.lengths_of(pieces), feeds).tolist() == [2, 0, 1]
    assert run(lists.concat_list(**_elements(pieces, [None])), feeds).tolist() == [1, 2, 3]
    assert run(lists.get_item(**_elements(pieces, [None]), index=0), feeds).tolist() == [1, 2]
    squares = af.concat([lists.concat_list(**_elements(pieces, [None])), x], 0) ** 2.0
    assert run(af.gradients(squares, x), feeds)[0].tolist() == [4, 8, 12]


def test_f81_each_way_through_an_array_has_a_gradient(run: Run) -> None:
    """Set, clear, scatter, add and gather, against the same in tensors."""
    x = af.placeholder(af.float64, [3])
    weights = af.constant([2.0, 3.0, 5.0], af.float64)
    base = lists.from_tensor(x * x)
    ways = {
        "set": (lists.set_item(base, 1, af.reduce_sum(x)), lambda x: [x[0] ** 2, x.sum(), x[2] ** 2]),
        "clear": (lists.clear_item(base, 1), lambda x: [x[0] ** 2, 0, x[2] ** 2]),
        "clear several": (lists.clear_items(base, [0, 2]), lambda x: [0, x[1] ** 2, 0]),
        "scatter": (lists.scatter_list(base, [2, 0], x[1:]), lambda x: [x[2], x[1] ** 2, x[1]]),
        "scatter adds": (
            lists.scatter_list(base, [1, 1, 2], x, adds=True),
            lambda x: [x[0] ** 2, x[1] ** 2 + x[0] + x[1], x[2] ** 2 + x[2]],
        ),
        "add": (lists.add_lists(base, lists.from_tensor(x)), lambda x: x**2 + x),
    }
    at, step = np.array([0.5, -1.0, 2.0]), 1e-6
    for name, (handle, direct) in ways.items():
        y = af.reduce_sum(lists.stack_list(**_elements(handle)) * weights)
        twice = y + af.reduce_sum(lists.gather_list(**_elements(handle), indices=[1, 1]))

        def value(x: Any, direct: Any = direct) -> Any:
            made = np.array(direct(x))
            return made @ [2, 3, 5] + 2 * made[1]

        want = [(value(at + step * d) - value(at - step * d)) / (2 * step) for d in np.eye(3)]
        np.testing.assert_allclose(run(af.gradients(twice, x)[0], {x: at}), want, rtol=1e-6, atol=1e-8, err_msg=name)


async def test_elements_are_inserted_and_removed() -> None:
    with af.Graph().as_default() as graph:
        base = lists.from_tensor(af.constant([1.0, 2.0, 3.0]))
        wide = lists.insert_item(lists.insert_item(base, 0, 5.0), 4, 6.0)
        less = lists.remove_item(wide, 1)
        found = [lists.stack_list(x, element_dtype=af.float32, element_shape=[]) for x in (base, wide, less)]
        beyond = lists.length(lists.insert_item(base, 4, 1.0)), lists.length(lists.remove_item(base, 3))
    async with af.Session(graph=graph) as session:
        first, second, third = await session.run(found)
        assert first.tolist() == [1, 2, 3]
        assert second.tolist() == [5, 1, 2, 3, 6]
        assert third.tolist() == [5, 2, 3, 6]
        for one in beyond:
            with pytest.raises(af.errors.InvalidArgumentError, match=r"3 elements|array size is: 3"):
                await session.run(one)
