"""A variable that a loop names is read in each iteration, if the loop changes it. The answers are TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph.control_flow.flows import Run, initialize, run

import actorflow as af
from actorflow.graph.control_flow import writes

__all__ = ["run"]


def counted(counter: Any, value: Any) -> Any:
    """`value`, after which the counter grows by 1."""
    with af.control_dependencies([value]):
        with af.control_dependencies([af.assign_add(counter, af.ones_like(counter))]):
            return af.identity(value)


def in_condition(b: Any) -> Any:
    def body(i: Any) -> Any:
        with af.control_dependencies([af.assign_add(b, 1)]):
            return i + 1

    return af.while_loop(lambda i: b < 10, body, [0])


def in_inner_condition(b: Any) -> Any:
    def body(i: Any) -> Any:
        j = af.while_loop(lambda j: b < (i + 1) * 3, lambda j: counted(b, j) + 1, [0])
        return i + af.minimum(1, 1 + j)

    return af.while_loop(lambda i: b < 10, body, [0])


def summed(read: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """The sum over five iterations of what `read(b, i)` gives, b growing after it."""

    def built(b: Any) -> Any:
        return af.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + counted(b, read(b, i))), [0, 0])[1]

    return built


def by_an_inner_loop(b: Any, i: Any) -> Any:
    return af.while_loop(lambda j, s: j < 2, lambda j, s: (j + 1, s + b), [0, 0])[1]


@af.Defun(af.int32)
def plus_outer(x: Any) -> Any:
    return x + outer["b"]


outer: dict[str, Any] = {}


def by_a_function(b: Any, i: Any) -> Any:
    outer["b"] = b
    return plus_outer(af.constant(0))


READS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "the condition": (in_condition, 10),
    "the condition of a loop in a loop": (in_inner_condition, 4),
    "the body": (summed(lambda b, i: b + 0), 10),
    "an element": (summed(lambda b, i: af.stack([b, b])[1]), 10),
    "a branch": (summed(lambda b, i: af.cond(i < 100, lambda: b + 0, lambda: 7)), 10),
    "the predicate of a branch": (summed(lambda b, i: af.cond(b < 3, lambda: 1, lambda: 10)), 23),
    "a loop in the body": (summed(by_an_inner_loop), 20),
    "a function that the body calls": (summed(by_a_function), 10),
    "map_fn": (lambda b: af.map_fn(lambda x: counted(b, b + x), af.zeros([4], af.int32)), [0, 1, 2, 3]),
    "scan": (lambda b: af.scan(lambda a, x: counted(b, b + x), af.zeros([4], af.int32)), [0, 0, 1, 2]),
    "foldl": (lambda b: af.foldl(lambda a, x: a + counted(b, b + x), af.zeros([4], af.int32), 0), 6),
    "foldr": (lambda b: af.foldr(lambda a, x: a + counted(b, b + x), af.zeros([4], af.int32), 0), 6),
}


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("resource", [True, False], ids=["resource", "reference"])
def test_a_loop_reads_what_it_changes_in_each_iteration(run: Run, resource: bool, reads: str) -> None:
    build, answer = READS[reads]
    result = build(af.get_variable("b", initializer=0, use_resource=resource))
    initialize(run)
    np.testing.assert_array_equal(run(result), answer)


def test_a_tensor_from_before_the_loop_stays_as_it_is(run: Run) -> None:
    b = af.Variable(0)
    before = b + 0
    result = summed(lambda b, i: before)(b)
    initialize(run)
    assert run(result) == 0


def test_a_loop_that_changes_no_variable_reads_it_once(run: Run) -> None:
    w = af.Variable(2.0)
    af.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * w), (0, 1.0))
    reads = [op for op in af.get_default_graph().get_operations() if op.type == "ReadVariableOp"]
    assert len(reads) == 1


INSIDE: dict[str, Callable[[Any], Any]] = {
    "cond": lambda b: af.cond(af.constant(True), lambda: b + 0, lambda: 9),
    "case": lambda b: af.case([(af.constant(True), lambda: b + 0)], lambda: 9),
    "while_loop": lambda b: af.while_loop(lambda i, s: i < 1, lambda i, s: (i + 1, s + b), [0, 0])[1],
    "the condition of while_loop": lambda b: af.while_loop(lambda i: i < b, lambda i: i + 1, [0]),
    "map_fn": lambda b: af.map_fn(lambda x: x + b, af.zeros([1], af.int32))[0],
    "a function": lambda b: by_a_function(b, None),
}


@pytest.mark.parametrize("place", INSIDE)
def test_what_waits_for_an_update_reads_the_new_value_inside_too(run: Run, place: str) -> None:
    b = af.Variable(2)
    b + 0  # the shared read, which waits for nothing
    with af.control_dependencies([af.assign_add(b, 1)]):
        result = INSIDE[place](b)
    initialize(run)
    assert run(result) == 3


def test_training_in_a_loop(run: Run) -> None:
    """Each iteration takes the gradient where the variable is by then: v ← v - 0.1 · 2v."""
    v = af.Variable(np.float64(1.0))

    def body(i: Any, y: Any) -> Any:
        with af.control_dependencies([af.train.GradientDescentOptimizer(0.1).minimize(v * v, var_list=[v])]):
            return i + 1, v.read_value()

    result = af.while_loop(lambda i, y: i < 4, body, (0, np.float64(0)))[1]
    initialize(run)
    np.testing.assert_allclose(run(result), 0.8**4)


def test_the_gradient_of_a_loop_that_changes_a_variable(run: Run) -> None:
    """It goes by the values that were read: the iterations multiply by 1, 2 and 3."""
    b, x = af.Variable(np.float64(1.0)), af.placeholder_with_default(np.float64(2.0), [])
    y = af.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, counted(b, y * b)), (0, x))[1]
    found = af.gradients(y, [x, b])
    initialize(run)
    np.testing.assert_allclose(run([y, *found]), [12.0, 6.0, 12.0 / 1 + 12.0 / 2 + 12.0 / 3])


BEGUN_LATE: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    "the predicate of a branch": (lambda v, x: af.cond(x > 0, lambda: v * 1.0, lambda: 0.0), 6.0),
    "a branch in a branch": (
        lambda v, x: af.cond(x > 0, lambda: af.cond(x > 0, lambda: v * 1.0, lambda: 0.0), lambda: 0.0),
        6.0,
    ),
    "a case": (lambda v, x: af.case([(x > 0, lambda: v * 1.0)], default=lambda: 0.0), 6.0),
    "the start of a loop": (lambda v, x: af.while_loop(lambda y: y < 10.0, lambda y: y + v, [x]), 13.0),
    "a branch in a loop": (
        lambda v, x: af.while_loop(lambda y: y < 10.0, lambda y: af.cond(y > 0, lambda: y + v, lambda: y + 100.0), [x]),
        13.0,
    ),
}


@pytest.mark.parametrize("form", BEGUN_LATE)
def test_what_begins_behind_a_write_reads_behind_it(form: str, run: Run) -> None:
    """TensorFlow 1.15 gives these values with reference variables, and for branches with resource variables too."""
    build, answer = BEGUN_LATE[form]
    v = af.Variable(2.0)
    early = v * 1.0
    with af.control_dependencies([v.assign(6.0)]):
        x = af.identity(af.placeholder_with_default(1.0, []))
    result = build(v, x)
    initialize(run)
    assert run(result) == answer
    initialize(run)
    assert run(early) == 2.0


def test_many_branches_look_at_each_node_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    add = writes._Writes._add

    def counted(self: Any, graph: af.Graph, node: Any) -> Any:
        looks.append(node.name)
        return add(self, graph, node)

    monkeypatch.setattr(writes._Writes, "_add", counted)
    with af.Graph().as_default() as graph:
        v = af.Variable(1.0)
        x = af.placeholder(af.float32, [])
        for _ in range(20):
            x = af.cond(x > 0, lambda x=x: x + v, lambda x=x: x - v)  # type: ignore[misc]
    assert len(looks) == len(set(looks)) <= len(graph)


def test_what_begins_behind_a_loop_is_behind_the_writes_of_its_iterations() -> None:
    with af.Graph().as_default():
        v = af.Variable(1.0)
        turns = af.while_loop(
            lambda i: i < 3,
            lambda i: af.cast(v.assign_add(0.0 * af.cast(i, af.float32) + 1.0), af.int32) * 0 + i + 1,
            [0],
        )
        assert writes.written_before(turns.op) == {v.handle.tensor_id}
